// @module-tag slow
import { statSync } from "node:fs";
import BetterSqlite3 from "better-sqlite3";
import { expect, test, vi } from "vitest";
import type { Database } from "../../src/database/database.ts";
import { sampleCall } from "./samples.ts";
import { createSqliteDatabase } from "./sqlite-file.ts";

const megabyte = 1024 * 1024;
/** SQLite itself moves the log when it has 64 MB. */
const most = 48 * megabyte;

/** A megabyte in each transaction. */
async function writeMuch(database: Database, megabytes: number): Promise<void> {
  for (let part = 0; part < megabytes; part += 1)
    await database.write(sampleCall(), async (tx) => {
      const value = part
        .toString()
        .padStart(4, "0")
        .repeat(megabyte / 4);
      await tx.db.setting.upsert({
        where: { key: `part ${(part % 8).toString()}` },
        create: { key: `part ${(part % 8).toString()}`, value },
        update: { value },
      });
    });
}

test("the log of a database that is written to all the time does not grow for ever, and nothing is lost", async () => {
  const { file, database } = await createSqliteDatabase();
  await writeMuch(database, 160);
  expect(statSync(`${file}-wal`).size).toBeLessThan(most);
  const rows = await database.read.setting.findMany({ where: { key: { startsWith: "part " } } });
  expect(rows.map(({ value }) => String(value).slice(0, 4)).toSorted()).toEqual(
    [152, 153, 154, 155, 156, 157, 158, 159].map((part) => part.toString().padStart(4, "0")),
  );
});

test("the log is moved into the file while the service runs, without anybody who asks for it", async () => {
  const { file, database } = await createSqliteDatabase();
  const before = statSync(file).size;
  await writeMuch(database, 24);
  await vi.waitFor(() => expect(statSync(file).size).toBeGreaterThan(before + 7 * megabyte), { timeout: 20_000 });
});

test("somebody who reads for long keeps the log, and it is moved when they are done", async () => {
  const { file, database } = await createSqliteDatabase();
  const other = new BetterSqlite3(file, { readonly: true });
  other.exec("BEGIN");
  const seen = other.prepare("SELECT count(*) AS n FROM settings WHERE key LIKE 'part %'");
  expect(seen.get()).toEqual({ n: 0 });
  await writeMuch(database, 40);
  expect(seen.get()).toEqual({ n: 0 });
  other.exec("COMMIT");
  await writeMuch(database, 60);
  other.close();
  expect(statSync(`${file}-wal`).size).toBeLessThan(2 * most);
  expect(await database.read.setting.count({ where: { key: { startsWith: "part " } } })).toBe(8);
});

test("closing waits for the log that is being moved", async () => {
  const { file, database } = await createSqliteDatabase();
  await writeMuch(database, 20);
  await database.close();
  const other = new BetterSqlite3(file, { readonly: true });
  expect(other.prepare("SELECT count(*) AS n FROM settings WHERE key LIKE 'part %'").get()).toEqual({ n: 8 });
  other.close();
});
