import { expect, test } from "vitest";
import { knownPermissions } from "../../src/kernel/permissions.ts";
import { createHouse, ladder, type House, type Rung } from "./staff-house.ts";

const nobody = "80351110224678912";
const access = async (house: House, id: string, query = ""): Promise<any> => (await house.get(`/staff/${id}/access${query}`)).body.data;

test.each(["owner", "admin", "senior", "moderator", "viewer"] as const)(
  "access of a %s names role, level, rank and reason",
  async (rung) => {
    const house = await createHouse();
    const person = await house.person(rung);
    const view = await access(house, person.id);
    expect(view).toMatchObject({
      user_id: person.id,
      allowed: true,
      level: rung,
      status: "active",
      staff_roles: [rung],
      denied: [],
      expires_at: null,
    });
    expect(view.rank).toBe(rung === "owner" ? 1_000_000 : ladder[rung]);
    expect(view.reasons).toContainEqual({ code: "role_mapping", source: rung, ref: `${house.guild.id}:${house.roles[rung].id}` });
    expect(view.permissions).toEqual(view.permissions.toSorted());
    expect(view.permissions.includes("staffroles.manage")).toBe(rung === "owner" || rung === "admin");
    expect(view).not.toHaveProperty("stale");
    if (rung === "owner") expect(view.permissions).toEqual([...knownPermissions].filter((key) => key !== "system.act").toSorted());
  },
);

test("a stranger and a member without staff role are answers, told apart", async () => {
  const house = await createHouse();
  const member = await house.person();
  expect(await access(house, nobody)).toMatchObject({
    allowed: false,
    level: "none",
    rank: 0,
    status: null,
    permissions: [],
    reasons: [{ code: "not_member", source: "guild" }],
  });
  expect(await access(house, member.id)).toMatchObject({
    allowed: false,
    status: null,
    reasons: [{ code: "not_member", source: "staff" }],
  });
  expect((await house.get("/staff/not-an-id/access")).body).toMatchObject({
    code: "validation_failed",
    errors: [{ in: "path", pointer: "/discord_user_id" }],
  });
});

test("a role taken away in Discord is gone from the next answer, and the person is former staff", async () => {
  const house = await createHouse();
  const person = await house.person("senior");
  const { headers } = await house.get(`/staff/${person.id}/access`);
  const tag = headers.get("etag") ?? "";
  expect((await house.get(`/staff/${person.id}/access`, { headers: { "if-none-match": tag } })).status).toBe(304);
  house.guild.setRoles(person, []);
  await house.sandbox.waitFor(() => !house.access.of(person.id).isStaff);
  const answer = await house.get(`/staff/${person.id}/access`, { headers: { "if-none-match": tag } });
  expect(answer.body.data).toMatchObject({
    allowed: false,
    status: "former",
    staff_roles: [],
    permissions: [],
    reasons: [{ code: "not_member", source: "staff" }],
  });
  house.guild.setRoles(person, [house.roles.viewer]);
  await house.sandbox.waitFor(() => house.access.of(person.id).isStaff);
  expect(await access(house, person.id)).toMatchObject({ allowed: true, level: "viewer" });
});

test("asked permissions are decided one by one, in the order asked", async () => {
  const house = await createHouse();
  const person = await house.person("moderator");
  const view = await access(house, person.id, "?permission=cases.read,staffroles.manage");
  expect(view).toMatchObject({
    allowed: false,
    decisions: [
      { permission: "cases.read", allowed: true },
      { permission: "staffroles.manage", allowed: false },
    ],
  });
  expect(view.decisions[0].reasons).toEqual([{ code: "role_mapping", source: "default", ref: "moderator" }]);
  expect(await access(house, person.id, "?permission=cases.read")).toMatchObject({ allowed: true });
  const wrong = await house.get(`/staff/${person.id}/access?permission=cases.read,cases.reed`);
  expect([wrong.status, wrong.body.errors]).toMatchObject([422, [{ in: "query", pointer: "/permission", code: "unknown_permission" }]]);
});

test("everybody reads their own access, but another's only with the permission", async () => {
  const house = await createHouse();
  const [member, viewer] = [await house.person(), await house.person("viewer")];
  expect((await house.get(`/staff/${member.id}/access`, { actor: member })).status).toBe(200);
  expect((await house.get(`/staff/${viewer.id}/access`, { actor: member })).body.code).toBe("acting_user_not_staff");
  expect((await house.get(`/staff/${member.id}/access`, { actor: viewer })).status).toBe(200);
  const narrow = await house.makeKey(["cases.*"]);
  expect((await house.get(`/staff/${viewer.id}/access`, { actor: viewer, key: narrow })).body).toMatchObject({
    code: "permission_denied",
    missing_in: "key",
  });
});

test("a call holds what both its key and its actor hold", async () => {
  const house = await createHouse();
  const [moderator, admin] = [await house.person("moderator"), await house.person("admin")];
  const narrow = await house.makeKey(["staffroles.read"]);
  const body = { name: "x", rank: 1, level: "viewer", discord: [] };
  const put = async (asked: Parameters<House["put"]>[2]) => (await house.put("/staffroles/x", body, asked)).body;
  const mute = await house.makeKey(["*"], "none");
  const before = await house.auditCount();
  expect(await put({ actor: moderator })).toMatchObject({
    code: "permission_denied",
    required: "staffroles.manage",
    missing_in: "acting_user",
  });
  expect(await put({ actor: admin, key: narrow })).toMatchObject({ code: "permission_denied", missing_in: "key" });
  expect(await put({})).toMatchObject({ code: "acting_user_required" });
  expect(await put({ actor: await house.person() })).toMatchObject({ code: "acting_user_not_staff" });
  expect(await put({ actor: admin, key: mute })).toMatchObject({
    code: "permission_denied",
    missing_in: "key",
  });
  expect([await house.auditCount(), await house.database.read.staffRole.count({ where: { key: "x" } })]).toEqual([before, 0]);
  expect(await put({ actor: admin })).toMatchObject({ success: true, data: { key: "x", revision: 1 } });
  expect(await house.auditCount()).toBe(before + 1);
});

async function withOverride(permission: string, effect: string, expiresAt: Date | null = null): Promise<{ house: House; id: string }> {
  const house = await createHouse();
  const person = await house.person("admin");
  await house.database.write(house.cli(), ({ db, now }) =>
    db.userPermission.create({ data: { userId: person.id, permission, effect, reason: "test", expiresAt, createdAt: now } }),
  );
  await house.access.load();
  return { house, id: person.id };
}

test("a suspension takes everything at once", async () => {
  const { house, id } = await withOverride("*", "deny");
  expect(await access(house, id)).toMatchObject({
    allowed: false,
    status: "suspended",
    permissions: [],
    denied: ["*"],
    level: "admin",
    reasons: [{ code: "suspension" }, { code: "role_mapping" }],
  });
  expect((await house.put("/staffroles/x", { name: "x", rank: 1, level: "viewer", discord: [] }, { actor: id })).body.code).toBe(
    "permission_denied",
  );
});

test("a personal denial beats the role and is listed", async () => {
  const { house, id } = await withOverride("cases.read", "deny");
  const view = await access(house, id, "?permission=cases.read");
  expect(view).toMatchObject({ allowed: false, denied: ["cases.read"], status: "active" });
  expect(view.decisions[0].reasons.map((reason: { code: string }) => reason.code)).toEqual(["user_deny", "role_mapping"]);
});

test("a temporary entry ends by itself", async () => {
  const time = { now: new Date() };
  const house = await createHouse({ clock: { now: () => time.now } });
  const { id } = await house.person("viewer");
  const expiresAt = new Date(time.now.getTime() + 60_000);
  await house.database.write(house.cli(), ({ db, now }) =>
    db.userPermission.create({
      data: { userId: id, permission: "cases.delete", effect: "allow", reason: "test", expiresAt, createdAt: now },
    }),
  );
  await house.access.load();
  expect(await access(house, id, "?permission=cases.delete")).toMatchObject({ allowed: true, expires_at: expiresAt.toISOString() });
  await house.settled();
  const before = house.access.of(id);
  expect(house.access.of(id)).toBe(before);
  time.now = expiresAt;
  expect(house.access.of(id)).not.toBe(before);
  expect(await access(house, id, "?permission=cases.delete")).toMatchObject({ allowed: false, expires_at: null });
});

test("with Discord gone the last state answers, marked stale, and privileged writes wait for it", async () => {
  const now = new Date();
  const house = await createHouse({ staleLimitSeconds: 0, clock: { now: () => now } });
  const admin = await house.person("admin");
  await house.settled();
  expect(await access(house, admin.id)).not.toHaveProperty("stale");
  void house.sandbox.faults.down(60_000);
  await house.sandbox.waitFor(() => house.guildState.isTooOld());
  expect(await access(house, admin.id)).toMatchObject({ allowed: true, level: "admin", stale: true, as_of: expect.any(String) });
  expect((await house.get("/staff")).body.meta).toMatchObject({ stale: true });
  const refused = await house.put("/staffroles/x", { name: "x", rank: 1, level: "viewer", discord: [] }, { actor: admin });
  expect([refused.status, refused.body.code]).toEqual([503, "roster_stale"]);
});

test("whoever is known is answered at once, without waiting for the database or Discord", async () => {
  const house = await createHouse();
  const person = await house.person("senior");
  const call = { ...house.cli(), actor: house.access.of(person.id) };
  for (const query of [{}, { permission: "cases.read" }, { guild_id: house.guild.id }])
    expect(house.staff.access(call, person.id, query)).toMatchObject({ view: { user_id: person.id, allowed: true } });
  expect(house.staff.access(call, nobody)).toBeInstanceOf(Promise);
});

test("owners by configuration are owners without being members", async () => {
  const house = await createHouse({ ownerIds: [nobody] });
  expect(await access(house, nobody)).toMatchObject({
    allowed: true,
    level: "owner",
    reasons: [{ code: "owner", source: "configuration", ref: null }],
  });
});

test("the profile shows memberships to holders, hides strangers, and knows former staff", async () => {
  const house = await createHouse();
  const [viewer, moderator, member] = [await house.person("viewer", "vera"), await house.person("moderator"), await house.person()];
  const profile = await house.get(`/staff/${viewer.id}/profile`, { actor: moderator });
  expect(profile.body.data).toMatchObject({
    user: { id: viewer.id, username_snapshot: "vera", in_community: true },
    level: "viewer",
    status: "active",
    guilds: [{ guild_id: house.guild.id, name: "Harbour" }],
  });
  expect((await house.get(`/staff/${member.id}/profile`)).body.code).toBe("record_not_found");
  house.guild.setRoles(viewer, []);
  await house.sandbox.waitFor(() => !house.access.of(viewer.id).isStaff);
  expect((await house.get(`/staff/${viewer.id}/profile`, { actor: viewer })).body.data).toMatchObject({ status: "former" });
  expect((await house.get(`/staff/${viewer.id}/profile`, { actor: viewer })).body.data).not.toHaveProperty("guilds");
});

test("the list pages through staff by rank and filters them", async () => {
  const house = await createHouse();
  const rungs: Rung[] = ["viewer", "viewer", "senior", "admin", "moderator", "owner"];
  for (const rung of rungs) await house.person(rung);
  await house.person();
  const seen: string[] = [];
  let path: string | null = "/staff?limit=2";
  while (path !== null) {
    const { body, headers } = await house.get(path);
    seen.push(...body.data.map((entry: { level: string }) => entry.level));
    path = /<([^>]+)>/.exec(headers.get("link") ?? "")?.[1] ?? null;
  }
  expect(seen).toEqual(["owner", "admin", "senior", "moderator", "viewer", "viewer"]);
  const levelsOf = async (query: string) => (await house.get(`/staff?${query}`)).body.data.map((entry: { level: string }) => entry.level);
  expect(await levelsOf("role=senior")).toEqual(["senior"]);
  expect(await levelsOf("level=viewer")).toEqual(["viewer", "viewer"]);
  expect(await levelsOf("status=former")).toEqual([]);
  expect(await levelsOf("q=PERSON3")).toEqual(["senior"]);
  const first = await house.get("/staff?limit=2");
  expect((await house.get(`/staff?limit=2&level=viewer&cursor=${first.body.page.next_cursor}`)).body.code).toBe("invalid_cursor");
});

test("the slash command answers through the same verb", async () => {
  const house = await createHouse();
  const mayUseCommands = house.guild.createRole("commands", { permissions: ["Administrator"] });
  const [viewer, member] = [await house.person("viewer"), await house.person()];
  house.guild.setRoles(viewer, [house.roles.viewer, mayUseCommands]);
  house.guild.setRoles(member, [mayUseCommands]);
  await house.sandbox.waitFor(() => house.sandbox.exchanges.some(({ method, path }) => method === "PUT" && path.endsWith("/commands")));
  const ask = async (by: typeof viewer, user: typeof viewer): Promise<string> => {
    const run = await house.sandbox.as(by).in(house.guild).runSlashCommand("staff access", { user });
    return (await run.reply()).content;
  };
  expect(await ask(viewer, member)).toMatch(/has no access[^]*a member without a staff role/);
  expect(await ask(viewer, viewer)).toMatch(/has access[^]*stands for the staff role \*\*viewer\*\*/);
  expect(await ask(member, member)).toContain("has no access");
  expect(await ask(member, viewer)).toContain("acting_user_not_staff");
});
