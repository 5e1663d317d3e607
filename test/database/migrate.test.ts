// @module-tag both
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SqlMigrationAwareDriverAdapterFactory } from "@prisma/driver-adapter-utils";
import { expect, inject, onTestFinished, test } from "vitest";
import {
  createSchemaEngine,
  migrationList,
  noFilter,
  postgresForEngine,
  schemaDifference,
  schemaFile,
  sqliteForEngine,
} from "../../scripts/schema-engine.ts";
import { openDatabase, type Tx, migrate } from "../../src/database/database.ts";
import { readMigrations } from "../../src/database/migrate-sqlite.ts";
import { createEmptyCopy, createTestDatabase, createUnmigrated } from "../support/database.ts";
import { addOwner, ownerIds, sampleCall } from "./samples.ts";
import { folderWith } from "./folders.ts";

const dialect = inject("dialect");

async function unmigrated(): Promise<string> {
  const { url, remove } = await createUnmigrated();
  onTestFinished(remove);
  return url;
}

function engineAdapter(url: string, shadowUrl: string): SqlMigrationAwareDriverAdapterFactory {
  return dialect === "sqlite" ? sqliteForEngine(url) : postgresForEngine(url, shadowUrl);
}

test("the migrations produce exactly the schema", async () => {
  expect(await schemaDifference(dialect, engineAdapter(await unmigrated(), await unmigrated()))).toBe("");
});

test("a database migrated at boot is exactly the schema, and Prisma's own tools accept its history", async () => {
  const url = await unmigrated();
  const names = await migrate(url);
  expect(names).toEqual((await readMigrations(dialect)).map(({ name }) => name));
  const engine = await createSchemaEngine(engineAdapter(url, await unmigrated()));
  onTestFinished(() => engine.free());
  const migrationsList = await migrationList(dialect);
  const history = await engine.diagnoseMigrationHistory({ migrationsList, optInToShadowDatabase: true, filters: noFilter });
  expect(history).toEqual({ history: null, editedMigrationNames: [], failedMigrationNames: [], hasMigrationsTable: true });
  expect(await engine.applyMigrations({ migrationsList, filters: noFilter })).toEqual({ appliedMigrationNames: [] });
  const push = await engine.schemaPush({ schema: { files: [await schemaFile(dialect)] }, force: false, filters: noFilter });
  expect(push).toEqual({ executedSteps: 0, unexecutable: [], warnings: [] });
});

test("the second boot applies nothing, and several at once apply each migration once", async () => {
  const url = await unmigrated();
  const boots = await Promise.all([migrate(url), migrate(url), migrate(url)]);
  expect(boots.flat()).toEqual((await readMigrations(dialect)).map(({ name }) => name));
  expect(await migrate(url)).toEqual([]);
});

test("a database of a newer version is refused unharmed", async () => {
  const { url, remove } = await createEmptyCopy();
  onTestFinished(remove);
  await migrate(url, await folderWith(dialect, "29990101000000_later", "CREATE TABLE later (id INTEGER PRIMARY KEY);"));
  const opening = openDatabase({ url });
  await expect(opening).rejects.toMatchObject({ name: "DatabaseError", reason: "newer_schema" });
  await expect(opening).rejects.toThrow("29990101000000_later");
});

test("a migration that was changed after it was applied is refused", async () => {
  const url = await unmigrated();
  const later = await folderWith(dialect, "29990101000000_later", "CREATE TABLE later (id INTEGER PRIMARY KEY);");
  await migrate(url, later);
  await writeFile(join(later, "29990101000000_later", "migration.sql"), "CREATE TABLE other (id INTEGER PRIMARY KEY);");
  await expect(migrate(url, later)).rejects.toMatchObject({ reason: "changed_migration" });
});

test("a migration that fails leaves nothing behind and can be tried again", async () => {
  const { url, database, drop } = await createTestDatabase();
  onTestFinished(drop);
  await database.write(sampleCall(), (tx) => addOwner(tx, "a"));
  const folder = await folderWith(
    dialect,
    "29990101000000_broken",
    "DELETE FROM owners; CREATE TABLE later (id INTEGER PRIMARY KEY); CREATE TABLE owners (id INTEGER);",
  );
  await expect(migrate(url, folder)).rejects.toThrow("owners");
  expect(await ownerIds(database.read)).toEqual(["a"]);
  await writeFile(join(folder, "29990101000000_broken", "migration.sql"), "CREATE TABLE later (id INTEGER PRIMARY KEY);");
  expect(await migrate(url, folder)).toEqual(["29990101000000_broken"]);
});

test("audit entries are neither changed nor deleted; details may be erased but not changed", async () => {
  const { database, drop } = await createTestDatabase();
  onTestFinished(drop);
  const entry = {
    id: "1",
    at: new Date(0),
    action: "case.open",
    outcome: "ok",
    via: "rest",
    requestId: "r",
    breakGlass: false,
    payloadCommitment: "c",
    prevHash: "p",
    hash: "h",
  };
  await database.write(sampleCall(), async ({ db }) => {
    await db.auditEntry.create({ data: { seq: 1, ...entry } });
    await db.auditPayload.create({ data: { seq: 1, salt: "s", payload: { reason: "spam" } } });
  });
  const changes: ((tx: Tx) => Promise<unknown>)[] = [
    ({ db }) => db.auditEntry.update({ where: { seq: 1 }, data: { action: "case.close" } }),
    ({ db }) => db.auditEntry.delete({ where: { seq: 1 } }),
    ({ db }) => db.auditPayload.update({ where: { seq: 1 }, data: { salt: "t" } }),
  ];
  for (const change of changes) await expect(database.write(sampleCall(), change)).rejects.toThrow();
  expect(await database.read.auditEntry.findMany()).toMatchObject([{ seq: 1, ...entry }]);
  expect(await database.read.auditPayload.findMany()).toEqual([{ seq: 1, salt: "s", payload: { reason: "spam" } }]);
  await database.write(sampleCall(), ({ db }) => db.auditPayload.delete({ where: { seq: 1 } }));
});
