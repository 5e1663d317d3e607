import type { Deps } from "../deps.ts";
import { Prisma, type FollowedList } from "../../generated/sqlite/client.ts";
import type { Call } from "../../kernel/call.ts";
import { leaseFrom, type TaskKind } from "../../kit/task.ts";

interface ReadingsDeps extends Deps<"database"> {
  /** Reads one list, and notes how that went. */
  read: (call: Call, id: string) => Promise<FollowedList | undefined>;
}

/** Lists that are read at the same time. */
const places = 8;

/** The reading of lists at their dates, as stored work: each by itself, so that one that is slow or fails delays no other. */
export function createReadings({ database, read }: ReadingsDeps): TaskKind {
  return {
    name: "followed lists",
    places,

    async due(now, most, after) {
      const behind = after === undefined ? Prisma.empty : Prisma.sql`AND (t.next_read_at, t.id) > (${after.dueAt}, ${after.id})`;
      const rows = await database.read.$select(
        "FollowedList",
        Prisma.sql`WHERE t.state = 'following' AND t.next_read_at <= ${now} ${behind} ORDER BY t.next_read_at, t.id LIMIT ${most}`,
        ["id", "nextReadAt"],
      );
      return rows.flatMap(({ id, nextReadAt }) => (nextReadAt === null ? [] : [{ id, key: id, dueAt: nextReadAt }]));
    },

    async nextDue(now) {
      const row = await database.read.followedList.findFirst({
        where: { state: "following", nextReadAt: { gt: now } },
        orderBy: { nextReadAt: "asc" },
        select: { nextReadAt: true },
      });
      return row?.nextReadAt ?? null;
    },

    async attempt(call, id) {
      const isOurs = await database.write(call, async ({ db, now }) => {
        const due = { id, state: "following", nextReadAt: { lte: now } };
        return (await db.followedList.updateMany({ where: due, data: { nextReadAt: leaseFrom(now) } })).count > 0;
      });
      if (!isOurs) return "passed";
      await read(call, id);
      return "later";
    },
  };
}
