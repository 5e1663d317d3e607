import { expect, test } from "vitest";
import { createGround, freshId, type Ground } from "./workflows-ground.ts";

const reason = "Led the raid of last night.";
const listing = { category: "raid", severity: "high", reason };

async function scene(body: object = { user_id: freshId(), ...listing }, kind = "blacklist-user") {
  const ground = await createGround();
  const filer = ground.staff("moderator");
  const filed = await ground.post(`/workflows/${kind}`, body, { actor: filer });
  expect(filed.status, JSON.stringify(filed.body)).toBe(201);
  const path = `/workflows/${kind}/${filed.body.reference as string}`;
  const amend = (changes: object, actor: string, headers: Record<string, string> = {}) => ground.patch(path, changes, { actor, headers });
  const view = async (actor = filer) => (await ground.get(path, { actor })).body.data;
  const decide = (decision: string, actor: string, more: object = {}) => ground.post(`${path}/decision`, { decision, ...more }, { actor });
  return { ground, id: filed.body.id as string, filer, path, amend, view, decide };
}

const steps = (ground: Ground, id: string) =>
  ground.database.read.workflowStep.findMany({ where: { requestId: id }, orderBy: { revision: "asc" } });
const hours = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / 3_600_000;

test("a changed payload is one revision and one step, and votes lapse; what describes it lapses none", async () => {
  const { ground, id, filer, amend, view, decide } = await scene({ user_id: freshId(), ...listing, severity: "critical" });
  const senior = ground.staff("senior");
  expect((await decide("approve", senior)).body).toMatchObject({ final: false, approvals: { have: 1, required: 2 } });
  const described = await amend(
    { title: "The raid of Friday", summary: "Two raids.", related: ["CASE-000001"], external_id: "T-7" },
    filer,
  );
  expect(described.body.data).toMatchObject({
    title: "The raid of Friday",
    summary: "Two raids.",
    related: ["CASE-000001"],
    external_id: "T-7",
    revision: 3,
    payload_revision: 1,
    approvals: { have: 1 },
  });
  const changed = await amend({ payload: { category: "hate" }, title: "Hate and a raid", reason: "Seen again." }, filer);
  expect(changed.body.data).toMatchObject({
    title: "Hate and a raid",
    revision: 4,
    payload_revision: 2,
    approvals: { have: 0, required: 2 },
  });
  expect(changed.body.data.payload).toMatchObject({ category: "hate", severity: "critical", reason });
  const rows = await steps(ground, id);
  expect(rows.map(({ revision, action }) => [revision, action])).toEqual([
    [1, "create"],
    [2, "approve"],
    [3, "amend"],
    [4, "amend"],
  ]);
  expect(rows[2]?.data).toMatchObject({ changed: { summary: "", external_id: null, related: [] } });
  expect(rows[3]).toMatchObject({ notePublic: "Seen again.", data: { changed: { category: "raid", title: "The raid of Friday" } } });
  expect(await ground.database.read.auditEntry.count({ where: { action: "workflow.amend" } })).toBe(2);
  expect(await ground.database.read.outboxEvent.count({ where: { type: "workflow.updated" } })).toBe(2);
  expect((await view()).approvals.have).toBe(0);
});

test("fields stand flat or in payload, in either spelling, and what is wrong is named as it was sent", async () => {
  const { filer, amend, view } = await scene();
  expect((await amend({ recommendedAction: "ban", severity: "medium" }, filer)).body.data.payload).toMatchObject({
    recommended_action: "ban",
    severity: "medium",
  });
  expect((await amend({ reason: "Led both raids of last night." }, filer)).body.data.payload.reason).toBe("Led both raids of last night.");
  expect((await amend({ payload: { review_after: null } }, filer)).status).toBe(200);
  const before = await view();
  const pointers = async (changes: object): Promise<string[]> => {
    const { status, body } = await amend(changes, filer);
    expect([status, body.code]).toEqual([422, "validation_failed"]);
    return body.errors.map(({ pointer }: { pointer: string }) => pointer);
  };
  expect(await pointers({ severity: "dreadful" })).toEqual(["/severity"]);
  expect(await pointers({ payload: { severity: "dreadful" } })).toEqual(["/payload/severity"]);
  expect(await pointers({ externalId: 7, title: "x" })).toEqual(["/title", "/externalId"]);
  expect(await pointers({ nobodyKnows: 1 })).toEqual(["/nobodyKnows"]);
  expect(await pointers({ payload: { category: "hate" }, severity: "low" })).toEqual(["/severity"]);
  expect(await pointers({ status: "approved" })).toEqual(["/status"]);
  expect(await pointers({ payload: 7 })).toEqual(["/payload"]);
  expect(await pointers({ title: "A title", Title: "Another" })).toEqual([""]);
  expect(await pointers({})).toEqual([""]);
  expect(await pointers({ reason_public: "No more than a reason." })).toEqual([""]);
  expect(await pointers({ user_id: freshId() })).toEqual([""]);
  expect(await view()).toEqual(before);
});

test("the requester and those who edit any request change it, staff who review its haste alone, and nobody partial", async () => {
  const { ground, id, filer, amend, decide } = await scene();
  const [moderator, senior] = [ground.staff("moderator"), ground.staff("senior")];
  expect((await amend({ summary: "Other words." }, moderator)).body).toMatchObject({
    code: "permission_denied",
    required: "workflows.edit_any",
  });
  expect((await amend({ summary: "Other words.", priority: "high" }, moderator)).body.code).toBe("permission_denied");
  expect((await amend({ priority: "high" }, moderator)).body.data).toMatchObject({ priority: "high", revision: 2 });
  expect((await amend({ summary: "Other words.", urgent: true }, senior)).body.data).toMatchObject({ urgent: true, revision: 3 });
  expect((await amend({ summary: "My words." }, filer)).status).toBe(200);
  expect((await amend({ summary: "Theirs." }, freshId())).status).toBe(404);
  await ground.database.read.workflowRequest
    .findUniqueOrThrow({ where: { id } })
    .then(({ queueOrder, dueDecisionAt }) => expect(queueOrder).toBe(`1${dueDecisionAt?.toISOString() ?? ""}`));
  expect((await decide("deny", senior, { reason: "There is not enough of it." })).status).toBe(200);
  expect((await amend({ summary: "Too late." }, filer)).body).toMatchObject({ status: 409, code: "invalid_transition", from: "denied" });
});

test("a requester who is not staff sets no haste", async () => {
  const { ground, id, path } = await scene();
  const person = freshId();
  await ground.database.write(ground.callOf({}), (tx) => tx.db.workflowRequest.update({ where: { id }, data: { requesterId: person } }));
  const asked = { actor: person };
  expect((await ground.patch(path, { urgent: true }, asked)).body).toMatchObject({
    code: "permission_denied",
    required: "workflows.review",
  });
  expect((await ground.patch(path, { summary: "Words", urgent: true }, asked)).body).toMatchObject({
    code: "permission_denied",
    required: "workflows.review",
  });
  expect((await ground.patch(path, { summary: "Words" }, asked)).body.data).toMatchObject({ summary: "Words", urgent: false, revision: 2 });
});

test("urgency divides the time limits by four from the beginning, and back; a pause in between is kept", async () => {
  const { ground, filer, amend, view, decide } = await scene();
  const senior = ground.staff("senior");
  const limits = async () => {
    const { created_at: from, timers } = await view(senior);
    return [hours(from, timers.due_first_touch_at), hours(from, timers.due_decision_at)];
  };
  expect(await limits()).toEqual([6, 48]);
  await amend({ urgent: true }, senior);
  expect(await limits()).toEqual([1.5, 12]);
  await decide("request_info", senior, { questions: ["When was it?"] });
  ground.pass(3600);
  await decide("provide_info", filer, { answer: "On Friday." });
  const [, paused = 0] = await limits();
  expect(paused).toBeCloseTo(13, 2);
  await amend({ urgent: false }, senior);
  const [, calm = 0] = await limits();
  expect(calm).toBeCloseTo(49, 2);
});

test("If-Match keeps an amendment from falling on what has changed, and the same again changes nothing", async () => {
  const { ground, filer, id, amend } = await scene();
  expect((await amend({ title: "Another title" }, filer, { "if-match": '"v9"' })).status).toBe(412);
  const first = await amend({ title: "Another title", payload: { category: "hate" } }, filer, { "if-match": '"v1"' });
  expect(first.headers.get("etag")).toMatch(/^"v2-/);
  expect((await amend({ title: "Another title", payload: { category: "hate" } }, filer)).body.data.revision).toBe(2);
  expect((await steps(ground, id)).length).toBe(2);
});

test("the decision route amends by the same rules, and a dry run says what is in the way", async () => {
  const { ground, filer, decide, view, path } = await scene();
  expect((await decide("amend", filer, { payload: { category: "hate" } })).body).toMatchObject({ final: false, revision: 2 });
  expect((await decide("amend", filer, { payload: { category: "hate" } })).body).toMatchObject({ replayed: true, revision: 2 });
  expect((await decide("amend", ground.staff("moderator"), { payload: { category: "raid" } })).body.code).toBe("permission_denied");
  const tried = await ground.post(`${path}/decision?dry_run=true`, { decision: "amend", payload: { category: "raid" } }, { actor: filer });
  expect(tried.body).toMatchObject({ dry_run: true, blockers: [] });
  expect((await view()).payload.category).toBe("hate");
});

test("an amendment never makes two open requests of a kind about the same people", async () => {
  const [a, b, c] = [freshId(), freshId(), freshId()];
  const basis = [{ type: "behaviour", note: "Same phrases." }];
  const { ground, filer, amend, decide, path, view } = await scene({ user_ids: [a, b], confidence: "suspected", basis }, "alt-request");
  const other = await ground.post("/workflows/alt-request", { user_ids: [c, b, a], confidence: "suspected", basis }, { actor: filer });
  expect(other.status).toBe(201);
  const grown = { payload: { user_ids: [a, b, c] } };
  const refusal = { status: 409, code: "duplicate_open", reference: other.body.reference };
  expect((await amend(grown, filer)).body).toMatchObject(refusal);
  expect((await decide("amend", filer, grown)).body).toMatchObject(refusal);
  const tried = await ground.post(`${path}/decision?dry_run=true`, { decision: "amend", ...grown }, { actor: filer });
  expect(tried.body).toMatchObject({ dry_run: true, blockers: [{ code: "duplicate_open" }] });
  expect(await view()).toMatchObject({ revision: 1, payload: { user_ids: [a, b] } });
  await ground.post(`/workflows/alt-request/${other.body.reference as string}/decision`, { decision: "withdraw" }, { actor: filer });
  expect((await amend(grown, filer)).status).toBe(200);
  expect((await view()).subjects).toHaveLength(3);
  const again = await ground.post(
    "/workflows/alt-request",
    { user_ids: [a, c, b], confidence: "suspected", basis },
    { actor: ground.staff("moderator") },
  );
  expect(again.body.code).toBe("duplicate_open");
});

test("of two amendments that would meet, at once, one is refused", async () => {
  const [a, b, c] = [freshId(), freshId(), freshId()];
  const basis = [{ type: "behaviour", note: "Same phrases." }];
  const ground = await createGround();
  const filer = ground.staff("moderator");
  const references = [];
  for (const pair of [
    [a, b],
    [b, c],
  ])
    references.push(
      (await ground.post("/workflows/alt-request", { user_ids: pair, confidence: "suspected", basis }, { actor: filer })).body.reference,
    );
  const answers = await Promise.all(
    references.map((reference: string) => ground.patch(`/workflows/alt-request/${reference}`, { user_ids: [a, b, c] }, { actor: filer })),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 409]));
});
