import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import type { Tx } from "../../src/database/database.ts";
import type { RequestedCase } from "../../src/features/cases/requests.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { inWords } from "../../src/kit/say.ts";
import type { User } from "../../sandbox/index.ts";
import { freshId } from "../contract/document.ts";
import { shareWorld } from "../contract/world.ts";
import { acted, link, openCase } from "./cases-actions.setup.ts";
import { runsOf } from "../support/size.ts";

const time = { offset: 0 };
const shared = shareWorld({ clock: { now: () => new Date(Date.now() + time.offset) } });
const day = 86_400_000;
const permission = "workflows.punishment.decide" as const;
const note = { reason: "The request was reversed.", permission };
const later = (days: number): Date => new Date(Date.now() + time.offset + days * day);
let owner: User;
let senior: User;

beforeAll(async () => {
  owner = await shared.world.staff("owner");
  senior = await shared.world.staff("senior");
});

const read = () => shared.world.app.database.read;
const write = <Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> =>
  shared.world.app.database.write(systemCall("job", uuid7()), work);
/** As it comes back from where undo is stored. */
const stored = (undo: unknown): unknown => JSON.parse(JSON.stringify(undo));
let requests = 0;
const draftOf = (id: string, more: Partial<RequestedCase> = {}): RequestedCase => ({
  type: "punishment",
  title: "Insults in the lounge",
  subject: { kind: "user", id },
  originReference: `PUN-REQ-${(900_000 + (requests += 1)).toString()}`,
  originRequestId: uuid7(),
  body: "Approved: two insults after a warning.",
  authorId: senior.id,
  permission,
  ...more,
});
const bring = (draft: RequestedCase) => write((tx) => shared.world.app.cases.appendOrOpenInTx(tx, draft));
const undoCase = (undo: unknown) => write((tx) => shared.world.app.cases.undoCaseInTx(tx, stored(undo), { ...note, authorId: senior.id }));
const seen = async (id: string) => (await shared.world.get(`/cases/${id}`, { actor: owner })).body.data;
const close = (id: string, body: object, actor = owner) => shared.world.post(`/cases/${id}/close`, body, { actor });
const permissionsUsed = async (id: string): Promise<(string | null)[]> => {
  const rows = await read().auditEntry.findMany({ where: { targetId: id, outcome: "ok" }, orderBy: { seq: "asc" } });
  return rows.map(({ permissionUsed }) => permissionUsed);
};

describe("an approved request", () => {
  test("opens a case with a note and a link to it, and comes to that case the next time", async () => {
    const subject = freshId();
    const draft = draftOf(subject, { leadId: senior.id, team: [owner.id, senior.id, freshId()], dueAt: later(7) });
    const first = await bring(draft);
    expect(first.isNew).toBe(true);
    const opened = await seen(first.row.id);
    expect(opened).toMatchObject({
      type: "punishment",
      status: "open",
      priority: "normal",
      opened_by: senior.id,
      lead: senior.id,
      team: [owner.id],
      notes_count: 1,
      origin_reference: draft.originReference,
    });
    const links = await read().caseLink.findMany({ where: { caseId: first.row.id } });
    expect(links).toMatchObject([{ rel: "related", kind: "request", targetId: draft.originRequestId }]);
    expect(new Set(await permissionsUsed(first.row.id))).toEqual(new Set([permission]));
    const second = await bring(draftOf(subject));
    expect([second.isNew, second.row.id]).toEqual([false, first.row.id]);
    expect((await seen(first.row.id)).notes_count).toBe(2);
  });

  test("comes to the case it names where that is about the person or an account of theirs, and to no other", async () => {
    const [subject, alt] = [freshId(), freshId()];
    await link(shared.world, owner, subject, alt);
    const [named, strange] = [
      await openCase(shared.world, owner, { about: [alt] }),
      await openCase(shared.world, owner, { about: [freshId()] }),
    ];
    expect((await bring(draftOf(subject, { caseReference: named.number.toLowerCase() }))).row.id).toBe(named.id);
    const own = await bring(draftOf(subject, { caseReference: strange.number }));
    expect(own.isNew).toBe(true);
    await close(named.id, { outcome: "resolved" });
    expect((await bring(draftOf(subject, { caseReference: named.id }))).row.id).toBe(own.row.id);
    expect((await seen(strange.id)).notes_count).toBe(0);
  });

  test("opens one of its own where the others are closed, of another type, confidential or in the bin, or it is confidential itself", async () => {
    const subject = freshId();
    const closed = await bring(draftOf(subject));
    expect((await close(closed.row.id, { outcome: "applied" })).status).toBe(200);
    const binned = await bring(draftOf(subject));
    await shared.world.delete(`/cases/${binned.row.id}`, { reason: "A test." }, { actor: owner });
    await bring(draftOf(subject, { type: "poach" }));
    const secret = await bring(draftOf(subject, { isConfidential: true }));
    const last = await bring(draftOf(subject));
    expect([closed, binned, secret, last].map(({ isNew }) => isNew)).toEqual([true, true, true, true]);
    const another = await bring(draftOf(subject, { isConfidential: true, leadId: subject }));
    expect(another.isNew).toBe(true);
    expect(another.row).toMatchObject({ isConfidential: true, leadId: senior.id, members: [] });
    expect(await read().case.count({ where: { subjects: { some: { subjectId: subject } } } })).toBe(6);
  });

  test("comes to the case that another one opens at the same moment", async () => {
    const subject = freshId();
    const brought = await Promise.all(Array.from({ length: 6 }, () => bring(draftOf(subject))));
    expect(new Set(brought.map(({ row }) => row.id)).size).toBe(1);
    expect(brought.filter(({ isNew }) => isNew)).toHaveLength(1);
  });

  test("that is reversed has the case closed that it opened, once", async () => {
    const made = await bring(draftOf(freshId()));
    const action = await write((tx) => shared.world.app.actions.recordInTx(tx, made.row.id, strike(made.row.originReference, freshId())));
    expect(inWords(await undoCase(made.undo))).toEqual({ restored: true, detail: "The case was closed as reversed." });
    const closed = await seen(made.row.id);
    expect(closed).toMatchObject({
      status: "closed",
      outcome: "reversed",
      outcome_reason: note.reason,
      closed_by: senior.id,
      actions_count: 1,
    });
    expect((await undoCase(made.undo)).restored).toBe(false);
    expect(await seen(made.row.id)).toEqual(closed);
    expect(action.action.caseId).toBe(made.row.id);
  });

  test("that is reversed leaves a case open that people have worked on, and one that was there before; a note says so once", async () => {
    const [noted, judged, before] = [await bring(draftOf(freshId())), await bring(draftOf(freshId())), freshId()];
    await shared.world.post(`/cases/${noted.row.id}/notes`, { body: "Spoke with them." }, { actor: owner });
    await acted(shared.world, owner, judged.row.id);
    const own = await openCase(shared.world, owner, { about: [before] });
    const added = await bring(draftOf(before, { caseReference: own.id }));
    for (const [made, restored, notes] of [
      [noted, false, 3],
      [judged, false, 2],
      [added, true, 2],
    ] as const) {
      expect((await undoCase(made.undo)).restored).toBe(restored);
      await undoCase(made.undo);
      expect(await seen(made.row.id)).toMatchObject({ status: "open", notes_count: notes });
    }
    await shared.world.delete(`/cases/${own.id}`, { reason: "A test." }, { actor: owner });
    expect(inWords(await undoCase(added.undo))).toEqual({ restored: false, detail: "The case was deleted." });
  });
});

function strike(originReference: string | null, userId: string, points = 1, expiresAt: Date | null = null) {
  return {
    kind: "strike" as const,
    userId,
    points,
    reason: "Insulted two newcomers after a warning.",
    expiresAt,
    originReference: originReference ?? "PUN-REQ-900000",
    permission,
  };
}

describe("an action", () => {
  const undoing = (name: "undoRecordInTx" | "undoVoidInTx" | "undoReduceInTx", undo: unknown) =>
    write((tx) => shared.world.app.actions[name](tx, stored(undo), note));
  const pointsOf = async (userId: string): Promise<number> =>
    (await shared.world.get(`/users/${userId}/strikes`, { actor: owner })).body.meta.points_in_force;

  test("of an approval stands in the case as its own, suggests what it leads to, and is voided when that is taken back", async () => {
    const { actions } = shared.world.app;
    const userId = freshId();
    const { row } = await bring(draftOf(userId));
    const made = await write((tx) => actions.recordInTx(tx, row.id, strike("PUN-REQ-000123", userId, 3)));
    const listed = (await shared.world.get(`/cases/${row.id}/actions`, { actor: owner })).body.data;
    expect(listed).toMatchObject([{ id: made.action.id, points: 3, in_force: true, origin_reference: "PUN-REQ-000123" }]);
    expect((await actions.findAction(read(), made.action.id))?.case).toEqual({ number: row.number });
    const openDrafts = () => read().requestDraft.count({ where: { subjectId: userId, status: "open" } });
    expect(await openDrafts()).toBe(1);
    expect(await undoing("undoRecordInTx", made.undo)).toMatchObject({ restored: true });
    expect([await pointsOf(userId), await openDrafts()]).toEqual([0, 0]);
    expect(await undoing("undoRecordInTx", made.undo)).toMatchObject({ restored: false });
    expect(new Set(await permissionsUsed(row.id))).toEqual(new Set([permission]));
    const events = (await shared.world.get(`/cases/${row.id}/timeline`, { actor: owner })).body.data.map(
      ({ event }: { event: string }) => event,
    );
    expect(events.slice(0, 2)).toEqual(["action_voided", "action"]);
  });

  test("is recorded in no case that is closed or gone", async () => {
    const { actions } = shared.world.app;
    const { row } = await bring(draftOf(freshId()));
    await close(row.id, { outcome: "applied" });
    const attempt = (id: string) => write((tx) => actions.recordInTx(tx, id, strike(null, freshId())));
    await expect(attempt(row.id)).rejects.toMatchObject({ code: "invalid_transition" });
    await expect(attempt(uuid7())).rejects.toMatchObject({ code: "record_not_found" });
    expect(await read().caseAction.count({ where: { caseId: row.id } })).toBe(0);
  });

  test("that somebody voided for another reason stays voided", async () => {
    const { actions } = shared.world.app;
    const userId = freshId();
    const own = await openCase(shared.world, owner, { about: [userId] });
    const { id } = await acted(shared.world, owner, own.id, { points: 2 });
    const voided = await write((tx) => actions.voidInTx(tx, id, note));
    expect(await write((tx) => actions.voidInTx(tx, id, note))).toBeNull();
    expect(await undoing("undoVoidInTx", voided?.undo)).toMatchObject({ restored: true });
    expect(await pointsOf(userId)).toBe(2);
    expect(await undoing("undoVoidInTx", voided?.undo)).toMatchObject({ restored: false });
    await shared.world.post(`/cases/${own.id}/actions/${id}/void`, { reason: "It was somebody else." }, { actor: owner });
    expect(await undoing("undoVoidInTx", voided?.undo)).toMatchObject({ restored: false });
    expect(await pointsOf(userId)).toBe(0);
    expect(await write((tx) => actions.reduceInTx(tx, id, { points: 1 }, note))).toBeNull();
    expect(await write((tx) => actions.voidInTx(tx, uuid7(), note))).toBeNull();
  });

  test("that was reduced counts for less or ends, and as before when that is taken back, but for what changed since", async () => {
    const { actions } = shared.world.app;
    const userId = freshId();
    const own = await openCase(shared.world, owner, { about: [userId] });
    const { id } = await acted(shared.world, owner, own.id, { points: 5 });
    const reduce = (reduction: object) => write((tx) => actions.reduceInTx(tx, id, reduction, note));
    const ended = await reduce({ expiresAt: later(0) });
    expect(await pointsOf(userId)).toBe(0);
    expect(await undoing("undoReduceInTx", ended?.undo)).toMatchObject({ restored: true });
    expect(await pointsOf(userId)).toBe(5);
    const first = await reduce({ points: 3, expiresAt: later(30) });
    await reduce({ points: 1 });
    expect(await undoing("undoReduceInTx", first?.undo)).toMatchObject({ restored: false });
    expect((await shared.world.get(`/cases/${own.id}/actions`, { actor: owner })).body.data).toMatchObject([
      { points: 1, expires_at: null },
    ]);
  });

  test("whatever is done and taken back in reverse order leaves the same in force and suggested", async () => {
    const { actions } = shared.world.app;
    const userId = freshId();
    const { row } = await bring(draftOf(userId));
    await acted(shared.world, owner, row.id, { points: 2 });
    await acted(shared.world, owner, row.id, { points: 2 });
    const inForce = async () => {
      const where = { caseId: row.id, voidedAt: null };
      const strikes = await read().caseAction.findMany({ where, orderBy: { id: "asc" } });
      const drafts = await read().requestDraft.findMany({ where: { subjectId: userId, status: "open" }, select: { openKey: true } });
      return { strikes, drafts: drafts.map(({ openKey }) => openKey) };
    };
    const before = await inForce();
    expect(before.drafts).toEqual([`strikes:${userId}:3`]);
    const deed = fc.record({
      do: fc.constantFrom("record", "void", "reduce"),
      which: fc.nat({ max: 4 }),
      points: fc.integer({ min: 0, max: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(deed, { minLength: 1, maxLength: 8 }), async (steps) => {
        const undos: (() => Promise<{ restored: boolean }>)[] = [];
        for (const step of steps) {
          if (step.do === "record") {
            const { undo } = await write((tx) => actions.recordInTx(tx, row.id, strike(null, userId, step.points, later(90))));
            undos.push(() => undoing("undoRecordInTx", undo));
            continue;
          }
          const { strikes } = await inForce();
          const id = strikes[step.which % strikes.length]?.id ?? "";
          if (step.do === "void") {
            const voided = await write((tx) => actions.voidInTx(tx, id, note));
            if (voided !== null) undos.push(() => undoing("undoVoidInTx", voided.undo));
            continue;
          }
          const reduction = { points: step.points, expiresAt: later(step.which) };
          const reduced = await write((tx) => actions.reduceInTx(tx, id, reduction, note));
          if (reduced !== null) undos.push(() => undoing("undoReduceInTx", reduced.undo));
        }
        for (const undo of undos.toReversed()) {
          expect((await undo()).restored).toBe(true);
          const once = await inForce();
          await undo();
          expect(await inForce()).toEqual(once);
        }
        expect(await inForce()).toEqual(before);
      }),
      { numRuns: runsOf(20) },
    );
  });
});

describe("closing a case", () => {
  const drafts = async (id: string, actor = owner): Promise<any[]> =>
    (await shared.world.get(`/workflows/drafts?subject=${id}`, { actor })).body.data;
  const outcome = { outcome: "substantiated", reason: "Three witnesses say the same." };
  const openAbout = async (subjects: object[], more: object = {}) => {
    const body = { title: "Insults in the lounge", type: "investigation", subjects, ...more };
    return (await shared.world.post("/cases", body, { actor: owner })).body.data;
  };

  test("suggests the requests that follow about its subjects, each once, until it is opened again", async () => {
    const [one, other, server] = [freshId(), freshId(), freshId()];
    const subjects = [...[one, other].map((id) => ({ kind: "user", id })), { kind: "server", id: server }];
    const { id, number } = await openAbout(subjects);
    const spawn = ["punishment", "blacklist-user", "blacklist-server", "alt-request"];
    expect((await close(id, { ...outcome, spawn })).status).toBe(200);
    const cause = { cause: `Case ${number} was closed as substantiated.`, cause_reference: number };
    const sorted = async (subject: string) => (await drafts(subject)).toSorted((a, b) => (a.type < b.type ? -1 : 1));
    const { reason } = outcome;
    const [first = "", second = ""] = [one, other].toSorted();
    expect(await sorted(first)).toMatchObject([
      { type: "alt-request", payload: { user_ids: [first, second], reason }, ...cause },
      { type: "blacklist-user", payload: { user_id: first, reason }, ...cause },
      { type: "punishment", payload: { user_id: first, reason, case_reference: number }, ...cause },
    ]);
    expect((await sorted(second)).map(({ type }) => type)).toEqual(["blacklist-user", "punishment"]);
    expect(await drafts(server)).toMatchObject([{ type: "blacklist-server", payload: { server_id: server, reason }, ...cause }]);
    await shared.world.post(`/cases/${id}/reopen`, { reason: "A new witness." }, { actor: owner });
    expect([await drafts(one), await drafts(server)]).toEqual([[], []]);
    expect((await close(id, { outcome: "inconclusive", reason: "Too short" })).status).toBe(200);
    expect(await drafts(one)).toEqual([]);
  });

  test("that is confidential keeps what it suggests from those who may not know of it, and the request quotes nothing", async () => {
    const subject = freshId();
    const { id, number } = await openAbout([{ kind: "user", id: subject }], { confidential: true, lead: owner.id });
    expect((await close(id, { ...outcome, spawn: ["punishment"] })).status).toBe(200);
    const [draft] = await drafts(subject);
    expect(draft).toMatchObject({ cause: "A case was closed as substantiated.", cause_reference: number, payload: { user_id: subject } });
    expect(Object.keys(draft.payload)).toEqual(["user_id"]);
    expect(await drafts(subject, senior)).toEqual([]);
  });

  test("refuses to suggest what none of its subjects fits, and then stays as it was", async () => {
    const subject = freshId();
    const { id } = await openAbout([{ kind: "user", id: subject }]);
    for (const [spawn, pointer] of [
      [["punishment", "blacklist-server"], "/spawn/1"],
      [["punishment", "punishment"], "/spawn"],
      [["appeal"], "/spawn/0"],
    ] as const) {
      const { status, body } = await close(id, { ...outcome, spawn });
      expect([status, body.errors?.[0]?.pointer]).toEqual([422, pointer]);
    }
    expect((await seen(id)).status).toBe("open");
    expect(await read().requestDraft.count({ where: { subjectId: subject } })).toBe(0);
  });

  test("of any type can end as reversed", async () => {
    const { id } = await openAbout([{ kind: "user", id: freshId() }]);
    expect((await close(id, { outcome: "reversed" })).body.data).toMatchObject({ status: "closed", outcome: "reversed" });
  });
});
