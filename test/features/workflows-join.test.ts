import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { filing } from "../contract/document.ts";
import { shareWorld } from "../contract/world.ts";
import { download, upload } from "./evidence-ground.ts";
import { createGround, freshId, ownGuilds } from "./workflows-ground.ts";

const shared = shareWorld();
const reason = "Led the raid of last night.";

async function scene() {
  const ground = await createGround();
  const filer = ground.staff("moderator");
  const listing = { user_id: freshId(), category: "raid", severity: "high", reason, server_ids: [ownGuilds[0]] };
  const file = (actor: string, more: object = {}) => ground.post("/workflows/blacklist-user", { ...listing, ...more }, { actor });
  const { body: filed } = await file(filer);
  const path = `/workflows/blacklist-user/${filed.reference as string}`;
  const view = async (actor: string) => (await ground.get(path, { actor })).body.data;
  const join = (actor: string, note?: string) => file(actor, { on_duplicate: "join", ...(note !== undefined && { evidence: [note] }) });
  return { ground, filer, filed, path, file, join, view };
}

const joinedOf = ({ database: { read } }: Awaited<ReturnType<typeof createGround>>) =>
  read.workflowSubject.findMany({ where: { kind: "joined" } });

test("whoever files the same joins the open one: it is theirs to read, what they bring is there, and they decide nothing", async () => {
  const { ground, filer, filed, path, file, join, view } = await scene();
  const joiner = ground.staff("owner");
  expect((await file(joiner)).body).toMatchObject({ code: "duplicate_open", reference: filed.reference });
  const { status, body } = await join(joiner, "I saw it, too.");
  expect([status, body]).toMatchObject([201, { joined: true, id: filed.id, reference: filed.reference, status: "pending" }]);
  expect(await view(joiner)).toMatchObject({ revision: 2, evidence: [{ kind: "text", note: "I saw it, too." }], requester: { id: filer } });
  expect((await view(joiner)).subjects).toHaveLength(1);
  for (const decision of ["approve", "claim", "abstain"])
    expect((await ground.post(`${path}/decision`, { decision }, { actor: joiner })).body.code).toBe("conflict_of_interest");
  expect((await ground.post(`${path}/decision`, { decision: "withdraw" }, { actor: joiner })).body.code).toBe("permission_denied");
  const { body: history } = await ground.get(`${path}/history`, { actor: joiner });
  expect(history.data.map(({ action, actor }: any) => [action, actor.id])).toEqual([
    ["create", filer],
    ["join", joiner],
  ]);
  expect(await ground.database.read.auditEntry.count({ where: { action: "workflow.join" } })).toBe(1);
  // They are of the requester's side in what is said, too.
  await ground.post(`${path}/comments`, { body: "Internal." }, { actor: ground.staff("senior") });
  await ground.post(`${path}/comments`, { body: "Shared.", visibility: "requester" }, { actor: ground.staff("senior") });
  const { body: said } = await ground.get(`${path}/comments`, { actor: joiner });
  expect(said.data.map((comment: any) => comment.body)).toEqual(["Shared."]);
  expect(await ground.database.read.workflowRequest.count()).toBe(1);
});

test("to join twice adds evidence and nothing else; without any, nothing at all", async () => {
  const { ground, filer, join, view } = await scene();
  const joiner = ground.staff("moderator");
  await join(joiner);
  expect((await join(joiner)).body).toMatchObject({ joined: true });
  expect((await join(filer)).body).toMatchObject({ joined: true });
  expect((await view(joiner)).revision).toBe(2);
  await join(joiner, "A second look.");
  await join(filer, "One more.");
  expect(await view(joiner)).toMatchObject({ revision: 4, evidence: [{ note: "A second look." }, { note: "One more." }] });
  expect(await joinedOf(ground)).toMatchObject([{ subjectId: joiner }]);
});

test("no evidence is lost to what joiners bring: beyond a hundred pieces it is refused", async () => {
  const { ground, join, view, file, filer } = await scene();
  const twenty = Array.from({ length: 20 }, (_, index) => `Piece ${index.toString()}`);
  for (let round = 0; round < 5; round += 1) expect((await file(filer, { on_duplicate: "join", evidence: twenty })).status).toBe(201);
  const refused = await join(ground.staff("moderator"), "One too many.");
  expect(refused.body).toMatchObject({ status: 422, errors: [{ pointer: "/evidence", code: "too_many" }] });
  expect((await view(filer)).evidence).toHaveLength(100);
  expect(await joinedOf(ground)).toEqual([]);
});

test("whoever works on it or has voted stays on that side", async () => {
  const { ground, path, join, filed } = await scene();
  const [worker, voter] = [ground.staff("senior"), ground.staff("senior")];
  await ground.post(`${path}/decision`, { decision: "claim" }, { actor: worker });
  await ground.post(`${path}/decision`, { decision: "abstain" }, { actor: voter });
  for (const actor of [worker, voter])
    expect((await join(actor)).body).toMatchObject({ code: "duplicate_open", reference: filed.reference });
  expect(await joinedOf(ground)).toEqual([]);
});

test("what is hidden is neither joined nor shown", async () => {
  const ground = await createGround();
  const [filer, other] = [ground.staff("moderator"), ground.staff("moderator")];
  const body = { subject: { kind: "user", id: freshId() }, allegation: "Shared internal screenshots.", on_duplicate: "join" };
  const hidden = await ground.post("/workflows/investigation", { ...body, confidential: true }, { actor: filer });
  const filed = await ground.post("/workflows/investigation", body, { actor: other });
  expect(filed.status).toBe(201);
  expect(filed.body).not.toHaveProperty("joined");
  expect(JSON.stringify(filed.body)).not.toContain(hidden.body.reference);
  expect(await joinedOf(ground)).toEqual([]);
});

test("of two hundred who join at once, fifty do, and the others are told what is open", async () => {
  const { ground, filed, join, view, filer } = await scene();
  const people = Array.from({ length: 200 }, () => ground.staff("moderator"));
  const answers = await Promise.all(people.map((actor) => join(actor, `Seen by ${actor}`)));
  const joined = answers.filter(({ status }) => status === 201);
  expect(joined.length).toBe(50);
  expect(new Set(answers.filter(({ status }) => status !== 201).map(({ body }) => `${body.code} ${body.reference}`))).toEqual(
    new Set([`duplicate_open ${filed.reference as string}`]),
  );
  expect(await joinedOf(ground)).toHaveLength(50);
  const { revision, evidence } = await view(filer);
  expect([revision, evidence.length]).toEqual([51, 50]);
  const steps = await ground.database.read.workflowStep.findMany({ where: { requestId: filed.id }, orderBy: { revision: "asc" } });
  expect(steps.map((step) => step.revision)).toEqual(Array.from({ length: 51 }, (_, index) => index + 1));
});

test("the evidence of a duplicate goes to the request that is kept: the file, and the message as it was told", async () => {
  const { world } = shared;
  const [filer, senior] = [await world.staff("moderator"), await world.staff("senior")];
  const file = async (more: object): Promise<{ id: string; path: string; reference: string }> => {
    const { status, body } = await world.post("/workflows/poach", { ...filing("poach"), ...more }, { actor: filer });
    expect(status, JSON.stringify(body)).toBe(201);
    return { ...body, path: `/workflows/poach/${body.reference as string}` };
  };
  const message = { guild_id: freshId(), channel_id: freshId(), message_id: freshId(), content: "Come over to us." };
  const [kept, duplicate] = [await file({ evidence: ["Already here."] }), await file({ evidence: [{ kind: "message", message }] })];
  const bytes = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), randomBytes(2000)]);
  const added = await upload(world, `${duplicate.path}/evidence`, { actor: filer, bytes });
  expect(added.status, JSON.stringify(added.body)).toBe(201);
  const { status } = await world.post(
    `${duplicate.path}/decision`,
    { decision: "void", duplicate_of: kept.reference.toLowerCase() },
    { actor: senior },
  );
  expect(status).toBe(200);

  const held = async (path: string) => (await world.get(`${path}/evidence`, { actor: senior })).body.data;
  expect(await held(duplicate.path)).toEqual([]);
  expect(await held(kept.path)).toMatchObject([{ id: added.body.data.id }]);
  expect((await download(world, added.body.data.id, 0, senior)).bytes.equals(bytes)).toBe(true);
  const view = (await world.get(kept.path, { actor: senior })).body.data;
  expect(view).toMatchObject({
    status: "pending",
    evidence: [{ note: "Already here." }, { kind: "message", message }],
    links: [{ rel: "duplicates", reference: duplicate.reference }],
  });
  expect((await world.get(duplicate.path, { actor: senior })).body.data).toMatchObject({
    status: "void",
    links: [{ reference: kept.reference }],
  });
});
