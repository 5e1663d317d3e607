import { say } from "../../kit/say.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { isFailure, isRateLimit, isRefusal } from "../load-library.ts";

/** The loggable part of an error of Discord's libraries, whose own fields hold addresses with tokens, and request bodies. */
export function safeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message } = error;
  const code = "code" in error ? error.code : undefined;
  const status = "status" in error ? error.status : undefined;
  return { name, message, ...(code !== undefined && { code }), ...(status !== undefined && { status }) };
}

/** The milliseconds until a call that was rate limited is allowed again; undefined for other errors. */
export function rateLimitWait(error: unknown): number | undefined {
  return isRateLimit(error) ? Math.max(0, error.retryAfter) : undefined;
}

/** The HTTP status of a refusal by Discord (4xx). */
export function refusalStatus(error: unknown): number | undefined {
  if (isRefusal(error)) return error.status;
  if (error instanceof ProblemError && error.code === "discord_error") return error.extra?.["discord_status"] as number | undefined;
  return undefined;
}

/** The problem for calls that Discord cannot answer now. @param retryMs when to try again */
export function unavailable(retryMs: number, cause?: unknown): ProblemError {
  return new ProblemError("discord_unavailable", { retryAfter: Math.max(1, Math.ceil(retryMs / 1000)), cause });
}

/** Translates a failed call into a problem: refusals of Discord are discord_error with its code, everything else is discord_unavailable. */
export function toProblem(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error;
  const wait = rateLimitWait(error);
  if (wait !== undefined) return unavailable(wait, error);
  if (isRefusal(error) && error.status !== 401) {
    const extra = { discord_status: error.status, discord_code: error.code };
    return new ProblemError("discord_error", { detail: say("discord.discord-refused-the-call"), extra, cause: error });
  }
  return unavailable(isFailure(error) ? 5000 : 2000, error);
}
