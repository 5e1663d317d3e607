import type { Deps } from "../deps.ts";
import { z } from "zod";
import type { Database, Tx } from "../../database/database.ts";
import { earliestOf, firstOf } from "../../database/earliest.ts";
import { insertRows } from "../../database/insert.ts";
import { inBatches } from "../../kernel/pause.ts";
import { processCall, requirePermission, type Call } from "../../kernel/call.ts";
import { sweepIsolated } from "../../kernel/isolated.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { textColumns, wordRows } from "./changes.ts";
import { changedRecord } from "./bulk.ts";
import { statusAt, isLive, referenceOf } from "./blacklist.policy.ts";
import { endingStatuses } from "./filters.ts";
import type { BlacklistRecords } from "./records.ts";
import { type BlacklistRecord, Prisma } from "../../generated/sqlite/client.ts";

/** Another version of how words are made: every record's are made anew. */
const version = 1;
const key = "blacklist_words";
const catchUpBatch = 200;
/** Records that one transaction of a sweep changes. */
const batch = 100;

/** How far it came: the last record that has its words, or null once all have. */
const Progress = z.object({ version: z.literal(version), after: z.string().nullable() });

/** Gives their words to records that were stored before there were any. */
export function createWordsCatchUp({ database }: { database: Database }) {
  let isDone = false;

  async function next(tx: Tx, after: string): Promise<number> {
    const where = { id: { gt: after } };
    const some = await tx.db.blacklistRecord.findMany({ where, select: { id: true }, orderBy: { id: "asc" }, take: catchUpBatch });
    // Nobody changes a text between its reading and the writing of its words.
    for (const { id } of some) await tx.lock(`blacklist:${id}`);
    const ids = some.map(({ id }) => id);
    const rows = await tx.db.blacklistRecord.findMany({ where: { id: { in: ids } }, select: textColumns });
    await tx.db.blacklistWord.deleteMany({ where: { recordId: { in: ids } } });
    await insertRows(tx, "BlacklistWord", rows.flatMap(wordRows));
    const value = { version, after: some.length < catchUpBatch ? null : (ids.at(-1) ?? null) };
    await tx.db.setting.upsert({ where: { key }, create: { key, value }, update: { value } });
    return some.length;
  }

  /** @returns from where on records lack their words; null when none does */
  async function progress(db: Pick<Tx["db"] | Database["read"], "$select">): Promise<string | null> {
    const [row] = await db.$select("Setting", Prisma.sql`WHERE t.key = ${key}`);
    const known = Progress.safeParse(row?.value);
    return known.success ? known.data.after : "";
  }

  async function part(call: Call): Promise<number> {
    // Usually nothing is left, and that alone is no reason to write.
    if ((await progress(database.read)) === null) return 0;
    return database.write(call, async (tx) => {
      await tx.lock(key);
      const after = await progress(tx.db);
      return after === null ? 0 : next(tx, after);
    });
  }

  return {
    /** A first part, which is all there is in a new or small database. */
    async begin(): Promise<void> {
      isDone = (await part(processCall(uuid7()))) < catchUpBatch;
    },

    /** All that is left, a bounded part at a time; answers how many. */
    async catchUp(call: Call): Promise<number> {
      if (isDone) return 0;
      const total = await inBatches(catchUpBatch, () => part(call));
      isDone = true;
      return total;
    },
  };
}

export interface SweepDeps extends Deps<"database" | "clock" | "logger"> {
  records: BlacklistRecords;
}

/** What time does to records. */
export function createSweep({ database, records, clock, logger }: SweepDeps) {
  const findDue = (after: { id: string } | undefined): Promise<{ id: string }[]> => {
    const now = clock.now();
    const due = {
      ...(after !== undefined && { id: { gt: after.id } }),
      OR: [
        { status: { in: [...endingStatuses] }, expiresAt: { lte: now } },
        { status: "scheduled", startsAt: { lte: now } },
      ],
    };
    return database.read.blacklistRecord.findMany({ where: due, select: { id: true }, orderBy: { id: "asc" }, take: batch });
  };

  /** Ends records past their end and starts scheduled ones; returns how many. */
  const settleAll = (call: Call, ids: readonly { id: string }[]): Promise<number> =>
    database.write(call, async (tx) => {
      // Every lock before the first change: anyone who changes one of them waits for its matches after it, too.
      for (const { id } of ids) await tx.lock(`blacklist:${id}`);
      const rows = await tx.db.blacklistRecord.findMany({ where: { id: { in: ids.map(({ id }) => id) } }, orderBy: { id: "asc" } });
      const changed = rows.flatMap((row) => {
        const status = statusAt(row, tx.now);
        if (status === row.status) return [];
        const isOver = status === "expired";
        const note = { action: isOver ? "blacklist.expire" : "blacklist.start", permission: "system.act" } as const;
        return [changedRecord(row, { status, ...(isOver && { activeKey: null }) }, note, tx.now)];
      });
      await records.changeAll(tx, changed);
      return changed.length;
    });

  return {
    /** Bring every record's status up to the present time. For the job that runs each minute. */
    async expireDue(call: Call): Promise<number> {
      requirePermission(call, "system.act");
      return await sweepIsolated({
        size: batch,
        find: findDue,
        work: (ids) => settleAll(call, ids),
        logger,
        failure: "a blacklist record could not be started or ended; it is tried again in a minute",
        idsOf: ({ id }) => ({ blacklist_record: id }),
      });
    },

    /** When the next record starts or ends. */
    async nextDue(): Promise<Date | null> {
      const ending = endingStatuses.map((status) => ({ status }));
      return firstOf(
        await earliestOf(database.read, "BlacklistRecord", "startsAt", [{ status: "scheduled" }]),
        await earliestOf(database.read, "BlacklistRecord", "expiresAt", ending),
      );
    },
  };
}

export type ReviewDeps = Deps<"database" | "audit" | "events" | "clock" | "logger">;

/** Records that count and whose review is due, and nobody was told of it: another review date takes back that they were. */
function due(now: Date): Prisma.BlacklistRecordWhereInput {
  const lasting = { OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] };
  return { status: { in: ["active", "scheduled"] }, reviewAt: { lte: now }, reviewToldFor: null, ...lasting };
}

function isDue(row: BlacklistRecord, now: Date): boolean {
  return isLive(row, now) && row.reviewAt !== null && row.reviewAt <= now && row.reviewToldFor === null;
}

/** @returns tells that the reviews of records are due, once for each date; answers of how many */
export function createReviewSweep({ database, audit, events, clock, logger }: ReviewDeps): (call: Call) => Promise<number> {
  async function emitDue(tx: Tx, id: string): Promise<void> {
    await tx.lock(`blacklist:${id}`);
    const row = await tx.db.blacklistRecord.findUnique({ where: { id } });
    if (row === null || !isDue(row, tx.now)) return;
    await tx.db.blacklistRecord.update({ where: { id }, data: { reviewToldFor: row.reviewAt } });
    const told = { review_at: row.reviewAt?.toISOString() ?? null };
    audit.record(tx, {
      action: "blacklist.review_due",
      target: { kind: "blacklist", id, reference: referenceOf(row) },
      ...(row.kind === "user" && { subjectUserId: row.subjectId }),
      after: told,
      permission: "system.act",
    });
    events.emit(tx, { type: "blacklist.review_due", data: { id, number: referenceOf(row), kind: row.kind, ...told } });
  }

  const findDue = (after: { id: string } | undefined): Promise<{ id: string }[]> =>
    database.read.blacklistRecord.findMany({
      where: { ...due(clock.now()), ...(after !== undefined && { id: { gt: after.id } }) },
      select: { id: true },
      orderBy: { id: "asc" },
      take: batch,
    });

  const tellAll = (call: Call, rows: readonly { id: string }[]): Promise<number> =>
    database.write(call, async (tx) => {
      for (const { id } of rows) await emitDue(tx, id);
      return rows.length;
    });

  return (call) =>
    sweepIsolated({
      size: batch,
      find: findDue,
      work: (rows) => tellAll(call, rows),
      logger,
      failure: "nobody could be told that the review of a blacklist record is due; it is tried again in a minute",
      idsOf: ({ id }) => ({ blacklist_record: id }),
    });
}
