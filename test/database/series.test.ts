// @module-tag both
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, inject, onTestFinished, test } from "vitest";
import { migrationsFolder } from "../../src/database/migrate-sqlite.ts";
import { nextNumber } from "../../src/database/counter.ts";
import { createAuditService } from "../../src/features/audit/audit.service.ts";
import { createCursors } from "../../src/kernel/page.ts";
import { createTestDatabase } from "../support/database.ts";
import { runsOf } from "../support/size.ts";
import { sampleCall, seriesOf } from "./samples.ts";
import { execute } from "./sql.ts";

test("series have no gaps, know the entry before, and keep what one transaction adds together, whoever writes, takes numbers and fails at once", async () => {
  const writes = fc.array(
    fc.record({
      entries: fc.array(fc.constantFrom("audit", "events"), { minLength: 1, maxLength: 5 }),
      fails: fc.boolean(),
      number: fc.constantFrom("none", "early", "last"),
    }),
    { minLength: 1, maxLength: 12 },
  );
  await fc.assert(
    fc.asyncProperty(writes, async (wanted) => {
      const { database, drop } = await createTestDatabase();
      try {
        const all = { audit: seriesOf("audit"), events: seriesOf("events") };
        const numbers: [fails: boolean, number: number][] = [];
        await Promise.allSettled(
          wanted.map(({ entries, fails, number }, index) =>
            database.write(sampleCall(), async (tx) => {
              if (number !== "none") numbers.push([fails, await nextNumber(tx, "case", { isLast: number === "last" })]);
              for (const [place, name] of entries.entries()) tx.append(all[name], `${index.toString()}.${place.toString()}`);
              if (fails) throw new Error("refused");
            }),
          ),
        );
        const kept = numbers.flatMap(([fails, number]) => (fails ? [] : [number]));
        expect(kept.toSorted((a, b) => a - b)).toEqual(kept.map((_, index) => index + 1));
        for (const name of ["audit", "events"] as const) {
          const rows = await database.read.setting.findMany({ where: { key: { startsWith: `${name}:` } }, orderBy: { key: "asc" } });
          const found = rows.map(({ value }) => value as { entry: string; before: string | null });
          expect(rows.map(({ key }) => Number(key.slice(-6)))).toEqual(found.map((_, index) => index + 1));
          expect(found.map(({ before }) => before)).toEqual(found.map((_, index) => found[index - 1]?.entry ?? null));
          const added = wanted.map(({ entries, fails }, index) =>
            fails ? [] : entries.flatMap((one, place) => (one === name ? [`${index.toString()}.${place.toString()}`] : [])),
          );
          expect(found.map(({ entry }) => entry).toSorted()).toEqual(added.flat().toSorted());
          const text = found.map(({ entry }) => entry).join(" ");
          expect(added.filter((some) => !` ${text} `.includes(` ${some.join(" ")} `) && some.length > 0)).toEqual([]);
        }
      } finally {
        await drop();
      }
    }),
    { numRuns: runsOf(12) },
  );
});

test("the audit of a database from an earlier version goes on where it stands", async () => {
  const { url, database, drop } = await createTestDatabase();
  onTestFinished(drop);
  const audit = createAuditService({ database, cursors: createCursors(Buffer.alloc(32)) });
  const record = (action: string) => database.write(sampleCall(), async (tx) => audit.record(tx, { action }));
  for (const action of ["one.make", "two.make", "three.make"]) await record(action);
  // As an earlier version left it: it read the end of the chain from the entries.
  await execute(url, "DELETE FROM counters WHERE name = 'audit'");
  const folder = migrationsFolder(inject("dialect"));
  const name = (await readdir(folder)).find((one) => one.endsWith("_series_heads")) ?? "";
  const sql = await readFile(join(folder, name, "migration.sql"), "utf8");
  await execute(url, sql.slice(sql.indexOf("INSERT INTO")));
  await record("four.make");
  const entries = await database.read.auditEntry.findMany({ orderBy: { seq: "asc" }, select: { seq: true, action: true } });
  expect(entries.map(({ seq, action }) => `${seq.toString()} ${action}`)).toEqual([
    "1 one.make",
    "2 two.make",
    "3 three.make",
    "4 four.make",
  ]);
  expect(await audit.verify(sampleCall())).toMatchObject({ ok: true, entries: 4 });
});
