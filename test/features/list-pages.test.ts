// @module-tag slow
import { describe, expect, onTestFinished, test } from "vitest";
import { nameOf, queryOf, type GrowthStore, type People } from "../../bench/growth/list.ts";
import { fill } from "../../bench/growth/store.ts";
import { stores } from "../../bench/growth/stores.ts";
import { walkLimits } from "../../src/database/walk.ts";
import { inTurn, sizeOf, tier } from "../support/size.ts";
import { createWorld } from "../support/world.ts";

const entries = sizeOf({ quick: 30, all: 75, long: 300 });
const limit = 7;
const usual = { ...walkLimits };
const lower = [
  { gathered: 0, examined: 9 },
  { gathered: 3, examined: 40 },
].slice(0, sizeOf({ quick: 1, all: 2, long: 2 }));

interface Answered {
  data: { id: string }[];
  page: { next_cursor: string | null; total?: number };
  meta: { examined?: number };
}

describe.each(["requests", "cases", "roster", "register"])("the lists of %s", (name) => {
  test("hold the same on all pages together, however little is looked at for one of them", async () => {
    onTestFinished(() => void Object.assign(walkLimits, usual));
    const store = await (stores[name] as () => Promise<GrowthStore>)();
    const world = await createWorld();
    const people: People = { owner: (await world.staff("owner")).id, ordinary: (await world.staff(store.ordinary)).id };
    await fill(world.app.database, store, entries, people);
    let [ended, met] = [0, 0];
    for (const { path, asked = path, cases } of store.lists)
      for (const [index, one] of cases.entries())
        for (const actor of one.isForOwner === true ? (["owner"] as const) : inTurn(["owner", "ordinary"] as const, index)) {
          const ask = async (page: string): Promise<Answered> => {
            const address = `${asked}?${[queryOf(one, entries, people), page].filter((part) => part !== "").join("&")}`;
            const { status, body } = await world.get(address, { actor: people[actor] });
            expect([address, status, body.detail]).toEqual([address, 200, undefined]);
            return body as Answered;
          };
          Object.assign(walkLimits, usual);
          const whole = await ask("limit=200&count=true");
          const wanted = whole.data.map(({ id }) => id);
          met += wanted.length;
          for (const limits of lower) {
            Object.assign(walkLimits, limits);
            const found: string[] = [];
            let total: number | undefined;
            for (let cursor: string | null = ""; cursor !== null;) {
              const answer = await ask(
                `limit=${limit.toString()}&count=true${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`,
              );
              const isEndedEarly = answer.data.length < limit && answer.page.next_cursor !== null;
              expect(answer.meta.examined).toBe(isEndedEarly ? limits.examined : undefined);
              if (isEndedEarly) ended += 1;
              found.push(...answer.data.map(({ id }) => id));
              ({ total } = answer.page);
              cursor = answer.page.next_cursor;
            }
            const asked = [nameOf(one, entries, people), actor, limits];
            expect([...asked, found, total]).toEqual([...asked, wanted, whole.page.total]);
          }
        }
    expect(ended).toBeGreaterThan(0);
    expect(met).toBeGreaterThan((tier === "quick" ? 3 : 6) * entries);
  });
});
