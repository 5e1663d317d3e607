// @module-tag both
import fc from "fast-check";
import { expect, test } from "vitest";
import { insertRows } from "../../src/database/insert.ts";
import { conditionOf, type Where } from "../../src/database/where.ts";
import { Prisma } from "../../src/generated/sqlite/client.ts";
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
      for (const asked of [where, { kept: where }]) {
        const rest = Prisma.sql`WHERE ${conditionOf("Counter", asked)} ORDER BY t.name`;
        expect(await database.read.$select("Counter", rest)).toEqual(expected);
      }
      found += expected.length > 0 && expected.length < rows.length ? 1 : 0;
    }),
    { numRuns: runsOf(800) },
  );
  expect(found).toBeGreaterThan(20);
  await drop();
});
