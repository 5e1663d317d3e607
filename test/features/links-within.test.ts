import { createListChecks } from "../../src/features/lists/checks.ts";
import fc from "fast-check";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Tx } from "../../src/database/database.ts";
import { createAuditService } from "../../src/features/audit/audit.service.ts";
import { createEventsService } from "../../src/features/events/events.service.ts";
import { createLinkReach } from "../../src/features/links/reach.ts";
import { createLinkRecords } from "../../src/features/links/records.ts";
import type { Confidence } from "../../src/features/links/links.schema.ts";
import { createInTx, type RequestedLink } from "../../src/features/links/in-tx.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { createCursors } from "../../src/kernel/page.ts";
import { inWords } from "../../src/kit/say.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { runsOf } from "../support/size.ts";

const call = systemCall("job", "test");
const reach = createLinkReach();
const permission = "workflows.alt-request.decide" as const;
const note = { reason: "The request was reversed.", permission };
const recomputed: string[] = [];
let ground: TestDatabase;
beforeAll(async () => {
  ground = await createTestDatabase();
  return () => ground.drop();
});
beforeEach(() => write(async ({ db }) => void (await db.accountLink.deleteMany({}))));

const write = <Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> => ground.database.write(call, work);
const idOf = (index: number): string => (80_351_110_224_678_900n + BigInt(index)).toString();
const at = (year: number): Date => new Date(`${year.toString()}-01-01T00:00:00.000Z`);

/** Links inside real transactions; whose matches are compared again is written down. */
function within() {
  const { database } = ground;
  const matches = {
    recomputeUser: (_tx: unknown, userId: string) => {
      recomputed.push(userId);
      return Promise.resolve({ added: 0, changed: 1, removed: 0 });
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
  year: number;
  primary: boolean;
  grounds: number;
}

const draftOf = ({ a, b, confidence, propagates, year, primary, grounds }: Edge): RequestedLink => ({
  userIds: [idOf(a), idOf(b)],
  confidence,
  propagates,
  kind: "declared_alt",
  basis: Array.from({ length: grounds }, (_, index) => ({ type: "admission", note: `Said so ${index.toString()} times.` })),
  primaryUserId: primary ? idOf(a) : null,
  reviewAt: at(year),
  originReference: "ALT-REQ-000001",
  permission,
});
const pair = { a: 0, b: 1, confidence: "suspected", propagates: true, year: 2030, primary: false, grounds: 1 } as const;
const create = (edge: Edge) => write((tx) => within().createLinkInTx(tx, draftOf(edge)));
const undo = (stored: unknown) => write((tx) => within().undoLinkInTx(tx, JSON.parse(JSON.stringify(stored)), note));
const linkNow = () => ground.database.read.accountLink.findFirstOrThrow({ orderBy: { id: "desc" } });
const change = (id: string, data: object) => write(async ({ db }) => void (await db.accountLink.update({ where: { id }, data })));
const entries = async (id: string): Promise<string[]> => {
  const rows = await ground.database.read.auditEntry.findMany({ where: { targetId: id }, orderBy: { seq: "asc" } });
  return rows.map(({ action }) => action);
};

describe("a link that an approval made", () => {
  test("ends when that is taken back, whatever became of it, and only once", async () => {
    const made = await create({ ...pair, confidence: "confirmed" });
    await change(made.row.id, { kind: "compromised" });
    expect(await undo(made.undo)).toMatchObject({ restored: true });
    const ended = await linkNow();
    expect(ended).toMatchObject({ status: "ended", activeKey: null, endReason: note.reason });
    expect(await reach.linkedAccountsOf(ground.database.read, idOf(0))).toEqual([]);
    expect(await undo(made.undo)).toMatchObject({ restored: false });
    expect(await linkNow()).toEqual(ended);
    expect(await entries(made.row.id)).toEqual(["account_link.create", "account_link.end"]);
    const events = await ground.database.read.outboxEvent.findMany({ orderBy: { seq: "desc" }, take: 1 });
    expect(events[0]).toMatchObject({ type: "account_link.changed", data: { link_id: made.row.id, status: "ended" } });
  });

  test("and that was erased since is not missed", async () => {
    const made = await create(pair);
    await write(async ({ db }) => void (await db.accountLink.deleteMany({})));
    expect(inWords(await undo(made.undo))).toEqual({ restored: false, detail: "The link was erased." });
  });
});

describe("a link that an approval strengthened", () => {
  test("goes back to what it was, and what is kept for that does not say what it rests on", async () => {
    await create(pair);
    const { revision: _, updatedAt: __, ...before } = await linkNow();
    const merged = await create({ ...pair, confidence: "confirmed", year: 2031, primary: true, grounds: 3 });
    expect(merged).toMatchObject({ isMerged: true, row: { confidence: "confirmed", propagates: true } });
    expect(JSON.stringify(merged.undo)).not.toContain("Said so");
    recomputed.length = 0;
    expect(await undo(merged.undo)).toMatchObject({ restored: true });
    expect(recomputed.toSorted()).toEqual([idOf(0), idOf(1)]);
    expect(await linkNow()).toMatchObject({ ...before, revision: 3 });
    expect(await undo(merged.undo)).toMatchObject({ restored: false });
    expect(await entries(before.id)).toEqual(["account_link.create", "account_link.update", "account_link.update"]);
  });

  test("keeps what somebody changed since, and the answer names it", async () => {
    await create(pair);
    const merged = await create({ ...pair, confidence: "probable", year: 2031, grounds: 2 });
    const basis = [{ type: "other", note: "Something else." }];
    await change(merged.row.id, { confidence: "confirmed", basis });
    const undone = inWords(await undo(merged.undo));
    expect(undone.restored).toBe(false);
    for (const field of ["confidence", "propagates", "basis"]) expect(undone.detail).toContain(field);
    expect(undone.detail).not.toContain("review_at");
    expect(await linkNow()).toMatchObject({ confidence: "confirmed", propagates: true, basis, reviewAt: at(2030) });
  });

  test("and that somebody had propagate since is not suspected again", async () => {
    await create(pair);
    const merged = await create({ ...pair, confidence: "probable", propagates: false });
    await change(merged.row.id, { propagates: true });
    expect(inWords(await undo(merged.undo))).toMatchObject({ restored: false, detail: expect.stringContaining("confidence") });
    expect(await linkNow()).toMatchObject({ confidence: "probable", propagates: true });
  });

  test("gets back the grounds there was no room for", async () => {
    await create({ ...pair, grounds: 18 });
    const before = await linkNow();
    const merged = await create({ ...pair, grounds: 5 });
    expect(merged.row.basis).toHaveLength(20);
    expect(await undo(merged.undo)).toMatchObject({ restored: true });
    expect((await linkNow()).basis).toEqual(before.basis);
  });
});

const account = fc.nat({ max: 5 });
const edge: fc.Arbitrary<Edge> = fc
  .record({
    a: account,
    b: account,
    confidence: fc.constantFrom<Confidence>("suspected", "probable", "confirmed"),
    propagates: fc.boolean(),
    year: fc.integer({ min: 2030, max: 2033 }),
    primary: fc.boolean(),
    grounds: fc.integer({ min: 1, max: 9 }),
  })
  .filter(({ a, b }) => a !== b);

test("whatever is linked and taken back in reverse order leaves the same links and groups", async () => {
  const everyone = Array.from({ length: 6 }, (_, index) => idOf(index));
  const { read } = ground.database;
  const links = async () => {
    const rows = await read.accountLink.findMany({ where: { status: "active" }, orderBy: { id: "asc" } });
    return rows.map(({ revision: _, updatedAt: __, ...row }) => row);
  };
  const around = () => Promise.all(everyone.map(async (id) => [await reach.linkedAccountsOf(read, id), await reach.reachOf(read, id)]));
  await fc.assert(
    fc.asyncProperty(fc.array(edge, { maxLength: 3 }), fc.array(edge, { minLength: 1, maxLength: 6 }), async (start, added) => {
      await write(async ({ db }) => void (await db.accountLink.deleteMany({})));
      for (const one of start) await create(one);
      const before = [await links(), await around()];
      const undos: unknown[] = [];
      for (const one of added) undos.push((await create(one)).undo);
      for (const one of undos.toReversed()) {
        expect((await undo(one)).restored).toBe(true);
        const once = await links();
        await undo(one);
        expect(await links()).toEqual(once);
      }
      expect([await links(), await around()]).toEqual(before);
    }),
    { numRuns: runsOf(15) },
  );
});
