import { silent } from "../support/rooms.ts";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import type { Tx } from "../../src/database/database.ts";
import { createAuditService } from "../../src/features/audit/audit.service.ts";
import { createEventsService } from "../../src/features/events/events.service.ts";
import { factsOf } from "../../src/features/roster/facts.ts";
import { createRosterService, type RosterService } from "../../src/features/roster/roster.service.ts";
import { legalMoves, liveStatuses, rosterStatuses, targetOf, type RosterStatus } from "../../src/features/roster/states.ts";
import type { Beginning, RosterChange, RosterMove } from "../../src/features/roster/in-tx.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { createCursors } from "../../src/kernel/page.ts";
import { inWords } from "../../src/kit/say.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { runsOf } from "../support/size.ts";

const day = 86_400_000;
const time = { now: Date.parse("2026-11-21T10:00:00.000Z") };
const clock = { now: () => new Date(time.now) };
const call = systemCall("job", "test");
let ground: TestDatabase;
let roster: RosterService;
beforeAll(async () => {
  ground = await createTestDatabase({ clock });
  const { database } = ground;
  const audit = createAuditService({ database, cursors: createCursors(Buffer.alloc(32)) });
  roster = createRosterService({ database, audit, events: createEventsService({ database, clock }), clock, logger: silent });
  return () => ground.drop();
});

let people = 80_351_110_224_678_900n;
const somebody = (): string => (people += 1n).toString();
const note = { causeReference: "PUN-REQ-000001", permission: "workflows.punishment.decide" as const };
const reversal = { causeReference: "REC-REQ-000001", permission: "workflows.recruitment.reverse" as const, reason: "reversal" };

const write = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => ground.database.write(call, work);
const begin = (userId: string, options: Partial<Beginning> = {}) => {
  const cause = { causeReference: "REC-REQ-000001", permission: "workflows.recruitment.decide" as const };
  return write((tx) => roster.beginTrialInTx(tx, { userId, staffRole: "moderator", trialDays: 30, ...cause, ...options }));
};
const move = (userId: string, wanted: Omit<RosterMove, "causeReference" | "permission">) =>
  write((tx) => roster.moveInTx(tx, userId, { ...note, ...wanted }));
/** What an effect keeps has been through JSON. */
const undo = (change: unknown) => write((tx) => roster.undoInTx(tx, JSON.parse(JSON.stringify(change)), reversal));
const sweep = () => roster.sweep(call);
async function undoOf(change: Promise<RosterChange | { skipped: string }>) {
  const done = await change;
  if ("skipped" in done) throw new Error(done.skipped);
  return done.undo;
}

async function seen(userId: string) {
  const entry = await roster.find(ground.database.read, userId);
  if (entry === null) throw new Error("no entry");
  return factsOf(entry);
}
/** The lines about a person, in the order they were written. */
const historyOf = (userId: string) => ground.database.read.rosterEvent.findMany({ where: { userId }, orderBy: { id: "asc" } });
const eventsOf = async (userId: string) => (await historyOf(userId)).map(({ event }) => event);
const actionsOf = async (userId: string) =>
  (await ground.database.read.auditEntry.findMany({ where: { subjectUserId: userId }, orderBy: { seq: "asc" } })).map(
    ({ action }) => action,
  );
async function toldOf(userId: string) {
  const rows = await ground.database.read.outboxEvent.findMany({ where: { type: "roster.changed" }, orderBy: { seq: "asc" } });
  return rows.flatMap(({ data }) => ((data as { user_id: string }).user_id === userId ? [(data as { event: string }).event] : []));
}

/** Written down from the domain: where each status leads. */
const leads: Record<RosterStatus, readonly RosterStatus[]> = {
  applicant: ["trial", "resigned", "retired", "terminated", "transferred"],
  trial: ["active", "probation", "suspended", "resigned", "retired", "terminated", "transferred"],
  active: ["loa", "inactive", "probation", "suspended", "resigned", "retired", "terminated", "transferred"],
  loa: ["active", "probation", "suspended", "resigned", "retired", "terminated", "transferred"],
  probation: ["active", "suspended", "resigned", "retired", "terminated", "transferred"],
  suspended: ["active", "resigned", "retired", "terminated", "transferred"],
  inactive: ["active", "resigned", "retired", "terminated", "transferred"],
  resigned: ["trial"],
  retired: ["trial"],
  transferred: ["trial"],
  terminated: [],
};
const movable = [...new Set(legalMoves.map(({ event }) => event))];

describe("the table of moves", () => {
  test.each(rosterStatuses)("leads from %s where the domain says, and nowhere else", (status) => {
    const reached = rosterStatuses.filter(
      (to) => to !== status && movable.some((event) => targetOf({ status, statusBefore: null }, { event, to }) !== null),
    );
    // Who joins without a trial passes through it in no time.
    const direct: RosterStatus[] = leads[status].includes("trial") ? ["active"] : [];
    expect(reached.toSorted()).toEqual([...new Set([...leads[status], ...direct])].toSorted());
  });

  test("brings back who was terminated only as a correction, and who waits to where they were", () => {
    const gone = { status: "terminated", statusBefore: null };
    expect(targetOf(gone, { event: "rehired" })).toBeNull();
    expect(targetOf(gone, { event: "rehired", isCorrection: true })).toBe("trial");
    expect(targetOf({ status: "suspended", statusBefore: "trial" }, { event: "reinstated" })).toBe("trial");
    expect(targetOf({ status: "suspended", statusBefore: "trial" }, { event: "reinstated", to: "loa" })).toBeNull();
  });
});

describe("joining", () => {
  test("makes one entry on trial, with its history, one audit entry and one event", async () => {
    const userId = somebody();
    const { entry, undo } = await begin(userId, { department: "north", trialDays: 10 });
    expect(entry).toMatchObject({ userId, status: "trial", staffRole: "moderator", department: "north", revision: 1 });
    expect(entry.trialEndsAt?.getTime()).toBe(time.now + 10 * day);
    expect(undo).toMatchObject({ kind: "begin", before: null });
    expect(await eventsOf(userId)).toEqual(["hired", "trial_started"]);
    expect((await historyOf(userId))[0]).toMatchObject({ before: {}, causeReference: "REC-REQ-000001" });
    expect(await actionsOf(userId)).toEqual(["roster.hired"]);
    expect(await toldOf(userId)).toEqual(["hired"]);
  });

  test("without a trial is active at once", async () => {
    const userId = somebody();
    expect((await begin(userId, { trialDays: 0 })).entry).toMatchObject({ status: "active", trialEndsAt: null });
    expect(await eventsOf(userId)).toEqual(["hired"]);
  });

  test("is refused for who is on the roster or was terminated, and nothing is written", async () => {
    const userId = somebody();
    await begin(userId);
    const refused = { code: "invalid_transition", extra: { from: "trial", action: "begin_trial" } };
    await expect(begin(userId)).rejects.toMatchObject({ ...refused, detail: expect.stringContaining("already") });
    await move(userId, { event: "terminated", to: "terminated" });
    await expect(begin(userId)).rejects.toMatchObject({ ...refused, extra: { ...refused.extra, from: "terminated", allowed: [] } });
    expect(await eventsOf(userId)).toEqual(["hired", "trial_started", "terminated"]);
    expect(await actionsOf(userId)).toEqual(["roster.hired", "roster.terminated"]);
    expect((await begin(userId, { isCorrection: true })).entry.status).toBe("trial");
  });

  test("again keeps the entry and its history", async () => {
    const userId = somebody();
    const first = await begin(userId, { trialDays: 0 });
    await move(userId, { event: "resigned", to: "retired" });
    expect(await seen(userId)).toMatchObject({ status: "retired", ended_at: clock.now().toISOString() });
    const again = await begin(userId, { causeReference: "REC-REQ-000002" });
    expect(again.entry).toMatchObject({ id: first.entry.id, status: "trial", endedAt: null, revision: 3 });
    expect(await eventsOf(userId)).toEqual(["hired", "resigned", "rehired"]);
    expect(await undo(again.undo)).toMatchObject({ restored: true });
    expect(await seen(userId)).toEqual({ ...again.undo.before });
  });

  test("takes an applicant on, and gives them back their application", async () => {
    const userId = somebody();
    const row = { id: `applicant-${userId}`, userId, status: "applicant", createdAt: clock.now(), updatedAt: clock.now() };
    await write(({ db }) => db.rosterEntry.create({ data: row }));
    const { entry, undo: joined } = await begin(userId);
    expect(entry).toMatchObject({ id: row.id, status: "trial", revision: 2 });
    expect(await eventsOf(userId)).toEqual(["hired", "trial_started"]);
    expect(await undo(joined)).toMatchObject({ restored: true });
    expect(await seen(userId)).toMatchObject({ status: "applicant", joined_at: null, staff_role: null, origin_reference: null });
  });

  test("of the same person eight times at once comes to pass once", async () => {
    const userId = somebody();
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => begin(userId)));
    const refused = results.flatMap((result) => (result.status === "rejected" ? [result.reason.code] : []));
    expect(refused).toEqual(Array.from({ length: 7 }, () => "invalid_transition"));
    expect(await actionsOf(userId)).toEqual(["roster.hired"]);
  });
});

describe("moves", () => {
  test("that are not legal, find nobody or change nothing are skipped, say why and write nothing", async () => {
    const userId = somebody();
    expect(inWords(await move(userId, { event: "suspended", to: "suspended" }))).toEqual({ skipped: "This person is not on the roster." });
    await begin(userId);
    expect(inWords(await move(userId, { event: "loa_started" }))).toMatchObject({ skipped: expect.stringContaining("trial") });
    expect(inWords(await move(userId, { event: "demoted", staffRole: "moderator" }))).toMatchObject({
      skipped: expect.stringContaining("already"),
    });
    await move(userId, { event: "resigned" });
    expect(inWords(await move(userId, { event: "terminated" }))).toMatchObject({ skipped: expect.stringContaining("resigned") });
    expect(await actionsOf(userId)).toEqual(["roster.hired", "roster.resigned"]);
  });

  test("may be true since earlier than they are written down", async () => {
    const userId = somebody();
    await begin(userId, { trialDays: 0 });
    time.now += 5 * day;
    const effectiveAt = new Date(time.now - 3 * day);
    await move(userId, { event: "terminated", effectiveAt });
    expect((await historyOf(userId)).at(-1)).toMatchObject({ effectiveAt, recordedAt: clock.now() });
    expect((await seen(userId)).ended_at).toBe(effectiveAt.toISOString());
  });
});

describe("time", () => {
  test("ends a suspension and a probation once, and everybody is again what they were", async () => {
    const [suspended, onProbation, open] = [somebody(), somebody(), somebody()];
    for (const userId of [suspended, onProbation, open]) await begin(userId, { trialDays: 60 });
    const until = new Date(time.now + day);
    await move(suspended, { event: "suspended", to: "suspended", until });
    await move(onProbation, { event: "suspended", to: "probation", until });
    await move(open, { event: "suspended", to: "suspended" });
    expect(await sweep()).toBe(0);
    time.now += 2 * day;
    const swept = await Promise.all([sweep(), sweep()]);
    expect(swept.reduce((sum, count) => sum + count, 0)).toBe(2);
    for (const userId of [suspended, onProbation]) {
      expect(await seen(userId)).toMatchObject({ status: "trial", status_before: null, suspended_until: null });
      expect((await seen(userId)).trial_ends_at).not.toBeNull();
      expect((await historyOf(userId)).at(-1)).toMatchObject({ event: "reinstated", effectiveAt: until, recordedAt: clock.now() });
      expect(await toldOf(userId)).toEqual(["hired", "suspended", "reinstated"]);
    }
    expect((await seen(open)).status).toBe("suspended");
    await expect(roster.sweep({ ...call, client: { ...call.client!, allows: () => false } })).rejects.toMatchObject({
      code: "permission_denied",
    });
  });
});

describe("taking back", () => {
  test("who joined leaves again, whatever became of them in the same stay, and the second time does nothing", async () => {
    const userId = somebody();
    const { undo: joined } = await begin(userId);
    await move(userId, { event: "promoted", to: "active", staffRole: "senior" });
    expect(await undo(joined)).toMatchObject({ restored: true });
    expect(await seen(userId)).toMatchObject({ status: "terminated", trial_ends_at: null, staff_role: "senior" });
    const written = await historyOf(userId);
    expect(written.at(-1)).toMatchObject({ event: "terminated", reason: "reversal" });
    expect(inWords(await undo(joined))).toMatchObject({ restored: true, detail: expect.stringContaining("already") });
    expect(await historyOf(userId)).toHaveLength(written.length);
  });

  test("does not end a later stay", async () => {
    const userId = somebody();
    const { undo: joined } = await begin(userId);
    await move(userId, { event: "resigned" });
    time.now += day;
    await begin(userId, { causeReference: "REC-REQ-000009" });
    expect(await undo(joined)).toMatchObject({ restored: false });
    expect((await seen(userId)).status).toBe("trial");
  });

  test("leaves what somebody else changed since, and puts back the rest", async () => {
    const userId = somebody();
    await begin(userId, { trialDays: 0 });
    const demoted = await undoOf(move(userId, { event: "suspended", to: "suspended", staffRole: "viewer" }));
    await move(userId, { event: "terminated" });
    const undone = await undo(demoted);
    expect(inWords(undone)).toMatchObject({ restored: false, detail: expect.stringContaining("status") });
    expect(await seen(userId)).toMatchObject({ status: "terminated", staff_role: "moderator" });
    expect(await eventsOf(userId)).toEqual(["hired", "suspended", "terminated", "corrected"]);
  });

  test("what has ended by itself needs nothing", async () => {
    const userId = somebody();
    await begin(userId, { trialDays: 0 });
    const suspended = await undoOf(move(userId, { event: "suspended", until: new Date(time.now + 1000) }));
    time.now += 2000;
    expect(await sweep()).toBe(1);
    const before = await seen(userId);
    expect(await undo(suspended)).toMatchObject({ restored: true });
    expect(await seen(userId)).toEqual(before);
    expect(await eventsOf(userId)).toEqual(["hired", "suspended", "reinstated"]);
  });
});

type Step =
  | { kind: "begin"; who: number; trialDays: number; isCorrection: boolean }
  | {
      kind: "move";
      who: number;
      event: RosterMove["event"];
      to: RosterStatus | undefined;
      days: number | null;
      staffRole: string | undefined;
    }
  | { kind: "undo"; place: number }
  | { kind: "wait"; days: number };

const moves = movable.filter((event) => event !== "hired" && event !== "rehired");
const who = fc.nat(1);
const steps = fc.array(
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant("begin" as const), who, trialDays: fc.constantFrom(0, 5), isCorrection: fc.boolean() }),
    },
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant("move" as const),
        who,
        event: fc.constantFrom(...moves, "suspended", "suspended", "reinstated"),
        to: fc.option(fc.constantFrom(...rosterStatuses), { nil: undefined, freq: 1 }),
        days: fc.option(fc.integer({ min: 1, max: 4 })),
        staffRole: fc.constantFrom(undefined, "viewer", "senior"),
      }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("undo" as const), place: fc.nat(3) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("wait" as const), days: fc.integer({ min: 1, max: 6 }) }) },
  ),
  { maxLength: 14 },
);

interface Model {
  status: RosterStatus | null;
  /** Where they return to, and when by themselves. */
  back: RosterStatus | null;
  until: number | null;
}

/** What was done, to whom, and how they stood before. */
interface Done {
  userId: string;
  undo: RosterChange["undo"];
  before: Model;
}

const halted: ReadonlySet<RosterStatus> = new Set(["probation", "suspended"]);
const isChange = (answer: unknown): answer is RosterChange => typeof answer === "object" && answer !== null && "entry" in answer;
const nobody: Model = { status: null, back: null, until: null };

test("random joining, moving, taking back and waiting stays within the moves of the domain, in one unbroken history", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const ids = [somebody(), somebody()];
      const model = new Map<string, Model>(ids.map((id) => [id, nobody]));
      const done: Done[] = [];
      for (const step of sequence) {
        await play(step, { ids, model, done });
        for (const [userId, { status }] of model) expect((await roster.find(ground.database.read, userId))?.status ?? null).toBe(status);
      }
      for (const userId of ids) await requireUnbroken(userId, model.get(userId) ?? nobody);
    }),
    { numRuns: runsOf(50) },
  );
});

async function play(step: Step, { ids, model, done }: { ids: string[]; model: Map<string, Model>; done: Done[] }): Promise<void> {
  if (step.kind === "wait") {
    time.now += step.days * day;
    await sweep();
    for (const [userId, { status, back, until }] of model)
      if (until !== null && until <= time.now && status !== null && halted.has(status)) model.set(userId, { ...nobody, status: back });
    return;
  }
  if (step.kind === "undo") return takeBack(done.at(-1 - step.place), { model, done });
  const userId = ids[step.who] ?? "";
  const before = model.get(userId) ?? nobody;
  if (step.kind === "begin") {
    const mayJoin =
      before.status === null || leads[before.status].includes("trial") || (before.status === "terminated" && step.isCorrection);
    const joined = await begin(userId, step).catch((error: unknown) => error);
    if (!mayJoin) return expect(joined).toMatchObject({ code: "invalid_transition" });
    if (!isChange(joined)) throw joined;
    model.set(userId, { ...nobody, status: step.trialDays > 0 ? "trial" : "active" });
    return void done.push({ userId, undo: joined.undo, before });
  }
  const until = step.days === null ? null : time.now + step.days * day;
  const wanted = { event: step.event, to: step.to, staffRole: step.staffRole, until: until === null ? null : new Date(until) };
  const moved = await move(userId, wanted);
  if ("skipped" in moved) return;
  const status = moved.entry.status as RosterStatus;
  const from = before.status ?? "terminated";
  // Back to where a suspension began is the one way that the list of statuses does not name.
  expect(status === from || leads[from].includes(status) || (step.event === "reinstated" && status === before.back)).toBe(true);
  expect((liveStatuses as readonly string[]).includes(from)).toBe(true);
  const isHalt = halted.has(status) && status !== from;
  model.set(
    userId,
    status === from ? before : { status, back: isHalt ? (halted.has(from) ? before.back : from) : null, until: isHalt ? until : null },
  );
  done.push({ userId, undo: moved.undo, before });
}

async function takeBack(last: Done | undefined, { model, done }: { model: Map<string, Model>; done: Done[] }): Promise<void> {
  if (last === undefined) return;
  const { userId, undo: change } = last;
  const stood = await seen(userId);
  const isUntouched = JSON.stringify(stood) === JSON.stringify(change.after);
  const { restored } = await undo(change);
  const now = await seen(userId);
  if (isUntouched) expect(restored).toBe(true);
  if (isUntouched && change.before !== null) expect(now).toEqual(change.before);
  if (isUntouched && change.before === null) expect(now.status).toBe("terminated");
  if (!restored && change.kind === "move") expect([stood.status, change.before?.status]).toContain(now.status);
  model.set(userId, {
    status: now.status,
    back: now.status_before,
    until: now.suspended_until === null ? null : Date.parse(now.suspended_until),
  });
  const written = await historyOf(userId);
  await undo(change);
  expect(await historyOf(userId)).toHaveLength(written.length);
  done.splice(done.indexOf(last), 1);
}

/** Every line begins where the one before ended, the entry stands where the last one ended, and the audit knows of each change. */
async function requireUnbroken(userId: string, { status, back, until }: Model): Promise<void> {
  const lines = await historyOf(userId);
  const befores = lines.map(({ before }) => before);
  const afters = lines.map(({ after }) => after);
  expect(befores).toEqual(lines.length === 0 ? [] : [{}, ...afters.slice(0, -1)]);
  const entry = await roster.find(ground.database.read, userId);
  expect(entry?.status ?? null).toBe(status);
  if (entry === null) return;
  expect(factsOf(entry)).toEqual(afters.at(-1));
  expect(entry).toMatchObject({ statusBefore: back, suspendedUntil: until === null ? null : new Date(until) });
  const changes = lines.filter(({ event }) => event !== "trial_started").length;
  expect(await actionsOf(userId)).toHaveLength(changes);
  expect(entry.revision).toBe(changes);
}
