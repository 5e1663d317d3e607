import { expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { everyRow, shareWorld, until } from "../contract/world.ts";

const shared = shareWorld({ furtherGuilds: ["Quay"] });
const reason = "Covers for a colleague";
const later = (hours = 24): string => new Date(Math.ceil(Date.now() / 1000) * 1000 + hours * 3_600_000).toISOString();

interface Entry {
  key: string;
  effect: "allow" | "deny" | "clear";
  scope?: string;
  expires_at?: string;
  reason?: string;
}

const patch = (by: User, to: { id: string }, entries: readonly Entry[], headers: Record<string, string> = {}) =>
  shared.world.patch(`/permissions/users/${to.id}`, { overrides: entries.map((entry) => ({ reason, ...entry })) }, { actor: by, headers });
const read = async (to: { id: string }, by: User) => (await shared.world.get(`/permissions/users/${to.id}`, { actor: by })).body.data;
const holds = async (person: { id: string }, key: string, guild?: string): Promise<boolean> => {
  const query = guild === undefined ? "" : `?guild_id=${guild}`;
  const { body } = await shared.world.get(`/permissions/users/${person.id}/effective${query}`);
  return body.data.permissions.find((one: { key: string }) => one.key === key).allowed;
};
const audits = (userId: string) =>
  shared.world.app.database.read.auditEntry.findMany({ where: { subjectUserId: userId }, orderBy: { seq: "asc" } });
const eventsAbout = async (userId: string) =>
  (await shared.world.app.database.read.outboxEvent.findMany({ orderBy: { seq: "asc" } })).filter(
    (event) => (event.data as { user_id?: string }).user_id === userId,
  );

/** A refusal leaves no trace in any table. */
async function expectNothing(act: () => Promise<void>): Promise<void> {
  const before = await everyRow(shared.world);
  await act();
  expect(await everyRow(shared.world)).toEqual(before);
}

test("an entry decides at once, before the roles, and is told, audited and numbered", async () => {
  const { world } = shared;
  const [admin, viewer] = [await world.staff("admin"), await world.staff("viewer")];
  expect((await world.get(`/permissions/users/${viewer.id}`)).body.data).toEqual({
    user_id: viewer.id,
    overrides: [],
    suspension: null,
    revision: 0,
  });
  const end = later();
  const answer = await patch(admin, viewer, [
    { key: "cases.close", effect: "allow", expires_at: end },
    { key: "staff.read", effect: "deny" },
  ]);
  expect([answer.status, answer.headers.get("etag")]).toEqual([200, '"v1"']);
  const known = { id: expect.any(String), reason, created_by: admin.id, created_at: expect.any(String), scope: null };
  expect(answer.body.data).toEqual({
    user_id: viewer.id,
    overrides: [
      { ...known, key: "cases.close", effect: "allow", expires_at: end },
      { ...known, key: "staff.read", effect: "deny", expires_at: null },
    ],
    suspension: null,
    revision: 1,
  });
  expect((await world.get("/staff", { actor: viewer })).body).toMatchObject({ code: "permission_denied", required: "staff.read" });
  expect([await holds(viewer, "cases.close"), await holds(viewer, "staff.read")]).toEqual([true, false]);
  expect(await audits(viewer.id)).toMatchObject([
    { action: "user_permissions.update", actorId: admin.id, permissionUsed: "permissions.users.manage" },
  ]);
  expect(await eventsAbout(viewer.id)).toMatchObject([{ type: "permission.changed", data: { user_id: viewer.id } }]);

  const again = await patch(admin, viewer, [
    { key: "staff.read", effect: "deny" },
    { key: "users.refresh", effect: "clear" },
  ]);
  expect([again.status, again.body.data.revision, again.body.data]).toEqual([200, 1, answer.body.data]);
  expect(await audits(viewer.id)).toHaveLength(1);

  const cleared = await patch(admin, viewer, [{ key: "staff.read", effect: "clear" }]);
  expect(cleared.body.data).toMatchObject({ revision: 2, overrides: [{ key: "cases.close" }] });
  expect([await holds(viewer, "staff.read"), (await audits(viewer.id)).length]).toEqual([true, 2]);
  const [kept] = await world.app.database.read.auditPayload.findMany({ orderBy: { seq: "desc" }, take: 1 });
  expect(kept?.payload).toMatchObject({
    reason,
    before: [{ key: "staff.read", effect: "deny", scope: null, reason, expires_at: null }],
    after: [{ key: "staff.read", effect: "clear", scope: null }],
  });

  await world.app.access.load();
  expect([await holds(viewer, "cases.close"), await read(viewer, admin)]).toEqual([true, cleared.body.data]);
});

test("a new entry for the same key and scope takes the place of the old one; another scope is another entry", async () => {
  const { world } = shared;
  const [owner, senior] = [await world.staff("owner"), await world.staff("senior")];
  await patch(owner, senior, [{ key: "cases.delete", effect: "allow" }]);
  await patch(owner, senior, [{ key: "cases.delete", effect: "deny", scope: world.guild.id }]);
  const answer = await patch(owner, senior, [{ key: "cases.delete", effect: "deny", reason: "No longer" }]);
  expect(answer.body.data.overrides).toMatchObject([
    { effect: "deny", scope: null, reason: "No longer" },
    { effect: "deny", scope: world.guild.id },
  ]);
  expect(await world.app.database.read.userPermission.count({ where: { userId: senior.id } })).toBe(2);
});

test("an entry of one guild counts there and nowhere else", async () => {
  const { world } = shared;
  const [other] = world.furtherGuilds;
  if (other === undefined) throw new Error("there is no second guild");
  const [admin, viewer] = [await world.staff("admin"), await world.staff("viewer")];
  const answer = await patch(admin, viewer, [
    { key: "cases.close", effect: "allow", scope: world.guild.id },
    { key: "staff.read", effect: "deny", scope: other.id },
  ]);
  expect(answer.status).toBe(200);
  const everywhere = [undefined, world.guild.id, other.id];
  expect(await Promise.all(everywhere.map((guild) => holds(viewer, "cases.close", guild)))).toEqual([false, true, false]);
  expect(await Promise.all(everywhere.map((guild) => holds(viewer, "staff.read", guild)))).toEqual([true, true, false]);
});

test("what cannot be an entry is refused by its field, and nothing changes", async () => {
  const { world } = shared;
  const [owner, viewer] = [await world.staff("owner"), await world.staff("viewer")];
  const wrong: [Entry, string, string][] = [
    [{ key: "no.such", effect: "allow" }, "key", "unknown_permission"],
    [{ key: "no.such", effect: "deny" }, "key", "unknown_permission"],
    [{ key: "*", effect: "deny" }, "key", "invalid_format"],
    [{ key: "system.act", effect: "allow" }, "key", "client_only"],
    [{ key: "system.act", effect: "deny" }, "key", "client_only"],
    [{ key: "cases.close", effect: "allow", expires_at: new Date(Date.now() - 1000).toISOString() }, "expires_at", "invalid_value"],
    [{ key: "cases.close", effect: "allow", expires_at: "9000-01-01T00:00:00.000Z" }, "expires_at", "invalid_value"],
    [{ key: "cases.close", effect: "clear", expires_at: later() }, "expires_at", "contradiction"],
    [{ key: "cases.close", effect: "allow", scope: "99999999999999999" }, "scope", "unknown_guild"],
    [{ key: "audit.read", effect: "allow", scope: world.guild.id }, "scope", "scope_not_offered"],
    [{ key: "cases.close", effect: "allow", reason: "no" }, "reason", "too_short"],
    [{ key: "cases.close", effect: "allow", reason: "x".repeat(501) }, "reason", "too_long"],
  ];
  await expectNothing(async () => {
    for (const [entry, field, code] of wrong) {
      const { status, body } = await patch(owner, viewer, [entry]);
      expect([entry, status, body.errors?.map((error: object) => ({ ...error, detail: "" }))]).toEqual([
        entry,
        422,
        [{ pointer: `/overrides/0/${field}`, in: "body", code, detail: "" }],
      ]);
    }
    const twice = await patch(owner, viewer, [
      { key: "cases.close", effect: "allow" },
      { key: "cases.close", effect: "deny" },
    ]);
    expect([twice.status, twice.body.errors]).toMatchObject([422, [{ pointer: "/overrides/1/key", code: "contradiction" }]]);
    expect((await world.patch(`/permissions/users/${viewer.id}`, { overrides: [] }, { actor: owner })).status).toBe(422);
    const without = await world.patch(
      `/permissions/users/${viewer.id}`,
      { overrides: [{ key: "cases.close", effect: "allow" }] },
      { actor: owner },
    );
    expect(without.body.errors).toMatchObject([{ pointer: "/overrides/0/reason", code: "required" }]);
    const hundred = Array.from({ length: 101 }, (_, index) => ({ key: `no.key${index.toString()}`, effect: "clear", reason }));
    expect((await world.patch(`/permissions/users/${viewer.id}`, { overrides: hundred }, { actor: owner })).status).toBe(422);
    expect((await world.delete(`/permissions/users/${viewer.id}`, undefined, { actor: owner })).body.errors).toMatchObject([
      { pointer: "/reason", code: "required" },
    ]);
  });
  expect((await patch(owner, viewer, [{ key: "no.such", effect: "clear" }])).status).toBe(200);
});

test("nobody touches the entries of somebody at or above their rank, nor their own; owners may", async () => {
  const { world } = shared;
  const [owner, peer] = [await world.staff("owner"), await world.staff("owner")];
  const [admin, other, senior] = [await world.staff("admin"), await world.staff("admin"), await world.staff("senior")];
  const deny: Entry[] = [{ key: "cases.close", effect: "deny" }];
  await expectNothing(async () => {
    for (const target of [admin, other, owner]) {
      expect((await patch(admin, target, deny)).body.code).toBe("hierarchy_violation");
      const clear = await world.delete(`/permissions/users/${target.id}`, { reason }, { actor: admin });
      expect(clear.body.code).toBe("hierarchy_violation");
    }
    expect((await patch(senior, other, deny)).body.code).toBe("permission_denied");
  });
  for (const target of [owner, peer, admin]) expect((await patch(owner, target, deny)).status).toBe(200);
  expect(await holds(owner, "cases.close")).toBe(true);
});

test("nobody gives what they do not hold, nor for longer, nor further, and taking a denial away gives", async () => {
  const { world } = shared;
  const [owner, admin, senior] = [await world.staff("owner"), await world.staff("admin"), await world.staff("senior")];
  const soon = later(1);
  await patch(owner, admin, [
    { key: "cases.delete", effect: "allow", expires_at: soon },
    { key: "blacklist.purge", effect: "allow", scope: world.guild.id },
    { key: "cases.note", effect: "deny", scope: world.guild.id },
    { key: "staff.stats", effect: "deny" },
  ]);
  await patch(owner, senior, [
    { key: "workflows.override", effect: "deny", reason },
    { key: "cases.reopen", effect: "deny", expires_at: later(3) },
    { key: "cases.delete", effect: "deny" },
  ]);
  const refused: [Entry, string][] = [
    [{ key: "workflows.override", effect: "allow" }, "does not hold workflows.override"],
    [{ key: "workflows.override", effect: "clear" }, "does not hold workflows.override"],
    [{ key: "staff.stats", effect: "allow" }, "does not hold staff.stats"],
    [{ key: "cases.delete", effect: "allow" }, "everywhere or for that long"],
    [{ key: "cases.delete", effect: "clear" }, "everywhere or for that long"],
    [{ key: "cases.delete", effect: "deny", expires_at: later(5) }, "everywhere or for that long"],
    [{ key: "cases.delete", effect: "allow", expires_at: later(2) }, "everywhere or for that long"],
    [{ key: "blacklist.purge", effect: "allow" }, "does not hold blacklist.purge"],
    [{ key: "cases.note", effect: "allow" }, "everywhere or for that long"],
  ];
  await expectNothing(async () => {
    for (const [entry, words] of refused) {
      const { status, body } = await patch(admin, senior, [{ key: "cases.close", effect: "allow" }, entry]);
      expect([entry, status, body.code, body.unheld, body.missing_in]).toEqual([
        entry,
        403,
        "cannot_grant_unheld",
        [entry.key],
        "acting_user",
      ]);
      expect(body.detail).toContain(words);
    }
    const clear = await world.delete(`/permissions/users/${senior.id}?reason=back`, undefined, { actor: admin });
    expect([clear.status, clear.body.unheld.toSorted()]).toEqual([403, ["cases.delete", "workflows.override"]]);
  });
  const viewer = await world.staff("viewer");
  const held: Entry[] = [
    { key: "cases.delete", effect: "allow", expires_at: soon },
    { key: "blacklist.purge", effect: "allow", scope: world.guild.id },
    { key: "workflows.override", effect: "deny" },
    { key: "cases.close", effect: "allow" },
  ];
  expect((await patch(admin, viewer, held)).status).toBe(200);
  const longer = { ...(held[0] as Entry), expires_at: later(2) };
  expect((await patch(admin, viewer, [longer])).body.code).toBe("cannot_grant_unheld");
  // A shorter time, and a denial in the place of an allowance, give nothing.
  expect((await patch(admin, viewer, [{ ...(held[0] as Entry), expires_at: later(0.5) }])).status).toBe(200);
  expect((await patch(admin, viewer, [{ key: "cases.delete", effect: "deny" }])).status).toBe(200);
  expect((await patch(admin, senior, [{ key: "cases.reopen", effect: "deny", expires_at: later(1) }])).status).toBe(200);
});

test("a key gives no more than its own scopes, and writes for nobody only with system.act", async () => {
  const { world } = shared;
  const [owner, viewer] = [await world.staff("owner"), await world.staff("viewer")];
  const narrow = await world.makeKey(["permissions.*", "cases.read"]);
  const entry = (key: string) => ({ overrides: [{ key, effect: "allow", reason }] });
  const path = `/permissions/users/${viewer.id}`;
  const refused = await world.patch(path, entry("cases.close"), { key: narrow, actor: owner });
  expect(refused.body).toMatchObject({ code: "cannot_grant_unheld", missing_in: "key", unheld: ["cases.close"] });
  expect((await world.patch(path, entry("cases.read"), { key: narrow })).body.code).toBe("acting_user_required");
  expect((await world.patch(path, entry("cases.read"), { key: narrow, actor: owner })).status).toBe(200);
  const system = await world.makeKey(["permissions.*", "cases.read", "system.act"]);
  expect((await world.patch(path, entry("cases.close"), { key: system })).body.code).toBe("cannot_grant_unheld");
  const written = await world.patch(path, { overrides: [{ key: "cases.read", effect: "clear", reason }] }, { key: system });
  expect([written.status, written.body.data.overrides]).toEqual([200, []]);
});

test("clearing takes every entry away and leaves a suspension", async () => {
  const { world } = shared;
  const [owner, senior] = [await world.staff("owner"), await world.staff("senior")];
  await patch(owner, senior, [
    { key: "cases.delete", effect: "allow" },
    { key: "staff.read", effect: "deny" },
  ]);
  await world.app.database.write(systemCall("job", uuid7()), ({ db, now }) =>
    db.userPermission.create({ data: { userId: senior.id, permission: "*", effect: "deny", reason: "Under review", createdAt: now } }),
  );
  const answer = await world.delete(`/permissions/users/${senior.id}`, { reason: "Back to the roles" }, { actor: owner });
  expect([answer.status, answer.body.data]).toMatchObject([200, { overrides: [], suspension: { reason: "Under review" }, revision: 2 }]);
  expect(await world.app.database.read.userPermission.count({ where: { userId: senior.id } })).toBe(1);
  expect((await audits(senior.id)).map((entry) => entry.action)).toEqual(["user_permissions.update", "user_permissions.update"]);
  const again = await world.delete(`/permissions/users/${senior.id}?reason=again`, undefined, { actor: owner });
  expect([again.status, again.body.data.revision]).toEqual([200, 2]);
  expect(await audits(senior.id)).toHaveLength(2);
});

test("an outdated If-Match changes nothing, and a revision outlives the entries", async () => {
  const { world } = shared;
  const [owner, viewer] = [await world.staff("owner"), await world.staff("viewer")];
  const allow: Entry[] = [{ key: "cases.close", effect: "allow" }];
  const early = await patch(owner, viewer, allow, { "if-match": '"v1"' });
  expect([early.status, early.body.current_etag]).toEqual([412, '"v0"']);
  expect((await patch(owner, viewer, allow, { "if-none-match": "*" })).body.data.revision).toBe(1);
  expect((await patch(owner, viewer, allow, { "if-none-match": "*" })).status).toBe(412);
  expect((await patch(owner, viewer, [{ key: "cases.close", effect: "clear" }], { "if-match": '"v1"' })).body.data.revision).toBe(2);
  const late = await patch(owner, viewer, allow, { "if-match": '"v1"' });
  expect([late.status, late.body.current_etag]).toEqual([412, '"v2"']);
  expect(
    (await world.delete(`/permissions/users/${viewer.id}`, { reason }, { actor: owner, headers: { "if-match": '"v1"' } })).status,
  ).toBe(412);
  expect(await read(viewer, owner)).toMatchObject({ overrides: [], revision: 2 });
});

test("why and by whom is told to those who manage entries, why also to the person", async () => {
  const { world } = shared;
  const [owner, admin, moderator, viewer] = [
    await world.staff("owner"),
    await world.staff("admin"),
    await world.staff("moderator"),
    await world.staff("viewer"),
  ];
  await patch(owner, viewer, [{ key: "cases.close", effect: "allow" }]);
  const fieldsFor = async (by: User) => Object.keys((await read(viewer, by)).overrides[0]).toSorted();
  const open = ["created_at", "effect", "expires_at", "id", "key", "scope"];
  expect(await fieldsFor(moderator)).toEqual(open);
  expect(await fieldsFor(viewer)).toEqual([...open, "reason"].toSorted());
  expect(await fieldsFor(admin)).toEqual([...open, "reason", "created_by"].toSorted());
  expect(await read(viewer, moderator)).not.toHaveProperty("redacted");
  await patch(owner, admin, [{ key: "permissions.users.manage", effect: "deny" }]);
  expect(await fieldsFor(admin)).toEqual(open);
  expect((await read(viewer, admin)).redacted).toEqual(["overrides[].created_by", "overrides[].reason"]);
  const member = world.member();
  expect((await world.get(`/permissions/users/${viewer.id}`, { actor: member })).body.code).toBe("acting_user_not_staff");
  expect((await world.get(`/permissions/users/${member.id}`, { actor: member })).body.data).toMatchObject({ overrides: [], revision: 0 });
});

test("a repeated request has one effect", async () => {
  const { world } = shared;
  const [owner, viewer] = [await world.staff("owner"), await world.staff("viewer")];
  const headers = { "idempotency-key": "once-and-only-once" };
  const allow: Entry[] = [{ key: "cases.close", effect: "allow" }];
  const answers = [await patch(owner, viewer, allow, headers), await patch(owner, viewer, allow, headers)];
  expect(answers.map(({ status, body }) => [status, body])).toEqual([
    [200, answers[0]?.body],
    [200, answers[0]?.body],
  ]);
  expect(answers[1]?.headers.get("idempotency-replayed")).toBe("true");
  expect(await audits(viewer.id)).toHaveLength(1);
});

test("writers at the same moment leave one entry per key and scope, and every change counted", async () => {
  const { world } = shared;
  const [owner, viewer] = [await world.staff("owner"), await world.staff("viewer")];
  const effects = ["allow", "deny"] as const;
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      patch(owner, viewer, [{ key: "cases.close", effect: effects[index % 2] ?? "allow", reason: `Number ${index.toString()}` }]),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  expect(await world.app.database.read.userPermission.count({ where: { userId: viewer.id } })).toBe(1);
  const view = await read(viewer, owner);
  expect([view.revision, view.overrides.length]).toEqual([12, 1]);
  const last = answers.find(({ body }) => body.data.revision === 12);
  expect(view).toEqual(last?.body.data);
  expect(await holds(viewer, "cases.close")).toBe(view.overrides[0].effect === "allow");
});

test("what has ended counts no more at once, and the job takes it off the books, told once per person", async () => {
  const { world } = shared;
  const [owner, viewer, senior] = [await world.staff("owner"), await world.staff("viewer"), await world.staff("senior")];
  // The service runs the same job once a minute by itself: what is found afterwards is the same.
  const job = () => world.app.permissions.expireDue(systemCall("job", uuid7()));
  const end = new Date(Date.now() + 700).toISOString();
  await patch(owner, viewer, [
    { key: "cases.close", effect: "allow", expires_at: end },
    { key: "cases.delete", effect: "allow", expires_at: end },
    { key: "staff.read", effect: "deny" },
  ]);
  await world.app.database.write(systemCall("job", uuid7()), ({ db, now }) =>
    db.userPermission.create({
      data: { userId: senior.id, permission: "*", effect: "deny", reason: "Under review", expiresAt: new Date(end), createdAt: now },
    }),
  );
  await world.app.access.load();
  expect([await holds(viewer, "cases.close"), await holds(senior, "staff.read")]).toEqual([true, false]);
  await until(
    () => world.get(`/permissions/users/${viewer.id}`, { actor: owner }),
    ({ body }) => body.data.overrides.length === 1,
    5000,
  );
  expect([await holds(viewer, "cases.close"), await holds(senior, "staff.read")]).toEqual([false, true]);
  expect(await read(senior, owner)).toMatchObject({ suspension: null });

  await job();
  expect(await world.app.database.read.userPermission.count({ where: { userId: { in: [viewer.id, senior.id] } } })).toBe(1);
  expect(await read(viewer, owner)).toMatchObject({ revision: 2, overrides: [{ key: "staff.read" }] });
  expect((await audits(viewer.id)).map(({ action, via, actorId }) => [action, via, actorId])).toEqual([
    ["user_permissions.update", "rest", owner.id],
    ["user_permissions.expire", "job", null],
  ]);
  expect((await eventsAbout(viewer.id)).at(-1)).toMatchObject({ type: "permission.changed", data: { user_id: viewer.id, expired: true } });
  expect((await eventsAbout(senior.id)).map(({ type }) => type)).toEqual(["permission.changed", "staff.access_changed"]);
  await job();
  expect([(await audits(viewer.id)).length, (await audits(senior.id)).length]).toEqual([2, 1]);
  await expect(
    world.app.permissions.expireDue({ ...systemCall("job", uuid7()), client: { id: "x", name: "x", allows: () => false } }),
  ).rejects.toMatchObject({ code: "permission_denied" });
});

test("many ended entries of many people are all taken off, in bounded steps", async () => {
  const { world } = shared;
  const people = Array.from({ length: 230 }, (_, index) => (70_000_000_000_000_000n + BigInt(index)).toString());
  const expiresAt = new Date(Date.now() - 1000);
  await world.app.database.write(systemCall("job", uuid7()), ({ db, now }) =>
    db.userPermission.createMany({
      data: people.flatMap((userId) =>
        ["cases.read", "cases.close"].map((permission) => ({ userId, permission, effect: "allow", reason, expiresAt, createdAt: now })),
      ),
    }),
  );
  await world.app.permissions.expireDue(systemCall("job", uuid7()));
  expect(await world.app.database.read.userPermission.count({ where: { userId: { in: people } } })).toBe(0);
  expect(
    await world.app.database.read.auditEntry.count({ where: { action: "user_permissions.expire", subjectUserId: { in: people } } }),
  ).toBe(230);
});
