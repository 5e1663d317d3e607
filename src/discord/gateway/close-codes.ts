import { GatewayCloseCodes } from "discord-api-types/v10";

/** Close codes after which reconnecting cannot help, and what the operator has to do. */
const instructions: Readonly<Record<number, string>> = {
  [GatewayCloseCodes.AuthenticationFailed]:
    "Discord refused the bot token. In the developer portal open Bot, reset the token, and set it as DISCORD_TOKEN.",
  [GatewayCloseCodes.DisallowedIntents]:
    "Discord refused the members intent. In the developer portal open Bot and switch on Server Members Intent under Privileged Gateway Intents, then restart.",
  [GatewayCloseCodes.InvalidIntents]: "Discord does not know the intents asked for; update the service.",
  [GatewayCloseCodes.InvalidAPIVersion]: "Discord does not offer this version of its API any more; update the service.",
  [GatewayCloseCodes.ShardingRequired]:
    "The bot is in more servers than one connection may serve; take it out of servers that are not moderated.",
  [GatewayCloseCodes.InvalidShard]: "Discord refused the connection's shard number; restart the service.",
};

export const tokenInstruction = instructions[GatewayCloseCodes.AuthenticationFailed] ?? "";

/** The instruction for a fatal close code. */
export function fatalClose(code: number): string {
  return instructions[code] ?? `Discord closed the gateway for good with code ${code.toString()}.`;
}
