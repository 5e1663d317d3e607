import { silent } from "../support/rooms.ts";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import type { Tx } from "../../src/database/database.ts";
import { createAuditService } from "../../src/features/audit/audit.service.ts";
import { createEventsService } from "../../src/features/events/events.service.ts";
import { factsOf } from "../../src/features/roster/facts.ts";
import { replayHistory } from "../../src/features/roster/fold.ts";
import { stepsTo } from "../../src/features/roster/patch.ts";
import { createRosterService, type RosterService } from "../../src/features/roster/roster.service.ts";
import { legalMoves, rosterStatuses } from "../../src/features/roster/states.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { ProblemError } from "../../src/kernel/errors.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createCursors } from "../../src/kernel/page.ts";
import type { User } from "../../sandbox/index.ts";
import { shareWorld } from "../contract/world.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { runsOf } from "../support/size.ts";

const day = 86_400_000;
const shared = shareWorld({ env: { ROSTER_FOLLOWS_DISCORD: "false" } });
const cast: Record<"owner" | "admin" | "senior" | "moderator" | "viewer", User> = {} as never;
beforeAll(async () => {
  for (const level of ["owner", "admin", "senior", "moderator", "viewer"] as const) cast[level] = await shared.world.staff(level);
});

const start = Date.now();
/** So many days ago, at the same moment for the whole file. */
const ago = (days: number): string => new Date(start - days * day).toISOString();
const reason = "As the team decided.";
const join = (person: User, body: object = {}) =>
  shared.world.post("/roster", { user_id: person.id, reason, ...body }, { actor: cast.owner });
const change = (person: User, body: object, actor: User = cast.owner) =>
  shared.world.patch(`/roster/${person.id}`, { reason, ...body }, { actor });
const history = (query: string, actor: User = cast.owner) => shared.world.get(`/roster/history?${query}`, { actor });
const rowsOf = ({ id }: User) => shared.world.app.database.read.rosterEvent.findMany({ where: { userId: id }, orderBy: { id: "asc" } });
const eventsIn = (answer: { body: any }): string[] => answer.body.data.map(({ event }: any) => event);

describe("the history of somebody", () => {
  test("is told newest first, with what each line changed, who did it and where it comes from", async () => {
    const person = shared.world.member();
    await join(person, { joined_at: ago(100), trial_days: 30, staff_role: "viewer" });
    await change(person, { status: "active", staff_role: "moderator", effective_at: ago(60) });
    const told = await history(`user_id=${person.id}`);
    expect(eventsIn(told)).toEqual(["promoted", "trial_started", "hired"]);
    const [promoted, , hired] = told.body.data;
    expect(promoted).toMatchObject({
      user: { id: person.id },
      before: { status: "trial", staff_role: "viewer" },
      after: { status: "active", trial_ends_at: null, staff_role: "moderator" },
      actor: { id: cast.owner.id },
      cause_reference: null,
      reason,
      source: "staff",
      effective_at: ago(60),
    });
    expect(Object.keys(promoted.after).toSorted()).toEqual(["staff_role", "status", "trial_ends_at"]);
    expect(Date.parse(promoted.recorded_at)).toBeGreaterThanOrEqual(start);
    expect(hired.effective_at).toBe(ago(100));
    expect(eventsIn(await history(`user_id=${person.id}&role=moderator`))).toEqual(["promoted"]);
    expect(eventsIn(await history(`user_id=${person.id}&event=hired`))).toEqual(["hired"]);
    expect(eventsIn(await history(`user_id=${person.id}&source=discord`))).toEqual([]);
    expect(eventsIn(await history(`user_id=${person.id}&from=${ago(60)}`))).toEqual(["promoted"]);
    expect(eventsIn(await history(`user_id=${person.id}&to=${ago(60)}`))).toEqual(["trial_started", "hired"]);
  });

  test("is read in pages that belong to their filters, and an unknown person has none", async () => {
    const person = shared.world.member();
    await join(person, { joined_at: ago(50), trial_days: 10 });
    await change(person, { status: "active", effective_at: ago(30) });
    const first = await history(`user_id=${person.id}&limit=2&count=true`);
    expect([eventsIn(first), first.body.page]).toMatchObject([["promoted", "trial_started"], { has_more: true, total: 3 }]);
    const cursor = encodeURIComponent(first.body.page.next_cursor);
    expect(eventsIn(await history(`user_id=${person.id}&limit=2&cursor=${cursor}`))).toEqual(["hired"]);
    expect((await history(`user_id=${cast.admin.id}&cursor=${cursor}`)).body.code).toBe("invalid_cursor");
    const nobody = await history("user_id=99999999999999999");
    expect([nobody.status, nobody.body.data]).toEqual([200, []]);
    expect((await history(`on=${ago(1)}`)).body).toMatchObject({ status: 422, errors: [{ pointer: "/on", in: "query" }] });
    expect((await history(`user_id=${person.id}&on=${ago(1)}&event=hired`)).status).toBe(422);
    expect((await history("", cast.viewer)).body.code).toBe("permission_denied");
  });

  test("keeps reasons for those who edit the roster, and from the person themself", async () => {
    const person = await shared.world.staff("moderator");
    await join(person, { staff_role: "viewer", joined_at: ago(5) });
    expect((await history(`user_id=${person.id}`, cast.senior)).body.data[0].reason).toBe(reason);
    expect((await history(`user_id=${person.id}`, cast.moderator)).body.data[0]).not.toHaveProperty("reason");
    await join(cast.senior, { joined_at: ago(5) });
    expect((await history(`user_id=${cast.senior.id}`, cast.senior)).body.data[0]).not.toHaveProperty("reason");
  });
});

describe("a change that took effect earlier", () => {
  test("stands at its time, shines through until a later line changes the same, and leaves every line before as it is", async () => {
    const person = shared.world.member();
    await join(person, { joined_at: ago(100), staff_role: "viewer", department: "north" });
    await change(person, { staff_role: "moderator", effective_at: ago(40) });
    const before = await rowsOf(person);
    const back = await change(person, { staff_role: "senior", department: "south", effective_at: ago(70) });
    expect(back.body.data).toMatchObject({ staff_role: "moderator", department: "south" });
    const after = await rowsOf(person);
    expect(JSON.stringify(after.slice(0, before.length))).toBe(JSON.stringify(before));
    expect(after.slice(before.length).map(({ event }) => event)).toEqual(["promoted", "transferred"]);
    const stood = async (days: number, known = "") => (await history(`user_id=${person.id}&on=${ago(days)}${known}`)).body.meta.standing;
    expect(await stood(101)).toBeNull();
    expect(await stood(80)).toMatchObject({ staff_role: "viewer", department: "north" });
    expect(await stood(50)).toMatchObject({ staff_role: "senior", department: "south", status: "active" });
    expect(await stood(10)).toMatchObject({ staff_role: "moderator", department: "south" });
    const known = new Date(after[before.length]!.recordedAt.getTime() - 1).toISOString();
    expect(await stood(50, `&known_at=${known}`)).toMatchObject({ staff_role: "viewer", department: "north" });
    const lines = await history(`user_id=${person.id}&on=${ago(50)}`);
    expect(eventsIn(lines)).toEqual(["transferred", "promoted", "hired"]);
    expect(eventsIn(await history(`user_id=${person.id}&known_at=${known}`))).toEqual(["promoted", "hired"]);
  });

  test("is judged by how they stood then, and refused for the future or before they joined", async () => {
    const person = shared.world.member();
    await join(person, { joined_at: ago(100) });
    await change(person, { status: "resigned", effective_at: ago(20) });
    const lines = await rowsOf(person);
    const wrong = await change(person, { status: "inactive" });
    expect(wrong.body).toMatchObject({ status: 409, code: "invalid_transition", from: "resigned", action: "inactive" });
    const then = await change(person, { status: "suspended", effective_at: ago(50) });
    expect(then.body.data).toMatchObject({ status: "resigned", ended_at: ago(20), suspended_until: null });
    for (const [at, code] of [
      [new Date(start + day).toISOString(), "in_the_future"],
      [ago(101), "too_early"],
    ]) {
      const refused = await change(person, { department: "east", effective_at: at });
      expect(refused.body).toMatchObject({ status: 422, errors: [{ pointer: "/effective_at", code }] });
    }
    expect(await rowsOf(person)).toHaveLength(lines.length + 1);
  });

  test("that is a correction takes any status, is told as corrected and needs the right to it", async () => {
    const person = shared.world.member();
    await join(person, { joined_at: ago(100) });
    await change(person, { status: "terminated", effective_at: ago(20) });
    const before = await rowsOf(person);
    const wanted = { status: "active", correction: true, effective_at: ago(10) };
    expect((await change(person, wanted, cast.senior)).body).toMatchObject({ status: 403, required: "roster.apply_fixes" });
    expect((await change(person, { status: "active" })).body.data).toMatchObject({ status: "active", joined_at: expect.any(String) });
    await change(person, { status: "terminated" });
    const fixed = await change(person, { status: "loa", correction: true });
    expect(fixed.body.data).toMatchObject({ status: "loa", ended_at: null });
    const after = await rowsOf(person);
    expect(JSON.stringify(after.slice(0, before.length))).toBe(JSON.stringify(before));
    expect(after.map(({ event }) => event)).toEqual(["hired", "terminated", "rehired", "terminated", "corrected"]);
    const [entry] = await shared.world.app.database.read.auditEntry.findMany({
      where: { subjectUserId: person.id, action: "roster.corrected" },
      select: { permissionUsed: true },
    });
    expect(entry?.permissionUsed).toBe("roster.apply_fixes");
  });
});

test("says who held a callsign on which day: given, released, transferred and back-dated", async () => {
  const [anna, ben, carl] = [shared.world.member(), shared.world.member(), shared.world.member()];
  const held = { callsign: "N-007", pool: "north" };
  const { app } = shared.world;
  const line = (who: User, isGiven: boolean, days: number) =>
    app.database.write(systemCall("job", uuid7()), (tx) => {
      const [before, after] = isGiven ? [{}, held] : [held, {}];
      const event = isGiven ? "callsign_assigned" : "callsign_released";
      const told = { causeReference: null, effectiveAt: new Date(ago(days)) };
      return app.roster.lines(tx, [{ entryId: null, userId: who.id, event, before, after, ...held }], told);
    });
  await line(anna, true, 90);
  // Handed on in one moment, told in the other order.
  await line(ben, true, 60);
  await line(anna, false, 60);
  await line(ben, false, 30);
  const holder = async (days: number, more = "") =>
    (await history(`callsign=N-007&on=${ago(days)}${more}`)).body.data.map(({ user }: any) => user.id);
  expect(await holder(91)).toEqual([]);
  expect(await holder(90)).toEqual([anna.id]);
  expect(await holder(61)).toEqual([anna.id]);
  expect(await holder(60)).toEqual([ben.id]);
  expect(await holder(30)).toEqual([]);
  const known = new Date().toISOString();
  await shared.world.sandbox.waitFor(() => Date.now() > Date.parse(known));
  await line(carl, true, 20);
  await line(carl, false, 10);
  expect(await holder(15)).toEqual([carl.id]);
  expect(await holder(15, `&known_at=${known}`)).toEqual([]);
  expect(await holder(5)).toEqual([]);
  expect(await holder(15, `&user_id=${anna.id}`)).toEqual([]);
  const { standing } = (await history(`user_id=${ben.id}&on=${ago(45)}`)).body.meta;
  expect(standing).toEqual({ callsigns: [held] });
  expect(eventsIn(await history("callsign=N-007"))).toHaveLength(6);
  expect((await history("callsign=N-999")).body.data).toEqual([]);
});

test("names nothing of a confidential request to those who may not know of it", async () => {
  const person = shared.world.member();
  const { app } = shared.world;
  const filed = await shared.world.post(
    "/workflows/investigation",
    {
      target_user_id: person.id,
      suspected_violation: "Leaks",
      priority: "high",
      lead_user_id: cast.owner.id,
      confidential: true,
      reason: "A tip about leaks came in.",
    },
    { actor: cast.owner },
  );
  expect(filed.status, JSON.stringify(filed.body)).toBe(201);
  const { reference } = filed.body;
  await app.database.write(systemCall("job", uuid7()), (tx) =>
    app.roster.beginTrialInTx(tx, {
      userId: person.id,
      staffRole: "viewer",
      trialDays: 0,
      causeReference: reference,
      reason: "Because of the leak.",
      permission: "system.act",
    }),
  );
  const [open] = (await history(`user_id=${person.id}`)).body.data;
  expect(open).toMatchObject({ cause_reference: reference, reason: "Because of the leak.", after: { origin_reference: reference } });
  const [closed] = (await history(`user_id=${person.id}`, cast.senior)).body.data;
  expect(closed).toMatchObject({ cause_reference: "confidential", after: { origin_reference: "confidential" } });
  expect(closed).not.toHaveProperty("reason");
  expect((await shared.world.get(`/roster/${person.id}`, { actor: cast.senior })).body.data.origin_reference).toBe("confidential");
  const stood = await history(`user_id=${person.id}&on=${new Date(Date.now() + day).toISOString()}`, cast.senior);
  expect(JSON.stringify(stood.body)).not.toContain(reference);
});

describe("what the lines fold to", () => {
  const time = { now: Date.parse("2026-01-01T00:00:00.000Z") };
  const clock = { now: () => new Date(time.now) };
  const call = systemCall("job", "test");
  const note = { causeReference: null, permission: "roster.edit" as const };
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
  const write = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => ground.database.write(call, work);
  const linesOf = (userId: string) => ground.database.read.rosterEvent.findMany({ where: { userId }, orderBy: { id: "asc" } });
  const standOf = async (userId: string) => {
    const entry = await roster.find(ground.database.read, userId);
    return entry === null ? null : factsOf(entry);
  };
  const rankOf = (role: string | null): number => ["viewer", "moderator", "senior"].indexOf(role ?? "") + 1;

  /** As the door of the roster changes an entry. */
  const patch = (userId: string, { effectiveAt, isCorrection, ...wanted }: Patch) =>
    write(async (tx) => {
      await roster.records.lock(tx, userId);
      const entry = await roster.find(tx.db, userId);
      const stood = entry === null ? null : await roster.records.standAt(tx.db, entry, effectiveAt);
      if (entry === null || stood === null) return;
      const [first, ...more] = stepsTo(stood, wanted, { at: effectiveAt ?? tx.now, isCorrection, mayCorrect: true, rankOf });
      if (first !== undefined)
        await roster.records.write(tx, { userId, entry }, [first, ...more], { ...note, effectiveAt }, { before: stood });
    }).catch((error: unknown) => {
      if (!(error instanceof ProblemError)) throw error;
    });
  interface Patch {
    status: (typeof rosterStatuses)[number] | undefined;
    staff_role: string | undefined;
    department: string | undefined;
    effectiveAt: Date | undefined;
    isCorrection: boolean;
  }

  const back = fc.option(fc.integer({ min: 0, max: 40 }), { nil: undefined });
  const roles = fc.option(fc.constantFrom("viewer", "moderator", "senior"), { nil: undefined });
  const movable = [...new Set(legalMoves.map(({ event }) => event))].filter((event) => event !== "hired" && event !== "rehired");
  const step = fc.oneof(
    fc.record({ kind: fc.constant("begin" as const), trialDays: fc.constantFrom(0, 20) }),
    fc.record({ kind: fc.constant("move" as const), event: fc.constantFrom(...movable), staffRole: roles, until: back, back }),
    fc.record({
      kind: fc.constant("patch" as const),
      status: fc.option(fc.constantFrom(...rosterStatuses), { nil: undefined }),
      staff_role: roles,
      department: fc.option(fc.constantFrom("north", "south"), { nil: undefined }),
      isCorrection: fc.boolean(),
      back,
    }),
    fc.record({ kind: fc.constant("leave" as const), event: fc.constantFrom("loa_started" as const, "loa_ended" as const), back }),
    fc.record({ kind: fc.constant("undo" as const), place: fc.nat(3) }),
    fc.record({ kind: fc.constant("wait" as const), days: fc.integer({ min: 1, max: 15 }) }),
  );

  test("is how the entry stands, and was, after any joining, moving, back-dating, correcting, taking back, leave and waiting", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 14 }), async (sequence) => {
        const userId = somebody();
        const undos: unknown[] = [];
        const stands: { at: Date; stand: unknown }[] = [];
        for (const one of [{ kind: "begin" as const, trialDays: 20 }, ...sequence]) {
          time.now += 1000;
          const written = await linesOf(userId);
          await play(userId, one, undos);
          const lines = await linesOf(userId);
          expect(JSON.stringify(lines.slice(0, written.length))).toBe(JSON.stringify(written));
          expect(replayHistory(lines)).toEqual(await standOf(userId));
          stands.push({ at: clock.now(), stand: await standOf(userId) });
        }
        const lines = await linesOf(userId);
        for (const { at, stand } of stands) expect(replayHistory(lines, { knownAt: at })).toEqual(stand);
      }),
      { numRuns: runsOf(20) },
    );
  });

  async function play(
    userId: string,
    one: (typeof step extends fc.Arbitrary<infer T> ? T : never) | { kind: "begin"; trialDays: number },
    undos: unknown[],
  ) {
    const earlier = "back" in one && one.back !== undefined ? new Date(time.now - one.back * day) : undefined;
    if (one.kind === "wait") {
      time.now += one.days * day;
      return void (await roster.sweep(call));
    }
    if (one.kind === "patch") return await patch(userId, { ...one, effectiveAt: earlier });
    if (one.kind === "leave")
      return await write((tx) => roster.leaveInTx(tx, userId, { event: one.event, at: earlier ?? tx.now, permission: "staff.manage" }));
    if (one.kind === "undo") {
      const [change] = undos.splice(-1 - one.place, 1);
      if (change !== undefined) await write((tx) => roster.undoInTx(tx, change, note));
      return;
    }
    if (one.kind === "begin") {
      const begun = await write((tx) =>
        roster.beginTrialInTx(tx, { ...note, userId, staffRole: "viewer", trialDays: one.trialDays }),
      ).catch((error: unknown) => {
        if (!(error instanceof ProblemError)) throw error;
      });
      if (begun !== undefined) undos.push(JSON.parse(JSON.stringify(begun.undo)));
      return;
    }
    const until = one.until === undefined ? null : new Date(time.now + one.until * day);
    const wanted = { event: one.event as "suspended", staffRole: one.staffRole, until, effectiveAt: earlier };
    const moved = await write((tx) => roster.moveInTx(tx, userId, { ...note, ...wanted }));
    if (!("skipped" in moved)) undos.push(JSON.parse(JSON.stringify(moved.undo)));
  }

  test("counts what was written last, even where the clock goes back", async () => {
    const userId = somebody();
    await write((tx) => roster.beginTrialInTx(tx, { ...note, userId, staffRole: "viewer", trialDays: 0 }));
    time.now -= 3_600_000;
    await write((tx) => roster.moveInTx(tx, userId, { ...note, event: "resigned" }));
    expect(replayHistory(await linesOf(userId))).toMatchObject({ status: "resigned" });
    time.now += 3_600_000;
  });

  test("ends no suspension before it was put back", async () => {
    const userId = somebody();
    await write((tx) => roster.beginTrialInTx(tx, { ...note, userId, staffRole: "viewer", trialDays: 0 }));
    const until = new Date(time.now + day);
    const moved = await write((tx) => roster.moveInTx(tx, userId, { ...note, event: "suspended", until }));
    const lifted = await write((tx) => roster.moveInTx(tx, userId, { ...note, event: "reinstated" }));
    if ("skipped" in moved || "skipped" in lifted) throw new Error("nothing moved");
    time.now += 3 * day;
    await write((tx) => roster.undoInTx(tx, lifted.undo, note));
    expect(await standOf(userId)).toMatchObject({ status: "suspended", suspended_until: until.toISOString() });
    time.now += 1000;
    await roster.sweep(call);
    expect(await standOf(userId)).toMatchObject({ status: "active" });
    const lines = await linesOf(userId);
    expect(replayHistory(lines)).toMatchObject({ status: "active" });
    const [putBack, ended] = lines.slice(-2);
    expect([putBack?.event, ended?.event, ended?.effectiveAt]).toEqual(["corrected", "reinstated", putBack?.effectiveAt]);
  });
});
