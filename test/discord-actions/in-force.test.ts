// @module-tag sqlite
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Tx } from "../../src/database/database.ts";
import { createCausesInForce, holding, type CauseInForce, type CauseSource } from "../../src/discord-actions/in-force.ts";
import { runsOf, seedOf } from "../support/size.ts";

const place = { guildId: "80351110224678912", userId: "80351110224678913" };
const roleId = "80351110224678914";
const now = new Date("2026-11-01T12:00:00.000Z");
const tx = { now, lock: () => Promise.resolve() } as unknown as Tx;
const later = (hours: number) => new Date(now.getTime() + hours * 3_600_000);

/** A feature that keeps its causes in memory. */
function createSource(feature: CauseInForce["feature"]) {
  const causes: CauseInForce[] = [];
  const source: CauseSource = {
    feature,
    causesOf: () => Promise.resolve(causes),
    isUnderWay: () => Promise.resolve(causes.some(({ state }) => state === "pending")),
    signsOf: () => Promise.resolve([]),
    mark(_tx, id, { changed }) {
      Object.assign(causes.find((cause) => cause.id === id) ?? {}, { changed });
      return Promise.resolve();
    },
    end: () => Promise.resolve(),
  };
  return { causes, source };
}

const cause = (more: Partial<CauseInForce> & Pick<CauseInForce, "kind">): CauseInForce => ({
  feature: "request",
  id: "1",
  reference: "PUN-REQ-000001",
  until: null,
  changed: true,
  state: "done",
  at: now,
  ...more,
});

describe("what holds", () => {
  test("is nothing without a cause, and without one whose time is not over", () => {
    expect(holding([], now)).toEqual({ isBanned: false, timedOutUntil: null, roles: new Map() });
    expect(holding([cause({ kind: "timeout", until: later(-1) })], now).timedOutUntil).toBeNull();
  });

  test("is a ban by any cause, the latest end of all timeouts, and each role by the newest decision", () => {
    const held = holding(
      [
        cause({ kind: "ban", changed: false }),
        cause({ kind: "timeout", until: later(2) }),
        cause({ kind: "timeout", until: later(8), state: "pending" }),
        cause({ kind: "timeout", until: later(4) }),
        cause({ kind: "role_remove", roleId, at: later(-1) }),
        cause({ kind: "role_add", roleId, at: later(-2) }),
      ],
      now,
    );
    expect(held).toEqual({ isBanned: true, timedOutUntil: later(8), roles: new Map([[roleId, false]]) });
  });
});

type Step = { do: "add" | "remove"; isList: boolean } | { do: "withdraw"; which: number };
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constantFrom("add" as const, "remove" as const), isList: fc.boolean() }),
  fc.record({ do: fc.constant("withdraw" as const), which: fc.nat(5) }),
);

test("a role is as the newest decision in force says, and without any as it was before the first, in whatever order they go", async () => {
  await fc.assert(
    fc.asyncProperty(fc.boolean(), fc.array(step, { minLength: 2, maxLength: 14 }), async (hadBefore, steps) => {
      const [requests, lists] = [createSource("request"), createSource("list")];
      const module = createCausesInForce();
      for (const { source } of [requests, lists]) module.register(source);
      let hasRole = hadBefore;
      const set = (kind: CauseInForce["kind"]): boolean => {
        const before = hasRole;
        hasRole = kind === "role_add";
        return hasRole !== before;
      };
      const order: CauseInForce[] = [];
      for (const [index, one] of steps.entries()) {
        if (one.do === "withdraw") {
          const [gone] = order.splice(one.which, 1);
          if (gone === undefined) continue;
          const { next } = await module.afterWithdrawing(tx, place, () => Promise.resolve({ ...gone, ...place, reason: "Withdrawn" }));
          for (const { causes } of [requests, lists]) if (causes.includes(gone)) causes.splice(causes.indexOf(gone), 1);
          if (next !== null) set(next.kind as CauseInForce["kind"]);
        } else {
          const kind = one.do === "add" ? "role_add" : "role_remove";
          const feature = one.isList ? "list" : "request";
          const made = cause({ kind, roleId, feature, id: index.toString().padStart(3, "0"), at: later(index), changed: set(kind) });
          (one.isList ? lists : requests).causes.push(made);
          order.push(made);
        }
        const newest = order.at(-1);
        expect(hasRole, JSON.stringify(steps)).toBe(newest === undefined ? hadBefore : newest.kind === "role_add");
        expect(holding(await module.of(tx, place), now).roles.get(roleId)).toBe(newest === undefined ? undefined : hasRole);
      }
    }),
    { numRuns: runsOf(400), seed: seedOf(5) },
  );
});
