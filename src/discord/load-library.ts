import type { DiscordAPIError, HTTPError, RateLimitError } from "discord.js";
import type * as Library from "./discord-js.ts";

let library: typeof Library | undefined;

/** discord.js. Reading it is a fifth of a start, so it is read at the first call to Discord, or after the server listens. */
export async function loadLibrary(): Promise<typeof Library> {
  return (library ??= await import("./discord-js.ts"));
}

/** Whether Discord refused the call. */
export function isRefusal(error: unknown): error is DiscordAPIError {
  return library !== undefined && error instanceof library.DiscordAPIError;
}

/** Whether Discord answered a call with a failure of its own. */
export function isFailure(error: unknown): error is HTTPError {
  return library !== undefined && error instanceof library.HTTPError;
}

/** Whether the call was not made, or not answered, for a rate limit. */
export function isRateLimit(error: unknown): error is RateLimitError {
  return library !== undefined && error instanceof library.RateLimitError;
}
