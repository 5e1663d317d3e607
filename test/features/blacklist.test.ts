import { expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createGround, freshId, type Ground } from "./workflows-ground.ts";

const times = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
const entries = (ground: Ground) => ground.database.read.auditEntry.count();

async function listed(ground: Ground, actor: string, body: Record<string, unknown> = {}) {
  const answer = await ground.post("/blacklist", { kind: "user", subject_id: freshId(), ...body }, { actor });
  expect(answer.status).toBe(201);
  return answer.body.data;
}

test("a record is created, read by id and by number, changed and revoked, and every state is kept", async () => {
  const ground = await createGround();
  const actor = ground.staff("admin");
  const made = await listed(ground, actor, { category: "raid", severity: "high", reason_internal: "seen by mods", duration: "30d" });
  expect(made).toMatchObject({ number: "BL-000001", status: "active", recommended_action: "deny_entry", created_by: actor, revision: 1 });
  const byNumber = await ground.get("/blacklist/bl-000001", { actor });
  expect(byNumber.body.data).toEqual(made);
  expect(byNumber.headers.get("etag")).toBe('"v1"');
  const changed = await ground.patch(
    `/blacklist/${made.id}`,
    { severity: "critical", tags: ["repeat"] },
    { actor, headers: { "if-match": '"v1"' } },
  );
  expect(changed.body.data).toMatchObject({ severity: "critical", tags: ["repeat"], revision: 2 });
  const stale = await ground.patch(`/blacklist/${made.id}`, { severity: "low" }, { actor, headers: { "if-match": '"v1"' } });
  expect(stale.body).toMatchObject({ code: "precondition_failed", current_etag: '"v2"' });
  const revoked = await ground.delete("/blacklist/BL-000001?reason=It%20was%20a%20mistake", undefined, { actor });
  expect(revoked.body.data).toMatchObject({ status: "revoked", revoked: { by: actor, reason: "It was a mistake" }, revision: 3 });
  const again = await ground.delete("/blacklist/BL-000001", { reason: "once more" }, { actor });
  expect(again.body).toMatchObject({ code: "invalid_transition", from: "revoked" });
  const history = (await ground.get("/blacklist/BL-000001/history?limit=2", { actor })).body;
  expect(history.data.map((version: any) => [version.revision, version.record.status, version.record.severity])).toEqual([
    [3, "revoked", "critical"],
    [2, "active", "critical"],
  ]);
  const older = (await ground.get(`/blacklist/BL-000001/history?limit=2&cursor=${history.page.next_cursor}`, { actor })).body;
  expect(older.data.map((version: any) => version.revision)).toEqual([1]);
  expect((await ground.get("/audit?action_prefix=blacklist.")).body.data.map((entry: any) => entry.action)).toEqual([
    "blacklist.revoke",
    "blacklist.update",
    "blacklist.create",
  ]);
  expect(JSON.stringify((await ground.get("/audit")).body)).not.toContain("seen by mods");
});

test("a change that changes nothing writes nothing", async () => {
  const ground = await createGround();
  const actor = ground.staff("admin");
  const made = await listed(ground, actor, { severity: "high" });
  expect((await ground.patch(`/blacklist/${made.id}`, { severity: "high" }, { actor })).body.data.revision).toBe(1);
  expect(await entries(ground)).toBe(1);
});

test("16 creations of the same subject at once make one record", async () => {
  const ground = await createGround();
  const actor = ground.staff("admin");
  const body = { kind: "server", subject_id: freshId(), category: "raiding" };
  const answers = await Promise.all(times(16).map(() => ground.post("/blacklist", body, { actor })));
  expect(answers.map((answer) => answer.status).toSorted((a, b) => a - b)).toEqual([201, ...times(15).map(() => 409)]);
  expect(answers.find((answer) => answer.status === 409)?.body).toMatchObject({ code: "duplicate_active_record", reference: "BL-000001" });
  expect(await ground.database.read.blacklistRecord.count()).toBe(1);
  expect((await listed(ground, actor)).number).toBe("BL-000002");
});

test("a refused caller changes nothing and leaves no audit entry", async () => {
  const ground = await createGround();
  const actor = ground.staff("senior");
  const body = { kind: "user", subject_id: freshId() };
  expect((await ground.post("/blacklist", body, { actor })).body).toMatchObject({ code: "permission_denied", missing_in: "acting_user" });
  expect((await ground.post("/blacklist", body, { actor: ground.staff("admin"), scopes: "blacklist.read" })).body).toMatchObject({
    missing_in: "key",
  });
  expect((await ground.post("/blacklist", body)).body.code).toBe("acting_user_required");
  expect(await ground.database.read.blacklistRecord.count()).toBe(0);
  expect(await entries(ground)).toBe(0);
});

test("nobody lists staff of equal or higher rank, owners excepted", async () => {
  const ground = await createGround();
  const [admin, other, owner, moderator] = [ground.staff("admin"), ground.staff("admin"), ground.staff("owner"), ground.staff("moderator")];
  const about = (subject: string, actor: string) => ground.post("/blacklist", { kind: "user", subject_id: subject }, { actor });
  expect((await about(other, admin)).body.code).toBe("hierarchy_violation");
  expect((await about(owner, admin)).body.code).toBe("hierarchy_violation");
  expect((await about(moderator, admin)).status).toBe(201);
  expect((await about(other, owner)).status).toBe(201);
  expect((await ground.delete("/blacklist/BL-000002?reason=nope", undefined, { actor: admin })).body.code).toBe("hierarchy_violation");
});

test("the internal reason is for holders of blacklist.read_confidential", async () => {
  const ground = await createGround();
  const made = await listed(ground, ground.staff("admin"), { reason_internal: "secret", reason_public: "raids" });
  const [moderator, senior] = [ground.staff("moderator"), ground.staff("senior")];
  const seen = (await ground.get(`/blacklist/${made.id}`, { actor: moderator })).body.data;
  expect(seen).toMatchObject({ reason_public: "raids" });
  expect(seen).not.toHaveProperty("reason_internal");
  expect((await ground.get(`/blacklist/${made.id}/history`, { actor: moderator })).body.data[0].record).not.toHaveProperty(
    "reason_internal",
  );
  expect((await ground.get(`/blacklist/${made.id}`, { actor: senior })).body.data.reason_internal).toBe("secret");
  expect((await ground.get("/blacklist?q=secret", { actor: moderator })).body.data).toEqual([]);
  expect((await ground.get("/blacklist?q=SECRET", { actor: senior })).body.data).toHaveLength(1);
});

test("a bulk check answers per id in order, reduced for those who may not read records", async () => {
  const ground = await createGround();
  const actor = ground.staff("admin");
  const user = await listed(ground, actor, { severity: "low" });
  const server = await listed(ground, actor, { kind: "server", category: "raiding", subject_name: "Raid Central" });
  const stranger = freshId();
  const body = { user_ids: [stranger, user.subject_id, stranger], server_ids: [server.subject_id] };
  const full = (await ground.post("/blacklist/check", body, { actor })).body.data;
  expect(full.users.map((found: any) => [found.id, found.listed])).toEqual([
    [stranger, false],
    [user.subject_id, true],
  ]);
  expect(full.servers[0].records[0]).toMatchObject({ number: "BL-000002", subject_snapshot: { name: "Raid Central" } });
  const reduced = (await ground.post("/blacklist/check", body, { actor: ground.staff("viewer") })).body.data;
  expect(Object.keys(reduced.users[1].records[0]).toSorted()).toEqual([
    "category",
    "expires_at",
    "kind",
    "member_policy",
    "recommended_action",
    "severity",
  ]);
  const many = Array.from({ length: 501 }, () => stranger);
  expect((await ground.post("/blacklist/check", { user_ids: many }, { actor })).body.errors).toMatchObject([
    { pointer: "/user_ids", code: "too_many" },
  ]);
  expect((await ground.post("/blacklist/check", { user_ids: many.slice(1) }, { actor })).status).toBe(200);
  expect((await ground.post("/blacklist/check", {}, { actor })).status).toBe(422);
});

test("time starts scheduled records and ends others, on reading at once and in the books by the sweep", async () => {
  const ground = await createGround();
  const actor = ground.staff("admin");
  const soon = new Date(Date.now() + 3_600_000).toISOString();
  const scheduled = await listed(ground, actor, { starts_at: soon });
  const ending = await listed(ground, actor, { duration: "30m" });
  expect([scheduled.status, ending.status]).toEqual(["scheduled", "active"]);
  ground.pass(7200);
  expect((await ground.get(`/blacklist/${ending.id}`, { actor })).body.data.status).toBe("expired");
  expect((await ground.get("/blacklist?status=active", { actor })).body.data.map((record: any) => record.number)).toEqual(["BL-000001"]);
  expect((await ground.get("/blacklist?status=expired", { actor })).body.data.map((record: any) => record.number)).toEqual(["BL-000002"]);
  expect(await ground.blacklist.expireDue(systemCall("job", uuid7()))).toBe(2);
  expect(await ground.blacklist.expireDue(systemCall("job", uuid7()))).toBe(0);
  const rows = await ground.database.read.blacklistRecord.findMany({
    orderBy: { number: "asc" },
    select: { status: true, activeKey: true },
  });
  expect(rows).toMatchObject([{ status: "active" }, { status: "expired", activeKey: null }]);
  expect((await ground.patch(`/blacklist/${ending.id}`, { severity: "low" }, { actor })).body.code).toBe("invalid_transition");
});

test("an ended record makes room for a new one before the sweep comes by", async () => {
  const ground = await createGround();
  const actor = ground.staff("admin");
  const first = await listed(ground, actor, { duration: "30m" });
  ground.pass(3600);
  const second = await listed(ground, actor, { subject_id: first.subject_id });
  expect(second.number).toBe("BL-000002");
  expect((await ground.get("/blacklist/BL-000001", { actor })).body.data.status).toBe("expired");
});

test("records match people, and the match ends with the record", async () => {
  const ground = await createGround();
  const [actor, subject] = [ground.staff("admin"), ground.staff("moderator")];
  const made = await listed(ground, actor, { subject_id: subject, severity: "high" });
  const statuses = async () =>
    (await ground.database.read.match.findMany({ where: { userId: subject } })).map((match) => [match.recordReference, match.status]);
  expect(await statuses()).toEqual([["BL-000001", "open"]]);
  await ground.delete(`/blacklist/${made.id}`, { reason: "a mistake" }, { actor });
  expect(await statuses()).toEqual([["BL-000001", "void"]]);
});

test("filters and pages of the list", async () => {
  const ground = await createGround();
  const actor = ground.staff("admin");
  for (const severity of ["low", "high", "high", "critical", "high"]) await listed(ground, actor, { severity });
  const server = await listed(ground, actor, { kind: "server", category: "terms", review_at: new Date(0).toISOString(), duration: "1d" });
  const numbers = async (query: string) =>
    (await ground.get(`/blacklist?${query}`, { actor })).body.data.map((record: any) => Number(record.number.slice(3)));
  expect(await numbers("severity=high")).toEqual([5, 3, 2]);
  expect(await numbers("kind=server")).toEqual([6]);
  expect(await numbers(`subject=${server.subject_id}`)).toEqual([6]);
  expect(await numbers("review_due=true")).toEqual([6]);
  expect(await numbers("review_due=false")).toEqual([5, 4, 3, 2, 1]);
  expect(await numbers("expires_before=2100-01-01T00:00:00.000Z")).toEqual([6]);
  expect(await numbers("changed_since=2100-01-01T00:00:00.000Z")).toEqual([]);
  const page = (await ground.get("/blacklist?limit=4", { actor })).body;
  expect(page.data).toHaveLength(4);
  const rest = (await ground.get(`/blacklist?limit=4&cursor=${page.page.next_cursor}`, { actor })).body;
  expect([...page.data, ...rest.data].map((record: any) => Number(record.number.slice(3)))).toEqual([6, 5, 4, 3, 2, 1]);
});

test.each([
  [{ kind: "user" }, ["/subject_id"]],
  [{ kind: "user", subject_id: 80351110224678912 }, ["/subject_id"]],
  [{ kind: "user", subject_id: "bob" }, ["/subject_id"]],
  [{ kind: "user", subject_id: "80351110224678912", status: "active", number: "BL-000009" }, ["/number", "/status"]],
  [{ kind: "user", subject_id: "80351110224678912", category: "terms", member_policy: "flag" }, ["/category", "/member_policy"]],
  [{ kind: "user", subject_id: "80351110224678912", scope: "servers" }, ["/server_ids"]],
  [{ kind: "user", subject_id: "80351110224678912", duration: "30d", expires_at: null }, ["/duration"]],
  [{ kind: "user", subject_id: "80351110224678912", expires_at: "2020-01-01T00:00:00.000Z" }, ["/expires_at"]],
  [{ kind: "user", subject_id: "80351110224678912", evidence: [{ url: "file:///etc" }] }, ["/evidence/0/url"]],
])("the record %j is refused at %j", async (body, pointers) => {
  const ground = await createGround();
  const answer = await ground.post("/blacklist", body, { actor: ground.staff("admin") });
  expect(answer.status).toBe(422);
  expect(answer.body.errors.map((error: any) => error.pointer).toSorted()).toEqual(pointers);
});

test("a missing reason, an unknown record and a malformed id are told apart", async () => {
  const ground = await createGround();
  const actor = ground.staff("admin");
  await listed(ground, actor);
  expect((await ground.delete("/blacklist/BL-000001", undefined, { actor })).body.errors).toMatchObject([
    { pointer: "/reason", code: "required" },
  ]);
  expect((await ground.get("/blacklist/BL-000002", { actor })).body.code).toBe("record_not_found");
  expect((await ground.get("/blacklist/nonsense", { actor })).body.errors).toMatchObject([{ pointer: "/id", in: "path" }]);
});
