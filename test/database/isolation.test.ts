// @module-tag both
import { PrismaBetterSqlite3 } from "@prisma/adapter-better-sqlite3";
import BetterSqlite3 from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import type { Database } from "../../src/database/database.ts";
import { PrismaClient } from "../../src/generated/sqlite/client.ts";
import { createTestDatabase } from "../support/database.ts";
import { addOwner, createGate, ownerIds, sampleCall } from "./samples.ts";
import { createSqliteDatabase } from "./sqlite-file.ts";
import { keepAlive } from "../../src/database/keep-alive.ts";

async function fresh(): Promise<Database> {
  const { database, drop } = await createTestDatabase();
  onTestFinished(drop);
  return database;
}

class Cancelled extends Error {}

/** A transaction that has written `a` and waits; `roll back` ends it. */
async function openTransaction(database: Database) {
  const written = createGate();
  const end = createGate();
  const done = database.write(sampleCall(), async (tx) => {
    await addOwner(tx, "a");
    written.open();
    await end.opened;
    throw new Cancelled();
  });
  await written.opened;
  return {
    async rollBack() {
      end.open();
      await expect(done).rejects.toBeInstanceOf(Cancelled);
    },
  };
}

test("a write acknowledged beside a transaction that rolls back is kept", async () => {
  const database = await fresh();
  const transaction = await openTransaction(database);
  const other = database.write(sampleCall(), (tx) => addOwner(tx, "b"));
  await transaction.rollBack();
  await other;
  expect(await ownerIds(database.read)).toEqual(["b"]);
});

test("a single statement outside transactions is not drawn into one that rolls back", async () => {
  const database = await fresh();
  const transaction = await openTransaction(database);
  const other = addOwner({ db: database.read as unknown as PrismaClient }, "b");
  await transaction.rollBack();
  await other;
  expect(await ownerIds(database.read)).toEqual(["b"]);
});

test("the stock SQLite adapter loses that row, which is why it is wrapped", async () => {
  const { file } = await createSqliteDatabase();
  const client = new PrismaClient({ adapter: new PrismaBetterSqlite3({ url: `file:${file}` }) });
  onTestFinished(() => client.$disconnect());
  const transaction = client.$transaction(async (db) => {
    await addOwner({ db }, "a");
    await addOwner({ db: client }, "b");
    throw new Cancelled();
  });
  await expect(transaction).rejects.toBeInstanceOf(Cancelled);
  expect(await ownerIds(client)).toEqual([]);
});

test("a read outside does not see what is not committed", async () => {
  const database = await fresh();
  const transaction = await openTransaction(database);
  expect(await ownerIds(database.read)).toEqual([]);
  await transaction.rollBack();
});

test("kept statements follow a schema that changes beside them", async () => {
  const { file, database } = await createSqliteDatabase();
  const all = () => database.read.$queryRaw`SELECT * FROM owners`;
  await database.write(sampleCall(), (tx) => addOwner(tx, "a"));
  expect(await all()).toMatchObject([{ user_id: "a" }]);
  const foreign = keepAlive(new BetterSqlite3(file));
  foreign.exec("ALTER TABLE owners ADD COLUMN note TEXT DEFAULT 'x'; ALTER TABLE owners DROP COLUMN created_by");
  foreign.close();
  expect(await all()).toEqual([{ user_id: "a", created_at: expect.any(Date), retained: expect.anything(), note: "x" }]);
});
