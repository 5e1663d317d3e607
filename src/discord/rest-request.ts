import { DiscordAPIError } from "discord.js";
import { rateLimitWait } from "./rest-errors.ts";

/** Why a call is made; counted apart so that metrics show who spends the budget. */
export type CallPurpose = "action" | "lookup" | "sync" | "registration";

export interface DiscordRequest {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** From `Routes` of discord-api-types. */
  route: `/${string}`;
  purpose: CallPurpose;
  query?: URLSearchParams;
  body?: unknown;
  /** For Discord's own audit log. */
  reason?: string;
  /** Everything included: waiting for rate limits, repetitions. Default 5,000. */
  deadlineMs?: number;
}

export interface CallCounts {
  ok: number;
  refused: number;
  failed: number;
  rateLimited: number;
}

const attempts = 4;
/** A look-up is part of somebody's request: one repetition, then the answer is that Discord is down. */
const lookUpAttempts = 2;

/** Pause before the first repetition of a failed call; doubles with each. */
const firstPauseMs = 250;

/** Milliseconds until the failed call may be made again. Undefined: do not repeat. A POST whose outcome is unknown is never repeated; one that was rate limited was not carried out. */
export function pauseBefore(
  error: unknown,
  { method, purpose }: Pick<DiscordRequest, "method" | "purpose">,
  tried: number,
  firstMs = firstPauseMs,
): number | undefined {
  const wait = rateLimitWait(error);
  if (wait !== undefined) return wait + 50;
  if (error instanceof DiscordAPIError || method === "POST" || method === "PATCH") return undefined;
  if (tried >= (purpose === "lookup" ? lookUpAttempts : attempts)) return undefined;
  return firstMs * 2 ** (tried - 1) * (0.75 + Math.random() / 2);
}

export function zeroCounts(): CallCounts {
  return { ok: 0, refused: 0, failed: 0, rateLimited: 0 };
}
