import { describe, expect, test } from "vitest";
import type { Database } from "../../src/database/database.ts";
import { createStaffRolesService } from "../../src/features/staff/roles/roles.service.ts";
import { createCursors } from "../../src/kernel/page.ts";
import type { Role, User } from "../../sandbox/index.ts";
import { shareWorld } from "../contract/world.ts";
import { createHouse } from "./staff-house.ts";

const shared = shareWorld();
let count = 0;

/** A staff role of its own with a Discord role of its own, and somebody who holds it. */
async function makeRole(settings: object = {}) {
  const { world } = shared;
  const key = `extra${(count += 1).toString()}`;
  const role = world.guild.createRole(key);
  await world.sandbox.waitFor(() => world.app.guildState.role(world.guild.id, role.id));
  const owner = await world.staff("owner");
  const body = { name: key, rank: 5, level: "viewer", discord: [refOf(role)], ...settings };
  const made = await world.put(`/staffroles/${key}`, body, { actor: owner });
  expect(made.status, JSON.stringify(made.body)).toBe(200);
  const holder = world.member();
  world.guild.setRoles(holder, [role]);
  await world.sandbox.waitFor(() => world.app.access.of(holder.id).isStaff);
  return { key, role, owner, holder, path: `/staffroles/${key}` };
}

const refOf = (role: Role) => ({ guild_id: shared.world.guild.id, role_id: role.id });
const auditOf = async (key: string) =>
  (await shared.world.get(`/audit?target=staff_role:${key}`)).body.data as { action: string; before: any; after: any; reason: string }[];
const eventsOf = async (key: string): Promise<any[]> => {
  const rows = await shared.world.app.database.read.outboxEvent.findMany({
    where: { type: "staff_role.changed" },
    orderBy: { seq: "asc" },
  });
  return rows.map(({ data }) => data as any).filter((data) => data.role_key === key);
};
const rowsOf = async (key: string) => {
  const { read } = shared.world.app.database;
  const where = { staffRoleKey: key };
  return [
    await read.staffRole.count({ where: { key } }),
    await read.staffRoleDiscordRole.count({ where }),
    await read.rolePermission.count({ where }),
  ];
};

describe("parts of a staff role", () => {
  test("are changed alone, and the rest stays", async () => {
    const { world } = shared;
    const { key, path, owner, role } = await makeRole({ capacity: 3, callsign_pool: "alpha" });
    const answer = await world.patch(path, { name: "Renamed", rank: 6 }, { actor: owner, headers: { "if-match": '"v1"' } });
    expect([answer.status, answer.headers.get("etag")]).toEqual([200, '"v2"']);
    expect(answer.body.data).toMatchObject({ name: "Renamed", rank: 6, level: "viewer", capacity: 3, callsign_pool: "alpha" });
    expect(answer.body.data.discord).toMatchObject([{ role_id: role.id, missing: false }]);
    const emptied = await world.patch(path, { capacity: null, callsign_pool: null }, { actor: owner });
    expect(emptied.body.data).toMatchObject({ name: "Renamed", capacity: null, callsign_pool: null, revision: 3 });
    const [last] = await auditOf(key);
    expect(last).toMatchObject({ action: "staff_role.update", before: { capacity: 3 }, after: { capacity: null } });
    expect((await eventsOf(key)).map(({ change }) => change)).toEqual(["created", "updated", "updated"]);
  });

  test("that are as sent already change nothing", async () => {
    const { world } = shared;
    const { key, path, owner } = await makeRole();
    const answer = await world.patch(path, { rank: 5, level: "viewer" }, { actor: owner });
    expect(answer.body.data.revision).toBe(1);
    expect((await auditOf(key)).map(({ action }) => action)).toEqual(["staff_role.create"]);
    expect(await eventsOf(key)).toHaveLength(1);
  });

  test("are refused when there are none, when they are wrong, and when the role is not there", async () => {
    const { world } = shared;
    const { key, path, owner, role } = await makeRole();
    const asked = { actor: owner };
    for (const body of [{}, { rank: -1 }, { name: null }, { revision: 9 }, { discord: [refOf(role), refOf(role)] }]) {
      expect((await world.patch(path, body, asked)).status).toBe(422);
    }
    const elsewhere = { discord: [{ guild_id: "80351110224678912", role_id: role.id }] };
    expect((await world.patch(path, elsewhere, asked)).body.errors).toMatchObject([
      { pointer: "/discord/0/guild_id", code: "unknown_guild" },
    ]);
    expect((await world.patch("/staffroles/none", { rank: 1 }, asked)).body.code).toBe("record_not_found");
    const outdated = { ...asked, headers: { "if-match": '"v7"' } };
    expect((await world.patch(path, { rank: 1 }, outdated)).body).toMatchObject({ code: "precondition_failed", current_etag: '"v1"' });
    expect((await world.get(path)).body.data).toMatchObject({ rank: 5, revision: 1 });
    expect(await auditOf(key)).toHaveLength(1);
  });

  test("tell when more people hold the role than it has room for", async () => {
    const { world } = shared;
    const { path, owner, role } = await makeRole({ capacity: 1 });
    expect((await world.get(path)).body.data).toMatchObject({ members_count: 1, over_capacity: false });
    const second = world.member();
    world.guild.setRoles(second, [role]);
    await world.sandbox.waitFor(() => world.app.access.of(second.id).isStaff);
    expect((await world.get(path)).body.data).toMatchObject({ members_count: 2, capacity: 1, over_capacity: true });
    expect((await world.patch(path, { capacity: 2 }, { actor: owner })).body.data.over_capacity).toBe(false);
  });
});

describe("deleting a staff role", () => {
  test("takes its access away at once, answers it as it was, and keeps the reason", async () => {
    const { world } = shared;
    const { key, path, owner, holder } = await makeRole();
    await world.put(`/permissions/roles/${key}`, { allow: ["audit.read"], deny: ["staff.read"] }, { actor: owner });
    const answer = await world.delete(path, { reason: "The team was dissolved." }, { actor: owner });
    expect([answer.status, answer.body.data]).toMatchObject([200, { key, rank: 5, members_count: 1, revision: 2 }]);
    expect((await world.get(`/staff/${holder.id}/access`)).body.data).toMatchObject({
      allowed: false,
      status: "former",
      staff_roles: [],
      reasons: [{ code: "not_member", source: "staff" }],
    });
    expect((await world.get(path)).body.code).toBe("record_not_found");
    expect((await world.delete(path, undefined, { actor: owner })).body.code).toBe("record_not_found");
    expect(await rowsOf(key)).toEqual([0, 0, 0]);
    const [last] = await auditOf(key);
    expect(last).toMatchObject({ action: "staff_role.delete", reason: "The team was dissolved.", before: { name: key }, after: null });
    expect((await eventsOf(key)).at(-1)).toEqual({ role_key: key, change: "deleted" });
  });

  test("takes a reason from the query, needs none, and minds If-Match", async () => {
    const { world } = shared;
    const [named, silent] = [await makeRole(), await makeRole()];
    const outdated = { actor: named.owner, headers: { "if-match": '"v2"' } };
    expect((await world.delete(named.path, undefined, outdated)).body.code).toBe("precondition_failed");
    expect(await rowsOf(named.key)).toEqual([1, 1, 0]);
    expect((await world.delete(`${named.path}?reason=Not+needed`, undefined, { actor: named.owner })).status).toBe(200);
    expect((await auditOf(named.key))[0]).toMatchObject({ reason: "Not needed" });
    expect((await world.delete(silent.path, undefined, { actor: silent.owner })).status).toBe(200);
  });

  test("leaves room for a new one of the same key, which begins anew and counts at once", async () => {
    const { world } = shared;
    const { key, path, owner, holder, role } = await makeRole();
    await world.put(`/permissions/roles/${key}`, { allow: ["audit.read"], deny: [] }, { actor: owner });
    for (const name of ["a", "b"]) await world.patch(path, { name }, { actor: owner });
    await world.delete(path, undefined, { actor: owner });
    const made = await world.put(path, { name: "New", rank: 4, level: "viewer", discord: [refOf(role)] }, { actor: owner });
    expect(made.body.data).toMatchObject({ name: "New", revision: 1, members_count: 1 });
    const access = (await world.get(`/staff/${holder.id}/access`)).body.data;
    expect(access).toMatchObject({ allowed: true, rank: 4 });
    expect(access.permissions).not.toContain("audit.read");
    await world.app.access.load();
    expect((await world.get(`/staff/${holder.id}/access`)).body.data).toMatchObject({ allowed: true, rank: 4 });
  });

  test("happens once for a repeated Idempotency-Key", async () => {
    const { world } = shared;
    const { key, path, owner } = await makeRole();
    const asked = { actor: owner, headers: { "idempotency-key": `delete-${key}` } };
    const [first, second] = [await world.delete(path, undefined, asked), await world.delete(path, undefined, asked)];
    expect([second.status, second.body, second.headers.get("idempotency-replayed")]).toEqual([200, first.body, "true"]);
    expect((await auditOf(key)).filter(({ action }) => action === "staff_role.delete")).toHaveLength(1);
  });
});

describe("nobody climbs by changing or deleting a staff role", () => {
  let cast: Promise<{ admin: User; owner: User }> | undefined;
  const scene = () => (cast ??= (async () => ({ admin: await shared.world.staff("admin"), owner: await shared.world.staff("owner") }))());

  test.each([
    ["PATCH", "admin", { rank: 1 }, "hierarchy_violation"],
    ["PATCH", "owner", { capacity: 5 }, "hierarchy_violation"],
    ["PATCH", "viewer", { rank: 80 }, "hierarchy_violation"],
    ["PATCH", "viewer", { rank: 999_999 }, "hierarchy_violation"],
    ["PATCH", "viewer", { level: "owner" }, "hierarchy_violation"],
    ["DELETE", "admin", undefined, "hierarchy_violation"],
    ["DELETE", "owner", undefined, "hierarchy_violation"],
  ] as const)("%s of %s with %j is refused", async (method, key, body, code) => {
    const { world } = shared;
    const { admin } = await scene();
    const before = await auditOf(key);
    const answer = await world.request(method, `/staffroles/${key}`, body, { actor: admin });
    expect(answer.body).toMatchObject({ status: 403, code });
    expect(await auditOf(key)).toEqual(before);
    expect(await rowsOf(key)).toEqual([1, 1, 0]);
  });

  test("a level that gives more than its author holds is refused, as is a new Discord role for what they lack", async () => {
    const { world } = shared;
    const { admin, owner } = await scene();
    const { key, path, role } = await makeRole();
    const lacking = { allow: [], deny: ["cases.close"] };
    const denier = await makeRole({ rank: 7 });
    await world.put(`/permissions/roles/${denier.key}`, lacking, { actor: owner });
    world.guild.setRoles(admin, [world.roles.admin, denier.role]);
    await world.sandbox.waitFor(() => !world.app.access.of(admin.id).decide("cases.close").allowed);
    expect((await world.patch(path, { level: "senior" }, { actor: admin })).body).toMatchObject({
      code: "cannot_grant_unheld",
      unheld: ["cases.close"],
    });
    await world.put(`/permissions/roles/${key}`, { allow: ["cases.delete"], deny: [] }, { actor: owner });
    const second = world.guild.createRole("second");
    await world.sandbox.waitFor(() => world.app.guildState.role(world.guild.id, second.id));
    const joined = await world.patch(path, { discord: [refOf(role), refOf(second)] }, { actor: admin });
    expect(joined.body).toMatchObject({ code: "cannot_grant_unheld", unheld: ["cases.delete"] });
    expect((await world.patch(path, { rank: 3 }, { actor: admin })).status).toBe(200);
    world.guild.setRoles(admin, [world.roles.admin]);
    await world.sandbox.waitFor(() => world.app.access.of(admin.id).decide("cases.close").allowed);
  });

  test("what a role denies to its author is not shaken off by unmapping, deleting or raising that role", async () => {
    const { world } = shared;
    const { owner } = await scene();
    const author = await world.staff("admin");
    const { key, path, role } = await makeRole();
    await world.put(`/permissions/roles/${key}`, { allow: [], deny: ["blacklist.purge", "staff.suspend"] }, { actor: owner });
    world.guild.setRoles(author, [world.roles.admin, role]);
    await world.sandbox.waitFor(() => !world.app.access.of(author.id).decide("staff.suspend").allowed);
    const before = await auditOf(key);
    const refused = { code: "cannot_grant_unheld", unheld: ["blacklist.purge", "staff.suspend"], missing_in: "acting_user" };
    expect((await world.patch(path, { discord: [] }, { actor: author })).body).toMatchObject(refused);
    expect((await world.put(path, { name: key, rank: 5, level: "viewer", discord: [] }, { actor: author })).body).toMatchObject(refused);
    expect((await world.delete(path, undefined, { actor: author })).body).toMatchObject(refused);
    expect(await auditOf(key)).toEqual(before);
    expect((await world.get(`/staff/${author.id}/access?permission=staff.suspend`)).body.data.allowed).toBe(false);
    const free = await world.staff("admin");
    const stillLacking = { code: "cannot_grant_unheld", unheld: ["blacklist.purge"] };
    expect((await world.delete(path, undefined, { actor: free })).body).toMatchObject(stillLacking);
    expect((await world.delete(path, undefined, { actor: owner })).status).toBe(200);
    expect((await world.get(`/staff/${author.id}/access?permission=staff.suspend`)).body.data.allowed).toBe(true);
  });

  test("a key that lacks what a change gives is refused, whoever acts", async () => {
    const { world } = shared;
    const { owner } = await scene();
    const { path } = await makeRole();
    const narrow = await world.makeKey(["staffroles.*"]);
    expect((await world.patch(path, { level: "moderator" }, { actor: owner, key: narrow })).body).toMatchObject({
      code: "cannot_grant_unheld",
      missing_in: "key",
    });
    expect((await world.patch(path, { name: "Fine" }, { actor: owner, key: narrow })).status).toBe(200);
  });
});

test("the last owner stays, whatever is done to their role", async () => {
  const house = await createHouse();
  const owner = await house.person("owner");
  const before = await house.auditCount();
  const ask = async (method: string, body?: object) => (await house.ask(method, "/staffroles/owner", body, { actor: owner })).body.code;
  expect(await ask("PATCH", { discord: [] })).toBe("last_owner");
  expect(await ask("PATCH", { level: "admin" })).toBe("last_owner");
  expect(await ask("DELETE")).toBe("last_owner");
  expect(await house.auditCount()).toBe(before);
  expect(house.access.of(owner.id).isOwner).toBe(true);
});

test("commits that are heard of in another order leave memory as the database is", async () => {
  const house = await createHouse();
  const held: (() => void)[] = [];
  let isHolding = false;
  /** Keeps back what one transaction has to say to memory, as a slow acknowledgement does. */
  const database: Database = {
    ...house.database,
    write: (call, work) =>
      house.database.write(call, (tx) => work(isHolding ? { ...tx, lock: tx.lock, afterCommit: (hook) => void held.push(hook) } : tx)),
  };
  const { audit, guildState, access, permissions } = house;
  const events = { emit: () => undefined };
  const watch = { look: () => undefined };
  const confirmations = { hold: () => Promise.resolve(undefined), register: () => undefined };
  const cursors = createCursors(Buffer.alloc(32));
  const roles = createStaffRolesService({ database, audit, events, confirmations, guildState, access, permissions, cursors, watch });
  const settings = { name: "Old", rank: 5, level: "viewer" as const, discord: [] };
  await roles.put(house.cli(), "twice", settings);
  await roles.patch(house.cli(), "twice", { name: "Older" });
  isHolding = true;
  await roles.remove(house.cli(), "twice");
  isHolding = false;
  await roles.put(house.cli(), "twice", { ...settings, name: "New" });
  expect(access.role("twice")).toMatchObject({ name: "New", revision: 1 });
  for (const hook of held) hook();
  expect(access.role("twice")).toMatchObject({ name: "New", revision: 1 });
  isHolding = true;
  await roles.patch(house.cli(), "twice", { name: "Newer" });
  isHolding = false;
  await roles.remove(house.cli(), "twice");
  for (const hook of held) hook();
  expect(access.role("twice")).toBeUndefined();
});
