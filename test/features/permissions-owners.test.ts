// @module-tag slow
import { expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createWorld, type World } from "../support/world.ts";
import { createJudgedWorld } from "../contract/world.ts";
import { createWorkplace, dotEnv } from "../cli/run.ts";
import { validEnvironment } from "../config/environment.ts";
import { createEmptyCopy } from "../support/database.ts";

const cli = () => systemCall("cli", uuid7());
const job = (world: World) => world.app.permissions.expireDue(systemCall("job", uuid7()));
const rows = async (world: World) =>
  (await world.app.database.read.owner.findMany({ orderBy: { userId: "asc" } })).map(({ userId, retained, createdBy }) => [
    userId,
    retained,
    createdBy,
  ]);
const audits = async (world: World, userId: string) =>
  (await world.app.database.read.auditEntry.findMany({ where: { subjectUserId: userId }, orderBy: { seq: "asc" } })).map(
    ({ action, via }) => [action, via],
  );
const ownerEvents = async (world: World) =>
  (await world.app.database.read.outboxEvent.findMany({ where: { type: "owner.changed" }, orderBy: { seq: "asc" } })).map(
    ({ data }) => data,
  );
const access = async (world: World, person: User) => (await world.get(`/staff/${person.id}/access`)).body.data;
const known = (world: World) => world.sandbox.waitFor(() => world.app.access.retainedOwners().length > 0);

/** Until the list of owners in the database has so many names. */
async function written(world: World, count: number): Promise<void> {
  for (let tries = 0; (await world.app.database.read.owner.count()) !== count; tries += 1) {
    if (tries > 500) throw new Error("the list of owners does not get as long as that");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** How Discord can take the last owner's role away, and give it back to somebody. */
const losses: Record<string, (world: World, owner: User) => void> = {
  "leaves the guild": ({ guild }, owner) => guild.kick(owner),
  "is banned": ({ guild }, owner) => guild.ban(owner),
  "loses the role": ({ guild }, owner) => guild.setRoles(owner, []),
  "holds a role that is deleted": ({ guild, roles }) => guild.deleteRole(roles.owner),
  "is in a guild the bot is removed from": ({ guild }) => guild.removeBot(),
};

test.each(Object.keys(losses))("the only owner, who %s, stays an owner, also after a restart", async (how) => {
  const world = await createJudgedWorld();
  const owner = await world.staff("owner");
  expect(world.app.access.isLastOwner(owner.id)).toBe(true);
  losses[how]?.(world, owner);
  await known(world);
  expect(await access(world, owner)).toMatchObject({ allowed: true, level: "owner", reasons: [{ code: "owner", source: "last_owner" }] });
  await written(world, 1);
  expect(await rows(world)).toEqual([[owner.id, true, "last_owner"]]);
  expect(await audits(world, owner.id)).toEqual([["owner.retain", "job"]]);
  expect(await ownerEvents(world)).toEqual([{ user_id: owner.id, owner: true }]);
  const put = () => world.put("/staffroles/extra", { name: "extra", rank: 5, level: "viewer", discord: [] }, { actor: owner });
  expect((await put()).status).toBe(200);
  await job(world);
  expect(await audits(world, owner.id)).toEqual([["owner.retain", "job"]]);
  if (how !== "is in a guild the bot is removed from") {
    await world.restart();
    expect(await access(world, owner)).toMatchObject({ allowed: true, level: "owner" });
    expect((await put()).status).toBe(200);
  }
  expect(await rows(world)).toHaveLength(1);
});

test("the last owner is kept although the service was down while Discord took the role away", async () => {
  const world = await createJudgedWorld();
  const owner = await world.staff("owner");
  const { app } = world;
  await app.discord.stop();
  world.guild.setRoles(owner, []);
  await world.restart();
  await known(world);
  await written(world, 1);
  expect(await access(world, owner)).toMatchObject({ allowed: true, level: "owner" });
});

test("with another owner there, one who loses the role is no owner any more", async () => {
  const world = await createWorld();
  const [owner, other] = [await world.staff("owner"), await world.staff("owner")];
  world.guild.setRoles(owner, []);
  await world.sandbox.waitFor(() => !world.app.access.of(owner.id).isOwner);
  await job(world);
  expect([await rows(world), world.app.access.listOwners()]).toEqual([[], [other.id]]);
  expect(world.app.access.isLastOwner(other.id)).toBe(true);
});

test("those who are kept are let go as soon as there is another owner", async () => {
  const world = await createJudgedWorld();
  const [owner, other] = [await world.staff("owner"), await world.staff("owner")];
  world.guild.deleteRole(world.roles.owner);
  await known(world);
  expect(world.app.access.retainedOwners().toSorted()).toEqual([owner.id, other.id].toSorted());
  await written(world, 2);
  const role = world.guild.createRole("new owners");
  await world.sandbox.waitFor(() => world.app.guildState.role(world.guild.id, role.id) !== undefined);
  const heir = world.sandbox.createUser("heir");
  world.guild.addMember(heir, { roles: [role] });
  const discord = [{ guild_id: world.guild.id, role_id: role.id }];
  expect((await world.put("/staffroles/owner", { name: "owner", rank: 100, level: "owner", discord }, { actor: owner })).status).toBe(200);
  await world.sandbox.waitFor(() => world.app.access.of(heir.id).isOwner);
  expect((await access(world, owner)).level).toBe("owner");
  await job(world);
  expect([await rows(world), world.app.access.listOwners()]).toEqual([[], [heir.id]]);
  expect(await access(world, owner)).toMatchObject({ allowed: false, level: "none" });
  expect(await audits(world, owner.id)).toEqual([
    ["owner.retain", "job"],
    ["owner.release", "job"],
  ]);
  expect((await ownerEvents(world)).slice(2)).toHaveLength(2);
  expect((await ownerEvents(world)).slice(2)).toEqual(expect.arrayContaining([{ user_id: owner.id, owner: false }]));
  world.guild.kick(heir);
  await known(world);
  expect(world.app.access.listOwners()).toEqual([heir.id]);
});

test("a failure to write it down is made up for by the job, and memory knows meanwhile", async () => {
  const world = await createJudgedWorld();
  const owner = await world.staff("owner");
  const { database } = world.app;
  const write = database.write.bind(database);
  let failures = 0;
  database.write = (call, work) => {
    if (call.via !== "job" || world.app.access.retainedOwners().length === 0) return write(call, work);
    failures += 1;
    return Promise.reject(new Error("the disk is full"));
  };
  world.guild.setRoles(owner, []);
  await known(world);
  await world.app.access.pollOwners();
  expect((await access(world, owner)).level).toBe("owner");
  database.write = write;
  expect([failures > 0, await rows(world)]).toEqual([true, []]);
  await job(world);
  expect(await rows(world)).toEqual([[owner.id, true, "last_owner"]]);
});

test("owners are named and taken off the list by the operator, and the last one stays", async () => {
  const world = await createJudgedWorld({ env: { OWNER_IDS: "" } });
  const { owners } = world.app.permissions;
  const [first, second, byRole, admin] = ["80351110224678912", "80351110224678913", await world.staff("owner"), await world.staff("admin")];
  await owners.add(cli(), first);
  await owners.add(cli(), first);
  await owners.add(cli(), second);
  expect(await rows(world)).toEqual([
    [first, false, "system"],
    [second, false, "system"],
  ]);
  expect(owners.list(cli())).toEqual([
    { user_id: first, sources: ["owners"] },
    { user_id: second, sources: ["owners"] },
    { user_id: byRole.id, sources: ["owner"] },
  ]);
  expect((await world.get(`/staff/${first}/access`)).body.data).toMatchObject({ allowed: true, reasons: [{ source: "owners" }] });
  await owners.remove(cli(), first);
  expect((await world.get(`/staff/${first}/access`)).body.data).toMatchObject({ allowed: false });
  expect(await audits(world, first)).toEqual([
    ["owner.create", "cli"],
    ["owner.remove", "cli"],
  ]);
  await expect(owners.remove(cli(), first)).rejects.toMatchObject({ code: "record_not_found" });
  await expect(owners.remove(cli(), byRole.id)).rejects.toMatchObject({ code: "invalid_transition" });
  const by = (person: User) => ({ ...cli(), via: "rest" as const, actor: world.app.access.of(person.id) });
  for (const verb of [owners.add, owners.remove])
    await expect(verb(by(admin), second)).rejects.toMatchObject({ code: "permission_denied" });
  expect(() => owners.list(by(admin))).toThrow("lacks system.settings.manage");
  world.guild.kick(byRole);
  await world.sandbox.waitFor(() => !world.app.access.of(byRole.id).isOwner);
  await expect(owners.remove(cli(), second)).rejects.toMatchObject({ code: "last_owner" });
  expect([await rows(world), world.app.access.listOwners()]).toEqual([[[second, false, "system"]], [second]]);
});

test("holding the permission to name owners does not make one who may", async () => {
  const world = await createJudgedWorld();
  const [owner, admin] = [await world.staff("owner"), await world.staff("admin")];
  const overrides = [{ key: "system.settings.manage", effect: "allow", reason: "settings only" }];
  expect((await world.patch(`/permissions/users/${admin.id}`, { overrides }, { actor: owner })).status).toBe(200);
  const call = { ...cli(), via: "rest" as const, actor: world.app.access.of(admin.id) };
  const { owners } = world.app.permissions;
  await expect(owners.add(call, admin.id)).rejects.toMatchObject({ code: "hierarchy_violation" });
  await expect(owners.remove(call, owner.id)).rejects.toMatchObject({ code: "hierarchy_violation" });
  expect(await rows(world)).toEqual([]);
});

test("naming somebody who is kept as the last owner makes them one for good", async () => {
  const world = await createWorld();
  const owner = await world.staff("owner");
  world.guild.setRoles(owner, []);
  await known(world);
  await written(world, 1);
  await world.app.permissions.owners.add(cli(), owner.id);
  expect(await rows(world)).toEqual([[owner.id, false, "system"]]);
  await world.staff("owner");
  await job(world);
  expect(await rows(world)).toHaveLength(1);
});

test("owners named by the configuration are not the command line's to remove", async () => {
  const configured = "80351110224678912";
  const world = await createWorld({ env: { OWNER_IDS: configured } });
  const { owners } = world.app.permissions;
  expect(owners.list(cli())).toEqual([{ user_id: configured, sources: ["configuration"] }]);
  await expect(owners.remove(cli(), configured)).rejects.toMatchObject({
    code: "invalid_transition",
    message: expect.stringContaining("OWNER_IDS"),
  });
  const owner = await world.staff("owner");
  world.guild.kick(owner);
  await world.sandbox.waitFor(() => !world.app.access.of(owner.id).isOwner);
  await job(world);
  expect(await rows(world)).toEqual([]);
});

test("the command line lists, names and removes owners, beside a running server or without one", async () => {
  const configured = "80351110224678914";
  const database = await createEmptyCopy();
  const settings = { ...validEnvironment(), DATABASE_URL: database.url, SQLITE_SYNCHRONOUS: "normal" };
  await using work = await createWorkplace(dotEnv({ ...settings, OWNER_IDS: "" }));
  const owners = (argv: string[], env = {}) => work.here(["owners", ...argv], env);
  const [id, done] = ["80351110224678912", { code: 0, stdout: "" }];
  expect(await work.provost(["owners", "add", id])).toEqual({ ...done, stderr: `${id} is an owner.\n` });
  expect(await owners(["remove", id])).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("Nobody would be an owner") });
  expect(await owners(["add", "bob"])).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("It must be a Discord id") });
  const env = { OWNER_IDS: configured };
  const table = `USER ID            BY\n${configured}  OWNER_IDS\n${id}  name\n`;
  expect(await owners(["list"], env)).toEqual({ code: 0, stdout: table, stderr: "" });
  expect(await owners(["remove", id], env)).toEqual({ ...done, stderr: `${id} is off the list of owners.\n` });
  expect(await owners(["remove", configured], env)).toEqual({
    code: 1,
    stdout: "",
    stderr: "OWNER_IDS names this owner; take them out there.\n",
  });
  await database.remove();
});

test("a server notices an owner that the command line has named or removed", async () => {
  const world = await createWorld();
  const first = await world.staff("owner");
  const id = "80351110224678912";
  const { database } = world.app;
  await database.write(cli(), ({ db, now }) => db.owner.create({ data: { userId: id, createdAt: now, createdBy: "system" } }));
  await world.app.access.pollOwners();
  expect(world.app.access.of(id).isOwner).toBe(true);
  world.guild.kick(first);
  await world.sandbox.waitFor(() => !world.app.access.of(first.id).isOwner);
  // The other process could not know that nobody else is left.
  await database.write(cli(), ({ db }) => db.owner.delete({ where: { userId: id } }));
  await world.app.access.pollOwners();
  expect(world.app.access.listOwners()).toEqual([id]);
  await written(world, 1);
  expect(await rows(world)).toEqual([[id, true, "last_owner"]]);
});
