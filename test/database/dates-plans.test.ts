// @module-tag sqlite
import Sqlite from "better-sqlite3";
import { expect, test } from "vitest";
import { sqliteFile } from "../../src/database/dialect.ts";
import { features, type Services } from "../../src/features.ts";
import { createEmptyCopy } from "../support/database.ts";
import { statementsOf } from "../support/statements.ts";
import { createWorld } from "../support/world.ts";

/** Tables with as many rows as there are staff, agreements that have not begun, or lists that are followed. */
const small = ["staff_profiles", "agreements", "followed_lists"];

test("the next date of every job, which is read once a second, is the first row of an index", async () => {
  const database = await createEmptyCopy();
  const world = await createWorld({ database });
  const file = new Sqlite(sqliteFile(database.url));
  const jobs = Object.entries(features.jobs(world.app as unknown as Services));
  const costly: string[] = [];
  const dated: string[] = [];
  for (const [name, job] of jobs) {
    if (typeof job === "function") continue;
    dated.push(name);
    const { single, transactions } = await statementsOf(job.nextDue);
    expect(transactions, name).toEqual([]);
    expect(single.length, name).toBeGreaterThan(0);
    for (const statement of single) {
      if (small.some((table) => statement.includes(table))) continue;
      const values = Array.from(statement.matchAll(/\?/g), () => null);
      const plan = file.prepare(`EXPLAIN QUERY PLAN ${statement}`).all(...values) as { detail: string }[];
      for (const { detail } of plan) if (!/USING (COVERING )?INDEX/.test(detail)) costly.push(`${name}: ${detail} in ${statement}`);
    }
  }
  file.close();
  expect(costly).toEqual([]);
  expect(dated.toSorted()).toEqual(
    "authorization blacklist callsigns confirmations exemptions followedEntries matches permissions registry reminders roster staff workflows".split(
      " ",
    ),
  );
});
