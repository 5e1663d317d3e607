import { DiscordjsErrorCodes, GatewayCloseCodes } from "discord.js";

/** Errors that trying again cannot heal, and what the operator has to do. */
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

/** The instruction for a close code after which there is no reconnecting. */
export function fatalClose(code: number): string {
  return instructions[code] ?? `Discord closed the gateway for good with code ${code.toString()}.`;
}

/** Whether a login failed because Discord does not know the token; other refusals for good come as a close code. */
export function isTokenRefused(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === DiscordjsErrorCodes.TokenInvalid;
}
