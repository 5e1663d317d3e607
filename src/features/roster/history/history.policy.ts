import type { RosterEvent } from "../../../generated/sqlite/client.ts";
import type { Call } from "../../../kernel/call.ts";
import { createVisibility, noClearance, seesRedactions, type FieldClasses } from "../../../kernel/visibility.ts";
import type { AccessDirectory } from "../../permissions/access/access-directory.ts";
import { changesOf, replayHistory, inEffect, type FoldedTime } from "../fold.ts";
import type { LineView, RosterStatusView } from "./history.schema.ts";
import { hiddenCause, userRef } from "../roster.policy.ts";

export function presentLine(row: RosterEvent, access: Pick<AccessDirectory, "of">): LineView {
  return {
    id: row.id,
    user: userRef(access.of(row.userId)),
    event: row.event as LineView["event"],
    ...changesOf(row),
    actor: row.actorId === null ? null : userRef(access.of(row.actorId)),
    cause_reference: row.causeReference,
    reason: row.reason,
    source: row.source as LineView["source"],
    effective_at: row.effectiveAt.toISOString(),
    recorded_at: row.recordedAt.toISOString(),
    callsign: row.callsign,
    pool: row.pool,
    entry_id: row.entryId,
  };
}

const fields: FieldClasses<LineView> = {
  id: "public",
  user: "public",
  event: "public",
  before: "public",
  after: "public",
  actor: "public",
  cause_reference: "public",
  reason: "staff",
  source: "public",
  effective_at: "public",
  recorded_at: "public",
  callsign: "public",
  pool: "public",
  entry_id: "public",
};
const visible = createVisibility(fields);

/** The references a line names. */
export function hiddenInTx({ cause_reference, before, after }: LineView): string[] {
  return [cause_reference, before["origin_reference"], after["origin_reference"]].filter((one) => typeof one === "string");
}

/**
 * What of a line a caller may see: the reason is for those who edit the roster, and not about themselves; of what comes from
 * something they may not know of, neither the reason nor the reference.
 */
export function visibleLine(
  call: Call,
  view: LineView,
  { hidden, isEditor }: { hidden: ReadonlySet<string>; isEditor: boolean },
): LineView {
  const isHidden = view.cause_reference !== null && hidden.has(view.cause_reference);
  const told = {
    ...view,
    before: withoutHidden(view.before, hidden),
    after: withoutHidden(view.after, hidden),
    cause_reference: isHidden ? hiddenCause : view.cause_reference,
  };
  const staff = isEditor && !isHidden && call.actor?.id !== view.user.id;
  return visible(told, { ...noClearance, staff }, seesRedactions(call));
}

function withoutHidden(facts: LineView["before"], hidden: ReadonlySet<string>): LineView["before"] {
  const { origin_reference: reference } = facts;
  return typeof reference === "string" && hidden.has(reference) ? { ...facts, origin_reference: hiddenCause } : facts;
}

const isAboutCallsign = ({ callsign }: RosterEvent): boolean => callsign !== null;

/** The lines by which people held callsigns at a time: of each person and callsign the last one, where it gave and did not take. */
export function holdingLines(lines: readonly RosterEvent[], time: FoldedTime): RosterEvent[] {
  const last = new Map<string, RosterEvent>();
  for (const line of inEffect(lines.filter(isAboutCallsign), time))
    last.set(`${line.userId}:${line.pool ?? ""}:${line.callsign ?? ""}`, line);
  return [...last.values()].filter(({ event }) => event === "callsign_assigned");
}

/** The lines that what somebody stood by came from: of each fact the last one that changed it, and those of their callsigns. */
export function standingLines(lines: readonly RosterEvent[], time: FoldedTime): RosterEvent[] {
  const byFact = new Map<string, RosterEvent>();
  for (const line of inEffect(
    lines.filter((one) => !isAboutCallsign(one)),
    time,
  ))
    for (const fact of Object.keys(changesOf(line).after)) byFact.set(fact, line);
  return [...new Set([...byFact.values(), ...holdingLines(lines, time)])];
}

/** How somebody stood at a time; null when they were neither on the roster nor held a callsign. */
export function standingOf(lines: readonly RosterEvent[], time: FoldedTime): RosterStatusView | null {
  const facts = replayHistory(
    lines.filter((line) => !isAboutCallsign(line)),
    time,
  );
  const callsigns = holdingLines(lines, time).flatMap(({ callsign, pool }) => (callsign === null ? [] : [{ callsign, pool: pool ?? "" }]));
  return facts === null && callsigns.length === 0 ? null : { ...facts, callsigns };
}

/** Newest first, and of those at the same time the last one written. */
export function newestFirst(lines: readonly RosterEvent[]): RosterEvent[] {
  return inEffect(lines).toReversed();
}
