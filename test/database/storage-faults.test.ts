// @module-tag sqlite
// @module-tag slow
import BetterSqlite3 from "better-sqlite3";
import { expect, onTestFinished, test, vi } from "vitest";
import { addOwner, countTurns, ownerIds, sampleCall } from "./samples.ts";
import { createSqliteDatabase } from "./sqlite-file.ts";
import { keepAlive } from "../../src/database/keep-alive.ts";

test("a commit that fails is reported and harms no later write", async () => {
  const { database } = await createSqliteDatabase();
  const broken = database.write(sampleCall(), async (tx) => {
    await tx.db.$executeRaw`PRAGMA defer_foreign_keys = ON`;
    await tx.db.rolePermission.create({ data: { staffRoleKey: "nobody", permission: "cases.open", effect: "allow" } });
  });
  await expect(broken).rejects.toThrow(/foreign key/i);
  await database.write(sampleCall(), (tx) => addOwner(tx, "a"));
  expect(await ownerIds(database.read)).toEqual(["a"]);
  expect(await database.read.rolePermission.count()).toBe(0);
});

test("a connection that can neither commit nor roll back is replaced", async () => {
  const { database } = await createSqliteDatabase();
  const exec = BetterSqlite3.prototype.exec;
  const spy = vi.spyOn(BetterSqlite3.prototype, "exec").mockImplementation(function (this: BetterSqlite3.Database, sql) {
    if (sql === "COMMIT" || sql === "ROLLBACK") throw Object.assign(new Error("disk I/O error"), { code: "SQLITE_IOERR_FSYNC" });
    return exec.call(this, sql);
  });
  await expect(database.write(sampleCall(), (tx) => addOwner(tx, "a"))).rejects.toMatchObject({ code: "storage_readonly" });
  spy.mockRestore();
  await database.write(sampleCall(), (tx) => addOwner(tx, "b"));
  expect(await ownerIds(database.read)).toEqual(["b"]);
});

test("what follows a transaction that SQLite has ended by itself is not committed alone", async () => {
  const { database } = await createSqliteDatabase();
  const write = database.write(sampleCall(), async (tx) => {
    await tx.db.$executeRaw`ROLLBACK`;
    await addOwner(tx, "a");
  });
  await expect(write).rejects.toMatchObject({ code: "storage_busy" });
  expect(await ownerIds(database.read)).toEqual([]);
});

test("a foreign lock ends in storage_busy without holding up the event loop", async () => {
  const { file, database } = await createSqliteDatabase();
  const foreign = keepAlive(new BetterSqlite3(file));
  onTestFinished(() => void foreign.close());
  foreign.exec("BEGIN IMMEDIATE");
  const countTicks = watchEventLoop();
  const began = performance.now();
  const writes = [1, 2, 3].map((id) => database.write(sampleCall(), (tx) => addOwner(tx, id.toString())));
  const outcomes = await Promise.allSettled([...writes, database.check(), ownerIds(database.read)]);
  const lasted = performance.now() - began;
  expect(outcomes.slice(0, 4)).toEqual(
    Array.from({ length: 4 }, () => ({ status: "rejected", reason: expect.objectContaining({ code: "storage_busy" }) })),
  );
  expect(outcomes[4]).toEqual({ status: "fulfilled", value: [] });
  expect(lasted).toBeGreaterThan(1500);
  expect(lasted).toBeLessThan(5000);
  expect(countTicks()).toBeGreaterThan(lasted / 50);
  foreign.exec("ROLLBACK");
  await database.write(sampleCall(), (tx) => addOwner(tx, "later"));
  expect(await ownerIds(database.read)).toEqual(["later"]);
});

test("a write waits for a foreign lock that ends soon", async () => {
  const { file, database } = await createSqliteDatabase();
  const foreign = keepAlive(new BetterSqlite3(file));
  foreign.exec("BEGIN IMMEDIATE");
  setTimeout(() => foreign.close(), 300);
  await database.write(sampleCall(), (tx) => addOwner(tx, "a"));
  expect(await ownerIds(database.read)).toEqual(["a"]);
});

test("a full disk and a read-only file are named, and writing goes on afterwards", async () => {
  const { database } = await createSqliteDatabase();
  const full = database.write(sampleCall(), async (tx) => {
    await tx.db.$executeRaw`PRAGMA max_page_count = 1`;
    await addOwner(tx, "a".repeat(100_000));
  });
  await expect(full).rejects.toMatchObject({ code: "storage_full" });
  const readOnly = database.write(sampleCall(), async (tx) => {
    await tx.db.$executeRaw`PRAGMA max_page_count = 1000000`;
    await tx.db.$executeRaw`PRAGMA query_only = ON`;
    try {
      await addOwner(tx, "b");
    } finally {
      await tx.db.$executeRaw`PRAGMA query_only = OFF`;
    }
  });
  await expect(readOnly).rejects.toMatchObject({ code: "storage_readonly" });
  await database.write(sampleCall(), (tx) => addOwner(tx, "c"));
  expect(await ownerIds(database.read)).toEqual(["c"]);
});

test("hundreds of queued writes leave the event loop its turns", async () => {
  const { database } = await createSqliteDatabase();
  const turns = countTurns();
  await Promise.all(Array.from({ length: 300 }, (_, index) => database.write(sampleCall(), (tx) => addOwner(tx, index.toString()))));
  // A turn has room for a few statements, and each of the writes has more than six.
  expect(turns()).toBeGreaterThan(30);
});

test("readers have their turns beside six that write without a pause", async () => {
  const { database } = await createSqliteDatabase();
  let written = 0;
  const stopping = new AbortController();
  const write = async (writer: number): Promise<void> => {
    for (let round = 0; !stopping.signal.aborted; round += 1) {
      await database.write(sampleCall(), async (tx) => {
        for (let part = 0; part < 5; part += 1) await addOwner(tx, `${writer.toString()}:${round.toString()}:${part.toString()}`);
      });
      written += 1;
    }
  };
  const writers = Array.from({ length: 6 }, (_, writer) => write(writer));
  await vi.waitFor(() => expect(written).toBeGreaterThan(12), 60_000);
  const before = written;
  for (let reads = 0; reads < 40; reads += 1) await database.read.owner.count();
  const beside = written - before;
  stopping.abort();
  await Promise.all(writers);
  // A read lets each of the others make one statement; a transaction has more than six of them.
  expect(beside).toBeLessThan(60);
});

test("a long queue of writes is no reason to say that the storage fails", async () => {
  const { database } = await createSqliteDatabase();
  let written = 0;
  const writes = Array.from({ length: 300 }, async (_, index) => {
    await database.write(sampleCall(), (tx) => addOwner(tx, index.toString()));
    written += 1;
  });
  await database.check();
  expect(written).toBeLessThan(20);
  await Promise.all(writes);
});

/** @returns how often a timer of 5 ms has had its turn: a loop that is held up for 100 ms at a time falls below one in 50 ms */
function watchEventLoop(): () => number {
  let ticks = 0;
  const timer = setInterval(() => {
    ticks += 1;
  }, 5);
  return () => {
    clearInterval(timer);
    return ticks;
  };
}
