import type { Tx } from "../../database/database.ts";
import type { Prisma } from "../../generated/sqlite/client.ts";

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
  const acknowledged = await db.rosterAcknowledgement.deleteMany({ where: { userId, at: older } });
  return count + telling.length + reports.count + acknowledged.count;
}

function hasName(facts: unknown): boolean {
  return typeof facts === "object" && facts !== null && named in facts && facts[named] !== null;
}

function nameless(facts: Prisma.JsonValue): Prisma.InputJsonObject {
  const kept = facts as Prisma.InputJsonObject;
  return hasName(kept) ? { ...kept, [named]: null } : kept;
}
