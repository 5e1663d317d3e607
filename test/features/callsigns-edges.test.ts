import { beforeAll, describe, expect, test } from "vitest";
import { isWrittenRight } from "../../src/features/callsigns/repair/text.ts";
import type { CallsignPool } from "../../src/generated/sqlite/client.ts";
import type { User } from "../../sandbox/index.ts";
import { shareWorld } from "../contract/world.ts";

const time = { now: Date.now() };
const shared = shareWorld({ clock: { now: () => new Date(time.now) } });
const staff = {} as Record<"senior" | "moderator", User>;
beforeAll(async () => {
  for (const level of ["senior", "moderator"] as const) staff[level] = await shared.world.staff(level);
});

let pools = 0;
async function pool(fields: object = {}): Promise<string> {
  const key = `edge${(pools += 1).toString()}`;
  const rules = { key, name: key, department: key.toUpperCase(), template: "{dept}-{n:02}", ranges: [[1, 20]], ...fields };
  const made = await shared.world.post("/callsigns/pools", rules, { actor: staff.senior });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  return key;
}
const next = (body: object, actor: User = staff.moderator) => shared.world.post("/callsigns/next", body, { actor });

test("a reservation that ran out in a pool that is gone is refused by name", async () => {
  const key = await pool({ reservation_minutes: 1 });
  const { reservation_id } = (await next({ pool: key })).body.data;
  time.now += 61_000;
  expect((await shared.world.delete(`/callsigns/pools/${key}`, undefined, { actor: staff.senior })).status).toBe(200);
  const late = await next({ reservation_id, user_id: shared.world.member().id });
  expect([late.status, late.body.code, late.body.from]).toEqual([409, "invalid_transition", "ended"]);
});

describe("a callsign is found again and taken back", () => {
  test.each([
    ["N/S", "{dept}-{n}"],
    ["50%", "{dept}-{n}"],
    ["%2F", "{dept}-{n}"],
    ["?#&", "{dept}-{n}"],
    ["Straße İx", "{dept}-{n}"],
    ["a_b", "{dept}-{n}"],
    [null, "{n} {dept}"],
    [null, "{dept} {n}"],
    ["tab\there", "{dept} {n}"],
    ["D".repeat(80), "{dept}{dept}{n}"],
  ])("of the department %s written as %s", async (department, template) => {
    for (const case_rule of ["keep", "upper", "lower"]) {
      const key = await pool({ department, template, case_rule });
      const { callsign } = (await next({ pool: key, user_id: shared.world.member().id })).body.data;
      const path = `/callsigns/${encodeURIComponent(callsign)}`;
      const found = await shared.world.get(`${path}?pool=${key}`);
      expect.soft([callsign, found.body.data?.state], JSON.stringify(found.body)).toEqual([callsign, "assigned"]);
      const q = await shared.world.get(`/callsigns?pool=${key}&q=${encodeURIComponent(callsign)}`);
      expect.soft([callsign, q.body.data?.length]).toEqual([callsign, 1]);
      const released = await shared.world.post(`${path}/release?pool=${key}`, { reason: "Away." }, { actor: staff.senior });
      expect.soft([callsign, released.status], JSON.stringify(released.body)).toEqual([callsign, 200]);
    }
  });
});

test("however often a template names the role, a callsign that does not fit is told in no time", () => {
  const pool = { template: `${"{rank}".repeat(8)}{n:03}`, caseRule: "keep", department: null } as CallsignPool;
  const begun = performance.now();
  expect(isWrittenRight(pool, `${"moderator".repeat(8)}0012`, 1, undefined)).toBe(false);
  expect(isWrittenRight(pool, `${"moderator".repeat(8)}001`, 1, undefined)).toBe(true);
  expect(isWrittenRight({ ...pool, template: "{rank}-{n} {rank}" }, "a b-1 c", 1, undefined)).toBe(false);
  expect(isWrittenRight({ ...pool, template: "{rank}-{n} {rank}" }, "a-1 c", 1, undefined)).toBe(true);
  expect(performance.now() - begun).toBeLessThan(5000);
});
