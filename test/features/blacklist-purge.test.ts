import { expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createWorld, type World } from "../support/world.ts";
import { createGround, freshId, type Ground } from "./workflows-ground.ts";

const reason = "Listed the wrong person.";
const secret = "unmistakable words of an internal reason";

/** A record with versions, words and a match, revoked. */
async function createRevoked(ground: Ground) {
  const [actor, subject] = [ground.staff("owner"), ground.staff("moderator")];
  const body = { kind: "user", subject_id: subject, reason_public: secret, reason_internal: secret };
  const made = (await ground.post("/blacklist", body, { actor })).body.data;
  await ground.patch(`/blacklist/${made.id}`, { tags: ["unmistakable"] }, { actor });
  await ground.delete(`/blacklist/${made.id}`, { reason: "It was a mistake." }, { actor });
  return { id: String(made.id), subject, actor };
}

const tables = ["blacklistRecord", "blacklistVersion", "blacklistWord", "match"] as const;
const counts = (ground: Ground) =>
  Promise.all(tables.map((table) => (ground.database.read[table] as { count(): Promise<number> }).count()));

test("a purge takes the record with all that was made of it, and leaves its number, the time and the reason", async () => {
  const ground = await createGround();
  const { id, actor } = await createRevoked(ground);
  const other = (await ground.post("/blacklist", { kind: "user", subject_id: freshId(), reason_public: "stays" }, { actor })).body.data;
  expect((await counts(ground)).every((count) => count > 0)).toBe(true);
  const answer = await ground.post("/blacklist/BL-000001/purge", { reason }, { actor });
  expect([answer.status, answer.body.data]).toEqual([200, { id, number: "BL-000001", purged_at: expect.any(String), reason }]);
  expect((await ground.get(`/blacklist/${id}`, { actor })).body.code).toBe("record_not_found");
  expect(await counts(ground)).toEqual([1, 1, 1, 0]);
  expect((await ground.get(`/blacklist/${other.id}`, { actor })).status).toBe(200);
  const audit = (await ground.get("/audit")).body.data;
  const [tombstone] = audit;
  expect(tombstone).toMatchObject({ action: "blacklist.purge", reason, target: { id, reference: "BL-000001" } });
  const about = await ground.database.read.auditEntry.findMany({ where: { targetId: id }, orderBy: { seq: "asc" } });
  expect(about.map(({ action }) => action)).toEqual(["blacklist.create", "blacklist.update", "blacklist.revoke", "blacklist.purge"]);
  const kept = await ground.database.read.auditPayload.findMany({ where: { seq: { in: about.map(({ seq }) => seq) } } });
  expect(kept.map(({ seq }) => seq)).toEqual([about.at(-1)?.seq]);
  expect((await ground.get("/audit/verify")).body.data.ok).toBe(true);
  for (const table of ["auditPayload", "blacklistChange", "outboxEvent", "idempotencyRecord"] as const) {
    const rows = await (ground.database.read[table] as { findMany(): Promise<object[]> }).findMany();
    expect(JSON.stringify(rows, (_key, value: unknown) => (typeof value === "bigint" ? value.toString() : value))).not.toContain(
      "unmistakable",
    );
  }
  const feed = (await ground.get("/blacklist/changes", { actor })).body.data;
  expect(feed.map((entry: any) => [entry.change, entry.retract, entry.number, entry.record?.id])).toEqual([
    ["created", false, "BL-000002", other.id],
    ["purged", true, "BL-000001", undefined],
  ]);
  const event = await ground.database.read.outboxEvent.findFirst({ orderBy: { seq: "desc" } });
  expect(event).toMatchObject({ type: "blacklist.purged", data: { number: "BL-000001" } });
  const next = (await ground.post("/blacklist", { kind: "user", subject_id: freshId() }, { actor })).body.data;
  expect(next.number).toBe("BL-000003");
});

test("an answer that was kept for a repeated request does not survive the purge of its record", async () => {
  const ground = await createGround();
  const actor = ground.staff("owner");
  const world = { headers: { "idempotency-key": "the-same-request-1" }, actor };
  const body = { kind: "user", subject_id: freshId(), reason_public: secret };
  const made = (await ground.post("/blacklist", body, world)).body.data;
  const other = { headers: { "idempotency-key": "another-request-1" }, actor };
  await ground.post("/blacklist", { ...body, subject_id: freshId() }, other);
  expect(await ground.database.read.idempotencyRecord.count()).toBe(2);
  await ground.delete(`/blacklist/${made.id}`, { reason: "A mistake." }, { actor });
  await ground.post(`/blacklist/${made.id}/purge`, { reason }, { actor });
  const kept = await ground.database.read.idempotencyRecord.findMany();
  expect(kept).toHaveLength(1);
  expect(JSON.stringify(kept)).not.toContain(made.id);
});

test.each([
  ["in force", {}],
  ["yet to start", { starts_at: "2100-01-01T00:00:00.000Z" }],
])("a record that is %s is not purged", async (_state, more) => {
  const ground = await createGround();
  const actor = ground.staff("owner");
  const made = (await ground.post("/blacklist", { kind: "user", subject_id: freshId(), ...more }, { actor })).body.data;
  const before = [await ground.database.read.auditEntry.count(), await ground.database.read.blacklistChange.count()];
  const answer = await ground.post(`/blacklist/${made.id}/purge`, { reason }, { actor });
  expect([answer.status, answer.body.code, answer.body.from]).toEqual([409, "invalid_transition", made.status]);
  expect(await ground.database.read.blacklistRecord.count()).toBe(1);
  expect([await ground.database.read.auditEntry.count(), await ground.database.read.blacklistChange.count()]).toEqual(before);
});

test("a record past its end is purged before the sweep comes by, and the sweep finds nothing", async () => {
  const ground = await createGround();
  const [actor, subject] = [ground.staff("owner"), ground.staff("moderator")];
  const made = (await ground.post("/blacklist", { kind: "user", subject_id: subject, duration: "30m" }, { actor })).body.data;
  ground.pass(3600);
  expect((await ground.post(`/blacklist/${made.id}/purge`, { reason }, { actor })).status).toBe(200);
  expect(await ground.database.read.match.count()).toBe(0);
  expect(await ground.blacklist.expireDue(systemCall("job", uuid7()))).toBe(0);
  expect((await ground.post("/blacklist", { kind: "user", subject_id: subject }, { actor })).body.data.number).toBe("BL-000002");
});

test("only holders of blacklist.purge who know its present revision purge, with a reason", async () => {
  const ground = await createGround();
  const { id, actor } = await createRevoked(ground);
  const refused = await ground.post(`/blacklist/${id}/purge`, { reason }, { actor: ground.staff("admin") });
  expect(refused.body).toMatchObject({ code: "permission_denied", required: "blacklist.purge" });
  expect((await ground.post(`/blacklist/${id}/purge`, {}, { actor })).body.errors).toMatchObject([{ pointer: "/reason" }]);
  const stale = { actor, headers: { "if-match": '"v1"' } };
  expect((await ground.post(`/blacklist/${id}/purge`, { reason }, stale)).body.code).toBe("precondition_failed");
  expect((await ground.post("/blacklist/BL-000009/purge", { reason }, { actor })).body.code).toBe("record_not_found");
  expect(await ground.database.read.blacklistVersion.count()).toBe(3);
});

test("two purges at once: one is done, the other finds nothing", async () => {
  const ground = await createGround();
  const { id, actor } = await createRevoked(ground);
  const answers = await Promise.all([1, 2].map(() => ground.post(`/blacklist/${id}/purge`, { reason }, { actor })));
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 404]);
  expect(await ground.database.read.blacklistChange.count()).toBe(1);
  expect(await ground.database.read.auditEntry.count({ where: { action: "blacklist.purge" } })).toBe(1);
});

const waiting = (world: World) => world.app.database.read.blacklistRecord.count();

test("where dangerous changes need two, a purge waits for a second person who is not the one it is about", async () => {
  const world = await createWorld({ env: { SECOND_PERSON_FOR_DANGER: "true" } });
  const [first, second, third] = [await world.staff("owner"), await world.staff("owner"), await world.staff("owner")];
  const made = (await world.post("/blacklist", { kind: "user", subject_id: second.id }, { actor: first })).body.data;
  await world.delete(`/blacklist/${made.id}`, { reason: "It was a mistake." }, { actor: first });
  const held = await world.post(`/blacklist/${made.id}/purge`, { reason }, { actor: first });
  expect([held.status, held.body.data.status]).toEqual([202, "pending"]);
  expect(await waiting(world)).toBe(1);
  const confirm = (actor: typeof first) => world.post(`/confirmations/${held.body.data.id}/confirm`, {}, { signed: true, actor });
  expect((await confirm(first)).status).toBeGreaterThanOrEqual(400);
  expect((await confirm(second)).status).toBeGreaterThanOrEqual(400);
  expect(await waiting(world)).toBe(1);
  const done = await confirm(third);
  expect([done.status, done.body.data.status]).toEqual([200, "applied"]);
  expect(await waiting(world)).toBe(0);
});

test("evidence is kept on records that ended, too, and goes with them, that of others stays", async () => {
  const world = await createWorld();
  const [owner, viewer] = [await world.staff("owner"), await world.staff("viewer")];
  const list = async (): Promise<string> =>
    (await world.post("/blacklist", { kind: "user", subject_id: freshId() }, { actor: owner })).body.data.number;
  const [first, second] = [await list(), await list()];
  await world.delete(`/blacklist/${first}`, { reason: "It was a mistake." }, { actor: owner });
  const item = { kind: "text", title: "The witness", note: "Three people saw it." };
  for (const key of [first, second]) expect((await world.post(`/blacklist/${key}/evidence`, item, { actor: owner })).status).toBe(201);
  expect((await world.post(`/blacklist/${first}/evidence`, item, { actor: viewer })).status).toBe(403);
  expect((await world.get(`/blacklist/${first}/evidence`, { actor: viewer })).status).toBe(403);
  expect((await world.post("/blacklist/BL-000099/evidence", item, { actor: owner })).body.code).toBe("record_not_found");
  const { read } = world.app.database;
  expect(await read.evidenceItem.count()).toBe(2);
  expect((await world.post(`/blacklist/${first}/purge`, { reason }, { actor: owner })).status).toBe(200);
  expect(await read.evidenceItem.count()).toBe(1);
  expect((await world.get(`/blacklist/${second}/evidence`, { actor: owner })).body.data).toHaveLength(1);
  expect((await world.get(`/blacklist/${first}/evidence`, { actor: owner })).body.code).toBe("record_not_found");
});
