import { describe, expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { freshId } from "../contract/document.ts";
import { shareWorld } from "../contract/world.ts";
import type { Answer, AskOptions } from "../support/world.ts";
import { act, acted, link, openCase, reason } from "./cases-actions.setup.ts";

const time = { offset: 0 };
const shared = shareWorld({ clock: { now: () => new Date(Date.now() + time.offset) } });
const wrong = "It was somebody else with the same name.";

const voided = (actor: User, caseKey: string, id: string, body: object = { reason: wrong }, asked: AskOptions = {}): Promise<Answer> =>
  shared.world.post(`/cases/${caseKey}/actions/${id}/void`, body, { actor, ...asked });

/** What a refused write must not have touched. */
async function traces() {
  const { read: db } = shared.world.app.database;
  return {
    actions: await db.caseAction.findMany({ orderBy: { id: "asc" } }),
    cases: await db.case.findMany({ orderBy: { id: "asc" } }),
    drafts: await db.requestDraft.count(),
    audit: await db.auditEntry.count({ where: { outcome: "ok" } }),
    events: await db.outboxEvent.count(),
  };
}

async function expectRefused(ask: () => Promise<Answer>, status: number, problem: object): Promise<void> {
  const before = await traces();
  const answer = await ask();
  expect([answer.status, answer.body]).toMatchObject([status, problem]);
  expect(await traces()).toEqual(before);
}

describe("an action", () => {
  test("is kept with who did it, when and until when, told of, and in the audit", async () => {
    const { world } = shared;
    const senior = await world.staff("senior");
    const userId = freshId();
    const { id, number } = await openCase(world, senior, { about: [userId] });
    const { status, body } = await act(world, senior, number.toLowerCase(), { points: 2, duration: "P90D", effect_ref: "modlog/41" });
    expect([status, body.data]).toMatchObject([
      201,
      {
        case_id: id,
        case_number: number,
        kind: "strike",
        user_id: userId,
        points: 2,
        reason,
        by: senior.id,
        in_force: true,
        effect_ref: "modlog/41",
        origin_reference: null,
        voided: null,
      },
    ]);
    expect(Date.parse(body.data.expires_at) - Date.parse(body.data.at)).toBe(90 * 86_400_000);
    expect((await world.get(`/cases/${id}/actions`, { actor: senior })).body.data).toEqual([body.data]);
    const [entry] = (await world.get(`/audit?action=case.action&subject=${userId}`)).body.data;
    expect(entry).toMatchObject({
      target: { kind: "case", id, reference: number },
      reason,
      after: { action_id: body.data.id, kind: "strike", points: 2 },
      permission_used: "cases.update",
    });
    const event = await world.app.database.read.outboxEvent.findFirst({ where: { type: "case.updated" }, orderBy: { seq: "desc" } });
    expect(event).toMatchObject({ permission: "cases.read_all", data: { id, number, change: "action" } });
  });

  test("of a confidential case says nothing of it in the audit, and its event is for few", async () => {
    const { world } = shared;
    const admin = await world.staff("admin");
    const userId = freshId();
    const { id } = await openCase(world, admin, { about: [userId], confidential: true });
    await acted(world, admin, id, { kind: "warning", points: 0 });
    const [entry] = (await world.get("/audit?action=case.action", { actor: admin })).body.data;
    expect(entry).toMatchObject({ target: { id }, subject_user_id: null, reason: null });
    expect(JSON.stringify(entry)).not.toMatch(/Insulted|warning/);
    const event = await world.app.database.read.outboxEvent.findFirst({ where: { type: "case.updated" }, orderBy: { seq: "desc" } });
    expect(event).toMatchObject({ permission: "cases.confidential", data: { id } });
  });

  test("counts one point for a strike and none for the rest unless told, and lasts unless told", async () => {
    const { world } = shared;
    const senior = await world.staff("senior");
    const { id } = await openCase(world, senior, { about: [freshId()] });
    const told = { points: undefined };
    expect(await acted(world, senior, id, told)).toMatchObject({ points: 1, expires_at: null });
    expect(await acted(world, senior, id, { ...told, kind: "ban", duration: null })).toMatchObject({ points: 0, expires_at: null });
    expect(await acted(world, senior, id, { ...told, kind: "other", expires_at: null })).toMatchObject({ points: 0, expires_at: null });
  });

  test("names whom it was done to where the case is about several", async () => {
    const { world } = shared;
    const senior = await world.staff("senior");
    const [one, other, alt] = [freshId(), freshId(), freshId()];
    const { id } = await openCase(world, senior, { about: [one, other] });
    await expectRefused(() => act(world, senior, id), 422, { errors: [{ pointer: "/user_id", code: "required" }] });
    await expectRefused(() => act(world, senior, id, { user_id: alt }), 422, { errors: [{ pointer: "/user_id", code: "not_a_subject" }] });
    expect(await acted(world, senior, id, { user_id: other })).toMatchObject({ user_id: other });
    await link(world, senior, alt, one);
    expect(await acted(world, senior, id, { user_id: alt })).toMatchObject({ user_id: alt });
  });

  test.each([
    ["no reason", { reason: undefined }, "/reason"],
    ["a short reason", { reason: "Insults." }, "/reason"],
    ["an unknown kind", { kind: "scolding" }, "/kind"],
    ["eleven points", { points: 11 }, "/points"],
    ["half a point", { points: 0.5 }, "/points"],
    ["two ends", { duration: "P1D", expires_at: "2030-01-01T00:00:00.000Z" }, "/expires_at"],
    ["an end that has passed", { expires_at: "2020-01-01T00:00:00.000Z" }, "/expires_at"],
    ["a number as id", { user_id: 80_351_110_224 }, "/user_id"],
    ["a field nobody knows", { point: 1 }, "/point"],
  ])("with %s is refused by name", async (_name, more, pointer) => {
    const { world } = shared;
    const senior = await world.staff("senior");
    const { id } = await openCase(world, senior, { about: [freshId()] });
    await expectRefused(() => act(world, senior, id, more), 422, { errors: [{ pointer }] });
  });

  test("is recorded by those who work on cases they may see, and by nobody else", async () => {
    const { world } = shared;
    const [senior, moderator, viewer] = [await world.staff("senior"), await world.staff("moderator"), await world.staff("viewer")];
    const { id } = await openCase(world, senior, { about: [freshId()] });
    await expectRefused(() => act(world, viewer, id), 403, { required: "cases.update" });
    await expectRefused(() => act(world, moderator, id), 404, { code: "record_not_found" });
    expect((await world.get(`/cases/${id}/actions`, { actor: moderator })).body.code).toBe("record_not_found");
    await expectRefused(() => act(world, senior, uuid7()), 404, { code: "record_not_found" });
    const own = await openCase(world, moderator, { about: [freshId()] });
    await acted(world, moderator, own.id);
    expect((await world.get(`/cases/${own.id}/actions`, { actor: moderator })).body.data).toHaveLength(1);
  });

  test("is never about oneself, nor about somebody of one's own rank or above, by any account", async () => {
    const { world } = shared;
    const [senior, peer, admin, owner] = [
      await world.staff("senior"),
      await world.staff("senior"),
      await world.staff("admin"),
      await world.staff("owner"),
    ];
    const aboutSenior = await openCase(world, owner, { about: [senior.id] });
    await expectRefused(() => act(world, senior, aboutSenior.id), 403, { code: "conflict_of_interest" });
    const aboutPeer = await openCase(world, owner, { about: [peer.id] });
    await expectRefused(() => act(world, senior, aboutPeer.id), 403, { code: "hierarchy_violation" });
    await acted(world, admin, aboutPeer.id);
    const alt = freshId();
    const aboutAlt = await openCase(world, owner, { about: [alt] });
    await link(world, owner, alt, peer.id);
    await expectRefused(() => act(world, senior, aboutAlt.id, { user_id: peer.id }), 403, { code: "hierarchy_violation" });
    const mine = freshId();
    const aboutMine = await openCase(world, owner, { about: [mine] });
    await link(world, owner, mine, senior.id);
    await expectRefused(() => act(world, senior, aboutMine.id), 403, { code: "conflict_of_interest" });
  });

  test("is refused in a closed case, and recorded once with one key", async () => {
    const { world } = shared;
    const senior = await world.staff("senior");
    const { id } = await openCase(world, senior, { about: [freshId()] });
    const asked = { headers: { "idempotency-key": `act-once-${id}` } };
    const [first, second] = [await act(world, senior, id, {}, asked), await act(world, senior, id, {}, asked)];
    expect([first.status, second.status, second.body]).toEqual([201, 201, first.body]);
    expect((await world.get(`/cases/${id}/actions?count=true`, { actor: senior })).body.page.total).toBe(1);
    expect((await world.post(`/cases/${id}/close`, { outcome: "resolved" }, { actor: senior })).status).toBe(200);
    await expectRefused(() => act(world, senior, id), 409, { code: "invalid_transition", from: "closed" });
  });
});

describe("a voided action", () => {
  test("stays readable with who voided it and why, and counts no longer", async () => {
    const { world } = shared;
    const senior = await world.staff("senior");
    const userId = freshId();
    const { id } = await openCase(world, senior, { about: [userId] });
    const action = await acted(world, senior, id, { points: 2 });
    const { status, body } = await voided(senior, id, action.id);
    expect([status, body.data]).toMatchObject([
      200,
      { ...action, in_force: false, voided: { by: senior.id, reason: wrong, at: expect.any(String) } },
    ]);
    expect((await world.get(`/cases/${id}/actions`, { actor: senior })).body.data).toEqual([body.data]);
    const [entry] = (await world.get(`/audit?action=case.action_void&subject=${userId}`)).body.data;
    expect(entry).toMatchObject({ reason: wrong, before: { action_id: action.id, points: 2 } });
    await expectRefused(() => voided(senior, id, action.id), 409, { code: "invalid_transition", from: "voided", action: "void" });
  });

  test("needs a reason, is of this case, and can be one of a closed case", async () => {
    const { world } = shared;
    const [senior, moderator] = [await world.staff("senior"), await world.staff("moderator")];
    const [one, other] = [await openCase(world, senior, { about: [freshId()] }), await openCase(world, senior, { about: [freshId()] })];
    const action = await acted(world, senior, one.id);
    await expectRefused(() => voided(senior, one.id, action.id, {}), 422, { errors: [{ pointer: "/reason" }] });
    await expectRefused(() => voided(senior, other.id, action.id), 404, { code: "record_not_found" });
    await expectRefused(() => voided(moderator, one.id, action.id), 404, { code: "record_not_found" });
    expect((await world.post(`/cases/${one.id}/close`, { outcome: "resolved" }, { actor: senior })).status).toBe(200);
    expect((await voided(senior, one.id, action.id)).status).toBe(200);
  });
});

test("the list of a case is read newest first, page by page", async () => {
  const { world } = shared;
  const senior = await world.staff("senior");
  const { id } = await openCase(world, senior, { about: [freshId()] });
  const made: string[] = [];
  for (let index = 0; index < 5; index += 1) made.unshift((await acted(world, senior, id)).id);
  const seen: string[] = [];
  let query = "?limit=2&count=true";
  for (;;) {
    const { body } = await world.get(`/cases/${id}/actions${query}`, { actor: senior });
    expect(body.page.total).toBe(5);
    seen.push(...body.data.map((action: { id: string }) => action.id));
    if (!body.page.has_more) break;
    query = `?limit=2&count=true&cursor=${body.page.next_cursor}`;
  }
  expect(seen).toEqual(made);
  const other = await openCase(world, senior, { about: [freshId()] });
  const first = await world.get(`/cases/${id}/actions?limit=2`, { actor: senior });
  const strange = await world.get(`/cases/${other.id}/actions?limit=2&cursor=${first.body.page.next_cursor}`, { actor: senior });
  expect(strange.body.code).toBe("invalid_cursor");
});
