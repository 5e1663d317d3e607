import { DiscordAPIError, HTTPError, RateLimitError } from "discord.js";
import { ProblemError } from "../kernel/errors.ts";

/** What may be logged about an error of Discord's libraries: their own fields hold addresses with tokens, and request bodies. */
export function safeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message } = error;
  const code = "code" in error ? error.code : undefined;
  const status = "status" in error ? error.status : undefined;
  return { name, message, ...(code !== undefined && { code }), ...(status !== undefined && { status }) };
}

/** Milliseconds until the call is allowed again, when that is why it was not made. */
export function rateLimitWait(error: unknown): number | undefined {
  return error instanceof RateLimitError ? Math.max(0, error.retryAfter) : undefined;
}

/** The HTTP status of a refusal by Discord (4xx). */
export function refusalStatus(error: unknown): number | undefined {
  if (error instanceof DiscordAPIError) return error.status;
  if (error instanceof ProblemError && error.code === "discord_error") return error.extra?.["discord_status"] as number | undefined;
  return undefined;
}

/** Discord cannot be asked now. @param retryMs when asking again makes sense */
export function unavailable(retryMs: number, cause?: unknown): ProblemError {
  return new ProblemError("discord_unavailable", { retryAfter: Math.max(1, Math.ceil(retryMs / 1000)), cause });
}

/** The one translation of a failed call: refusals of Discord are discord_error with its code, everything else is discord_unavailable. */
export function toProblem(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error;
  const wait = rateLimitWait(error);
  if (wait !== undefined) return unavailable(wait, error);
  if (error instanceof DiscordAPIError && error.status !== 401) {
    const extra = { discord_status: error.status, discord_code: error.code };
    return new ProblemError("discord_error", { detail: "Discord refused the call.", extra, cause: error });
  }
  return unavailable(error instanceof HTTPError ? 5000 : 2000, error);
}
