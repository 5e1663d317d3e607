import { say } from "../../kit/say.ts";
import { GatewayCloseCodes } from "discord-api-types/v10";

/** Close codes after which reconnecting cannot help, and what the operator has to do. */
const instructions: Readonly<Record<number, string>> = {
  [GatewayCloseCodes.AuthenticationFailed]: say("discord.discord-refuses-the-bot-token-in-the"),
  [GatewayCloseCodes.DisallowedIntents]: say("discord.discord-refuses-to-show-the-bot-the"),
  [GatewayCloseCodes.InvalidIntents]: say("discord.discord-does-not-know-what-the-bot"),
  [GatewayCloseCodes.InvalidAPIVersion]: say("discord.discord-does-not-offer-this-version-of"),
  [GatewayCloseCodes.ShardingRequired]: say("discord.the-bot-is-in-more-servers-than"),
  [GatewayCloseCodes.InvalidShard]: say("discord.discord-refuses-the-shard-number-of-the"),
};

export const tokenInstruction = instructions[GatewayCloseCodes.AuthenticationFailed] ?? "";

/** The instruction for a fatal close code. */
export function fatalClose(code: number): string {
  return instructions[code] ?? say("discord.discord-closed-the-gateway-for-good-with", { code });
}
