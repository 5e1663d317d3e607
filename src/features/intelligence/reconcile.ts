import type { MatchDraft } from "./match-drafts.ts";
import { severityOrder, type MatchChanges } from "./match-record.ts";

/** The stored part of a match that decides what happens to it. */
export interface StoredMatch {
  id: string;
  kind: string;
  recordId: string;
  recordRevision: number;
  serverId: string | null;
  viaUserId: string | null;
  severity: string;
  confidence: number;
  status: string;
  why: unknown;
  suggestedAction: string | null;
  graceUntil: Date | null;
  resolution: unknown;
  exemptUntil: Date | null;
  closedAt: Date | null;
}

export type CloseStatus = "cleared" | "void" | "expired";

/** New values of a stored match. */
export interface MatchUpdate {
  status: string;
  draft: MatchDraft;
  /** Whether what a person decided about the match still holds. */
  keepsDecision: boolean;
}

/** Whether a change makes a match ask for attention (again), or makes it stop to. */
export type StatusChange = "opened" | "closed" | null;

interface Changed {
  id: string;
  kind: string;
  change: StatusChange;
}

export interface Reconciled {
  create: MatchDraft[];
  update: (Changed & { to: MatchUpdate })[];
  /** Matches whose ground is gone; a dismissed or exempt one keeps its status, so that it is remembered. */
  close: (Changed & { status: string })[];
  /** Matches seen again without a change. */
  keep: string[];
  /** Remembered ones whose ground is back. */
  revive: string[];
  changes: MatchChanges;
}

const standing = new Set(["open", "grace", "acknowledged", "confirmed"]);
const remembered = new Set(["dismissed", "exempt"]);

/** Whether a match asks for attention: neither resolved away nor closed. */
export function isActive(status: string): boolean {
  return standing.has(status);
}

/**
 * Bring stored matches of one person in line with what is known now. Pure.
 * A dismissal outlives every recomputation until a later revision is more severe than the one it was given for.
 * @param closeAs how a stored match without a draft ends; undefined leaves it as it is
 */
export function reconcile(
  stored: readonly StoredMatch[],
  drafts: readonly MatchDraft[],
  now: Date,
  closeAs: (match: StoredMatch) => CloseStatus | undefined,
): Reconciled {
  const changes: MatchChanges = { added: 0, changed: 0, removed: 0 };
  const result: Reconciled = { create: [], update: [], close: [], keep: [], revive: [], changes };
  const byKey = new Map(stored.map((match) => [`${match.kind}:${match.recordId}`, match]));
  for (const draft of drafts) {
    const key = `${draft.kind}:${draft.recordId}`;
    const match = byKey.get(key);
    byKey.delete(key);
    if (match !== undefined) revise(result, match, draft, now);
    else {
      result.create.push(draft);
      if (isActive(draft.status)) changes.added += 1;
    }
  }
  for (const match of byKey.values()) close(result, match, closeAs);
  return result;
}

function close(result: Reconciled, match: StoredMatch, closeAs: (match: StoredMatch) => CloseStatus | undefined): void {
  const { id, kind } = match;
  const isOpen = match.closedAt === null && (isActive(match.status) || remembered.has(match.status));
  const status = isOpen ? closeAs(match) : undefined;
  if (status === undefined) return;
  if (!isActive(match.status)) return void result.close.push({ id, kind, change: null, status: match.status });
  result.close.push({ id, kind, change: "closed", status });
  result.changes.removed += 1;
}

function revise(result: Reconciled, match: StoredMatch, draft: MatchDraft, now: Date): void {
  const status = nextStatus(match, draft, now);
  const keepsDecision = status === match.status && isDecided(match, now);
  if (isRemembered(match, now) && keepsDecision) {
    (match.closedAt === null ? result.keep : result.revive).push(match.id);
    return;
  }
  if (status === match.status && isSame(match, draft) && (match.resolution === null || isDecided(match, now))) {
    result.keep.push(match.id);
    return;
  }
  const [before, after] = [isActive(match.status), isActive(status)];
  const isGraceOver = match.status === "grace" && status === "open";
  const change = after && (!before || isGraceOver) ? "opened" : before && !after ? "closed" : null;
  result.update.push({ id: match.id, kind: match.kind, change, to: { status, draft, keepsDecision } });
  result.changes[before === after ? "changed" : after ? "added" : "removed"] += 1;
}

/** What a stored match becomes when what it stands on is (still) there. */
function nextStatus(match: StoredMatch, draft: MatchDraft, now: Date): string {
  const hasRisen = draft.revision > match.recordRevision && severityOrder(draft.severity) > severityOrder(match.severity);
  if (match.status === "dismissed") return hasRisen && draft.status !== "exempt" ? draft.status : "dismissed";
  if (draft.status === "exempt") return "exempt";
  if (match.status === "confirmed") return "confirmed";
  if (match.status === "acknowledged") return hasRisen ? draft.status : "acknowledged";
  if (isRemembered(match, now) && !hasRisen) return "exempt";
  // A transaction that waited for its turn may have begun before the end of the grace period that another has ended since.
  const isGraceEnded = match.status === "open" && match.graceUntil?.getTime() === draft.graceUntil?.getTime();
  return draft.status === "grace" && isGraceEnded ? "open" : draft.status;
}

/** A decision of a person that a recomputation keeps as it was made, with the severity it was made for. */
function isRemembered(match: StoredMatch, now: Date): boolean {
  return match.status === "dismissed" || (match.status === "exempt" && isExemptByPerson(match, now));
}

/** Whether the match is in the state that a person's decision gave it. */
function isDecided(match: StoredMatch, now: Date): boolean {
  return isRemembered(match, now) || match.status === "acknowledged" || match.status === "confirmed";
}

/** An exemption that a person gave and whose time is not over; one of the record itself has no resolution. */
export function isExemptByPerson({ resolution, exemptUntil }: Pick<StoredMatch, "resolution" | "exemptUntil">, now: Date): boolean {
  const outcome = typeof resolution === "object" && resolution !== null && "outcome" in resolution ? resolution.outcome : undefined;
  return outcome === "exempt" && (exemptUntil === null || exemptUntil > now);
}

function isSame(match: StoredMatch, draft: MatchDraft): boolean {
  return (
    match.closedAt === null &&
    match.recordRevision === draft.revision &&
    match.severity === draft.severity &&
    match.confidence === draft.confidence &&
    match.serverId === draft.serverId &&
    match.viaUserId === draft.viaUserId &&
    match.suggestedAction === draft.suggestedAction &&
    match.graceUntil?.getTime() === draft.graceUntil?.getTime() &&
    JSON.stringify(match.why) === JSON.stringify(draft.why)
  );
}
