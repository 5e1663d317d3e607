import { createListChecks } from "../../src/features/lists/checks.ts";
import fc from "fast-check";
import { statementsOf } from "../support/statements.ts";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createAuditService } from "../../src/features/audit/audit.service.ts";
import { createEventsService } from "../../src/features/events/events.service.ts";
import { createLinkReach } from "../../src/features/links/reach.ts";
import { createLinkRecords } from "../../src/features/links/records.ts";
import type { Confidence } from "../../src/features/links/links.schema.ts";
import { createInTx, type RequestedLink } from "../../src/features/links/in-tx.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { createCursors } from "../../src/kernel/page.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { runsOf } from "../support/size.ts";

const call = systemCall("job", "test");
const reach = createLinkReach();
const recomputed: string[] = [];
let ground: TestDatabase;
beforeAll(async () => {
  ground = await createTestDatabase();
  return () => ground.drop();
});
beforeEach(() => ground.database.write(call, async ({ db }) => void (await db.accountLink.deleteMany({}))));

const idOf = (index: number): string => (80_351_110_224_678_900n + BigInt(index)).toString();
const far = new Date("2030-01-01T00:00:00.000Z");

/** Links inside real transactions; whose matches are compared again is written down. */
function within() {
  const { database } = ground;
  const matches = {
    recomputeUser: (_tx: unknown, userId: string) => {
      recomputed.push(userId);
      return Promise.resolve({ added: 1, changed: 0, removed: 0 });
    },
  };
  const audit = createAuditService({ database, cursors: createCursors(Buffer.alloc(32)) });
  const events = createEventsService({ database, clock: systemClock });
  return createInTx(createLinkRecords({ audit, events, matches, reach, listChecks: createListChecks() }));
}

interface Edge {
  a: number;
  b: number;
  confidence: Confidence;
  propagates: boolean;
}

const draftOf = ({ a, b, confidence, propagates }: Edge): RequestedLink => ({
  userIds: [idOf(a), idOf(b)],
  confidence,
  propagates,
  kind: "declared_alt",
  basis: [{ type: "admission", note: "Said so." }],
  primaryUserId: null,
  reviewAt: far,
  originReference: "ALT-REQ-000001",
  permission: "workflows.alt-request.decide",
});

const create = (edge: Edge) => ground.database.write(call, (tx) => within().createLinkInTx(tx, draftOf(edge)));
const end = (id: string) => ground.database.write(call, (tx) => within().endLinkInTx(tx, id, "They are two people."));

/** The same questions by brute force: spread until nothing is added. */
function component(start: number, edges: readonly Edge[]): Set<number> {
  const found = new Set([start]);
  for (;;) {
    const next = edges.flatMap(({ a, b }) => (found.has(a) !== found.has(b) ? [a, b] : []));
    if (next.length === 0) return found;
    for (const one of next) found.add(one);
  }
}

function expectedReach(user: number, edges: readonly Edge[]): Record<string, string> {
  const leading = edges.filter(({ propagates, confidence }) => propagates && confidence !== "suspected");
  const confirmed = leading.filter(({ confidence }) => confidence === "confirmed");
  const own = component(user, confirmed);
  const near = leading.filter(({ confidence, a, b }) => confidence === "probable" && own.has(a) !== own.has(b));
  const probable = near.flatMap(({ a, b }) => [...component(own.has(a) ? b : a, confirmed)]);
  const entries = [
    ...[...own].filter((one) => one !== user).map((one) => [idOf(one), "confirmed"]),
    ...probable.filter((one) => !own.has(one)).map((one) => [idOf(one), "probable"]),
  ];
  return Object.fromEntries(entries) as Record<string, string>;
}

async function reachNow(user: number): Promise<Record<string, string>> {
  const found = await reach.reachOf(ground.database.read, idOf(user));
  return Object.fromEntries(found.map(({ userId, confidence }) => [userId, confidence]));
}

const people = 7;
const everyone = Array.from({ length: people }, (_, index) => index);
const edge = fc
  .record({
    a: fc.nat(people - 1),
    b: fc.nat(people - 1),
    confidence: fc.constantFrom("suspected" as const, "probable" as const, "confirmed" as const),
    propagates: fc.boolean(),
  })
  .filter(({ a, b }) => a !== b);
const graph = fc.uniqueArray(edge, { selector: ({ a, b }) => `${Math.min(a, b)}:${Math.max(a, b)}`, maxLength: 9 });

describe("any links among a few accounts", () => {
  test("reach whom they should, both ways, and make the groups of confirmed links whatever they propagate", async () => {
    await fc.assert(
      fc.asyncProperty(graph, async (edges) => {
        await ground.database.write(call, async (tx) => {
          await tx.db.accountLink.deleteMany({});
          for (const one of edges) await within().createLinkInTx(tx, draftOf(one));
        });
        const stored = edges.map((one) => ({ ...one, propagates: one.propagates && one.confidence !== "suspected" }));
        const confirmed = stored.filter(({ confidence }) => confidence === "confirmed");
        for (const user of everyone) {
          const found = await reachNow(user);
          expect(found).toEqual(expectedReach(user, stored));
          for (const [other, confidence] of Object.entries(found)) {
            const back = await reach.reachOf(ground.database.read, other);
            expect(back).toContainEqual({ userId: idOf(user), confidence });
          }
          const group = [...component(user, confirmed)].filter((one) => one !== user).map(idOf);
          expect(await reach.linkedAccountsOf(ground.database.read, idOf(user))).toEqual(group.toSorted());
        }
      }),
      { numRuns: runsOf(20) },
    );
  });

  test("have everybody's matches compared again whose reach changes, and nobody's when none does", async () => {
    await fc.assert(
      fc.asyncProperty(graph, edge, async (edges, added) => {
        await ground.database.write(call, async (tx) => {
          await tx.db.accountLink.deleteMany({});
          for (const one of edges) await within().createLinkInTx(tx, draftOf(one));
        });
        const look = () => Promise.all(everyone.map(reachNow));
        const changed = (before: object[], after: object[]): string[] =>
          everyone.filter((user) => JSON.stringify(before[user]) !== JSON.stringify(after[user])).map(idOf);
        const steps = [() => create(added).then(({ row }) => row.id), (id: string) => end(id).then(() => id)];
        let id = "";
        for (const step of steps) {
          const before = await look();
          recomputed.length = 0;
          id = await step(id);
          const moved = changed(before, await look());
          expect(recomputed).toEqual(expect.arrayContaining(moved));
          expect(recomputed).toHaveLength(new Set(recomputed).size);
          if (moved.length === 0) expect(recomputed).toEqual([]);
        }
      }),
      { numRuns: runsOf(20) },
    );
  });
});

test("a person without links costs one statement", async () => {
  const { read } = ground.database;
  const { single } = await statementsOf(async () => {
    expect(await reach.linkedAccountsOf(read, idOf(1))).toEqual([]);
    expect(await reach.reachOf(read, idOf(1))).toEqual([]);
  });
  expect(single.filter((statement) => statement.includes("account_links"))).toHaveLength(2);
});

describe("a group", () => {
  const chain = (from: number, to: number) =>
    ground.database.write(call, async ({ db, now }) => {
      const data = Array.from({ length: to - from }, (_, index) => {
        const [userA, userB] = [idOf(from + index), idOf(from + index + 1)];
        const words = { confidence: "confirmed", kind: "declared_alt", basis: [], propagates: true, status: "active" };
        return { userA, userB, activeKey: `${userA}:${userB}`, ...words, createdAt: now, updatedAt: now };
      });
      await db.accountLink.createMany({ data });
    });
  const confirmed = (a: number, b: number): Edge => ({ a, b, confidence: "confirmed", propagates: true });

  test("of 100 accounts is walked to its end, and does not grow", async () => {
    await chain(0, 49);
    await chain(100, 149);
    expect((await create(confirmed(49, 100))).row.status).toBe("active");
    expect(await reach.linkedAccountsOf(ground.database.read, idOf(0))).toHaveLength(99);
    await expect(create(confirmed(0, 500))).rejects.toMatchObject({ code: "invalid_transition" });
    expect(await ground.database.read.accountLink.count()).toBe(99);
    // A link inside the group, or one that is less sure, makes it no larger.
    await create(confirmed(0, 149));
    await create({ ...confirmed(0, 500), confidence: "probable" });
    expect(await ground.database.read.accountLink.count()).toBe(101);
    await expect(create(confirmed(0, 500))).rejects.toMatchObject({ code: "invalid_transition" });
  });

  test("that is larger than it may be is cut, the same way every time", async () => {
    await chain(0, 149);
    const found = await reach.linkedAccountsOf(ground.database.read, idOf(0));
    expect(found).toHaveLength(99);
    expect(await reach.linkedAccountsOf(ground.database.read, idOf(0))).toEqual(found);
  });

  test("is not made of more links of one account than are walked", async () => {
    await ground.database.write(call, async ({ db, now }) => {
      const data = Array.from({ length: 100 }, (_, index) => {
        const [userA, userB] = [idOf(0), idOf(1 + index)];
        const words = { confidence: "suspected", kind: "declared_alt", basis: [], propagates: false, status: "active" };
        return { userA, userB, activeKey: `${userA}:${userB}`, ...words, createdAt: now, updatedAt: now };
      });
      await db.accountLink.createMany({ data });
    });
    await expect(create({ ...confirmed(0, 800), confidence: "suspected" })).rejects.toMatchObject({ code: "invalid_transition" });
  });
});

describe("a request that links accounts which are linked", () => {
  test("makes the link surer and never weaker, adds its grounds and keeps where it came from", async () => {
    const first = await create({ a: 1, b: 2, confidence: "probable", propagates: false });
    expect(first.isMerged).toBe(false);
    const second = await create({ a: 2, b: 1, confidence: "confirmed", propagates: true });
    expect(second).toMatchObject({ isMerged: true, row: { id: first.row.id, confidence: "confirmed", propagates: true, revision: 2 } });
    const third = await create({ a: 1, b: 2, confidence: "suspected", propagates: false });
    expect(third.row).toMatchObject({ confidence: "confirmed", propagates: true, revision: 3, originReference: "ALT-REQ-000001" });
    expect(third.row.basis).toHaveLength(3);
    expect(await ground.database.read.accountLink.count()).toBe(1);
  });

  test("can be undone, once", async () => {
    const { row } = await create({ a: 1, b: 2, confidence: "confirmed", propagates: true });
    expect(await end(row.id)).toMatchObject({ row: { status: "ended", endReason: "They are two people." } });
    expect(await end(row.id)).toBeNull();
    await expect(end("none")).rejects.toMatchObject({ code: "record_not_found" });
    expect(await reach.linkedAccountsOf(ground.database.read, idOf(1))).toEqual([]);
  });
});
