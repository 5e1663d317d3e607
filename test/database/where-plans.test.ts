// @module-tag both
import { expect, inject, test } from "vitest";
import { snowflake } from "../../bench/growth/values.ts";
import type { GrowthStore } from "../../bench/growth/list.ts";
import { fill } from "../../bench/growth/store.ts";
import { stores } from "../../bench/growth/stores.ts";
import { kept } from "../../src/database/walk.ts";
import { conditionOf, selectIds, sqlOrderOf, type Where } from "../../src/database/where.ts";
import { aboutCondition, knownWhere } from "../../src/features/workflows/requests/filters.ts";
import { tables } from "../../src/generated/tables.ts";
import { newestFirst } from "../../src/kernel/keyset.ts";
import { Prisma } from "../../src/generated/sqlite/client.ts";
import { sampleCall } from "./samples.ts";
import { createTestDatabase } from "../support/database.ts";

const entries = 3000;
const [owner, ordinary] = ["1", "2"];
const ofCases: Where<"Case">[] = [
  { labels: { some: { label: "harassment" } } },
  { words: { some: { word: { gte: "lantern", lt: "lanterns" } } } },
  { members: { none: { userId: ordinary } } },
];
const ofRequests: Where<"WorkflowRequest">[] = [
  aboutCondition(snowflake(5)).where,
  knownWhere({ call: { ...sampleCall(), actor: { id: ordinary } as never }, accounts: [snowflake(5)] }),
];

test.each([
  { name: "cases", model: "Case", asked: ofCases },
  { name: "requests", model: "WorkflowRequest", asked: ofRequests },
] as const)(
  "a page of $name looks up what belongs to each entry that it comes by, and reads all of it for none",
  async ({ name, model, asked }) => {
    const { database, drop } = await createTestDatabase();
    const isPostgres = database.dialect === "postgres";
    const store = await stores[name]?.();
    await fill(database, store as GrowthStore, entries, { owner, ordinary });
    if (isPostgres) await database.write(sampleCall(), async (tx) => await tx.db.$executeRaw`ANALYZE`);
    const { by, after } = sqlOrderOf(model, newestFirst);
    const position = after([new Date().toISOString(), "0"]);
    for (const where of asked) {
      const condition = conditionOf(model, { AND: [position, kept<object>(where)] });
      const page = Prisma.sql`SELECT t.id FROM ${Prisma.raw(tables[model].table)} t WHERE ${condition} ORDER BY ${by} LIMIT 51`;
      const how = Prisma.raw(isPostgres ? "EXPLAIN" : "EXPLAIN QUERY PLAN");
      const lines = await database.read.$queryRaw<Record<"QUERY PLAN" | "detail", unknown>[]>`${how} ${page}`;
      const plan = lines.map((line) => String(line["QUERY PLAN"] ?? line.detail)).join("\n");
      expect(plan).toMatch(/_created_at_id_idx/);
      expect(plan).not.toMatch(/hashed|Hash|Seq Scan|^SCAN tx|TEMP B-TREE/m);
      expect(plan).toMatch(/Index Cond: \(\(?(case|request)_id = t\.id\)|SEARCH tx USING .*(case|request)_id=\?/);
    }
    await drop();
  },
);

test.runIf(inject("dialect") === "sqlite")(
  "rows that are named by their ids are looked up by them, and not by a flag that many rows have",
  async () => {
    const { database, drop } = await createTestDatabase();
    const ids = ["no-case", "nor-this-one"];
    const named: Where<"Case">[] = [
      { id: { in: ids }, isConfidential: true },
      { AND: [{ id: { in: ids } }, { isConfidential: true, subjects: { some: { kind: "user", subjectId: ordinary } } }] },
    ];
    for (const where of named) {
      const select = Prisma.sql`SELECT t.id FROM cases t WHERE ${conditionOf("Case", where)}`;
      const lines = await database.read.$queryRaw<{ detail: string }[]>`EXPLAIN QUERY PLAN ${select}`;
      expect(lines[0]?.detail).toMatch(/^SEARCH t USING .*\(id=\?\)/);
      expect(await selectIds(database.read, "Case", where)).toEqual([]);
    }
    await drop();
  },
);
