import { describe, expect, test } from "vitest";
import type { DraftView } from "../../src/features/workflows/drafts/drafts.schema.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { User } from "../../sandbox/index.ts";
import { freshId } from "../contract/document.ts";
import { shareWorld } from "../contract/world.ts";
import type { Answer, AskOptions } from "../support/world.ts";

const shared = shareWorld();
const cause = "3 points are in force; from 3 on, probation is suggested.";

type Suggestion = Parameters<typeof shared.world.app.draftRecords.suggestInTx>[1];

/** Suggest within a transaction of its own, as a room would. */
function suggest(more: Partial<Suggestion> & { userId?: string } = {}): Promise<DraftView | null> {
  const { userId = freshId(), ...rest } = more;
  const { database, draftRecords } = shared.world.app;
  const suggestion: Suggestion = {
    type: "punishment",
    payload: { user_id: userId, action: "probation", reason: cause },
    subject: { kind: "user", id: userId },
    cause,
    openKey: `test:${userId}`,
    ...rest,
  };
  return database.write(systemCall("job", uuid7()), (tx) => draftRecords.suggestInTx(tx, suggestion));
}

async function suggested(more: Parameters<typeof suggest>[0] = {}): Promise<DraftView> {
  const draft = await suggest(more);
  if (draft === null) throw new Error("it was suggested already");
  return draft;
}

const file = (actor: User, id: string, payload?: object, asked: AskOptions = {}): Promise<Answer> =>
  shared.world.post(`/workflows/drafts/${id}/file`, payload === undefined ? undefined : { payload }, { actor, ...asked });
const dismiss = (actor: User, id: string, body?: object, asked: AskOptions = {}): Promise<Answer> =>
  shared.world.delete(`/workflows/drafts/${id}`, body, { actor, ...asked });
const ids = ({ body }: Answer): string[] => body.data.map(({ id }: { id: string }) => id);

/** What a refused write must not have touched. */
async function traces() {
  const { read: db } = shared.world.app.database;
  return {
    drafts: await db.requestDraft.findMany({ orderBy: { id: "asc" } }),
    requests: await db.workflowRequest.count(),
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

const callOf = async ({ id }: User) => ({ ...systemCall("job", uuid7()), actor: await shared.world.app.access.actorOf(id) });

describe("a suggestion", () => {
  test("waits for a person, is told of, and is in the audit", async () => {
    const { world } = shared;
    const moderator = await world.staff("moderator");
    const userId = freshId();
    const draft = await suggested({ userId, causeReference: "CASE-000001" });
    const { status, body } = await world.get(`/workflows/drafts/${draft.id}`, { actor: moderator });
    expect([status, body.data]).toEqual([200, draft]);
    expect(draft).toMatchObject({
      type: "punishment",
      status: "open",
      subject: { kind: "user", id: userId },
      cause,
      cause_reference: "CASE-000001",
      filed_reference: null,
      ended: null,
      revision: 1,
    });
    const [entry] = (await world.get(`/audit?subject=${userId}`)).body.data;
    expect(entry).toMatchObject({ action: "request_draft.suggest", target: { kind: "request_draft", id: draft.id }, reason: cause });
    const event = await world.app.database.read.outboxEvent.findFirst({ orderBy: { seq: "desc" } });
    expect(event).toMatchObject({
      type: "request_draft.changed",
      permission: "workflows.read",
      data: { draft_id: draft.id, type: "punishment", status: "open", filed_reference: null },
    });
  });

  test("is made once while it is open, whoever asks at the same instant, and again after its end", async () => {
    const senior = await shared.world.staff("senior");
    const userId = freshId();
    const made = await Promise.all(Array.from({ length: 10 }, () => suggest({ userId })));
    const first = made.find((draft) => draft !== null);
    expect(made.filter((draft) => draft !== null)).toHaveLength(1);
    expect(await suggest({ userId })).toBeNull();
    expect((await dismiss(senior, first?.id ?? "", { reason: "Not now." })).status).toBe(200);
    expect(await suggest({ userId })).not.toBeNull();
  });

  test("is read by those who read requests, and by nobody below", async () => {
    const { world } = shared;
    const { id } = await suggested();
    const viewer = await world.staff("viewer");
    for (const path of ["/workflows/drafts", `/workflows/drafts/${id}`])
      expect((await world.get(path, { actor: viewer })).body).toMatchObject({ code: "permission_denied", required: "workflows.read" });
    await expectRefused(() => file(viewer, id), 403, { required: "workflows.read" });
    await expectRefused(() => dismiss(viewer, id, { reason: "Not now." }), 403, { required: "workflows.review" });
  });

  test("about something hidden is hidden, from the list, the page, the audit and both ends alike", async () => {
    const { world } = shared;
    const [moderator, admin] = [await world.staff("moderator"), await world.staff("admin")];
    const reference = `HID-${freshId()}`;
    world.app.draftRecords.registerCause({
      knownWhere: (call) =>
        Promise.resolve(call.actor?.id === moderator.id ? { OR: [{ causeReference: null }, { NOT: { causeReference: reference } }] } : {}),
      permissionFor: (_db, asked) => Promise.resolve(asked === reference ? "cases.confidential" : undefined),
    });
    const userId = freshId();
    const { id } = await suggested({ userId, causeReference: reference });
    const query = `/workflows/drafts?subject=${userId}&count=true`;
    expect((await world.get(query, { actor: moderator })).body).toMatchObject({ data: [], page: { total: 0 } });
    expect(ids(await world.get(query, { actor: admin }))).toEqual([id]);
    const missing = (await world.get(`/workflows/drafts/${uuid7()}`, { actor: moderator })).body;
    const hidden = (await world.get(`/workflows/drafts/${id}`, { actor: moderator })).body;
    expect({ ...hidden, request_id: 0, instance: 0 }).toEqual({ ...missing, request_id: 0, instance: 0 });
    await expectRefused(() => file(moderator, id), 404, { code: "record_not_found" });
    await expectRefused(() => dismiss(moderator, id, { reason: "Not now." }), 404, { code: "record_not_found" });
    expect(await world.app.drafts.hiddenIds(await callOf(moderator))).toContain(id);
    const event = await world.app.database.read.outboxEvent.findFirst({ orderBy: { seq: "desc" } });
    expect(event).toMatchObject({ type: "request_draft.changed", permission: "cases.confidential" });
  });
});

describe("filing a suggestion", () => {
  test("makes the request as the acting person and says where it went", async () => {
    const { world } = shared;
    const moderator = await world.staff("moderator");
    const userId = freshId();
    const { id } = await suggested({ userId });
    const { status, body } = await file(moderator, id, { points: 2, summary: "Three warnings in a week." });
    expect([status, body.data]).toMatchObject([
      201,
      {
        draft: { id, status: "filed", filed_reference: body.data.request.reference, ended: { by: moderator.id }, revision: 2 },
        request: { success: true, status: "pending" },
      },
    ]);
    const request = (await world.get(`/workflows/punishment/${body.data.request.reference}`, { actor: moderator })).body.data;
    expect(request).toMatchObject({
      requester: { id: moderator.id },
      summary: "Three warnings in a week.",
      payload: { user_id: userId, action: "probation", points: 2, reason: cause },
    });
    const actions = (await world.get(`/audit?subject=${userId}`)).body.data.map(({ action }: { action: string }) => action);
    expect(actions).toEqual(["request_draft.file", "workflow.create", "request_draft.suggest"]);
  });

  test("needs the right to create such a request", async () => {
    const { world } = shared;
    const key = await world.makeKey(["workflows.read", "workflows.review"]);
    const { id } = await suggested();
    await expectRefused(async () => file(await world.staff("senior"), id, undefined, { key }), 403, {
      required: "workflows.punishment.create",
      missing_in: "key",
    });
  });

  test("keeps every rule of a filing, and a refused one leaves the suggestion open", async () => {
    const { world } = shared;
    const moderator = await world.staff("moderator");
    const userId = freshId();
    const draft = await suggested({ userId, payload: { user_id: userId, action: "demotion", reason: cause } });
    await expectRefused(() => file(moderator, draft.id), 422, { errors: [{ pointer: "/payload/demote_to", code: "required" }] });
    await expectRefused(() => file(moderator, draft.id, { action: "note", points: 11 }), 422, { errors: [{ pointer: "/payload/points" }] });
    const body = { user_id: userId, action: "warning", reason: "Insulted somebody again." };
    const open = await world.post("/workflows/punishment", body, { actor: moderator });
    expect(open.status).toBe(201);
    await expectRefused(() => file(moderator, draft.id, { demote_to: "viewer" }), 409, {
      code: "duplicate_open",
      reference: open.body.reference,
    });
  });

  test("is about whom it was suggested about, and nobody else", async () => {
    const { id } = await suggested();
    const moderator = await shared.world.staff("moderator");
    await expectRefused(() => file(moderator, id, { user_id: freshId() }), 422, { errors: [{ code: "other_subject" }] });
  });

  test("ten times at once files one request", async () => {
    const { world } = shared;
    const moderators = await Promise.all(Array.from({ length: 10 }, () => world.staff("moderator")));
    const userId = freshId();
    const { id } = await suggested({ userId });
    const answers = await Promise.all(moderators.map((moderator) => file(moderator, id)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, ...Array.from({ length: 9 }, () => 409)]);
    const refused = answers.filter(({ status }) => status === 409).map(({ body }) => body.code);
    expect(new Set(refused)).toEqual(new Set(["invalid_transition"]));
    expect(await world.app.database.read.workflowSubject.count({ where: { kind: "user", subjectId: userId } })).toBe(1);
  });

  test("twice with one key is done once", async () => {
    const moderator = await shared.world.staff("moderator");
    const { id } = await suggested();
    const asked = { headers: { "idempotency-key": "draft-file-once-1" } };
    const [first, second] = [await file(moderator, id, {}, asked), await file(moderator, id, {}, asked)];
    expect([first.status, second.status, second.body]).toEqual([201, 201, first.body]);
    expect(second.headers.get("idempotency-replayed")).toBe("true");
  });
});

describe("dismissing a suggestion", () => {
  test("needs a reason, keeps the draft readable, and is final", async () => {
    const { world } = shared;
    const moderator = await world.staff("moderator");
    const userId = freshId();
    const { id } = await suggested({ userId });
    await expectRefused(() => dismiss(moderator, id), 422, { errors: [{ pointer: "/reason" }] });
    await expectRefused(() => dismiss(moderator, id, { reason: "Not now." }, { headers: { "if-match": '"v9"' } }), 412, {
      code: "precondition_failed",
      current_etag: '"v1"',
    });
    const { status, body } = await dismiss(moderator, id, { reason: "Talked it over." });
    expect([status, body.data]).toMatchObject([200, { status: "dismissed", filed_reference: null, ended: { by: moderator.id } }]);
    await expectRefused(() => file(moderator, id), 409, { code: "invalid_transition", from: "dismissed", action: "file" });
    await expectRefused(() => dismiss(moderator, id, { reason: "Not now." }), 409, { code: "invalid_transition", action: "dismiss" });
    const [entry] = (await world.get(`/audit?subject=${userId}&action=request_draft.dismiss`)).body.data;
    expect(entry).toMatchObject({ reason: "Talked it over.", permission_used: "workflows.review", actor: { id: moderator.id } });
    expect((await world.get(`/workflows/drafts/${id}`, { actor: moderator })).body.data.status).toBe("dismissed");
  });

  test("by the service itself, because its ground is gone, names nobody", async () => {
    const { world } = shared;
    const moderator = await world.staff("moderator");
    const [one, other] = [await suggested(), await suggested()];
    const { database, draftRecords } = world.app;
    const keys = [`test:${one.subject.id}`, `test:${freshId()}`];
    expect(
      await database.write(await callOf(moderator), (tx) => draftRecords.dismissInTx(tx, keys, "The points are no longer in force.")),
    ).toBe(1);
    const read = async (id: string) => (await world.get(`/workflows/drafts/${id}`, { actor: moderator })).body.data;
    expect(await read(one.id)).toMatchObject({ status: "dismissed", ended: { by: null } });
    expect(await read(other.id)).toMatchObject({ status: "open", ended: null });
  });
});

test("the list shows open suggestions, newest first, filtered and page by page", async () => {
  const { world } = shared;
  const moderator = await world.staff("moderator");
  const userId = freshId();
  const made: string[] = [];
  for (const index of [1, 2, 3, 4]) {
    const type = index === 4 ? ("poach" as const) : ("punishment" as const);
    made.unshift((await suggested({ userId, type, openKey: `test:${userId}:${index.toString()}` })).id);
  }
  const [poach = "", newest = "", ...others] = made;
  expect((await dismiss(moderator, newest, { reason: "Not now." })).status).toBe(200);
  const list = (query: string): Promise<Answer> => world.get(`/workflows/drafts?subject=${userId}${query}`, { actor: moderator });
  expect(ids(await list(""))).toEqual([poach, ...others]);
  expect(ids(await list("&status=all"))).toEqual(made);
  expect(ids(await list("&status=dismissed"))).toEqual([newest]);
  expect(ids(await list("&status=all&type=poach"))).toEqual([poach]);
  const first = await list("&status=all&limit=3&count=true");
  expect([ids(first), first.body.page.total]).toEqual([made.slice(0, 3), 4]);
  expect(ids(await list(`&status=all&limit=3&cursor=${first.body.page.next_cursor}`))).toEqual(made.slice(3));
  expect((await list(`&status=open&cursor=${first.body.page.next_cursor}`)).body.code).toBe("invalid_cursor");
  expect((await list("&state=open")).body.code).toBe("unknown_parameter");
});

test("drafts are no kind of request", async () => {
  const moderator = await shared.world.staff("moderator");
  expect((await shared.world.get("/workflows/drafts", { actor: moderator })).status).toBe(200);
  expect((await shared.world.get("/workflows/drafts/BLU-REQ-000001", { actor: moderator })).body.errors).toMatchObject([{ in: "path" }]);
  expect((await shared.world.post("/workflows/drafts/decision", {}, { actor: moderator })).body.code).toBe("method_not_allowed");
});
