import type { MatchChanges } from "./match-record.ts";
import { severityOrder } from "./match-record.ts";
import type { MatchDraft, Why } from "./matching.ts";

/** The stored part of a match that decides what happens to it. */
export interface StoredMatch {
  id: string;
  kind: string;
  recordId: string;
  recordRevision: number;
  severity: string;
  status: string;
  why: unknown;
  suggestedAction: string | null;
  graceUntil: Date | null;
  resolution: unknown;
}

/** New values of a stored match. */
export interface MatchUpdate {
  status: string;
  recordRevision: number;
  severity: string;
  why: readonly Why[];
  suggestedAction: string;
  graceUntil: Date | null;
}

export type CloseStatus = "cleared" | "void" | "expired";

export interface Reconciled {
  create: MatchDraft[];
  update: { id: string; to: MatchUpdate }[];
  close: { id: string; status: CloseStatus }[];
  /** Matches seen again without a change. */
  keep: string[];
  changes: MatchChanges;
}

const standing = new Set(["open", "grace", "acknowledged", "confirmed"]);
const closed = new Set(["cleared", "void", "expired"]);

/** Whether a match asks for attention: neither resolved away nor closed. */
export function isStanding(status: string): boolean {
  return standing.has(status);
}

/**
 * Bring stored matches of one person in line with what the records say now. Pure.
 * A dismissal outlives every recomputation until the severity rises above the one it was given for.
 * @param closeAs how a stored match without a draft ends; undefined leaves it as it is
 */
export function reconcile(
  stored: readonly StoredMatch[],
  drafts: readonly MatchDraft[],
  closeAs: (match: StoredMatch) => CloseStatus | undefined,
): Reconciled {
  const result: Reconciled = { create: [], update: [], close: [], keep: [], changes: { added: 0, changed: 0, removed: 0 } };
  const byKey = new Map(stored.map((match) => [`${match.kind}:${match.recordId}`, match]));
  for (const draft of drafts) {
    const match = byKey.get(`${draft.kind}:${draft.record.id}`);
    byKey.delete(`${draft.kind}:${draft.record.id}`);
    if (match === undefined) {
      result.create.push(draft);
      if (isStanding(draft.status)) result.changes.added += 1;
    } else revise(result, match, draft);
  }
  for (const match of byKey.values()) {
    if (!isStanding(match.status) && match.status !== "exempt") continue;
    const status = closeAs(match);
    if (status === undefined) continue;
    result.close.push({ id: match.id, status });
    if (isStanding(match.status)) result.changes.removed += 1;
  }
  return result;
}

function revise(result: Reconciled, match: StoredMatch, draft: MatchDraft): void {
  const status = nextStatus(match, draft);
  if (status === match.status && (isRemembered(match) || isSame(match, draft))) {
    result.keep.push(match.id);
    return;
  }
  const wasStanding = isStanding(match.status);
  const stands = isStanding(status);
  const to: MatchUpdate = {
    status,
    recordRevision: draft.record.revision,
    severity: draft.severity,
    why: draft.why,
    suggestedAction: draft.suggestedAction,
    graceUntil: draft.graceUntil,
  };
  result.update.push({ id: match.id, to });
  if (stands && !wasStanding) result.changes.added += 1;
  else if (!stands && wasStanding) result.changes.removed += 1;
  else result.changes.changed += 1;
}

/** What a stored match becomes when the records still make it. */
function nextStatus(match: StoredMatch, draft: MatchDraft): string {
  const hasRisen = severityOrder(draft.severity) > severityOrder(match.severity);
  if (match.status === "dismissed") return hasRisen && draft.status !== "exempt" ? draft.status : "dismissed";
  if (draft.status === "exempt") return "exempt";
  if (match.status === "confirmed") return "confirmed";
  if (match.status === "acknowledged") return hasRisen ? draft.status : "acknowledged";
  if (isRemembered(match) && !hasRisen) return "exempt";
  return draft.status;
}

/** A decision of a person that a recomputation keeps as it was made, with the severity it was made for. */
function isRemembered(match: StoredMatch): boolean {
  return match.status === "dismissed" || (match.status === "exempt" && outcomeOf(match.resolution) === "exempt");
}

function outcomeOf(resolution: unknown): unknown {
  return typeof resolution === "object" && resolution !== null && "outcome" in resolution ? resolution.outcome : undefined;
}

function isSame(match: StoredMatch, draft: MatchDraft): boolean {
  return (
    !closed.has(match.status) &&
    match.recordRevision === draft.record.revision &&
    match.severity === draft.severity &&
    match.suggestedAction === draft.suggestedAction &&
    match.graceUntil?.getTime() === draft.graceUntil?.getTime() &&
    JSON.stringify(match.why) === JSON.stringify(draft.why)
  );
}
