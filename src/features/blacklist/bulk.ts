import type { Prisma, BlacklistRecord } from "../../generated/sqlite/client.ts";
import { createSideEffects, type ChangeNote, type SideEffectDeps } from "./side-effects.ts";
import { nextNumber } from "../../database/counter.ts";
import type { Tx } from "../../database/database.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { canonical } from "./same.ts";

export type Changes = Omit<Prisma.BlacklistRecordUncheckedUpdateManyInput, "id" | "revision" | "updatedAt">;

/** A record to be made, whose number is 0 until it is written. */
export interface NewRecord {
  before: null;
  row: BlacklistRecord;
  note: ChangeNote;
}

/** A record to be changed. */
export interface ChangedRecord {
  before: BlacklistRecord;
  changes: Changes;
  /** As it is afterwards, its revision and time of change included. */
  row: BlacklistRecord;
  note: ChangeNote;
}

export type BulkChange = NewRecord | ChangedRecord;

/** Writes of many records inside a given transaction, in few statements. Anyone who writes tells of all of them in one event. */
export function createBulkWrites(deps: SideEffectDeps) {
  const applySideEffects = createSideEffects(deps);

  return {
    /** The records that hold these subjects and scopes, those past their end included, each under its lock. */
    async holdersOf(tx: Tx, activeKeys: readonly string[]): Promise<BlacklistRecord[]> {
      const where = { activeKey: { in: [...activeKeys] } };
      for (const key of activeKeys.toSorted()) await tx.lock(`blacklist:${key}`);
      const found = await tx.db.blacklistRecord.findMany({ where, select: { id: true }, orderBy: { id: "asc" } });
      for (const { id } of found) await tx.lock(`blacklist:${id}`);
      return found.length === 0 ? [] : tx.db.blacklistRecord.findMany({ where });
    },

    /**
     * Write changes of records read by `holdersOf`, each record at most once.
     * @returns the new records with their numbers
     * @throws ProblemError storage_busy when somebody changed one of them meanwhile
     */
    async write(tx: Tx, all: readonly BulkChange[]): Promise<BlacklistRecord[]> {
      const changed = all.flatMap((one) => (one.before === null ? [] : [one]));
      const fresh = all.filter(({ before }) => before === null);
      await deps.matches.lock(tx);
      const last = fresh.length === 0 ? 0 : await nextNumber(tx, "blacklist", { count: fresh.length });
      const numbered = fresh.map(({ row, note }, index) => ({
        before: null,
        row: { ...row, number: last - fresh.length + 1 + index },
        note,
      }));
      await updateRows(tx, changed);
      const rows = numbered.map(({ row }) => row);
      await applySideEffects(tx, [...changed, ...numbered], { tellsEach: false });
      return rows;
    },
  };
}

/** A record as a change leaves it. */
export function changedRecord(before: BlacklistRecord, changes: Changes, note: ChangeNote, now: Date): ChangedRecord {
  return { before, changes, row: { ...before, ...changes, revision: before.revision + 1, updatedAt: now } as BlacklistRecord, note };
}

/**
 * Write changes of records read under their locks: equal changes of records of the same revision are one statement.
 * @throws ProblemError storage_busy when somebody changed one of them meanwhile
 */
export async function updateRows(tx: Tx, changed: readonly ChangedRecord[]): Promise<void> {
  const groups = new Map<string, ChangedRecord[]>();
  for (const one of changed) {
    const key = canonical([one.changes, one.before.revision]);
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  for (const group of groups.values()) {
    const [first] = group;
    if (first === undefined) continue;
    const where = { id: { in: group.map(({ before }) => before.id) }, revision: first.before.revision };
    const data = { ...first.changes, revision: first.row.revision, updatedAt: first.row.updatedAt };
    const { count } = await tx.db.blacklistRecord.updateMany({ where, data });
    if (count !== group.length) throw new ProblemError("storage_busy", { retryAfter: 1 });
  }
}
