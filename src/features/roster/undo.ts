import { say, term } from "../../kit/say.ts";
import type { Undone } from "../../kernel/undo.ts";
import { z } from "zod";
import type { Tx } from "../../database/database.ts";
import { factsOf, inStatus, isSame, RosterFacts } from "./facts.ts";
import type { RosterNote, RosterRecords } from "./records.ts";
import { isHalted, isLive, type RosterEventName } from "./states.ts";

/** What a change of an entry left behind, so that it can be taken back. Plain JSON. */
export const RosterUndo = z.object({
  kind: z.enum(["begin", "move"]),
  user_id: z.string(),
  entry_id: z.string(),
  before: RosterFacts.nullable(),
  after: RosterFacts,
});
export type RosterUndo = z.infer<typeof RosterUndo>;

type Fact = keyof RosterFacts;

/** What hangs together is put back together, and each part only where it still stands as the change left it. */
const statusFacts = ["status", "status_before", "trial_ends_at", "suspended_until", "joined_at", "ended_at", "origin_reference"] as const;
/** What a leave that begins or ends meanwhile does not touch. */
const ownStatusFacts = statusFacts.filter((fact) => fact !== "status_before");
const parts: Readonly<Record<string, readonly Fact[]>> = {
  status: statusFacts,
  "staff role": ["staff_role"],
  department: ["department"],
  supervisor: ["supervisor_id"],
};

/** Taking back what was done to an entry. */
export function createRosterUndo(records: RosterRecords) {
  return {
    /**
     * Take back what `beginTrialInTx` or `moveInTx` did. Who joined leaves again, whatever became of them since, as long as it is
     * the same stay; besides, what somebody else changed since is left as it is. Harmless the second time.
     * @param undo as it was stored
     */
    async undoInTx(tx: Tx, undo: unknown, note: Omit<RosterNote, "effectiveAt">): Promise<Undone> {
      const change = RosterUndo.parse(undo);
      const userId = change.user_id;
      await records.lock(tx, userId);
      const entry = await records.find(tx.db, userId);
      if (entry === null || entry.id !== change.entry_id)
        return { restored: false, detail: say("roster.the-roster-entry-is-not-there-any") };
      const now = factsOf(entry);
      const { wanted: former, changedSince } = takenBack(now, change, tx.now);
      const wanted = isSame(now, former) ? former : await withoutReversed(tx, entry.id, former);
      const isChange = !isSame(now, wanted);
      if (isChange) await records.write(tx, { userId, entry }, [{ event: eventOf(now, wanted), after: wanted }], note);
      if (changedSince.length > 0) {
        return {
          restored: false,
          detail: say("roster.changed-since-and-left-as-it-is", { changed: changedSince.join(", "), status: term(wanted.status) }),
        };
      }
      return {
        restored: true,
        detail: isChange
          ? say("roster.the-roster-entry-is-now", { status: term(wanted.status) })
          : say("roster.the-roster-entry-stood-as-before-already"),
      };
    },
  };
}

/** A suspension that is put back, but whose own approval was taken back meanwhile, is gone: what stood before it counts. */
async function withoutReversed({ db }: Tx, entryId: string, wanted: RosterFacts): Promise<RosterFacts> {
  if (!isHalted(wanted)) return wanted;
  const events = await db.rosterEvent.findMany({ where: { entryId, causeReference: { not: null } }, orderBy: { id: "desc" } });
  const causes = events.flatMap(({ causeReference }) => (causeReference === null ? [] : [causeReference]));
  const where = { reference: { in: causes }, status: "reversed" };
  const rows = await db.workflowRequest.findMany({ where, select: { reference: true } });
  const reversed = new Set(rows.map(({ reference }) => reference));
  const facts = { ...wanted };
  for (const { after, before, causeReference } of events) {
    const [left, stood] = [RosterFacts.safeParse(after), RosterFacts.safeParse(before)];
    const isTheirs = left.success && stood.success && isHalted(facts) && isSame(left.data, facts, statusFacts);
    if (isTheirs && reversed.has(causeReference ?? "")) Object.assign(facts, pick(stood.data, statusFacts));
  }
  return facts;
}

/** @returns how the entry stands when what can be taken back is, and the parts that somebody else changed */
function takenBack(now: RosterFacts, change: RosterUndo, at: Date): { wanted: RosterFacts; changedSince: string[] } {
  const before = change.before ?? inStatus(now, "terminated", { at });
  const wanted = { ...now };
  const changedSince: string[] = [];
  for (const [part, facts] of Object.entries(parts)) {
    const isTouched = !isSame(before, change.after, facts) && (change.before !== null || part === "status");
    if (!isTouched || isSame(now, before, facts)) continue;
    const stands =
      part === "status"
        ? isSame(now, change.after, ownStatusFacts) || (change.kind === "begin" && isSameStay(now, change.after))
        : isSame(now, change.after, facts);
    if (stands) Object.assign(wanted, pick(before, facts), part === "status" ? sinceLeave(now, change.after) : {});
    else changedSince.push(part);
  }
  return { wanted, changedSince };
}

/** A leave that began or ended during a suspension: they return to that. */
function sinceLeave(now: RosterFacts, left: RosterFacts): Partial<RosterFacts> {
  const isOther = now.status_before !== null && left.status_before !== null && now.status_before !== left.status_before;
  return isOther ? { status: now.status_before ?? now.status } : {};
}

/** Whether somebody is still on the roster since the same beginning. */
function isSameStay(now: RosterFacts, begun: RosterFacts): boolean {
  return isLive(now) && isSame(now, begun, ["joined_at", "origin_reference"]);
}

function eventOf(now: RosterFacts, wanted: RosterFacts): RosterEventName {
  if (wanted.status === "terminated" && now.status !== "terminated") return "terminated";
  const isBack = isLive(wanted) && !isHalted(wanted) && (!isLive(now) || isHalted(now));
  return isBack ? "reinstated" : "corrected";
}

function pick(facts: RosterFacts, names: readonly Fact[]): Partial<RosterFacts> {
  return Object.fromEntries(names.map((name) => [name, facts[name]]));
}
