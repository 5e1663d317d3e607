// @module-tag sqlite
import { copyFile, readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { sqliteFile } from "../../src/database/dialect.ts";
import { createTestDatabase } from "../support/database.ts";

test("the file of an open database is not opened by its own process, which would end SQLite's locks", async () => {
  const { url, database, drop } = await createTestDatabase();
  const file = sqliteFile(url);
  await database.read.guild.count();
  for (const open of [() => readFile(file), () => copyFile(file, `${file}.copy`), () => readFile(`${file}-shm`)])
    expect(open).toThrow(/this process has locks on .+provost\.db/);
  await database.close();
  expect((await readFile(file)).length).toBeGreaterThan(0);
  await drop();
});
