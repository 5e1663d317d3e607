// @module-tag both
import { open, type FileHandle } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { expect, inject, onTestFinished, test, vi } from "vitest";
import type { Database, DatabaseOptions } from "../../src/database/database.ts";
import type { Insert, Series } from "../../src/database/tx.ts";
import { Prisma, type PrismaClient } from "../../src/generated/sqlite/client.ts";
import { createTestDatabase } from "../support/database.ts";
import { addOwner, createGate, ownerIds, sampleCall } from "./samples.ts";

const isPostgres = inject("dialect") === "postgres";

async function fresh(options: Omit<DatabaseOptions, "url"> = {}): Promise<Database> {
  const { database, drop } = await createTestDatabase(options);
  onTestFinished(drop);
  return database;
}

test("what is asked after a transaction has ended is refused, and part of none", async () => {
  const database = await fresh();
  const failed = createGate();
  const late: Promise<unknown>[] = [];
  const work = database.write(sampleCall(), async ({ db }) => {
    await addOwner({ db }, "a");
    late.push(
      failed.opened.then(() => addOwner({ db }, "b")),
      failed.opened.then(() => db.$executeRaw`DELETE FROM owners`),
    );
    throw new Error("given up");
  });
  await expect(work).rejects.toThrow("given up");
  await database.write(sampleCall(), async (tx) => {
    await addOwner(tx, "c");
    failed.open();
    for (const one of await Promise.allSettled(late)) expect(one).toMatchObject({ status: "rejected", reason: { message: /has ended/ } });
  });
  expect(await ownerIds(database.read)).toEqual(["c"]);
});

test.each(["append", "insert"] as const)(
  "what %s writes is not waited for, and takes its transaction with it when it fails",
  async (way) => {
    const database = await fresh();
    const ownersOf = (names: readonly string[]): Insert => ({
      model: "Owner",
      rows: names.map((userId) => ({ userId, createdBy: "test", createdAt: new Date(), retained: false })),
    });
    const owners: Series<string> = { name: "events", rowsOf: (_tx, names) => ({ inserts: [ownersOf(names)] }) };
    const hooks: string[] = [];
    const work = (name: string, before: string) =>
      database.write(sampleCall(), async (tx) => {
        await addOwner(tx, before);
        if (way === "append") tx.append(owners, name);
        else tx.insert([ownersOf([name])]);
        if (way === "insert") expect(await tx.db.owner.count({ where: { userId: name } })).toBe(1);
        tx.afterCommit(() => hooks.push(name));
      });
    await work("a", "a1");
    await expect(work("a", "a2")).rejects.toThrow(/unique/i);
    await work("b", "b1");
    expect([await ownerIds(database.read), hooks]).toEqual([
      ["a", "a1", "b", "b1"],
      ["a", "b"],
    ]);
  },
);

test("a failure that the work keeps to itself is not committed over", async () => {
  const database = await fresh();
  await database.write(sampleCall(), (tx) => addOwner(tx, "a"));
  const work = database.write(sampleCall(), async (tx) => {
    await addOwner(tx, "b");
    await tx.db.$executeRaw`INSERT INTO owners (user_id) VALUES ('a')`.catch(() => undefined);
  });
  if (isPostgres) await expect(work).rejects.toThrow();
  else await work;
  expect(await ownerIds(database.read)).toEqual(isPostgres ? ["a"] : ["a", "b"]);
});

test("reads of several statements beside transactions see none of them, and end none", async () => {
  const database = await fresh();
  const ids = Array.from({ length: 1500 }, (_, index) => `${index.toString()}`);
  await Promise.all(
    ids.slice(0, 40).map(async (id, index) => {
      const work = database.write(sampleCall(), async (tx) => {
        await addOwner(tx, id);
        await delay(1);
        if (index % 2 === 0) throw new Error("given up");
      });
      // More values than SQLite takes at once: the client asks in parts, inside a transaction of its own.
      await Promise.all([work.catch(() => undefined), database.read.owner.findMany({ where: { userId: { in: ids } } })]);
    }),
  );
  expect(await ownerIds(database.read)).toHaveLength(20);
});

test.skipIf(isPostgres).each([
  { synchronous: "full", flushes: true },
  { synchronous: "normal", flushes: false },
] as const)(
  "SQLite at $synchronous: whether a write is answered only when the log is flushed is $flushes",
  async ({ synchronous, flushes }) => {
    const database = await fresh({ synchronous });
    await database.write(sampleCall(), (tx) => addOwner(tx, "first"));
    const gate = createGate();
    const handle = await open(import.meta.filename);
    const datasync = vi.spyOn(Object.getPrototypeOf(handle) as FileHandle, "datasync");
    onTestFinished(() => datasync.mockRestore());
    await handle.close();
    datasync.mockImplementation(() => gate.opened);
    let answered = 0;
    const writes = ["a", "b", "c"].map(async (id) => {
      await database.write(sampleCall(), (tx) => addOwner(tx, id));
      answered += 1;
    });
    // They are there for others, and not certain to stay.
    await expect.poll(() => ownerIds(database.read)).toEqual(["a", "b", "c", "first"]);
    if (!flushes) await Promise.all(writes);
    expect([answered, datasync.mock.calls.length]).toEqual(flushes ? [0, 1] : [3, 0]);
    gate.open();
    await Promise.all(writes);
    // The second time is for all that came during the first.
    expect([answered, datasync.mock.calls.length]).toEqual(flushes ? [3, 2] : [3, 0]);
  },
);

test.skipIf(!isPostgres)("a connection keeps a bounded number of statements prepared, those that come again", async () => {
  const database = await fresh();
  const named = await database.write(sampleCall(), async ({ db }) => {
    for (let round = 0; round < 8; round += 1)
      for (let text = 0; text < 300; text += 1) await db.$queryRaw`SELECT 1 AS ${Prisma.raw(`once_${text.toString()}`)}`;
    const rows = await db.$queryRaw<{ count: bigint }[]>`SELECT COUNT(*) AS count FROM pg_prepared_statements`;
    return Number(rows[0]?.count);
  });
  expect(named).toBe(200);
});

test.skipIf(!isPostgres)("the statements of one turn reach PostgreSQL in one piece, BEGIN among them", async () => {
  const database = await fresh();
  const sent: string[] = [];
  const query = vi.spyOn(pg.Client.prototype, "query");
  onTestFinished(() => query.mockRestore());
  const note = (): void => void sent.push(...query.mock.calls.splice(0).map(([one]) => String((one as { text?: string }).text ?? one)));
  await database.write(sampleCall(), async (tx) => {
    const both = [tx.lock("a"), tx.db.$queryRaw`SELECT 1 AS one`];
    note();
    await Promise.all(both);
  });
  expect(sent).toEqual([
    expect.stringMatching(/^BEGIN; SELECT pg_advisory_xact_lock\(\d+, \d+\)$/),
    expect.stringContaining("pg_advisory_xact_lock"),
    "SELECT 1 AS one",
  ]);
});

test("the client of the models and plain statements work in one transaction", async () => {
  const database = await fresh();
  const work = database.write(sampleCall(), async ({ db }) => {
    await addOwner({ db }, "a");
    expect(await db.$queryRaw`SELECT user_id FROM owners`).toEqual([{ user_id: "a" }]);
    await db.$executeRaw`UPDATE owners SET created_by = 'plain'`;
    expect(await db.owner.findUnique({ where: { userId: "a" } })).toMatchObject({ createdBy: "plain" });
    expect(await (database.read as unknown as PrismaClient).owner.count()).toBe(0);
    throw new Error("given up");
  });
  await expect(work).rejects.toThrow("given up");
  expect(await ownerIds(database.read)).toEqual([]);
});
