import { addSeconds } from "../../../kernel/clock.ts";
import { parseDuration } from "../../../kernel/fields.ts";
import type { Length } from "./inputs.ts";
import type { Approval } from "./types.ts";

/** The end of what lasts so long; null: it holds until somebody ends it. */
export function untilOf(length: Length, from: Date): Date | null {
  const seconds = typeof length === "string" ? parseDuration(length) : undefined;
  return seconds === undefined ? null : addSeconds(from, seconds);
}

/** What Discord takes as the longest timeout. */
const maxTimeoutDays = 28;
const maxTimeout = maxTimeoutDays * 86_400;

/** How long a timeout in Discord is: as long as the punishment, as far as Discord allows. */
export function timeoutLength(length: Length): string {
  const wanted = typeof length === "string" ? parseDuration(length) : undefined;
  return typeof length === "string" && wanted !== undefined && wanted <= maxTimeout ? length : `P${maxTimeoutDays.toString()}D`;
}

/** When a timeout in Discord ends: as long as the punishment, as far as Discord allows. */
export function penaltyEnd(length: Length, from: Date): Date {
  return addSeconds(from, parseDuration(timeoutLength(length)) ?? maxTimeout);
}

/** An end as texts take it. */
export function dayOrNone(until: Date | null): string {
  return until === null ? "none" : dayOf(until);
}

/** A day for people, in UTC. */
export function dayOf(at: Date): string {
  return at.toISOString().slice(0, 10);
}

/** Why the service methods of other features do something for an approval. */
export function noteOf({ request, permission }: Approval) {
  return { causeReference: request.reference, permission, reason: `Approval of ${request.reference}` };
}
