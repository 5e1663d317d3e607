import { expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { everyRow, shareWorld } from "../contract/world.ts";

const shared = shareWorld();
const reason = "For this test";

interface Traced {
  step: string;
  effect: string;
  decides: boolean;
  text: string;
  ref: string | null;
}

const explain = async (by: User, body: object) => (await shared.world.post("/permissions/explain", body, { actor: by })).body;
const stepsOf = async (by: User, person: { id: string }, key: string, guild?: string): Promise<string[]> => {
  const context = guild === undefined ? {} : { context: { guild_id: guild } };
  return (await explain(by, { user_id: person.id, key, ...context })).data.trace.map((one: Traced) => one.step);
};
const give = (by: User, to: { id: string }, overrides: object[]) =>
  shared.world.patch(`/permissions/users/${to.id}`, { overrides: overrides.map((one) => ({ reason, ...one })) }, { actor: by });
const roleAllows = (by: User, role: string, body: object) => shared.world.patch(`/permissions/roles/${role}`, body, { actor: by });

test("every rule that speaks is told in order, and the first decides", async () => {
  const { world } = shared;
  const [owner, moderator] = [await world.staff("owner"), await world.staff("moderator")];
  world.guild.setRoles(moderator, [world.roles.moderator, world.roles.viewer]);
  await world.sandbox.waitFor(() => world.app.access.of(moderator.id).held.length === 2);
  await roleAllows(owner, "moderator", { deny: ["staff.stats"], allow: ["roster.edit"] });
  await roleAllows(owner, "viewer", { allow: ["staff.stats"] });
  const end = new Date(Math.ceil(Date.now() / 1000) * 1000 + 3_600_000).toISOString();
  await give(owner, moderator, [
    { key: "staff.stats", effect: "allow", expires_at: end },
    { key: "staff.stats", effect: "deny", scope: world.guild.id },
  ]);
  const told = (await explain(owner, { user_id: moderator.id, key: "staff.stats" })).data;
  const { ref } = told.trace[0];
  expect(told).toEqual({
    user_id: moderator.id,
    key: "staff.stats",
    allowed: true,
    expires_at: end,
    order: ["owner", "suspension", "blacklist", "loa_policy", "user_deny", "user_allow", "role_deny", "role_allow", "default", "nothing"],
    trace: [
      {
        step: "user_allow",
        effect: "allow",
        decides: true,
        code: "user_allow",
        source: "user",
        ref,
        expires_at: end,
        text: `An entry of their own allows it until ${end}.`,
      },
      {
        step: "role_deny",
        effect: "deny",
        decides: false,
        code: "role_mapping",
        source: "role_deny",
        ref: "moderator",
        text: "The staff role moderator denies it.",
      },
      {
        step: "role_allow",
        effect: "allow",
        decides: false,
        code: "role_mapping",
        source: "role_allow",
        ref: "viewer",
        text: "The staff role viewer allows it.",
      },
    ],
  });
  const here = (await explain(owner, { user_id: moderator.id, key: "staff.stats", context: { guild_id: world.guild.id } })).data;
  expect(here.trace[0]).toMatchObject({
    step: "user_deny",
    effect: "deny",
    scope: world.guild.id,
    expires_at: null,
    text: `An entry of their own denies it in the guild ${world.guild.id}.`,
  });
  expect([here.allowed, here.expires_at, here.trace.length]).toEqual([false, null, 4]);
  expect((await explain(owner, { user_id: moderator.id, key: "cases.read" })).data.trace).toEqual([
    {
      step: "default",
      effect: "allow",
      decides: true,
      code: "role_mapping",
      source: "default",
      ref: "moderator",
      text: "The staff role moderator is of the level moderator, which holds it by default.",
    },
  ]);
  expect(await stepsOf(owner, moderator, "cases.delete")).toEqual(["nothing"]);
  await roleAllows(owner, "moderator", { clear: ["staff.stats", "roster.edit"] });
  await roleAllows(owner, "viewer", { clear: ["staff.stats"] });
});

test("owners, the suspended, the blacklisted and strangers are explained, too", async () => {
  const { world } = shared;
  const [owner, other, moderator, listed] = [
    await world.staff("owner"),
    await world.staff("owner"),
    await world.staff("moderator"),
    await world.staff("moderator"),
  ];
  await world.app.database.write(systemCall("job", uuid7()), ({ db, now }) =>
    db.userPermission.create({ data: { userId: moderator.id, permission: "*", effect: "deny", reason, createdAt: now } }),
  );
  await world.app.access.load();
  await world.post("/blacklist", { kind: "user", subject_id: listed.id, severity: "critical" }, { actor: owner });
  await give(owner, other, [{ key: "cases.read", effect: "deny" }]);
  expect(await stepsOf(owner, moderator, "cases.read")).toEqual(["suspension", "default"]);
  expect(await stepsOf(owner, listed, "cases.read")).toEqual(["blacklist", "default"]);
  expect(await stepsOf(owner, other, "cases.read")).toEqual(["owner", "user_deny", "default"]);
  const owned = (await explain(owner, { user_id: other.id, key: "cases.read" })).data;
  expect([owned.allowed, owned.expires_at, owned.trace[0].text]).toEqual([true, null, "They are an owner by the staff role owner."]);
  const stranger = (await explain(owner, { user_id: world.member().id, key: "cases.read" })).data;
  expect(stranger).toMatchObject({ allowed: false, trace: [{ step: "nothing", code: "not_member", text: "They hold no staff role." }] });
  expect((await explain(owner, { user_id: owner.id, key: "system.act" })).data).toMatchObject({
    allowed: false,
    trace: [{ step: "nothing", text: "API keys alone hold it, by their scopes; no person does." }],
  });
});

test("questions that have no answer are refused by their field", async () => {
  const owner = await shared.world.staff("owner");
  const unknown = "99999999999999999";
  expect((await explain(owner, { user_id: owner.id, key: "no.such" })).errors).toMatchObject([
    { pointer: "/key", code: "unknown_permission" },
  ]);
  expect((await explain(owner, { user_id: owner.id, key: "cases.read", context: { guild_id: unknown } })).errors).toMatchObject([
    { pointer: "/context/guild_id", code: "unknown_guild" },
  ]);
  const effective = await shared.world.get(`/permissions/users/${owner.id}/effective?guild_id=${unknown}`);
  expect([effective.status, effective.body.errors]).toMatchObject([422, [{ pointer: "/guild_id", in: "query", code: "unknown_guild" }]]);
});

test("the whole catalog is decided for one person as it is key by key; everybody reads their own", async () => {
  const { world } = shared;
  const [owner, viewer, other] = [await world.staff("owner"), await world.staff("viewer"), await world.staff("viewer")];
  const end = new Date(Math.ceil(Date.now() / 1000) * 1000 + 3_600_000).toISOString();
  await give(owner, viewer, [
    { key: "cases.close", effect: "allow", expires_at: end },
    { key: "staff.read", effect: "deny", expires_at: end },
  ]);
  const asked = await world.get(`/permissions/users/${viewer.id}/effective`, { actor: viewer });
  expect(asked.body.data).toMatchObject({ user_id: viewer.id, guild_id: null, level: "viewer", rank: 10, status: "active", barred: false });
  const { permissions } = asked.body.data;
  const catalog = (await world.get("/permissions/catalog")).body.data.map((one: { key: string }) => one.key);
  expect(permissions.map((one: { key: string }) => one.key)).toEqual(catalog);
  const of = (key: string) => permissions.find((one: { key: string }) => one.key === key);
  expect(of("cases.close")).toMatchObject({ allowed: true, expires_at: end, reason: { code: "user_allow" } });
  expect(of("staff.read")).toMatchObject({ allowed: false, expires_at: null, reason: { code: "user_deny" } });
  expect(of("servers.read")).toMatchObject({ allowed: true, expires_at: null, reason: { source: "default", ref: "viewer" } });
  const access = (await world.get(`/staff/${viewer.id}/access`)).body.data;
  expect(permissions.flatMap((one: { key: string; allowed: boolean }) => (one.allowed ? [one.key] : []))).toEqual(access.permissions);
  expect((await world.get(`/permissions/users/${viewer.id}/effective`, { actor: other })).body.code).toBe("permission_denied");
  expect((await world.get(`/permissions/users/${world.member().id}/effective`)).body.data).toMatchObject({
    status: null,
    level: "none",
    rank: 0,
  });
});

const simulate = async (by: User, changes: object[]) => (await shared.world.post("/permissions/simulate", { changes }, { actor: by })).body;

test("a simulation tells who would gain and lose what, and saving it does exactly that", async () => {
  const { world } = shared;
  const owner = await world.staff("owner");
  const role = world.guild.createRole("crew");
  await world.sandbox.waitFor(() => world.app.guildState.role(world.guild.id, role.id) !== undefined);
  const discord = [{ guild_id: world.guild.id, role_id: role.id }];
  await world.put("/staffroles/crew", { name: "crew", rank: 25, level: "viewer", discord }, { actor: owner });
  const crew: User[] = [];
  for (const name of ["ann", "bob", "cid", "dan"]) {
    const person = world.sandbox.createUser(name);
    world.guild.addMember(person, { roles: name === "dan" ? [role, world.roles.moderator] : [role] });
    await world.sandbox.waitFor(() => world.app.access.of(person.id).isStaff);
    crew.push(person);
  }
  const [ann, bob, cid, dan] = crew as [User, User, User, User];
  await give(owner, bob, [{ key: "cases.close", effect: "deny" }]);
  await world.sandbox.waitFor(() => world.app.access.of(dan.id).held.length === 2);
  const changes = [
    { role_key: "crew", allow: ["cases.close", "cases.read"], deny: ["staff.read"] },
    { user_id: cid.id, deny: ["cases.read"] },
    { user_id: ann.id, allow: ["cases.delete"], scope: world.guild.id },
  ];
  const before = await everyRow(world);
  const told = await simulate(owner, changes);
  expect(await everyRow(world)).toEqual(before);
  expect(told.data.roles).toEqual([{ role_key: "crew", gains: ["cases.close", "cases.read"], loses: ["staff.read"] }]);
  expect([told.data.refusals, told.data.people_total]).toEqual([[], 5]);
  const sorted = (people: object[]) => people.map((one) => JSON.stringify(one)).toSorted();
  expect(told.data.people[0]).toEqual({ user_id: dan.id, scope: null, gains: ["cases.close"], loses: ["staff.read"] });
  expect(sorted(told.data.people)).toEqual(
    sorted([
      { user_id: dan.id, scope: null, gains: ["cases.close"], loses: ["staff.read"] },
      { user_id: ann.id, scope: null, gains: ["cases.close", "cases.read"], loses: ["staff.read"] },
      { user_id: ann.id, scope: world.guild.id, gains: ["cases.close", "cases.delete", "cases.read"], loses: ["staff.read"] },
      { user_id: bob.id, scope: null, gains: ["cases.read"], loses: ["staff.read"] },
      { user_id: cid.id, scope: null, gains: ["cases.close"], loses: ["staff.read"] },
    ]),
  );

  const held = async (person: User) => new Set<string>((await world.get(`/staff/${person.id}/access`)).body.data.permissions as string[]);
  const was = await Promise.all(crew.map(held));
  await roleAllows(owner, "crew", { allow: ["cases.close", "cases.read"], deny: ["staff.read"] });
  await give(owner, cid, [{ key: "cases.read", effect: "deny" }]);
  await give(owner, ann, [{ key: "cases.delete", effect: "allow", scope: world.guild.id }]);
  const is = await Promise.all(crew.map(held));
  for (const [index, person] of crew.entries()) {
    const [old, now] = [was[index] ?? new Set(), is[index] ?? new Set()];
    const foreseen = told.data.people.find(
      (one: { user_id: string; scope: string | null }) => one.user_id === person.id && one.scope === null,
    );
    expect([...now].filter((key) => !old.has(key))).toEqual(foreseen.gains);
    expect([...old].filter((key) => !now.has(key))).toEqual(foreseen.loses);
  }
});

test("a simulation names the changes its caller could not save, each with the first reason", async () => {
  const { world } = shared;
  const [owner, admin, moderator, viewer] = [
    await world.staff("owner"),
    await world.staff("admin"),
    await world.staff("moderator"),
    await world.staff("viewer"),
  ];
  await give(owner, viewer, [{ key: "workflows.override", effect: "deny" }]);
  const changes = [
    { role_key: "admin", deny: ["cases.read"] },
    { role_key: "viewer", allow: ["cases.delete"] },
    { user_id: owner.id, deny: ["cases.read"] },
    { user_id: admin.id, allow: ["cases.read"] },
    { user_id: viewer.id, clear: ["workflows.override"] },
    { user_id: viewer.id, allow: ["cases.close"] },
    { role_key: "viewer", deny: ["staff.read"] },
  ];
  const codes = async (by: User) =>
    (await simulate(by, changes)).data.refusals.map(({ index, code }: { index: number; code: string }) => [index, code]);
  expect(await codes(admin)).toEqual([
    [0, "hierarchy_violation"],
    [1, "cannot_grant_unheld"],
    [2, "hierarchy_violation"],
    [3, "hierarchy_violation"],
    [4, "cannot_grant_unheld"],
  ]);
  expect(await codes(moderator)).toEqual(changes.map((_, index) => [index, "permission_denied"]));
  expect(await codes(owner)).toEqual([]);
  expect((await world.post("/permissions/simulate", { changes }, { actor: viewer })).body.code).toBe("permission_denied");
});

test("later changes of a simulation find what earlier ones would have left", async () => {
  const { world } = shared;
  const [owner, viewer] = [await world.staff("owner"), await world.staff("viewer")];
  const none = await simulate(owner, [
    { user_id: viewer.id, allow: ["cases.close"] },
    { user_id: viewer.id, clear: ["cases.close"] },
    { role_key: "viewer", allow: ["cases.close"] },
    { role_key: "viewer", clear: ["cases.close"] },
  ]);
  expect(none.data).toEqual({ people: [], people_total: 0, roles: [{ role_key: "viewer", gains: [], loses: [] }], refusals: [] });
  const both = await simulate(owner, [
    { user_id: viewer.id, allow: ["cases.close"] },
    { user_id: viewer.id, allow: ["cases.read"] },
    { role_key: "viewer", allow: ["cases.note"] },
    { role_key: "viewer", allow: ["cases.create"] },
  ]);
  expect(both.data.roles).toEqual([{ role_key: "viewer", gains: ["cases.create", "cases.note"], loses: [] }]);
  const own = both.data.people.find((one: { user_id: string }) => one.user_id === viewer.id);
  expect(own.gains).toEqual(["cases.close", "cases.create", "cases.note", "cases.read"]);
});

test("changes that cannot be are refused by their field", async () => {
  const owner = await shared.world.staff("owner");
  const flaws: [object, string, string][] = [
    [{ role_key: "nowhere", allow: ["cases.read"] }, "/changes/0/role_key", "unknown_role"],
    [{ user_id: owner.id, deny: ["cases.read", "no.such"] }, "/changes/0/deny/1", "unknown_permission"],
    [{ user_id: owner.id, allow: ["system.act"] }, "/changes/0/allow/0", "client_only"],
    [{ user_id: owner.id, allow: ["cases.read"], scope: "99999999999999999" }, "/changes/0/scope", "unknown_guild"],
    [{ user_id: owner.id, role_key: "viewer", allow: ["cases.read"] }, "/changes/0/role_key", "contradiction"],
    [{ allow: ["cases.read"] }, "/changes/0/role_key", "contradiction"],
    [{ role_key: "viewer", allow: ["cases.read"], scope: shared.world.guild.id }, "/changes/0/scope", "contradiction"],
    [{ role_key: "viewer", allow: ["cases.read"], deny: ["cases.read"] }, "/changes/0/deny/0", "contradiction"],
    [{ role_key: "viewer" }, "/changes/0/allow", "required"],
  ];
  for (const [change, pointer, code] of flaws) {
    const { status, errors } = await simulate(owner, [change]);
    expect([change, status, errors]).toMatchObject([change, 422, [{ pointer, code }]]);
  }
  const many = Array.from({ length: 51 }, () => ({ role_key: "viewer", clear: ["cases.read"] }));
  expect((await simulate(owner, many)).errors).toMatchObject([{ pointer: "/changes", code: "too_many" }]);
});
