import { GatewayCloseCodes } from "discord-api-types/v10";

/** Close codes after which reconnecting cannot help, and what the operator has to do. */
const instructions: Readonly<Record<number, string>> = {
  [GatewayCloseCodes.AuthenticationFailed]:
    "Discord refuses the bot token. In the developer portal open Bot, reset the token, put the new one into `DISCORD_TOKEN`, then restart.",
  [GatewayCloseCodes.DisallowedIntents]:
    "Discord refuses to show the bot the members of its servers. In the developer portal open Bot, switch on Server Members Intent under Privileged Gateway Intents, then restart.",
  [GatewayCloseCodes.InvalidIntents]: "Discord does not know what the bot asks for. Update Provost.",
  [GatewayCloseCodes.InvalidAPIVersion]: "Discord does not offer this version of its API any more. Update Provost.",
  [GatewayCloseCodes.ShardingRequired]:
    "The bot is in more servers than one connection may serve. Take it out of the servers that are not in `GUILD_IDS`.",
  [GatewayCloseCodes.InvalidShard]: "Discord refuses the shard number of the connection. Restart the service.",
};

export const tokenInstruction = instructions[GatewayCloseCodes.AuthenticationFailed] ?? "";

/** The instruction for a fatal close code. */
export function fatalClose(code: number): string {
  return instructions[code] ?? `Discord closed the gateway for good with code ${code.toString()}.`;
}
