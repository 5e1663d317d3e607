import { describe, expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { User } from "../../sandbox/index.ts";
import { createJudgedWorld, staffAtConsole } from "../contract/world.ts";
import type { Level, World } from "../support/world.ts";

const notNamed = { code: "not_member", source: "bot", ref: null };

/** A bot that holds the Discord role of a level. */
async function robotWith(world: World, level: Level): Promise<User> {
  const robot = world.sandbox.createUser("robot", { bot: true });
  world.guild.addMember(robot, { roles: [world.roles[level]] });
  await world.sandbox.waitFor(() => world.app.guildState.members(robot.id).length > 0);
  return robot;
}

const access = async (world: World, { id }: User) => (await world.get(`/staff/${id}/access`)).body.data;
const staffIds = async (world: World, query = "") =>
  (await world.get(`/staff?limit=200${query}`)).body.data.map(({ user }: { user: { id: string } }) => user.id);
const name = (world: World, { id }: User, actor: User, entry: object = {}) =>
  world.patch(
    `/permissions/users/${id}`,
    { overrides: [{ key: "staff.read", effect: "allow", reason: "This bot may read the list.", ...entry }] },
    { actor, signed: true },
  );

describe("a bot that holds the Discord role of a staff role", () => {
  test("has no rights, is in no list of staff, counts as nobody, and the answer says why in both languages", async () => {
    const world = await createJudgedWorld();
    const owner = await staffAtConsole(world, "owner");
    const robot = await robotWith(world, "admin");
    expect(await access(world, robot)).toMatchObject({
      allowed: false,
      level: "none",
      rank: 0,
      staff_roles: [],
      permissions: [],
      status: null,
      reasons: [notNamed],
    });
    for (const query of ["", "&status=former", "&role=admin"]) expect(await staffIds(world, query)).not.toContain(robot.id);
    expect((await world.get("/staffroles/admin")).body.data).toMatchObject({ members_count: 0 });
    const refused = await world.get("/cases", { actor: robot });
    expect([refused.status, refused.body.code]).toEqual([403, "acting_user_not_staff"]);
    const asked = await world.post("/permissions/explain", { user_id: robot.id, key: "cases.read" }, { actor: owner });
    expect(asked.body.data).toMatchObject({
      allowed: false,
      trace: [{ step: "nothing", ...notNamed, text: "It is a bot, and a bot has rights only if somebody names it." }],
    });
    expect(await world.slash(owner, "staff access", { user: robot })).toContain("a bot has rights only if somebody names it");
    owner.locale = "de";
    expect(await world.slash(owner, "staff access", { user: robot })).toContain("Ein Bot hat nur Rechte, wenn ihn jemand benennt");
    const audit = await world.post("/roster/audit", { dry_run: true }, { actor: owner });
    expect(JSON.stringify(audit.body)).not.toContain(robot.id);
    // The service's own account is a bot like any other.
    world.guild.setRoles(world.sandbox.bot, [world.guild.botRole!, world.roles.owner]);
    await world.request("GET", "/health");
    expect(await access(world, world.sandbox.bot)).toMatchObject({ allowed: false });
    expect(world.app.access.listOwners()).toEqual([owner.id]);
  });

  test("counts once somebody has named it by an allowance, until that ends, also after a restart", async () => {
    const world = await createJudgedWorld();
    const owner = await world.staff("owner");
    const robot = await robotWith(world, "moderator");
    const denied = await name(world, robot, owner, { key: "cases.read", effect: "deny" });
    expect(denied.status, JSON.stringify(denied.body)).toBe(200);
    expect(await access(world, robot)).toMatchObject({ allowed: false });
    expect((await name(world, robot, owner)).status).toBe(200);
    const named = { allowed: true, level: "moderator", staff_roles: ["moderator"], status: "active" };
    expect(await access(world, robot)).toMatchObject(named);
    expect(await staffIds(world)).toContain(robot.id);
    await world.restart();
    expect(await access(world, robot)).toMatchObject(named);
    expect((await name(world, robot, owner, { effect: "clear" })).status).toBe(200);
    expect(await access(world, robot)).toMatchObject({ allowed: false, status: null });
    expect(await staffIds(world)).not.toContain(robot.id);
  });

  test("is named only by those who could give it the roles that it holds", async () => {
    const world = await createJudgedWorld();
    const [owner, admin] = [await world.staff("owner"), await world.staff("admin")];
    for (const level of ["owner", "admin"] as const) {
      const robot = await robotWith(world, level);
      const refused = await name(world, robot, admin);
      expect([refused.status, refused.body.code]).toEqual([403, "hierarchy_violation"]);
      const thought = await world.post(
        "/permissions/simulate",
        { changes: [{ user_id: robot.id, allow: ["staff.read"] }] },
        { actor: admin },
      );
      expect(thought.body.data.refusals).toMatchObject([{ index: 0, code: "hierarchy_violation" }]);
      expect(await access(world, robot)).toMatchObject({ allowed: false, reasons: [notNamed] });
    }
    const robot = await robotWith(world, "viewer");
    expect((await name(world, robot, admin)).status).toBe(200);
    expect(await access(world, robot)).toMatchObject({ allowed: true, level: "viewer" });
    expect(world.app.access.listOwners()).toEqual([owner.id]);
  });
});

test("an account that turns out to be a bot loses its rights at once, and is kept as the last owner by nobody", async () => {
  const world = await createJudgedWorld();
  const robot = await world.staff("owner", "undercover");
  expect(await access(world, robot)).toMatchObject({ allowed: true, level: "owner" });
  robot.bot = true;
  world.guild.setNick(robot, "Beep");
  await world.request("GET", "/health");
  expect(await access(world, robot)).toMatchObject({ allowed: false, status: null, reasons: [notNamed] });
  expect(world.app.access.listOwners()).toEqual([]);
  expect(await world.app.database.read.owner.count()).toBe(0);
  // What Discord leaves out later makes it no person again.
  robot.bot = false;
  world.guild.setNick(robot, "Boop");
  await world.request("GET", "/health");
  expect(await access(world, robot)).toMatchObject({ allowed: false });
});

test("a bot that was stored before the service knew of bots loses its rights with the next reading of the members", async () => {
  const world = await createJudgedWorld({ env: { ROSTER_FOLLOWS_DISCORD: "true" } });
  const owner = await world.staff("owner");
  const robot = await robotWith(world, "moderator");
  await world.app.database.write(systemCall("job", uuid7()), ({ db }) => db.guildMember.updateMany({ data: { isBot: false } }));
  await world.restart();
  expect(await access(world, robot)).toMatchObject({ allowed: false });
  expect((await world.app.database.read.guildMember.findMany({ where: { userId: robot.id } })).map(({ isBot }) => isBot)).toEqual([true]);
  expect(await world.app.database.read.rosterEntry.count({ where: { userId: robot.id } })).toBe(0);
  expect(await access(world, owner)).toMatchObject({ allowed: true });
});
