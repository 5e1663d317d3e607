import { tokenInstruction } from "../discord/gateway/session.ts";
import { commandRefusal } from "../discord/registration/refusal.ts";
import { rateLimitWait } from "../discord/rest/errors.ts";
import { ProblemError } from "../kernel/errors.ts";
import { printable } from "./commands-words.ts";

interface Place {
  apiBase: string;
  clientId: string;
  guildId: string | undefined;
  isTokenRefused: boolean;
}

const again = "What was sent stays; run this again and it goes on from there.";

/** Why Discord's list could not be read or changed, and what to do. What is no refusal of Discord stays as it is. */
export function refusalInWords(error: unknown, place: Place): unknown {
  if (!(error instanceof ProblemError)) return error;
  const text = place.isTokenRefused ? tokenInstruction : error.code === "discord_error" ? refused(error, place) : away(error, place);
  return new Error(text, { cause: error });
}

function away(error: ProblemError, { apiBase }: Place): string {
  const isLimit = rateLimitWait(error.cause) !== undefined;
  if (isLimit) return `Discord takes no more changes for ${(error.retryAfter ?? 1).toString()} s. ${again}`;
  return `Discord cannot be reached at ${apiBase}. ${again}`;
}

function refused(error: ProblemError, { clientId, guildId }: Place): string {
  const status = Number(error.extra?.["discord_status"]);
  const code = String(error.extra?.["discord_code"]);
  const numbers = `(${status.toString()}, code ${code})`;
  if ((status === 403 || status === 404) && guildId !== undefined)
    return [
      `Discord lets the bot change no commands in server ${guildId} ${numbers}: it is not there, or without the right to commands.`,
      `Add it with https://discord.com/oauth2/authorize?client_id=${clientId}&scope=bot+applications.commands&guild_id=${guildId}`,
    ].join("\n");
  if (status === 403 || status === 404)
    return `Discord lets the bot change no commands of application ${clientId} ${numbers}. DISCORD_CLIENT_ID and DISCORD_TOKEN have to be of the same application.`;
  const { reason = "", commands = [] } = commandRefusal(error) ?? {};
  return [`Discord refused the commands ${numbers}: ${printable(reason)}`, ...commands.map((line) => `  ${printable(line)}`)].join("\n");
}
