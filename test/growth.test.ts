// @module-tag both
import BetterSqlite3 from "better-sqlite3";
import { beforeEach, describe, expect, inject, onTestFinished, test } from "vitest";
import { nameOf, queryOf, type GrowthCase, type GrowthList, type GrowthStore, type People } from "../bench/growth/list.ts";
import { fill } from "../bench/growth/store.ts";
import { stores } from "../bench/growth/stores.ts";
import { walkLimits } from "../src/database/walk.ts";
import { sqliteFile } from "../src/database/dialect.ts";
import { statementsOf } from "./support/statements.ts";
import { createWorld, type World } from "./support/world.ts";

const entries = 150;
/** The lists that are walked; the others keep to a bounded cost in their own way. */
const walked = ["requests", "cases", "roster", "register"];

interface Filled {
  world: World;
  store: GrowthStore;
  people: People;
  ask(list: GrowthList, one: GrowthCase, actor: keyof People, page?: string): Promise<Answered>;
}

interface Answered {
  data: { id: string }[];
  page: { next_cursor: string | null };
  meta: { examined?: number };
}

async function filled(name: string): Promise<Filled> {
  const store = await (stores[name] as () => Promise<GrowthStore>)();
  const world = await createWorld();
  const people = { owner: (await world.staff("owner")).id, ordinary: (await world.staff(store.ordinary)).id };
  await fill(world.app.database, store, entries, people);
  return {
    world,
    store,
    people,
    async ask(list, one, actor, page = "limit=7") {
      const query = queryOf(one, entries, people);
      const path = `${list.asked ?? list.path}?${query}${query === "" ? "" : "&"}${page}`;
      const { status, body } = await world.get(path, { actor: people[actor] });
      expect([path, status, body.detail]).toEqual([path, 200, undefined]);
      return body as Answered;
    },
  };
}

function casesOf({ store }: Filled): { list: GrowthList; one: GrowthCase; actor: keyof People }[] {
  return store.lists.flatMap((list) =>
    list.cases.flatMap((one) =>
      (one.isForOwner === true ? (["owner"] as const) : (["owner", "ordinary"] as const)).map((actor) => ({ list, one, actor })),
    ),
  );
}

const usual = { ...walkLimits };
function limit(limits: typeof usual): void {
  Object.assign(walkLimits, limits);
}
beforeEach(() => onTestFinished(() => limit(usual)));

describe.each(walked)("the lists of %s", (name) => {
  test(
    "answer the same on all pages together, however little is gathered and looked at for one of them",
    { timeout: 240_000 },
    async () => {
      const all = await filled(name);
      let [ended, met] = [0, 0];
      for (const { list, one, actor } of casesOf(all)) {
        limit(usual);
        const whole = await all.ask(list, one, actor, `limit=${"200"}&count=true`);
        const wanted = whole.data.map(({ id }) => id);
        met += wanted.length;
        for (const limits of [
          { gathered: 0, examined: 9 },
          { gathered: 3, examined: 40 },
        ]) {
          limit(limits);
          const found: string[] = [];
          for (let cursor: string | null = ""; cursor !== null;) {
            const answer = await all.ask(list, one, actor, `limit=7${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`);
            const isEndedEarly = answer.data.length < 7 && answer.page.next_cursor !== null;
            expect(answer.meta.examined).toBe(isEndedEarly ? limits.examined : undefined);
            if (isEndedEarly) ended += 1;
            found.push(...answer.data.map(({ id }) => id));
            cursor = answer.page.next_cursor;
          }
          expect([nameOf(one, entries, all.people), actor, limits, found]).toEqual([
            nameOf(one, entries, all.people),
            actor,
            limits,
            wanted,
          ]);
        }
      }
      expect(ended).toBeGreaterThan(0);
      expect(met).toBeGreaterThan(1000);
    },
  );

  test.runIf(inject("dialect") === "sqlite")(
    "are never read as a whole, and sorted only where a filter finds few",
    { timeout: 240_000 },
    async () => {
      const all = await filled(name);
      // As in a large store: half of all are not few.
      limit({ gathered: 10, examined: 40 });
      const db = new BetterSqlite3(sqliteFile(all.world.databaseUrl), { readonly: true });
      onTestFinished(() => void db.close());
      const seen = new Set<string>();
      for (const { list, one, actor } of casesOf(all)) {
        const first = await all.ask(list, one, actor);
        const deep = first.page.next_cursor === null ? "limit=7" : `limit=7&cursor=${encodeURIComponent(first.page.next_cursor)}`;
        const { single } = await statementsOf(() => all.ask(list, one, actor, deep));
        for (const statement of single) {
          if (seen.has(statement)) continue;
          seen.add(statement);
          const plan = planOf(db, statement);
          const isOfFew = /IN \(\?|json_each/.test(statement);
          const bad = plan.filter(
            (step) =>
              /^SCAN (main\.)?(workflow|case|roster|server|request_draft|blacklist|account_link)\w*$/.test(step) ||
              (step.includes("TEMP B-TREE FOR ORDER BY") && !isOfFew),
          );
          expect([nameOf(one, entries, all.people), actor, bad, bad.length > 0 ? statement : ""]).toEqual([
            nameOf(one, entries, all.people),
            actor,
            [],
            "",
          ]);
        }
      }
      expect(seen.size).toBeGreaterThan(10);
    },
  );
});

function planOf(db: BetterSqlite3.Database, statement: string): string[] {
  const values = Array<null>(statement.split("?").length - 1).fill(null);
  return db
    .prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${statement}`)
    .all(...values)
    .map(({ detail }) => detail);
}
