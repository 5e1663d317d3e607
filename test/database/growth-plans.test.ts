// @module-tag sqlite
import Sqlite from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { openApiDocument } from "../../src/app.ts";
import { sqliteFile } from "../../src/database/dialect.ts";
import { tables } from "../../src/generated/tables.ts";
import { missingCases, nameOf, queryOf, type People } from "../../bench/growth/list.ts";
import { fill } from "../../bench/growth/store.ts";
import { stores } from "../../bench/growth/stores.ts";
import { inTurn, tier } from "../support/size.ts";
import { statementsOf } from "../support/statements.ts";
import { createWorld } from "../support/world.ts";

/** More than what counts as few, and more than a page looks at. */
const entries = 2500;

/** How SQLite goes about a statement; the plan does not depend on the values. */
function planOf(file: Sqlite.Database, statement: string): string[] {
  const values = Array.from(statement.matchAll(/\?/g), () => null);
  return (file.prepare(`EXPLAIN QUERY PLAN ${statement}`).all(...values) as { detail: string }[]).map(({ detail }) => detail);
}

/**
 * Without a condition that an index serves, a list is read in its order, up to where its page ends; a few records named by their ids may be
 * sorted.
 */
function growing(statement: string, plan: readonly string[]): string[] {
  const namesRows = /`(id|seq)` IN \(/.test(statement) || /`(id|seq)` = \?/.test(statement);
  const isWalk = /WHERE \(+NOT \(NOT [^]* ORDER BY/.test(statement);
  const isWhole = !statement.includes("WHERE") || statement.includes("WHERE 1=1");
  return plan.filter(
    (line) =>
      (line.startsWith("SCAN") && !isWhole && !(isWalk && line.includes("USING INDEX")) && !/CONSTANT ROW|^SCAN (sub|names)$/.test(line)) ||
      (line.includes("TEMP B-TREE FOR ORDER BY") && !namesRows),
  );
}

describe.each(["requests", "cases", "roster", "register", "blacklist", "audit"])("the lists of %s", (name) => {
  test("have a case for every filter and sort that the document offers", async () => {
    const { lists } = await (stores[name] as () => ReturnType<(typeof stores)[string]>)();
    expect(lists.flatMap((list) => missingCases(list, openApiDocument()))).toEqual([]);
  });

  test("read no table through and sort nothing that grows with it, whatever they are asked for", { timeout: 240_000 }, async () => {
    const store = await (stores[name] as () => ReturnType<(typeof stores)[string]>)();
    const world = await createWorld();
    const [owner, ordinary] = [await world.staff("owner"), await world.staff(store.ordinary)];
    const people: People = { owner: owner.id, ordinary: ordinary.id };
    const { value: taken = 0 } = (await world.app.database.read.counter.findUnique({ where: { name: "audit" } })) ?? {};
    await fill(world.app.database, store, entries, people, taken);
    const filled = store.rowsOf(0, entries, people).map(({ model }) => tables[model].table);
    const file = new Sqlite(sqliteFile(world.databaseUrl), { readonly: true });
    const found: string[] = [];
    let looked = 0;
    for (const { path, asked = path, cases } of store.lists)
      for (const [index, one] of cases.entries())
        for (const actor of one.isForOwner === true ? [owner] : inTurn([owner, ordinary], index)) {
          let cursor: string | null = null;
          const { single } = await statementsOf(async () => {
            const answer = await world.get(`${asked}?${queryOf(one, entries, people)}`, { actor });
            expect([answer.status, answer.body.detail]).toEqual([200, undefined]);
            cursor = answer.body.page.next_cursor;
          });
          const next = await statementsOf(async () => {
            if (cursor !== null)
              await world.get(`${asked}?${queryOf(one, entries, people)}&cursor=${encodeURIComponent(cursor)}`, { actor });
          });
          for (const statement of [...single, ...next.single].filter((text) => filled.some((table) => text.includes(`\`${table}\``)))) {
            looked += 1;
            const bad = growing(statement, planOf(file, statement));
            if (bad.length > 0) found.push(`${path} ${nameOf(one, entries, people)}: ${bad.join("; ")}\n${statement}`);
          }
        }
    file.close();
    expect(found).toEqual([]);
    expect(looked).toBeGreaterThan(store.lists.flatMap(({ cases }) => cases).length / (tier === "quick" ? 2 : 1));
  });
});
