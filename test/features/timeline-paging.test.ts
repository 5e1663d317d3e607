// @module-tag postgres
import fc from "fast-check";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { createLinkReach } from "../../src/features/links/reach.ts";
import type { TimelineEntryView } from "../../src/features/timeline/timeline.schema.ts";
import { createTimelineService } from "../../src/features/timeline/timeline.service.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createCursors } from "../../src/kernel/page.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { runsOf } from "../support/size.ts";

const call = systemCall("job", "test");
let ground: TestDatabase;
beforeAll(async () => {
  ground = await createTestDatabase();
  return () => ground.drop();
});

const base = Date.parse("2026-11-01T00:00:00.000Z");
/** Few moments, so that many things happen at once. */
const at = (moment: number): Date => new Date(base + moment * 1000);
let lastUser = 80_351_110_224_670_000n;
let [userId, stranger] = ["", ""];
beforeEach(() => {
  lastUser += 10n;
  [userId, stranger] = [lastUser.toString(), (lastUser + 1n).toString()];
});

interface Happening {
  kind: "audit" | "match" | "version" | "request" | "link";
  moment: number;
  /** How much later it ended; null: it has not. */
  lasted: number | null;
}

const happening = fc.record({
  kind: fc.constantFrom("audit" as const, "match" as const, "version" as const, "request" as const, "link" as const),
  moment: fc.nat(5),
  lasted: fc.option(fc.nat(3)),
});

let serial = 0;

/** Write things that happened; half as many happened to somebody else. */
async function write(happenings: readonly Happening[]): Promise<void> {
  await ground.database.write(call, async ({ db }) => {
    const head = await db.auditEntry.findFirst({ orderBy: { seq: "desc" } });
    let seq = head?.seq ?? 0;
    for (const [index, { kind, moment, lasted }] of happenings.entries()) {
      serial += 1;
      const subject = index % 3 === 2 ? stranger : userId;
      const [begun, ended] = [at(moment), lasted === null ? null : at(moment + lasted)];
      if (kind === "audit") {
        seq += 1;
        const words = { outcome: "ok", via: "job", requestId: "test", breakGlass: false, payloadCommitment: "", prevHash: "" };
        const action = lasted === null ? "authorization.grant" : "staff.suspend";
        await db.auditEntry.create({ data: { ...words, seq, id: uuid7(), at: begun, action, subjectUserId: subject, hash: `h${serial}` } });
      } else if (kind === "match") {
        const words = { kind: "watch", recordReference: "BL-000001", recordRevision: 1, severity: "low", confidence: 100, status: "open" };
        const data = { ...words, why: [], userId: subject, recordId: uuid7(), firstSeenAt: begun, lastSeenAt: begun, closedAt: ended };
        await db.match.create({ data });
      } else if (kind === "version") {
        await writeRecord(db, subject, begun, ended);
      } else if (kind === "request") {
        const words = {
          type: "punishment",
          status: "approved",
          priority: "normal",
          urgent: false,
          title: "",
          summary: "",
          requestedVia: "rest",
        };
        const lists = { payload: {}, extra: {}, evidence: [], related: [], links: [], approvalsRequired: 1 };
        const times = { createdAt: begun, updatedAt: begun, decidedAt: ended };
        const subjects = { create: [{ kind: "user", subjectId: subject }] };
        await db.workflowRequest.create({ data: { ...words, ...lists, ...times, reference: `PUN-${serial}`, subjects } });
      } else {
        const words = { confidence: "probable", kind: "declared_alt", basis: [], propagates: true, status: "ended" };
        const other = (90_000_000_000_000_000n + BigInt(serial)).toString();
        await db.accountLink.create({
          data: { ...words, userA: subject, userB: other, createdAt: begun, updatedAt: begun, endedAt: ended },
        });
      }
    }
  });
}

type Tx = Parameters<Parameters<TestDatabase["database"]["write"]>[1]>[0];

async function writeRecord(db: Tx["db"], subject: string, begun: Date, ended: Date | null): Promise<void> {
  const id = uuid7();
  const words = { scope: "network", category: "raid", severity: "low", severityOrder: 0, status: "active", source: "direct", kind: "user" };
  const lists = { serverIds: [], exemptUserIds: [], evidence: [], tags: [], approvedBy: [] };
  await db.blacklistRecord.create({
    data: { id, ...words, ...lists, number: serial, subjectId: subject, startsAt: begun, createdAt: begun, updatedAt: begun },
  });
  const snapshot = { number: "BL-1", subject_id: subject, category: "raid", severity: "low", status: "active", reason_public: null };
  await db.blacklistVersion.create({ data: { recordId: id, revision: 1, snapshot, changedAt: begun } });
  // Eleven changes at the same moment: the tenth comes after the ninth, whatever the text of their numbers.
  if (ended === null) return;
  const data = Array.from({ length: 10 }, (_, index) => ({ recordId: id, revision: index + 2, snapshot, changedAt: ended }));
  await db.blacklistVersion.createMany({ data });
}

const noted: unknown[] = [];
const timeline = () =>
  createTimelineService({
    database: ground.database,
    reach: createLinkReach(),
    reads: { note: (_call, person, what) => void noted.push([person, what]) },
    cursors: createCursors(Buffer.alloc(32)),
    clock: systemClock,
    hiddenRequests: () => Promise.resolve([]),
    visibleCases: () => Promise.resolve({}),
  });

/** Page by page to the end; `between` happens after each page. */
async function paged(limit: number, between: () => Promise<void> = () => Promise.resolve()): Promise<TimelineEntryView[]> {
  const entries: TimelineEntryView[] = [];
  let cursor: string | undefined;
  do {
    const page = await timeline().list(call, userId, { limit, ...(cursor !== undefined && { cursor }) });
    expect(page.data.length).toBeLessThanOrEqual(limit);
    entries.push(...page.data);
    cursor = page.next_cursor ?? undefined;
    await between();
  } while (cursor !== undefined);
  return entries;
}

const happenings = fc.array(happening, { maxLength: 14 });

test("pages of any size are the one history: in order, nothing twice, nothing lost, nothing of anybody else", async () => {
  await fc.assert(
    fc.asyncProperty(happenings, fc.integer({ min: 1, max: 9 }), async (given, limit) => {
      lastUser += 10n;
      [userId, stranger] = [lastUser.toString(), (lastUser + 1n).toString()];
      await write(given);
      const whole = await timeline().list(call, userId, { limit: 200, count: "true" });
      expect(whole.next_cursor).toBeNull();
      expect(whole.total).toBe(whole.data.length);
      const own = given.filter((_, index) => index % 3 !== 2);
      const expected = own.reduce(
        (sum, { kind, lasted }) => sum + 1 + (lasted === null || kind === "audit" ? 0 : kind === "version" ? 10 : 1),
        0,
      );
      expect(whole.data).toHaveLength(expected);
      expect(whole.data.every((entry) => entry.user_id === userId)).toBe(true);
      const times = whole.data.map((entry) => entry.at);
      expect(times).toEqual(times.toSorted().toReversed());
      expect(new Set(whole.data.map(({ id }) => id)).size).toBe(expected);
      expect(await paged(limit)).toEqual(whole.data);
    }),
    { numRuns: runsOf(20) },
  );
});

test("what happens meanwhile shifts nothing: the pages go on where they were", async () => {
  await fc.assert(
    fc.asyncProperty(happenings, fc.integer({ min: 1, max: 5 }), happening, async (given, limit, late) => {
      lastUser += 10n;
      [userId, stranger] = [lastUser.toString(), (lastUser + 1n).toString()];
      await write(given);
      const before = (await timeline().list(call, userId, { limit: 200 })).data;
      const seen = await paged(limit, () => write([{ ...late, moment: 100 }]));
      expect(seen).toEqual(before);
    }),
    { numRuns: runsOf(10) },
  );
});

test("from and to bound the time, kinds choose, and a cursor holds for its own question only", async () => {
  await write([
    { kind: "match", moment: 1, lasted: 2 },
    { kind: "link", moment: 2, lasted: null },
  ]);
  const list = (query: object) => timeline().list(call, userId, query);
  const events = async (query: object) => (await list(query)).data.map((entry) => `${entry.kind}.${entry.event}`);
  expect(await events({})).toEqual(["match.closed", "link.created", "match.opened"]);
  expect(await events({ from: at(2).toISOString() })).toEqual(["match.closed", "link.created"]);
  expect(await events({ to: at(2).toISOString() })).toEqual(["match.opened"]);
  expect(await events({ from: at(2).toISOString(), to: at(3).toISOString() })).toEqual(["link.created"]);
  expect(await events({ kind: "match" })).toEqual(["match.closed", "match.opened"]);
  expect(await events({ kind: "link,blacklist" })).toEqual(["link.created"]);
  const counted = await list({ kind: "match", limit: 1, count: "true" });
  expect(counted.total).toBe(2);
  const cursor = counted.next_cursor ?? "";
  expect(await events({ kind: "match", limit: 1, cursor })).toEqual(["match.opened"]);
  await expect(list({ kind: "link", cursor })).rejects.toMatchObject({ code: "invalid_cursor" });
  await expect(timeline().list(call, stranger, { kind: "match", cursor })).rejects.toMatchObject({ code: "invalid_cursor" });
  await expect(list({ kind: "match,cases" })).rejects.toMatchObject({ name: "ZodError" });
});

test("every account whose history was shown is noted as looked at", async () => {
  const words = { confidence: "confirmed", kind: "declared_alt", basis: [], propagates: true, status: "active" };
  await ground.database.write(call, async ({ db, now }) => {
    await db.accountLink.create({ data: { ...words, userA: userId, userB: stranger, createdAt: now, updatedAt: now } });
  });
  noted.length = 0;
  await timeline().list(call, userId, {});
  expect(noted).toEqual([[userId, "timeline"]]);
  await timeline().list(call, userId, { include_alts: "true" });
  expect(noted.slice(1)).toEqual([
    [userId, "timeline"],
    [stranger, "timeline"],
  ]);
});
