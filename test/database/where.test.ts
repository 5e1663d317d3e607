// @module-tag both
import fc from "fast-check";
import { expect, test } from "vitest";
import { insertRows } from "../../src/database/insert.ts";
import { conditionOf, countOf, type ClientWhere, type Where } from "../../src/database/where.ts";
import { Prisma } from "../../src/generated/sqlite/client.ts";
import { never } from "../../src/kernel/clock.ts";
import { createTestDatabase } from "../support/database.ts";
import { runsOf } from "../support/size.ts";
import { sampleCall } from "./samples.ts";

const values = [0, 1, 2, 3];
const heads = ["a", "b", "c"];
const rows = values.flatMap((value) => [null, ...heads].map((head) => ({ name: `${value.toString()}${head ?? ""}`, value, head })));

const number = fc.constantFrom(...values);
const head = fc.constantFrom(...heads);
const testsOf = <V>(value: fc.Arbitrary<V>) =>
  fc.oneof(
    value,
    fc.record({ in: fc.array(value, { maxLength: 3 }) }),
    fc.record({ notIn: fc.array(value, { maxLength: 3 }) }),
    fc.record({ not: value }),
    fc.record({ equals: value }),
    fc.record({ gte: value, lt: value }, { requiredKeys: ["lt"] }),
    fc.record({ gt: value, lte: value }, { requiredKeys: ["gt"] }),
  );
const { condition } = fc.letrec<{ condition: Where<"Counter"> }>((tie) => ({
  condition: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.record(
      { value: testsOf(number), head: fc.oneof(testsOf(head), fc.constant(null)), name: fc.constant(undefined) },
      { requiredKeys: ["value"] },
    ),
    fc.record({ AND: fc.array(tie("condition"), { minLength: 1, maxLength: 3 }) }),
    fc.record({ OR: fc.array(tie("condition"), { minLength: 1, maxLength: 3 }), value: testsOf(number) }, { requiredKeys: ["OR"] }),
    fc.record({ NOT: tie("condition") }),
  ) as fc.Arbitrary<Where<"Counter">>,
}));

test("conditions made into SQL find what the client of the models finds", async () => {
  const { database, drop } = await createTestDatabase();
  await database.write(sampleCall(), (tx) => insertRows(tx, "Counter", rows));
  let found = 0;
  await fc.assert(
    fc.asyncProperty(condition, async (where) => {
      const expected = await database.read.counter.findMany({ where: where as Prisma.CounterWhereInput, orderBy: { name: "asc" } });
      const rest = Prisma.sql`WHERE ${conditionOf("Counter", where)} ORDER BY t.name`;
      expect(await database.read.$select("Counter", rest)).toEqual(expected);
      found += expected.length > 0 && expected.length < rows.length ? 1 : 0;
    }),
    { numRuns: runsOf(800) },
  );
  expect(found).toBeGreaterThan(20);
  await drop();
});

test("conditions on what belongs to a row find what the client of the models finds, and count it", async () => {
  const { database, drop } = await createTestDatabase();
  const at = new Date("2030-01-01T00:00:00.000Z");
  const common = {
    type: "general",
    title: "x",
    status: "open",
    priority: "low",
    policies: [],
    dueOrder: never,
    createdAt: at,
    updatedAt: at,
  };
  const cases = [0, 1, 2, 3].map((number) => ({
    ...common,
    id: `c${number.toString()}`,
    number,
    isConfidential: number % 2 === 0,
    leadId: number === 0 ? null : `u${number.toString()}`,
  }));
  const labels = ["c0 a", "c0 b", "c1 a", "c2 c"].map((text) => ({ caseId: text.slice(0, 2), label: text.slice(3) }));
  const draft = { type: "appeal", payload: {}, subjectKind: "user", subjectId: "1", cause: "x", status: "open", createdAt: at };
  const drafts = [null, 0, 1, 2].map((caseNumber, index) => ({ ...draft, id: `d${index.toString()}`, caseNumber }));
  await database.write(sampleCall(), async (tx) => {
    await insertRows(tx, "Case", cases);
    await insertRows(tx, "CaseLabel", labels);
    await insertRows(tx, "RequestDraft", drafts);
  });
  const ofCases: ClientWhere<"Case">[] = [
    { labels: { some: { label: "a" } } },
    { labels: { some: { label: { in: ["a", "c"] } }, none: { label: "b" } } },
    { labels: { none: {} } },
    { NOT: { OR: [{ leadId: "u1" }, { labels: { some: { label: "c" } } }] } },
    { NOT: { NOT: { labels: { none: { label: { in: [] } } } } }, isConfidential: true },
    { labels: { some: { case: { is: { leadId: { not: null } } } } } },
    { drafts: { some: { NOT: { case: { is: { labels: { some: { label: "b" } } } } } } } },
  ];
  const found: number[] = [];
  for (const where of ofCases) {
    const expected = await database.read.case.findMany({ where, orderBy: { id: "asc" } });
    expect(await database.read.$select("Case", Prisma.sql`WHERE ${conditionOf("Case", where)} ORDER BY t.id`)).toEqual(expected);
    expect(await countOf(database.read, "Case", where)).toBe(expected.length);
    found.push(expected.length);
  }
  expect(found).toEqual([2, 2, 1, 1, 2, 2, 2]);
  for (const [where, ids] of [
    [{ case: { is: { isConfidential: true } } }, ["d1", "d3"]],
    [{ NOT: { case: { is: { isConfidential: true } } } }, ["d0", "d2"]],
  ] satisfies [ClientWhere<"RequestDraft">, string[]][]) {
    const rest = Prisma.sql`WHERE ${conditionOf("RequestDraft", where)} ORDER BY t.id`;
    expect((await database.read.$select("RequestDraft", rest, ["id"])).map(({ id }) => id)).toEqual(ids);
    expect((await database.read.requestDraft.findMany({ where, orderBy: { id: "asc" } })).map(({ id }) => id)).toEqual(ids);
  }
  await drop();
});
