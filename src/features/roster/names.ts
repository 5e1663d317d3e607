import { z } from "zod";
import type { Tx } from "../../database/database.ts";
import type { Prisma } from "../../generated/sqlite/client.ts";
import { factsOf, inStatus, standOf, type RosterFacts } from "./facts.ts";
import type { RosterNote, RosterRecords } from "./records.ts";
import { isHalted, targetOf } from "./states.ts";

const Nicknames = z.looseObject({ nicknames: z.array(z.looseObject({ user_id: z.string() })) });

/** Names in what the guild showed of somebody. */
const named = "nickname";

/**
 * Forget the names of somebody, and what was noted about them: their place on the roster and its history stay as records about an id,
 * findings of audits go.
 * @param older which rows, by their times; every one when empty
 * @returns how many rows lost something
 */
export async function dropNamesOf({ db }: Tx, userId: string, older: { lte?: Date } = {}): Promise<number> {
  const { count } = await db.rosterEntry.updateMany({
    where: { userId, updatedAt: older, OR: [{ nickname: { not: null } }, { notes: { not: null } }] },
    data: { nickname: null, notes: null, revision: { increment: 1 } },
  });
  const lines = await db.rosterEvent.findMany({ where: { userId, recordedAt: older }, select: { id: true, before: true, after: true } });
  const telling = lines.filter(({ before, after }) => hasName(before) || hasName(after));
  for (const { id, before, after } of telling)
    await db.rosterEvent.update({ where: { id }, data: { before: nameless(before), after: nameless(after) } });
  const reports = await db.rosterFinding.deleteMany({ where: { userId, audit: { startedAt: older } } });
  const pairs = await linkedWith({ db }, userId, older);
  const linked = await db.rosterFinding.deleteMany({ where: { id: { in: pairs } } });
  const acknowledged = await db.rosterAcknowledgement.deleteMany({ where: { userId, at: older } });
  const repaired = await dropNicknames({ db }, userId, older);
  return count + telling.length + reports.count + linked.count + acknowledged.count + repaired;
}

/** Names that repairs of callsigns keep for as long as they can be undone. */
async function dropNicknames({ db }: Pick<Tx, "db">, userId: string, older: { lte?: Date }): Promise<number> {
  const rows = await db.callsignRepair.findMany({ where: { at: older, undoneAt: null }, select: { id: true, undo: true } });
  let dropped = 0;
  for (const { id, undo } of rows) {
    const kept = Nicknames.safeParse(undo);
    if (!kept.success || !kept.data.nicknames.some((one) => one.user_id === userId)) continue;
    const nicknames = kept.data.nicknames.filter((one) => one.user_id !== userId);
    await db.callsignRepair.update({ where: { id }, data: { undo: { ...kept.data, nicknames } as Prisma.InputJsonObject } });
    dropped += 1;
  }
  return dropped;
}

/** Findings about another account that name this one as the same person's; there are few. */
async function linkedWith({ db }: Pick<Tx, "db">, userId: string, older: { lte?: Date }): Promise<string[]> {
  const where = { code: "linked_alt_on_roster", audit: { startedAt: older } };
  const rows = await db.rosterFinding.findMany({ where, select: { id: true, facts: true } });
  return rows.flatMap(({ id, facts }) => (JSON.stringify(facts).includes(`"${userId}"`) ? [id] : []));
}

function hasName(facts: unknown): boolean {
  return typeof facts === "object" && facts !== null && named in facts && facts[named] !== null;
}

function nameless(facts: Prisma.JsonValue): Prisma.InputJsonObject {
  const kept = facts as Prisma.InputJsonObject;
  return hasName(kept) ? { ...kept, [named]: null } : kept;
}

/** A leave of absence that begins or ends. Its reason, which is often about health, stays with the leave: the history keeps none. */
export interface LeaveChange extends Pick<RosterNote, "permission" | "source"> {
  event: "loa_started" | "loa_ended";
  /** When the leave began or ended; not before what their status is about came about. */
  at: Date;
}

/** The status of an entry follows the leave that staff take. */
export function createRosterLeave(records: RosterRecords) {
  return {
    /** Bring the entry in step with a leave; harmless for who is not on the roster, on trial or in that status already. */
    async leaveInTx(tx: Tx, userId: string, { event, at, permission, source }: LeaveChange): Promise<void> {
      await records.lock(tx, userId);
      const entry = await records.find(tx.db, userId);
      if (entry === null) return;
      const after = withLeave(factsOf(entry), event, at);
      if (after === null) return;
      const effectiveAt = await records.sinceStatus(tx.db, entry, at);
      await records.write(tx, { userId, entry }, [{ event, after }], { permission, source, causeReference: null, effectiveAt });
    },
  };
}

/** Who waits for the end of a suspension is on leave, or back from it, once that is over. */
function withLeave(facts: RosterFacts, event: LeaveChange["event"], at: Date): RosterFacts | null {
  if (!isHalted(facts)) {
    const to = targetOf(standOf(facts), { event });
    return to === null ? null : inStatus(facts, to, { at });
  }
  const to = facts.status_before === null ? null : targetOf({ status: facts.status_before, statusBefore: null }, { event });
  return to === null ? null : { ...facts, status_before: to };
}
