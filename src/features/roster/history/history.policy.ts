import type { RosterEvent } from "../../../generated/sqlite/client.ts";
import type { Call } from "../../../kernel/call.ts";
import { createVisibility, noClearance, seesRedactions, type FieldClasses } from "../../../kernel/visibility.ts";
import type { Standings } from "../../permissions/standing/standing.ts";
import { changesOf } from "../fold.ts";
import type { LineView } from "./history.schema.ts";
import { hiddenCause, userRef } from "../roster.policy.ts";

export function presentLine(row: RosterEvent, standing: Pick<Standings, "of">): LineView {
  return {
    id: row.id,
    user: userRef(standing.of(row.userId)),
    event: row.event as LineView["event"],
    ...changesOf(row),
    actor: row.actorId === null ? null : userRef(standing.of(row.actorId)),
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
export function hiddenWithin({ cause_reference, before, after }: LineView): string[] {
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
