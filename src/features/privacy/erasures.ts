import type { ReadClient, TransactionClient, Tx } from "../../database/database.ts";
import { uuid7 } from "../../kernel/ids.ts";
import type { ErasureKind, Journal, JournalLine } from "./journal/journal.ts";

export interface Erasures {
  /** When a person's data was redacted with the wish not to be collected again; null for everybody else. */
  redactedAt(db: Reader, userId: string): Promise<Date | null>;
  /** When these people last had all that they shared deleted; who never had is not in it. */
  erasedAt(db: Reader, userIds: readonly string[]): Promise<Map<string, Date>>;
  /**
   * Keep that something of a person was taken back or deleted: a row of this transaction, and before its commit the same as a
   * line of the journal, so that no backup of the database brings it back.
   */
  note(tx: Tx, kind: ErasureKind, userId: string): Promise<void>;
}

type Reader = Pick<ReadClient | TransactionClient, "erasure">;

export interface ErasuresDeps {
  /** Keyed hash of a person's id. */
  hashOf: (userId: string) => string;
  journal: Pick<Journal, "append">;
}

/** What was deleted permanently, as far as other features have to know. */
export function createErasures({ hashOf, journal }: ErasuresDeps): Erasures {
  const queues = new WeakMap<Tx, JournalLine[]>();
  return {
    async redactedAt(db: Reader, userId: string): Promise<Date | null> {
      const latest = await db.erasure.findFirst({
        where: { subjectHash: hashOf(userId), kind: { in: ["suppression", "release"] } },
        orderBy: [{ at: "desc" }, { id: "desc" }],
      });
      return latest?.kind === "suppression" ? latest.at : null;
    },

    async erasedAt(db: Reader, userIds: readonly string[]): Promise<Map<string, Date>> {
      const people = new Map(userIds.map((userId) => [hashOf(userId), userId]));
      const rows = await db.erasure.findMany({
        where: { subjectHash: { in: [...people.keys()] }, kind: { in: ["deletion", "redaction"] } },
        orderBy: { at: "asc" },
      });
      return new Map(rows.map(({ subjectHash, at }) => [people.get(subjectHash) ?? "", at]));
    },

    async note(tx: Tx, kind: ErasureKind, userId: string): Promise<void> {
      const row = { id: uuid7(tx.now.getTime()), kind, subjectHash: hashOf(userId), at: tx.now };
      await tx.db.erasure.create({ data: { ...row, appliedAt: tx.now } });
      const lines = queues.get(tx);
      if (lines !== undefined) return void lines.push(row);
      const fresh = [row];
      queues.set(tx, fresh);
      // The lines come after everything else that can fail before the commit, all in one go: half of a change is none.
      tx.beforeCommit(() => journal.append(fresh));
    },
  };
}
