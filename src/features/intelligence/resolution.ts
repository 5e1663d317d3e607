import { addSeconds } from "../../kernel/clock.ts";
import { fieldError, ProblemError } from "../../kernel/errors.ts";
import { resolutionOutcomes, type ResolutionOutcome } from "./intelligence.schema.ts";
import { isExemptByPerson, type StoredMatch } from "./reconcile.ts";

/** From which status a person may move a match where. */
const moves: Readonly<Record<ResolutionOutcome, { from: readonly string[]; to: string }>> = {
  acknowledge: { from: ["open", "grace"], to: "acknowledged" },
  confirm: { from: ["open", "grace", "acknowledged"], to: "confirmed" },
  dismiss: { from: ["open", "grace", "acknowledged", "confirmed"], to: "dismissed" },
  exempt: { from: ["open", "grace", "acknowledged", "confirmed"], to: "exempt" },
  reopen: { from: ["acknowledged", "confirmed", "dismissed", "exempt"], to: "open" },
};

const longestExemption = 365 * 86_400;

/** What a person may do with a match: nothing once it is closed, nor with an exemption that the record itself gives. */
export function allowedMoves(match: StoredMatch, now: Date): ResolutionOutcome[] {
  const isTheirs = match.status !== "exempt" || isExemptByPerson(match, now);
  if (match.closedAt !== null || !isTheirs) return [];
  return resolutionOutcomes.filter((outcome) => moves[outcome].from.includes(match.status));
}

/**
 * The status a match gets. One that opens again inside its grace period is in grace again.
 * @throws ProblemError invalid_transition, with what is possible
 */
export function statusAfter(match: StoredMatch, outcome: ResolutionOutcome, now: Date): string {
  const allowed = allowedMoves(match, now);
  if (!allowed.includes(outcome)) throw new ProblemError("invalid_transition", { extra: { from: match.status, action: outcome, allowed } });
  const isInGrace = match.graceUntil !== null && match.graceUntil > now;
  return outcome === "reopen" && isInGrace ? "grace" : moves[outcome].to;
}

/** When an exemption ends; null: it has no end. @throws ProblemError validation_failed */
export function exemptionEnd(until: string | undefined, now: Date): Date | null {
  if (until === undefined) return null;
  const end = new Date(until);
  if (end <= now) throw fieldError("/until", "invalid_value", "An exemption ends in the future.");
  if (end > addSeconds(now, longestExemption)) throw fieldError("/until", "invalid_value", "An exemption lasts a year at most.");
  return end;
}
