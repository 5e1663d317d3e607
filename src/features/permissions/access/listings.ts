import { Prisma } from "../../../generated/sqlite/client.ts";
import { isDeepStrictEqual } from "node:util";
import type { Database } from "../../../database/database.ts";
import { inBatches } from "../../../kernel/pause.ts";
import { listingOf, readListings, readRecords } from "./rows.ts";
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

  function put(userId: string, recordId: string, listing: Listing | null): void {
    if (listing !== null) known.set(userId, listing);
    else if (known.get(userId)?.recordId === recordId) known.delete(userId);
    else return;
    onChange(userId);
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
    async poll(): Promise<void> {
      if (told !== undefined) return;
      told = new Set();
      try {
        await look(told);
      } finally {
        told = undefined;
      }
    },
    of: (userId: string) => known.get(userId) ?? null,
    /** @param listing null: this record bars nobody (any more) */
    set(userId: string, recordId: string, listing: Listing | null): void {
      told?.add(recordId);
      put(userId, recordId, listing);
    },
  };
}
