import { beforeAll, describe, expect, test } from "vitest";
import type { Role, User } from "../../sandbox/index.ts";
import { soonBack } from "../support/pauses.ts";
import { createWorld, type World } from "../support/world.ts";
import { alone, createMovedClock, enlist, entryOf, eventsOf, followIn, job, linesOf, until, written } from "./roster-sync-ground.ts";

let world: World;
let owner: User;
let senior: User;
let sailor: Role;
beforeAll(async () => {
  let end = (): Promise<void> => Promise.resolve();
  world = await createWorld({ env: alone, pauses: { discord: { ...soonBack, repeatMs: 20 } }, onEnd: (way) => (end = way) });
  owner = await world.staff("owner");
  senior = await world.staff("senior");
  sailor = world.guild.createRole("Sailor");
  return () => end();
});

const sync = (user: { id: string }, body: object = {}, actor: User = owner) =>
  world.post("/roster/sync-member", { discord_user_id: user.id, ...body }, { actor });
const held = (user: User) => world.guild.member(user)?.roles ?? [];
const changesOf = async (user: User, body: object, actor?: User) => {
  const answer = await sync(user, body, actor);
  expect(answer.status).toBe(200);
  return (answer.body.data.changes as any[]).map(({ field, action, applied }) => [field, action, applied]);
};
const audits = (user: User) =>
  world.app.database.read.auditEntry.count({ where: { subjectUserId: user.id, action: { startsWith: "roster." } } });

describe("comparing", () => {
  test("a report and a dry run in either direction write nothing at all", async () => {
    const ann = await world.staff("moderator");
    const ben = await world.staff("moderator");
    await enlist(world, ben, "viewer");
    const before = await written(world);
    const roles = held(ben);
    for (const direction of ["report", "from_discord", "to_discord"]) {
      for (const user of [ann, ben]) expect((await sync(user, { direction, dry_run: true })).status).toBe(200);
    }
    expect(await changesOf(ann, {})).toEqual([["entry", "none", false]]);
    expect(await changesOf(ben, { direction: "to_discord", dry_run: true })).toEqual([
      ["held_roles", "add_role", false],
      ["held_roles", "remove_role", false],
    ]);
    expect(await written(world)).toEqual(before);
    expect(held(ben)).toEqual(roles);
  });

  test("somebody nobody knows is absent and in step: an answer, not a missing record", async () => {
    const answer = await sync({ id: "80351110224678912" });
    expect([answer.status, answer.body.data.state, answer.body.data.in_sync]).toEqual([200, "absent", true]);
    expect(answer.body.data.warnings).toHaveLength(1);
    const passer = await sync(world.member());
    expect([passer.status, passer.body.data.state, passer.body.data.in_sync]).toEqual([200, "absent", true]);
    expect(passer.body.data.user.in_community).toBe(true);
  });

  test("bad input names the field and changes nothing", async () => {
    const ann = await world.staff("moderator");
    const before = await written(world);
    const wrong: [body: object, pointer: string][] = [
      [{ direction: "sideways" }, "/direction"],
      [{ apply: ["rank"] }, "/apply/0"],
      [{ fix: true }, "/fix"],
      [{ discord_user_id: 5 }, "/discord_user_id"],
    ];
    for (const [body, pointer] of wrong) {
      const answer = await sync(ann, { direction: "from_discord", ...body });
      expect([answer.status, answer.body.errors[0].pointer]).toEqual([422, pointer]);
    }
    expect(await written(world)).toEqual(before);
  });
});

describe("from Discord", () => {
  test("an entry is made, then follows with the highest role held; a repeated key does it once", async () => {
    const ann = await world.staff("moderator");
    const headers = { "idempotency-key": "sync-ann-once" };
    const body = { discord_user_id: ann.id, direction: "from_discord", reason: "new here" };
    const first = await world.post("/roster/sync-member", body, { actor: senior, headers });
    expect(first.body.data).toMatchObject({ state: "on_roster", in_sync: false, changes: [{ action: "create_entry", applied: true }] });
    const again = await world.post("/roster/sync-member", body, { actor: senior, headers });
    expect([again.headers.get("idempotency-replayed"), again.body]).toEqual(["true", first.body]);
    expect(await linesOf(world, ann)).toMatchObject([{ event: "hired", source: "discord", actorId: senior.id, reason: "new here" }]);
    expect((await sync(ann)).body.data).toMatchObject({ in_sync: true, changes: [] });
    world.guild.setRoles(ann, [world.roles.viewer, sailor]);
    await world.sandbox.waitFor(() => world.app.access.of(ann.id).held[0]?.role.key === "viewer");
    expect(await changesOf(ann, { direction: "from_discord", apply: ["held_roles"] }, senior)).toEqual([
      ["held_roles", "set_roster", true],
      ["staff_role", "none", false],
    ]);
    expect(await entryOf(world, ann)).toMatchObject({ staffRole: "moderator", heldRoles: ["viewer"] });
    expect(await changesOf(ann, { direction: "from_discord" }, senior)).toEqual([["staff_role", "set_roster", true]]);
    expect(await eventsOf(world, ann)).toEqual(["hired", "role_added", "role_removed", "demoted"]);
  });

  test("nobody below an owner brings in who stands at or above them, themselves included", async () => {
    const peer = await world.staff("senior");
    const moderator = await world.staff("moderator");
    await enlist(world, moderator, "admin");
    const before = await written(world);
    for (const user of [peer, senior, moderator]) {
      const answer = await sync(user, { direction: "from_discord" }, senior);
      expect([answer.status, answer.body.code]).toEqual([403, "hierarchy_violation"]);
    }
    expect((await sync(moderator, { direction: "to_discord" }, senior)).status).toBe(403);
    expect(await written(world)).toMatchObject({ entries: before.entries, lines: before.lines });
    expect(held(moderator)).toEqual([world.roles.moderator.id]);
  });

  test("who has left is not revived by a role", async () => {
    const dan = await world.staff("viewer");
    await enlist(world, dan, "viewer");
    const note = { causeReference: null, permission: "system.act" as const };
    await world.app.database.write(job(), (tx) => world.app.roster.moveInTx(tx, dan.id, { ...note, event: "resigned" }));
    const answer = await sync(dan, { direction: "from_discord" });
    expect(answer.body.data.state).toBe("left");
    const row = answer.body.data.changes.find((change: any) => change.field === "staff_role");
    expect(row).toMatchObject({ discord: "viewer", roster: null, applied: false, reason: expect.stringContaining("resigned") });
    expect(await entryOf(world, dan)).toMatchObject({ status: "resigned", staffRole: "viewer" });
  });
});

describe("to Discord", () => {
  test("the mapped role of the entry is given, those above it are taken, others never: one audit entry, one line, told once by following", async () => {
    const ann = await world.staff("senior");
    world.guild.setRoles(ann, [world.roles.senior, world.roles.viewer, sailor]);
    await world.sandbox.waitFor(() => world.app.access.of(ann.id).held.length === 2);
    await enlist(world, ann, "moderator");
    const looked = { direction: "from_discord", apply: ["held_roles", "in_guild", "nickname"] };
    expect((await sync(ann, looked)).status).toBe(200);
    expect(await entryOf(world, ann)).toMatchObject({ staffRole: "moderator", heldRoles: ["senior", "viewer"] });
    const follow = followIn(world, createMovedClock());
    expect(await changesOf(ann, { direction: "to_discord", reason: "as decided" })).toEqual([
      ["held_roles", "add_role", true],
      ["held_roles", "remove_role", true],
    ]);
    expect(held(ann).toSorted()).toEqual([world.roles.moderator.id, world.roles.viewer.id, sailor.id].toSorted());
    await world.sandbox.waitFor(() => world.app.access.of(ann.id).held[0]?.role.key === "moderator");
    follow.start();
    follow.start();
    await until(
      () => follow.status(job()),
      ({ last_round_at }) => last_round_at !== null,
    );
    expect(await eventsOf(world, ann)).toEqual(["hired", "synced"]);
    expect(await audits(ann)).toBe(2);
    expect(await entryOf(world, ann)).toMatchObject({ staffRole: "moderator", heldRoles: ["moderator", "viewer"] });
    const before = await written(world);
    expect((await sync(ann, { direction: "to_discord" })).body.data).toMatchObject({ in_sync: true, changes: [] });
    expect(await written(world)).toEqual(before);
  });

  test("while suspended roles stay unless asked for by name; after leaving all mapped ones go", async () => {
    const cat = await world.staff("senior");
    await enlist(world, cat, "moderator");
    const note = { causeReference: null, permission: "system.act" as const };
    await world.app.database.write(job(), (tx) => world.app.roster.moveInTx(tx, cat.id, { ...note, event: "suspended" }));
    expect(await changesOf(cat, { direction: "to_discord" })).toEqual([]);
    expect(held(cat)).toEqual([world.roles.senior.id]);
    await changesOf(cat, { direction: "to_discord", apply: ["held_roles"] });
    expect(held(cat)).toEqual([world.roles.moderator.id]);
    world.guild.setRoles(cat, [world.roles.moderator, sailor]);
    await world.app.database.write(job(), (tx) => world.app.roster.moveInTx(tx, cat.id, { ...note, event: "terminated" }));
    await world.sandbox.waitFor(() => world.app.access.of(cat.id).held[0]?.role.key === "moderator");
    expect(await changesOf(cat, { direction: "to_discord" })).toEqual([["held_roles", "remove_role", true]]);
    expect(held(cat)).toEqual([sailor.id]);
  });

  test("an owner's roles are never taken, and without an entry nothing is given or taken", async () => {
    const boss = await world.staff("owner");
    await enlist(world, boss, "viewer");
    const answer = await sync(boss, { direction: "to_discord" });
    const removal = answer.body.data.changes.find((change: any) => change.action === "remove_role");
    expect(removal).toMatchObject({ applied: false, reason: expect.stringContaining("owner") });
    expect(held(boss)).toContain(world.roles.owner.id);
    const ann = await world.staff("viewer");
    expect(await changesOf(ann, { direction: "to_discord" })).toEqual([]);
    expect(held(ann)).toEqual([world.roles.viewer.id]);
  });

  test("who cannot be given the role of the roster is not left without any: the other one stays, and that is said", async () => {
    const ann = await world.staff("senior");
    await enlist(world, ann, "moderator");
    const route = "PUT /guilds/:g/members/:u/roles/:r";
    world.sandbox.faults.rest({ route, status: 403, body: { code: 50_013, message: "Missing Permissions" } });
    const answer = await sync(ann, { direction: "to_discord" });
    expect(answer.body.data.changes.map(({ action, applied }: any) => [action, applied])).toEqual([
      ["add_role", false],
      ["remove_role", false],
    ]);
    expect(answer.body.data.changes[1].reason).toContain("stays");
    expect(held(ann)).toEqual([world.roles.senior.id]);
    expect(await eventsOf(world, ann)).toEqual(["hired"]);
    world.sandbox.faults.clear();
    await changesOf(ann, { direction: "to_discord" });
    expect(held(ann)).toEqual([world.roles.moderator.id]);
  });

  test("a role that Discord would refuse is answered with what helps, without a request", async () => {
    const ann = await world.staff("senior");
    await enlist(world, ann, "moderator");
    const { position } = world.roles.moderator;
    world.guild.moveRole(world.roles.moderator, 300);
    const fault = world.sandbox.faults.rest({ route: "GET /guilds/:g/members/:u", status: 503, times: 50 });
    const isKnown = () =>
      world.app.judge.now({ kind: "role_add", guildId: world.guild.id, userId: ann.id, roleId: world.roles.moderator.id });
    await world.sandbox.waitFor(() => isKnown() !== null);
    const answer = await sync(ann, { direction: "to_discord" });
    const added = answer.body.data.changes.find(({ action }: any) => action === "add_role");
    expect(added).toMatchObject({ applied: false, reason: expect.stringContaining("Move") });
    expect([fault.hits, answer.body.data.warnings]).toEqual([0, []]);
    expect(held(ann)).toEqual([world.roles.senior.id]);
    world.sandbox.faults.clear();
    world.guild.moveRole(world.roles.moderator, position);
    await world.sandbox.waitFor(() => isKnown() === null);
  });

  test("whoever Discord says has left is given nothing, and nothing is promised for their return", async () => {
    const ann = await world.staff("senior");
    await enlist(world, ann, "moderator");
    const body = { code: 10_007, message: "Unknown Member" };
    world.sandbox.faults.rest({ route: "GET /guilds/:g/members/:u", status: 404, body, times: 50 });
    const answer = await sync(ann, { direction: "to_discord" });
    const added = answer.body.data.changes.find(({ action }: any) => action === "add_role");
    expect(added).toMatchObject({ applied: false, reason: "They are not in the server." });
    expect(held(ann)).toEqual([world.roles.senior.id]);
    world.sandbox.faults.clear();
  });

  test("while Discord cannot be reached nothing is applied, that is said, and nothing is written; later it is done", async () => {
    const ann = await world.staff("senior");
    await enlist(world, ann, "moderator");
    const before = await written(world);
    const fault = world.sandbox.faults.rest({ route: "GET /guilds/:g/members/:u", status: 503, times: 50 });
    const answer = await sync(ann, { direction: "to_discord" });
    expect(fault.hits).toBeGreaterThan(0);
    expect(answer.status).toBe(200);
    expect(answer.body.data.changes.map(({ applied }: any) => applied)).toEqual([false, false]);
    expect(answer.body.data.warnings).toContainEqual(expect.stringContaining("ask again"));
    expect(await written(world)).toEqual(before);
    expect(held(ann)).toEqual([world.roles.senior.id]);
    world.sandbox.faults.clear();
    await changesOf(ann, { direction: "to_discord" });
    expect(held(ann)).toEqual([world.roles.moderator.id]);
  });

  test("the nickname is what the pool's template makes of callsign and name, and writing it twice adds nothing", async () => {
    const ann = await world.staff("moderator", "ann");
    await enlist(world, ann, "moderator");
    await world.app.database.write(job(), async ({ db, now }) => {
      const pool = { key: "north", name: "North", template: "N-{n}", ranges: [[1, 9]], reserved: [], skip: [], rankBands: {} };
      await db.callsignPool.create({ data: { ...pool, nicknameTemplate: "{callsign} | {name}", createdAt: now, updatedAt: now } });
      const slot = { pool: "north", number: 7, callsign: "N-7", state: "assigned", liveKey: "north:7", holderKey: `north:${ann.id}` };
      await db.callsignSlot.create({ data: { ...slot, userId: ann.id, since: now, createdAt: now } });
    });
    expect(await changesOf(ann, { direction: "to_discord" })).toEqual([["nickname", "set_nickname", true]]);
    expect(world.guild.member(ann)?.nick).toBe("N-7 | ann");
    await world.sandbox.waitFor(() => world.app.guildState.members(ann.id)[0]?.nick === "N-7 | ann");
    expect(await changesOf(ann, { direction: "to_discord" })).toEqual([]);
    expect(await entryOf(world, ann)).toMatchObject({ nickname: "N-7 | ann" });
    const [entry] = await world.app.database.read.auditEntry.findMany({ where: { subjectUserId: ann.id, action: "roster.sync" } });
    const payload = await world.app.database.read.auditPayload.findUnique({ where: { seq: entry?.seq ?? 0 } });
    expect(JSON.stringify(payload)).not.toContain("| ann");
  });
});

test("with a stale state a report says so, and writes are refused in either direction", async () => {
  const ann = await world.staff("viewer");
  await enlist(world, ann, "moderator");
  const down = world.sandbox.faults.down(Infinity);
  await world.sandbox.waitFor(() => world.app.guildState.freshness().stale, 60_000);
  const report = await sync(ann);
  expect([report.status, report.body.data.stale]).toEqual([200, true]);
  for (const direction of ["from_discord", "to_discord"]) {
    const answer = await sync(ann, { direction });
    expect([answer.status, answer.body.code]).toEqual([503, "roster_stale"]);
  }
  expect(await eventsOf(world, ann)).toEqual(["hired"]);
  world.sandbox.faults.up();
  await down;
  await world.sandbox.waitFor(() => !world.app.guildState.freshness().stale, 60_000);
});
