import { expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createGround, freshId, type Ground } from "./workflows-ground.ts";

const day = 86_400;
const minute = 60;

/** A poach request of a moderator; with another requester when told. */
async function scene({ requester }: { requester?: string } = {}) {
  const ground = await createGround();
  const moderator = ground.staff("moderator");
  const body = { kind: "report", offending_server_id: freshId(), victim_server_id: freshId(), occurred_at: "2026-11-20T10:00:00.000Z" };
  const { body: filed } = await ground.post("/workflows/poach", body, { actor: moderator });
  const id: string = filed.id;
  if (requester !== undefined) await write(ground, { id, requesterId: requester });
  const path = `/workflows/poach/${filed.reference as string}`;
  const say = (text: string, actor: string, more: object = {}) => ground.post(`${path}/comments`, { body: text, ...more }, { actor });
  const read = async (actor: string): Promise<string[]> => {
    const { status, body: answer } = await ground.get(`${path}/comments?count=true`, { actor });
    expect([status, answer.page?.total]).toEqual([200, answer.data?.length]);
    return answer.data.map((comment: { body: string }) => comment.body);
  };
  const counted = async (actor: string): Promise<number> => (await ground.get(path, { actor })).body.data.comments_count;
  return { ground, id, path, requester: requester ?? moderator, reviewer: ground.staff("senior"), say, read, counted };
}

async function write(
  ground: Ground,
  { id, ...data }: { id: string; requesterId?: string; assigneeId?: string; status?: string; decidedAt?: Date },
) {
  await ground.database.write(systemCall("cli", uuid7()), (tx) => tx.db.workflowRequest.update({ where: { id }, data }));
}

const entries = (ground: Ground) =>
  ground.database.read.auditEntry.findMany({ where: { action: { startsWith: "workflow.comment" } }, orderBy: { seq: "asc" } });

test("staff write among themselves unless they say otherwise, and whoever filed it reads and writes only what is for them", async () => {
  const { say, read, counted, requester, reviewer } = await scene();
  expect((await say("Looks thin to me.", reviewer)).body.data).toMatchObject({
    visibility: "internal",
    author: { id: reviewer },
    edited_at: null,
    revision: 1,
  });
  expect((await say("Do you have a screenshot?", reviewer, { visibility: "requester" })).status).toBe(201);
  const answer = await say("Attached.", requester);
  expect(answer.body.data).toMatchObject({ visibility: "requester", reply_to: null });
  expect(await read(reviewer)).toEqual(["Looks thin to me.", "Do you have a screenshot?", "Attached."]);
  expect(await read(requester)).toEqual(["Do you have a screenshot?", "Attached."]);
  expect([await counted(reviewer), await counted(requester)]).toEqual([3, 2]);
  const hidden = await say("For you alone.", requester, { visibility: "internal" });
  expect(hidden.body).toMatchObject({ status: 422, errors: [{ pointer: "/visibility", code: "not_offered" }] });
  expect(await counted(reviewer)).toBe(3);
});

test("a person who is not staff comments on their own request and finds no other one", async () => {
  const person = freshId();
  const { ground, path, say, read, reviewer } = await scene({ requester: person });
  expect((await say("Internal.", reviewer)).status).toBe(201);
  expect((await say("It was me who wrote.", person)).status).toBe(201);
  expect(await read(person)).toEqual(["It was me who wrote."]);
  const stranger = freshId();
  for (const answer of [await say("Hello", stranger), await ground.get(`${path}/comments`, { actor: stranger })])
    expect(answer.status).toBe(404);
  expect((await say("Hello", person, {})).status).toBe(201);
  expect((await ground.get(`${path}/comments`, { actor: person, scopes: "workflows.stats" })).body).toMatchObject({
    code: "permission_denied",
  });
});

test("whoever is partial writes nothing and reads only what is for the requester; so does a linked account", async () => {
  const ground = await createGround();
  const [filer, reviewer, subject, alias] = [
    ground.staff("moderator"),
    ground.staff("senior"),
    ground.staff("admin"),
    ground.staff("admin"),
  ];
  const basis = [{ type: "admission" as const, note: "Said so." }];
  await ground.services.links.create(ground.callOf({ actor: ground.staff("owner") }), subject, {
    user_id: alias,
    confidence: "confirmed",
    kind: "declared_alt",
    basis,
  });
  const filed = await ground.post(
    "/workflows/punishment",
    { user_id: subject, action: "warning", reason: "Shouted at two people." },
    { actor: filer },
  );
  const path = `/workflows/punishment/${filed.body.reference as string}/comments`;
  expect((await ground.post(path, { body: "Internal." }, { actor: reviewer })).status).toBe(201);
  for (const actor of [subject, alias]) {
    expect((await ground.post(path, { body: "I was provoked." }, { actor })).body.code).toBe("conflict_of_interest");
    expect((await ground.get(path, { actor })).body.data).toEqual([]);
  }
  expect((await entries(ground)).length).toBe(1);
});

test("what is internal is answered internally, and an answer to what one cannot read names nothing", async () => {
  const { ground, say, requester, reviewer } = await scene();
  const internal = (await say("Internal.", reviewer)).body.data.id;
  const shared = (await say("Shared.", reviewer, { visibility: "requester" })).body.data.id;
  expect((await say("Yes.", reviewer, { reply_to: internal })).body.data.reply_to).toBe(internal);
  expect((await say("Yes.", requester, { reply_to: shared })).body.data.reply_to).toBe(shared);
  expect((await say("Told.", reviewer, { reply_to: internal, visibility: "requester" })).body.errors[0]).toMatchObject({
    pointer: "/reply_to",
    code: "not_offered",
  });
  const [guess, wrong] = [await say("Yes.", requester, { reply_to: internal }), await say("Yes.", requester, { reply_to: uuid7() })];
  expect(guess.body.errors).toEqual(wrong.body.errors);
  expect(guess.status).toBe(422);
  const other = await scene();
  const elsewhere = (await other.say("Elsewhere.", other.reviewer)).body.data.id;
  expect((await say("Yes.", reviewer, { reply_to: elsewhere })).status).toBe(422);
  expect(await ground.database.read.workflowComment.count()).toBe(4);
});

test("its author changes a comment within fifteen minutes, and nobody else ever", async () => {
  const { ground, path, say, reviewer, requester } = await scene();
  const made = await say("Frist.", reviewer);
  const edit = (body: object, actor: string, headers = {}) =>
    ground.patch(`${path}/comments/${made.body.data.id as string}`, body, { actor, headers });
  expect((await edit({ body: "First." }, ground.staff("owner"))).body.code).toBe("permission_denied");
  expect((await edit({ body: "First." }, requester)).status).toBe(404);
  expect((await edit({ body: "First." }, reviewer, { "if-match": '"v2"' })).status).toBe(412);
  const edited = await edit({ body: "First." }, reviewer, { "if-match": made.headers.get("etag") ?? "" });
  expect(edited.body.data).toMatchObject({ body: "First.", revision: 2 });
  expect(edited.body.data.edited_at).not.toBeNull();
  expect((await edit({ body: "First." }, reviewer)).body.data.revision).toBe(2);
  ground.pass(15 * minute);
  expect((await edit({ body: "Late." }, reviewer)).body).toMatchObject({ status: 409, code: "invalid_transition" });
  const told = await entries(ground);
  expect(told.map(({ action }) => action)).toEqual(["workflow.comment", "workflow.comment_edit"]);
  const details = await ground.database.read.auditPayload.findMany({ where: { seq: { in: told.map(({ seq }) => seq) } } });
  expect(JSON.stringify(details)).not.toMatch(/Frist|First/);
});

test("a comment changes no revision; that of whoever works on the request renews the lease", async () => {
  const { ground, id, path, say, reviewer } = await scene();
  await ground.post(`${path}/decision`, { decision: "claim" }, { actor: reviewer });
  const before = await ground.database.read.workflowRequest.findUniqueOrThrow({ where: { id } });
  ground.pass(600);
  expect((await say("Not mine.", ground.staff("senior"))).status).toBe(201);
  expect((await ground.database.read.workflowRequest.findUniqueOrThrow({ where: { id } })).leaseExpiresAt).toEqual(before.leaseExpiresAt);
  expect((await say("Working on it.", reviewer)).status).toBe(201);
  const after = await ground.database.read.workflowRequest.findUniqueOrThrow({ where: { id } });
  expect(after.leaseExpiresAt?.getTime()).toBeGreaterThan((before.leaseExpiresAt?.getTime() ?? 0) + 500_000);
  expect({ ...after, leaseExpiresAt: null }).toEqual({ ...before, leaseExpiresAt: null });
  expect(await ground.database.read.workflowStep.count({ where: { requestId: id } })).toBe(2);
});

test("the requester is sent what staff say to them, where the kind tells by message, and nothing else", async () => {
  const { ground, id, say, requester, reviewer } = await scene();
  const notices = () => ground.database.read.workflowEffect.findMany({ where: { requestId: id } });
  await say("Internal.", reviewer);
  await say("From me.", requester);
  expect(await notices()).toEqual([]);
  await say("Do you have a screenshot?", reviewer, { visibility: "requester" });
  expect(await notices()).toMatchObject([
    { key: "notice.requester", status: "pending", input: { discord: { kind: "message_user", userId: requester } } },
  ]);
  expect(JSON.stringify((await notices())[0]?.input)).toContain("Do you have a screenshot?");
});

test("of an internal comment no event reaches whoever filed the request", async () => {
  const { ground, say, requester, reviewer } = await scene();
  const internal = (await say("Internal.", reviewer)).body.data.id;
  const shared = (await say("Shared.", reviewer, { visibility: "requester" })).body.data.id;
  const hidden = (actor: string) => ground.workflows.comments.hiddenIds(ground.callOf({ actor }));
  expect(await hidden(requester)).toEqual([internal]);
  expect(await hidden(reviewer)).toEqual([]);
  const events = await ground.database.read.outboxEvent.findMany({ where: { type: "workflow.updated" }, orderBy: { seq: "asc" } });
  expect(events.map(({ data }) => (data as { comment_id: string }).comment_id)).toEqual([internal, shared]);
  expect(JSON.stringify(events)).not.toMatch(/Internal\.|Shared\./);
});

test("a moderator without the right to review writes internally but not to the requester", async () => {
  const { ground, path, say, reviewer } = await scene();
  const scopes = "workflows.read,workflows.poach.create";
  const asked = (visibility: string) => ground.post(`${path}/comments`, { body: "Hello", visibility }, { actor: reviewer, scopes });
  expect((await asked("requester")).body).toMatchObject({ code: "permission_denied", required: "workflows.review" });
  expect((await asked("internal")).status).toBe(201);
  expect((await say("", reviewer)).status).toBe(422);
  expect((await say("x".repeat(2001), reviewer)).status).toBe(422);
  expect(await ground.database.read.workflowComment.count()).toBe(1);
});

test("after the end staff may write on, the requester for thirty days", async () => {
  const { ground, path, say, requester, reviewer } = await scene();
  await ground.post(`${path}/decision`, { decision: "deny", reason: "There is not enough of it." }, { actor: reviewer });
  ground.pass(29 * day);
  expect((await say("Thank you.", requester)).status).toBe(201);
  ground.pass(2 * day);
  expect((await say("One more thing.", requester)).body).toMatchObject({ status: 409, code: "invalid_transition", from: "denied" });
  expect((await say("Noted.", reviewer)).status).toBe(201);
});

test("comments are paged by their place, and a cursor of another request is refused", async () => {
  const { ground, path, say, reviewer, requester } = await scene();
  const words = Array.from({ length: 7 }, (_, index) => `Word ${index.toString()}`);
  for (const word of words) await say(word, reviewer, { visibility: word.endsWith("3") ? "internal" : "requester" });
  const walk = async (actor: string): Promise<string[]> => {
    const seen: string[] = [];
    for (let cursor = ""; ;) {
      const { body } = await ground.get(`${path}/comments?limit=2${cursor}`, { actor });
      seen.push(...body.data.map((comment: { body: string }) => comment.body));
      if (body.page.next_cursor === null) return seen;
      cursor = `&cursor=${encodeURIComponent(body.page.next_cursor)}`;
    }
  };
  expect(await walk(reviewer)).toEqual(words);
  expect(await walk(requester)).toEqual(words.filter((word) => word !== "Word 3"));
  const { body: page } = await ground.get(`${path}/comments?limit=2`, { actor: reviewer });
  const cursor = encodeURIComponent(page.page.next_cursor);
  expect((await ground.get(`${path}/comments?cursor=${cursor}`, { actor: requester })).body.code).toBe("invalid_cursor");
});

test("a comment on a confidential request is told to those alone who may read such, and hidden with it", async () => {
  const ground = await createGround();
  const [filer, owner, outsider] = [ground.staff("moderator"), ground.staff("owner"), ground.staff("senior")];
  const body = { subject: { kind: "user", id: freshId() }, allegation: "Shared internal screenshots.", confidential: true };
  const { reference } = (await ground.post("/workflows/investigation", body, { actor: filer })).body;
  const path = `/workflows/investigation/${reference as string}/comments`;
  expect((await ground.post(path, { body: "Hush." }, { actor: owner })).status).toBe(201);
  expect((await ground.post(path, { body: "Hush." }, { actor: outsider })).status).toBe(404);
  expect((await ground.get(path, { actor: outsider })).status).toBe(404);
  const events = await ground.database.read.outboxEvent.findMany({ where: { type: "workflow.updated" } });
  expect(events).toMatchObject([{ permission: "cases.confidential" }]);
});

test("the same comment sent again under its key is written once", async () => {
  const { ground, path, reviewer } = await scene();
  const send = () =>
    ground.post(`${path}/comments`, { body: "Once." }, { actor: reviewer, headers: { "idempotency-key": "one-comment-0001" } });
  const [first, again] = [await send(), await send()];
  expect([first.status, again.body]).toEqual([201, first.body]);
  expect(await ground.database.read.workflowComment.count()).toBe(1);
});
