import { Prisma } from "../../../generated/sqlite/client.ts";
import { isDeepStrictEqual } from "node:util";
import type { Database } from "../../../database/database.ts";
import { oneAtATime } from "../../../cluster/changes.ts";
import { inBatches } from "../../../kernel/pause.ts";
import { createTurns } from "../../../kernel/turns.ts";
import { listingOf, readListings, readListingsOf, readRecords } from "./rows.ts";
import type { Listing } from "./subject.ts";

/** Changes that are looked at together. */
const atOnce = 500;

/**
 * The severe blacklist records about people, held in memory.
 * @param onChange called after what is known about somebody was replaced
 */
export function createListings({ read }: Pick<Database, "read">, onChange: (userId: string) => void) {
  let known = new Map<string, Listing>();
  /** The last change of the feed that was heard of; it is numbered in the order of commits. */
  let seen = 0;
  /** Records this process told of itself while it looks: what it reads of them may be older. */
  let told: Set<string> | undefined;
  const turns = createTurns();

  /** One look after the other: each has to know what it is told of meanwhile. */
  const looking = (look: (mine: ReadonlySet<string>) => Promise<void>): Promise<void> =>
    turns.take("look", async () => {
      told = new Set();
      try {
        await look(told);
      } finally {
        told = undefined;
      }
    });

  function put(userId: string, recordId: string, listing: Listing | null): void {
    if (listing !== null) known.set(userId, listing);
    else if (known.get(userId)?.recordId === recordId) known.delete(userId);
    else return;
    onChange(userId);
  }

  /** What is known of somebody stays where one of their records says so. */
  function takeOver(userId: string, found: readonly Listing[], mine: ReadonlySet<string>): void {
    const before = known.get(userId);
    const [first = null] = found;
    const recordId = first?.recordId ?? before?.recordId;
    if (recordId === undefined || found.some((one) => isDeepStrictEqual(one, before))) return;
    if (![recordId, before?.recordId].some((id) => id !== undefined && mine.has(id))) put(userId, recordId, first);
  }

  async function learn(ids: ReadonlySet<string>, isOlder: (recordId: string) => boolean): Promise<void> {
    const rows = await readRecords(read, [...ids]);
    for (const row of rows) {
      const listing = listingOf(row);
      if (!isOlder(row.id) && !isDeepStrictEqual(listing, known.get(row.subjectId))) put(row.subjectId, row.id, listing);
    }
    const there = new Set(rows.map(({ id }) => id));
    const gone = new Set([...ids].filter((id) => !there.has(id)));
    if (gone.size > 0) for (const [userId, { recordId }] of known) if (gone.has(recordId)) put(userId, recordId, null);
  }

  async function look(mine: ReadonlySet<string>): Promise<void> {
    await inBatches(atOnce, async () => {
      const changes = await read.blacklistChange.findMany({
        where: { seq: { gt: seen } },
        select: { seq: true, recordId: true, kind: true },
        orderBy: { seq: "asc" },
        take: atOnce,
      });
      const ids = new Set(changes.flatMap(({ kind, recordId }) => (kind === "user" ? [recordId] : [])));
      if (ids.size > 0) await learn(ids, (id) => mine.has(id));
      seen = changes.at(-1)?.seq ?? seen;
      return changes.length;
    });
  }

  return {
    async load(): Promise<void> {
      const [last] = await read.$select("BlacklistChange", Prisma.sql`ORDER BY t.seq DESC LIMIT 1`, ["seq"]);
      known = await readListings(read);
      seen = last?.seq ?? 0;
    },
    /** Look for records that another process has written. */
    poll: oneAtATime(() => looking(look)),
    /** Look what the records themselves say of these people, whatever the feed tells. */
    compare: (userIds: readonly string[]): Promise<void> =>
      looking(async (mine) => {
        for (let from = 0; from < userIds.length; from += atOnce) {
          const some = userIds.slice(from, from + atOnce);
          const found = await readListingsOf(read, some);
          for (const userId of some) takeOver(userId, found.get(userId) ?? [], mine);
        }
      }),
    of: (userId: string) => known.get(userId) ?? null,
    /** @param listing null: this record bars nobody (any more) */
    set(userId: string, recordId: string, listing: Listing | null): void {
      told?.add(recordId);
      put(userId, recordId, listing);
    },
  };
}
