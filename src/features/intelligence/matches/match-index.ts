import type { Deps } from "../../deps.ts";
import type { Database } from "../../../database/database.ts";
import type { BlacklistRecord } from "../../../generated/sqlite/client.ts";
import type { Call } from "../../../kernel/call.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import type { CandidateIndex, RecordKey } from "../candidates.ts";
import { mayCount } from "../match-record.ts";
import { applyRecords } from "./batch.ts";
import type { CompareDeps } from "./compare.ts";
import { batches, idsAtOnce, recordOf, unread } from "./store.ts";

export interface IndexDeps extends CompareDeps, Deps<"database" | "clock"> {}

/** Records of one page while the index is filled. */
const pageSize = 5000;
/** Records learned in one transaction. */
const learnedAtOnce = 200;
/** How far clocks of several processes may lie apart, and how long a transaction may take, in seconds. */
const overlap = 120;

interface KeyRow {
  status: string;
  number: number;
  kind: string;
  subject_id: string;
  subject_hash: string | null;
}

export interface IndexKeeper {
  load(): Promise<void>;
  /**
   * Learn what other processes have changed since the last look; answers how many records were new here.
   * @param call as in {@link IndexKeeper.follow}
   */
  catchUp(call: Call | null): Promise<number>;
  /**
   * Take over these records, which another process may have changed.
   * @param call compares those that are new here; null: another process does
   */
  follow(call: Call | null, ids: readonly string[]): Promise<void>;
}

const keyFields = { id: true, number: true, kind: true, subjectId: true, subjectHash: true, status: true } as const;
type KeyedRow = Pick<BlacklistRecord, keyof typeof keyFields>;

/** Keeps the index in step with the stored records, those of other processes too. */
export function createIndexKeeper(deps: IndexDeps): IndexKeeper {
  const { database, index, clock } = deps;
  let seenUntil: Date | undefined;

  /** Records that another process made or changed are compared again: a list read here meanwhile knew nothing of them. */
  async function learn(call: Call, ids: readonly string[]): Promise<void> {
    for (const some of batches(ids, learnedAtOnce)) {
      await database.write(call, async (tx) => {
        const rows = await tx.db.blacklistRecord.findMany({ where: { id: { in: some } }, omit: unread });
        await applyRecords(tx, rows.map(recordOf), deps);
      });
    }
  }

  /** Take over what is known here, and what ends; answers the ids of what is new. */
  function takeOver(rows: readonly KeyedRow[]): KeyedRow[] {
    return rows.filter((row) => {
      const key = keyOf(row);
      if (mayCount(row)) return !index.has(key);
      index.remove(key);
      return false;
    });
  }

  async function put(call: Call | null, rows: readonly KeyedRow[]): Promise<void> {
    if (call === null) for (const row of rows) index.put(keyOf(row));
    else
      await learn(
        call,
        rows.map(({ id }) => id),
      );
  }

  return {
    async load() {
      const began = clock.now();
      await fill(database, index);
      index.isComplete = true;
      seenUntil = began;
    },

    async catchUp(call) {
      if (seenUntil === undefined) return 0;
      const began = clock.now();
      const since = addSeconds(seenUntil, -overlap);
      let learned = 0;
      for (let after = { updatedAt: since, id: "" }; ;) {
        const rows = await database.read.blacklistRecord.findMany({
          where: laterThan(after),
          select: { ...keyFields, updatedAt: true },
          // In the order of the index that finds them: by id, SQLite would walk through all records.
          orderBy: [{ updatedAt: "asc" }, { id: "asc" }],
          take: idsAtOnce,
        });
        const unknown = takeOver(rows);
        await put(call, unknown);
        learned += unknown.length;
        if (rows.length < idsAtOnce) break;
        after = rows.at(-1) ?? after;
      }
      seenUntil = began;
      return learned;
    },

    async follow(call, ids) {
      for (const some of batches(ids, idsAtOnce)) {
        const unknown = takeOver(await database.read.blacklistRecord.findMany({ where: { id: { in: some } }, select: keyFields }));
        await put(call, unknown);
      }
    },
  };
}

const keyOf = (row: KeyedRow): RecordKey => ({ ...row, kind: row.kind === "server" ? "server" : "user" });

/** Records changed after a position, or at the same time and later by id. */
function laterThan({ updatedAt, id }: { updatedAt: Date; id: string }) {
  return { updatedAt: { gte: updatedAt }, OR: [{ updatedAt: { gt: updatedAt } }, { id: { gt: id } }] };
}

/** Page through the records that count, by number. */
async function fill({ read }: Database, index: CandidateIndex): Promise<void> {
  const [counted] = await read.$queryRaw<{ count: number | bigint }[]>`
    SELECT COUNT(*) AS count FROM blacklist_records WHERE kind = 'server' AND status IN ('active', 'scheduled')`;
  index.reserve(Number(counted?.count ?? 0));
  for (let after = 0; ;) {
    const rows = await read.$queryRaw<KeyRow[]>`
      SELECT number, kind, subject_id, subject_hash, status FROM blacklist_records
      WHERE number > ${after} ORDER BY number LIMIT ${pageSize}`;
    for (const row of rows) {
      // As a condition it would let SQLite read and sort all that count for every page.
      if (!mayCount(row)) continue;
      index.put({
        number: Number(row.number),
        kind: row.kind === "server" ? "server" : "user",
        subjectId: row.subject_id,
        subjectHash: row.subject_hash,
      });
    }
    if (rows.length < pageSize) return;
    after = Number(rows.at(-1)?.number ?? after);
  }
}
