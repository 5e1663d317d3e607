// @module-tag both
import { expect, inject, test } from "vitest";
import { snowflake } from "../../bench/growth/values.ts";
import type { GrowthStore } from "../../bench/growth/list.ts";
import { fill } from "../../bench/growth/store.ts";
import { stores } from "../../bench/growth/stores.ts";
import { conditionOf, selectIds, sqlOrderOf, type Where } from "../../src/database/where.ts";
import { aboutCondition, knownWhere } from "../../src/features/workflows/requests/filters.ts";
import { tables } from "../../src/generated/tables.ts";
import { newestFirst, orderOf } from "../../src/kernel/keyset.ts";
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
      const condition = conditionOf(model, { AND: [position, { kept: where }] });
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

test.each([
  { name: "roster", model: "RosterEntry", order: orderOf("updatedAt", "desc"), where: { staffRole: "moderator", status: "active" } },
  { name: "register", model: "RequestDraft", order: newestFirst, where: { type: "punishment" } },
  { name: "blacklist", model: "BlacklistRecord", order: newestFirst, where: { category: "raid" } },
] as const)("a page of the $name enters the index of its order at the position, and no other index", async ({ model, order, where }) => {
  const { database, drop } = await createTestDatabase();
  const isPostgres = database.dialect === "postgres";
  const planOf = (rest: Prisma.Sql): Promise<string> =>
    database.write(sampleCall(), async ({ db }) => {
      // An index that could be used is: what is chosen does not depend on how much is stored.
      if (isPostgres) for (const way of ["seqscan", "bitmapscan"]) await db.$executeRaw`${Prisma.raw(`SET LOCAL enable_${way} = off`)}`;
      const how = Prisma.raw(`${isPostgres ? "EXPLAIN" : "EXPLAIN QUERY PLAN"} SELECT t.id FROM ${tables[model].table} t WHERE `);
      const lines = await db.$queryRaw<Record<"QUERY PLAN" | "detail", unknown>[]>`${how}${rest}`;
      return lines.map((line) => String(line["QUERY PLAN"] ?? line.detail)).join("\n");
    });
  const { by, after } = sqlOrderOf(model, order);
  const entered = isPostgres ? /Index Cond: \(ROW\(\w+, id\) </ : /^SEARCH t USING .* \(\(\w+,id\)<\(\?,\?\)\)/;
  const page = await planOf(Prisma.sql`${conditionOf(model, after([new Date().toISOString(), "0"]))} ORDER BY ${by} LIMIT 51`);
  expect(page).toMatch(entered);
  expect(page).not.toMatch(/Sort|TEMP B-TREE/);
  const served = /Index Cond|^SEARCH/m;
  expect(await planOf(conditionOf<typeof model>(model, { kept: where }))).not.toMatch(served);
  expect(await planOf(conditionOf<typeof model>(model, where))).toMatch(served);
  await drop();
});

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
