import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import BetterSqlite3 from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { openDatabase, migrate } from "../../src/database/database.ts";
import { createFolder, folderWith } from "./folders.ts";
import { addOwner, ownerIds, sampleCall } from "./samples.ts";
import { createSqliteDatabase } from "./sqlite-file.ts";
import { keepAlive } from "../../src/database/keep-alive.ts";

test("a database that belongs to something else is refused unharmed", async () => {
  const file = join(await createFolder(), "other.db");
  const other = keepAlive(new BetterSqlite3(file));
  other.exec("CREATE TABLE notes (text TEXT)");
  other.close();
  await expect(openDatabase({ url: `file:${file}` })).rejects.toMatchObject({ reason: "foreign_database" });
});

test.each(["garbage", "damaged"])("a %s file is refused with a message that says so", async (kind) => {
  const { file, database } = await createSqliteDatabase();
  await database.close();
  const bytes = await readFile(file);
  if (kind === "garbage") bytes.fill("garbage");
  else bytes.fill(0xff, 4096, 4096 * 8);
  await writeFile(file, bytes);
  await expect(openDatabase({ url: `file:${file}` })).rejects.toMatchObject({ reason: "corrupt" });
});

test("a file with data is copied before it is migrated, a new one is not", async () => {
  const { file, database } = await createSqliteDatabase();
  await database.write(sampleCall(), (tx) => addOwner(tx, "a"));
  await database.close();
  expect(await readdir(dirname(file))).toEqual(["provost.db"]);
  await migrate(`file:${file}`, await folderWith("sqlite", "29990101000000_later", "DELETE FROM owners;"));
  const copy = `${file}.before-29990101000000_later`;
  await rm(file);
  const restored = await openDatabase({ url: `file:${copy}` });
  onTestFinished(() => restored.close());
  expect(await ownerIds(restored.read)).toEqual(["a"]);
});

test("a table that is built anew keeps the rows that refer to it", async () => {
  const { file, database } = await createSqliteDatabase();
  const at = new Date(0);
  await database.write(sampleCall(), async ({ db }) => {
    await db.staffRole.create({ data: { key: "mod", name: "Moderator", rank: 1, level: "moderator", createdAt: at, updatedAt: at } });
    await db.rolePermission.create({ data: { staffRoleKey: "mod", permission: "cases.open", effect: "allow" } });
  });
  const sql = `CREATE TABLE "new_staff_roles" AS SELECT * FROM staff_roles; DROP TABLE staff_roles; ALTER TABLE new_staff_roles RENAME TO staff_roles; CREATE UNIQUE INDEX staff_roles_key ON staff_roles(key);`;
  await migrate(`file:${file}`, await folderWith("sqlite", "29990101000000_rebuild", sql));
  expect(await database.read.rolePermission.count()).toBe(1);
  const breaking = await folderWith("sqlite", "29990101000000_rebuild", sql);
  await mkdir(join(breaking, "29990102000000_break"));
  await writeFile(join(breaking, "29990102000000_break", "migration.sql"), "DELETE FROM staff_roles;");
  await expect(migrate(`file:${file}`, breaking)).rejects.toMatchObject({ reason: "failed_migration" });
  expect(await database.read.staffRole.count()).toBe(1);
});
