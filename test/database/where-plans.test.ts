// @module-tag both
import { expect, test } from "vitest";
import { fill } from "../../bench/growth/store.ts";
import { store } from "../../bench/growth/cases.ts";
import { kept } from "../../src/database/walk.ts";
import { conditionOf, sqlOrderOf, type Where } from "../../src/database/where.ts";
import { newestFirst } from "../../src/kernel/keyset.ts";
import { Prisma } from "../../src/generated/sqlite/client.ts";
import { sampleCall } from "./samples.ts";
import { createTestDatabase } from "../support/database.ts";

const entries = 3000;

test("a page looks up what belongs to the entries that it comes by, and reads all of it for none", async () => {
  const { database, drop } = await createTestDatabase();
  const isPostgres = database.dialect === "postgres";
  await fill(database, store, entries, { owner: "1", ordinary: "2" });
  if (isPostgres) await database.write(sampleCall(), async (tx) => await tx.db.$executeRaw`ANALYZE`);
  const { by, after } = sqlOrderOf("Case", newestFirst);
  const position = after([new Date().toISOString(), "0"]);
  const asked: Where<"Case">[] = [
    { labels: { some: { label: "harassment" } } },
    { words: { some: { word: { gte: "lantern", lt: "lanterns" } } } },
    { members: { none: { userId: "3" } } },
  ];
  for (const where of asked) {
    const page = Prisma.sql`SELECT t.id FROM cases t WHERE ${conditionOf("Case", { AND: [position, kept(where)] })} ORDER BY ${by} LIMIT 51`;
    const how = Prisma.raw(isPostgres ? "EXPLAIN" : "EXPLAIN QUERY PLAN");
    const lines = await database.read.$queryRaw<Record<string, unknown>[]>`${how} ${page}`;
    const plan = lines.map((line) => String(line["QUERY PLAN"] ?? line.detail)).join("\n");
    expect(plan).toMatch(/cases_created_at_id_idx/);
    expect(plan).not.toMatch(/hashed|Hash|Seq Scan|^SCAN tx|TEMP B-TREE/m);
    expect(plan).toMatch(/Index Cond: \((\(case_id = t\.id\)|case_id = t\.id)|SEARCH tx USING .*case_id=\?/);
  }
  await drop();
});
