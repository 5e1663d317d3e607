// @module-tag sqlite
// @module-tag slow
import Sqlite from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { openApiDocument } from "../../src/app/document.ts";
import { sqliteFile } from "../../src/database/dialect.ts";
import { tables } from "../../src/generated/tables.ts";
import { forgottenLists, missingCases, nameOf, queryOf, type People } from "../../bench/growth/list.ts";
import { fill } from "../../bench/growth/store.ts";
import { stores } from "../../bench/growth/stores.ts";
import { insertAll } from "../../src/database/insert.ts";
import { discordEffect } from "../../src/features/workflows/effects/discord-effect.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { createGround, freshId, ownGuilds } from "../features/workflows-ground.ts";
import { inTurn, tier } from "../support/size.ts";
import { statementsOf } from "../support/statements.ts";
import { createWorld } from "../support/world.ts";

/** More than what counts as few, and more than a page looks at. */
const entries = 2500;

/** Made once: it takes a second, and is the same for every list. */
let made: object | undefined;
const document = (): object => (made ??= openApiDocument());

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
  const namesRows = /[`"](id|seq)[`"] (IN \(|= \?)/.test(statement);
  const isWalk = /WHERE \([^]*\) IS TRUE\)? ORDER BY/.test(statement);
  const isWhole = !statement.includes("WHERE") || /WHERE \(?1 ?= ?1\b/.test(statement);
  return plan.filter(
    (line) =>
      (line.startsWith("SCAN") &&
        !isWhole &&
        !(isWalk && line.includes("USING INDEX")) &&
        !/CONSTANT ROW|^SCAN (sub|names|json_each VIRTUAL TABLE .*)$/.test(line)) ||
      (line.includes("TEMP B-TREE FOR ORDER BY") && !namesRows),
  );
}

describe.each(["requests", "cases", "roster", "register", "blacklist", "audit", "nativeActions"])("the lists of %s", (name) => {
  test("have a case for every filter and sort that the document offers", async () => {
    const { lists } = await (stores[name] as () => ReturnType<(typeof stores)[string]>)();
    expect(lists.flatMap((list) => missingCases(list, document()))).toEqual([]);
  });

  test("read no table through and sort nothing that grows with it, whatever they are asked for", async () => {
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
          for (const statement of [...single, ...next.single].filter((text) => filled.some((table) => text.includes(table)))) {
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

test("every list of the document has cases, or a reason to have none", async () => {
  const lists = (await Promise.all(Object.values(stores).map((load) => load()))).flatMap((store) => store.lists);
  expect(forgottenLists(lists, document())).toEqual([]);
  const [first, ...others] = lists;
  expect(forgottenLists(others, document())).toEqual([`GET ${first?.path ?? ""} has no case`]);
  const lacking = lists.map((list) => ({ ...list, cases: list.cases.filter((one) => !String(one.query).includes("q=")) }));
  const missing = lacking.flatMap((list) => missingCases(list, document()));
  expect(missing).toEqual(expect.arrayContaining(["/audit", "/blacklist", "/roster"].map((path) => `GET ${path} has no case for q`)));
});

test("the statements of a request are told from those that run beside it", async () => {
  const world = await createWorld();
  const owner = await world.staff("owner");
  const { read } = world.app.database;
  const over = new AbortController();
  const beside = (async () => {
    for (; !over.signal.aborted; await new Promise(setImmediate)) await read.poachIncident.findMany();
  })();
  const { single, transactions } = await statementsOf(async () => {
    for (let count = 0; count < 5; count += 1) await world.get("/roster", { actor: owner });
    await read.agreement.findMany();
  });
  over.abort();
  await beside;
  const about = (table: string): number => [...single, ...transactions.flat()].filter((text) => text.includes(table)).length;
  expect([about("agreements"), about("poach_incidents")]).toEqual([1, 0]);
  expect(about("roster_entries")).toBeGreaterThanOrEqual(5);
});

test("what is due of decisions is read in the order of an index, however much there is", async () => {
  const ground = await createGround();
  const { deliveries, clock } = ground.services;
  const requester = ground.staff("moderator");
  const listing = { category: "raid", severity: "low", reason: "Led the raid of last night.", server_ids: [ownGuilds[0]] };
  const { body } = await ground.post("/workflows/blacklist-user", { user_id: freshId(), ...listing }, { actor: requester });
  const now = clock.now();
  const { input } = discordEffect({ kind: "message_channel", channelId: freshId(), content: "x", reason: "x" }, { id: "x", detail: "x" });
  const rows = Array.from({ length: 250 }, (_, place) => ({
    requestId: String(body.id),
    place,
    key: "test.told",
    status: place === 0 ? "skipped" : "pending",
    detail: "Waits for Discord.",
    input,
    dueAt: new Date(now.getTime() + (place % 3 === 0 ? 3_600_000 : -1000)),
    at: now,
    updatedAt: now,
  }));
  await ground.database.write(systemCall("cli", "fill"), (tx) => insertAll(tx, [{ model: "WorkflowEffect", rows }]));
  const { single } = await statementsOf(async () => {
    deliveries.start();
    await deliveries.deliverDue(systemCall("job", "due"));
    await deliveries.stop();
  });
  const file = new Sqlite(sqliteFile(ground.url), { readonly: true });
  const looked = single.filter((text) => /due_at/.test(text));
  expect(looked.flatMap((text) => growing(text, planOf(file, text)).map((line) => `${line}: ${text}`))).toEqual([]);
  file.close();
  expect(looked.length).toBeGreaterThan(2);
});
