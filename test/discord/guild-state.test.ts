import { expect, test } from "vitest";
import type { Database } from "../../src/database/database.ts";
import { createStand, goLive, isLive, linkTo, tracking, until } from "./support.ts";

test("only people who hold a tracked role are stored, whatever the size of the server", async () => {
  const stand = await createStand();
  const { sandbox, state, database } = stand;
  const guild = sandbox.createGuild({ name: "Harbour" });
  const staff = guild.createRole("Moderator");
  guild.addMembers(2460);
  guild.addMembers(40, { roles: [staff] });
  await state.load();
  await state.track(tracking(guild, [staff]));
  await goLive(stand);
  expect([...state.trackedUsers()]).toHaveLength(40);
  expect(await database.read.guildMember.count()).toBe(40);
  expect(sandbox.unhandled).toEqual([]);
});

test("a role change is visible within a second, and typically at once", async () => {
  const stand = await createStand();
  const { sandbox, state } = stand;
  const guild = sandbox.createGuild({ name: "Harbour" });
  const staff = guild.createRole("Moderator");
  const ann = sandbox.createUser("ann");
  guild.addMember(ann);
  await state.track(tracking(guild, [staff]));
  await goLive(stand);
  expect(state.members(ann.id)).toEqual([]);
  const times: number[] = [];
  for (let round = 0; round < 20; round += 1) {
    const roles = round % 2 === 0 ? [staff] : [];
    const start = performance.now();
    guild.setRoles(ann, roles);
    await until(() => state.members(ann.id)[0]?.roleIds.length === roles.length);
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  console.info(`role change visible: median ${times[10]?.toFixed(1)} ms, worst ${times[19]?.toFixed(1)} ms`);
  expect(times[10]).toBeLessThan(10_000);
});

test("a former holder stays stored, without the role", async () => {
  const stand = await createStand();
  const { sandbox, state, database } = stand;
  const guild = sandbox.createGuild({ name: "Harbour" });
  const staff = guild.createRole("Moderator");
  const ann = sandbox.createUser("ann", { global_name: "Ann" });
  guild.addMember(ann, { roles: [staff], nick: "Captain" });
  await state.track(tracking(guild, [staff]));
  await goLive(stand);
  expect(state.members(ann.id)).toMatchObject([
    { guildId: guild.id, roleIds: [staff.id], present: true, nick: "Captain", globalName: "Ann" },
  ]);
  guild.setRoles(ann, []);
  await until(() => state.members(ann.id)[0]?.roleIds.length === 0);
  guild.kick(ann);
  await until(() => state.members(ann.id)[0]?.present === false);
  expect(await database.read.guildMember.findMany({ select: { userId: true, present: true, roleIds: true } })).toEqual([
    { userId: ann.id, present: false, roleIds: [] },
  ]);
  guild.addMember(ann);
  await until(() => state.members(ann.id)[0]?.present === true);
});

test("what an event about a member leaves out is unchanged; what it says is null is gone", async () => {
  const stand = await createStand();
  const { sandbox, state } = stand;
  const guild = sandbox.createGuild({ name: "Harbour" });
  const staff = guild.createRole("Moderator");
  const ann = sandbox.createUser("ann", { global_name: "Ann" });
  guild.addMember(ann, { roles: [staff], nick: "Captain" });
  await state.track(tracking(guild, [staff]));
  await goLive(stand);
  const before = state.members(ann.id);
  const { id, username } = ann;
  sandbox.faults.event("GUILD_MEMBER_UPDATE", { guild_id: guild.id, roles: [], user: { id, username } });
  await until(() => state.members(id)[0]?.roleIds.length === 0);
  expect(state.members(id)).toEqual([{ ...before[0], roleIds: [] }]);
  sandbox.faults.event("GUILD_MEMBER_UPDATE", { guild_id: guild.id, roles: [], user: { id, username, global_name: null }, nick: null });
  await until(() => state.members(id)[0]?.nick === null);
  expect(state.members(id)).toMatchObject([{ globalName: null, avatar: before[0]?.avatar, joinedAt: before[0]?.joinedAt }]);
  expect(isLive(stand)).toBe(true);
});

test("of somebody who is first heard of by half an event, the rest is read", async () => {
  const stand = await createStand({ state: { sync: { retryMs: 20 } } });
  const { sandbox, state } = stand;
  const guild = sandbox.createGuild({ name: "Harbour" });
  const staff = guild.createRole("Moderator");
  await state.track(tracking(guild, [staff]));
  await goLive(stand);
  const bob = sandbox.createUser("bob");
  guild.addMember(bob, { roles: [], nick: "Mate" });
  sandbox.faults.event("GUILD_MEMBER_UPDATE", { guild_id: guild.id, roles: [staff.id], user: { id: bob.id, username: "bob" } });
  await until(() => state.members(bob.id).length === 1);
  await until(() => isLive(stand) && state.members(bob.id)[0]?.nick === "Mate");
});

test("changes of people who need not be stored cost no write", async () => {
  const stand = await createStand();
  const { sandbox, state, database } = stand;
  const guild = sandbox.createGuild({ name: "Harbour" });
  const staff = guild.createRole("Moderator");
  const other = guild.createRole("Sailor");
  const [ann, bob] = guild.addMembers(2);
  await state.track(tracking(guild, [staff]));
  await goLive(stand);
  guild.setRoles(ann!, [other]);
  guild.setNick(ann!, "Sailor");
  guild.kick(ann!);
  guild.setRoles(bob!, [staff]);
  await until(() => state.members(bob!.id).length === 1);
  expect(await database.read.guildMember.findMany({ select: { userId: true } })).toEqual([{ userId: bob!.id }]);
});

test("a tracked user is stored without any tracked role", async () => {
  const stand = await createStand();
  const { sandbox, state } = stand;
  const guild = sandbox.createGuild({ name: "Harbour" });
  const [ann] = guild.addMembers(3);
  await goLive(stand);
  expect(state.members(ann!.id)).toEqual([]);
  await state.track(tracking(guild, [], [ann!.id]));
  expect(state.members(ann!.id)).toMatchObject([{ present: true }]);
});

test("a newly tracked role finds its holders; the second whole list in a row comes over REST", async () => {
  const stand = await createStand();
  const { sandbox, state } = stand;
  const guild = sandbox.createGuild({ name: "Harbour" });
  const staff = guild.createRole("Moderator");
  guild.addMembers(1200);
  const holders = guild.addMembers(3, { roles: [staff] });
  await goLive(stand);
  expect([...state.trackedUsers()]).toEqual([]);
  await state.track(tracking(guild, [staff]));
  expect([...state.trackedUsers()].toSorted()).toEqual(holders.map((user) => user.id).toSorted());
  const pages = sandbox.exchanges.filter((exchange) => exchange.route === "/guilds/{guild_id}/members");
  expect(pages).toHaveLength(2);
});

test("a refused whole list over the gateway falls back to REST pages", async () => {
  const stand = await createStand({ state: { sync: { windowMs: 0 } } });
  const { sandbox, state } = stand;
  const guild = sandbox.createGuild({ name: "Harbour" });
  const staff = guild.createRole("Moderator");
  const [ann] = guild.addMembers(1, { roles: [staff] });
  await goLive(stand);
  await state.track(tracking(guild, [staff]));
  expect(state.members(ann!.id)).toHaveLength(1);
  expect(sandbox.gatewayLog.some((entry) => JSON.stringify(entry).includes("RATE_LIMITED"))).toBe(true);
  expect(sandbox.exchanges.some((exchange) => exchange.route === "/guilds/{guild_id}/members")).toBe(true);
});

test("a deleted role is taken from everybody who held it", async () => {
  const stand = await createStand();
  const { sandbox, state } = stand;
  const guild = sandbox.createGuild({ name: "Harbour" });
  const staff = guild.createRole("Moderator");
  const other = guild.createRole("Sailor");
  const [ann] = guild.addMembers(1, { roles: [staff, other] });
  await state.track(tracking(guild, [staff]));
  await goLive(stand);
  expect(state.role(guild.id, staff.id)).toMatchObject({ name: "Moderator" });
  guild.renameRole(staff, "Mate");
  await until(() => state.role(guild.id, staff.id)?.name === "Mate");
  guild.deleteRole(staff);
  await until(() => state.role(guild.id, staff.id) === undefined);
  await until(() => state.members(ann!.id)[0]?.roleIds.length === 1);
  expect(state.members(ann!.id)[0]?.roleIds).toEqual([other.id]);
});

test("roles in a server the bot was removed from count no more, and count again when it is back", async () => {
  const stand = await createStand();
  const { sandbox, state } = stand;
  const guild = sandbox.createGuild({ name: "Harbour" });
  const staff = guild.createRole("Moderator");
  const [ann] = guild.addMembers(1, { roles: [staff] });
  await state.track(tracking(guild, [staff]));
  await goLive(stand);
  guild.removeBot();
  await until(() => state.members(ann!.id)[0]?.present === false);
  expect(state.guilds()).toMatchObject([{ id: guild.id, present: false }]);
  expect(isLive(stand)).toBe(true);
  guild.addBot();
  await until(() => state.members(ann!.id)[0]?.present === true && isLive(stand));
});

test("an unavailable server keeps its last state, marked stale", async () => {
  const stand = await createStand();
  const { sandbox, state } = stand;
  const guild = sandbox.createGuild({ name: "Harbour" });
  const staff = guild.createRole("Moderator");
  const [ann] = guild.addMembers(1, { roles: [staff] });
  await state.track(tracking(guild, [staff]));
  await goLive(stand);
  guild.setAvailable(false);
  await until(() => !isLive(stand));
  expect(state.members(ann!.id)).toMatchObject([{ present: true, roleIds: [staff.id] }]);
  guild.setRoles(ann!, []);
  guild.setAvailable(true);
  await until(() => isLive(stand) && state.members(ann!.id)[0]?.roleIds.length === 0);
});

test("servers that are not configured are ignored", async () => {
  const { sandbox, database } = await createStand();
  const ours = sandbox.createGuild({ name: "Harbour" });
  const other = sandbox.createGuild({ name: "Elsewhere" });
  const staff = other.createRole("Moderator");
  other.addMembers(1, { roles: [staff] });
  const link = linkTo(sandbox, database, { state: { served: new Set([ours.id]) } });
  await link.state.track(tracking(other, [staff]));
  await goLive({ ...link, sandbox });
  expect(link.state.guilds().map((guild) => guild.id)).toEqual([ours.id]);
  expect([...link.state.trackedUsers()]).toEqual([]);
});

test("listeners hear who changed", async () => {
  const stand = await createStand();
  const { sandbox, state } = stand;
  const guild = sandbox.createGuild({ name: "Harbour" });
  const staff = guild.createRole("Moderator");
  const [ann] = guild.addMembers(1, { roles: [staff] });
  await state.track(tracking(guild, [staff]));
  await goLive(stand);
  const heard: (string | null)[] = [];
  const stop = state.onChange((userId) => heard.push(userId));
  guild.setRoles(ann!, []);
  await until(() => heard.length > 0);
  expect(heard).toEqual([ann!.id]);
  guild.renameRole(staff, "Mate");
  await until(() => heard.length > 1);
  expect(heard[1]).toBeNull();
  stop();
});

test("a burst of 10,000 updates takes few transactions and ends in the last state", async () => {
  const { sandbox, database } = await createStand();
  let transactions = 0;
  const counted: Database = {
    ...database,
    write(call, work) {
      transactions += 1;
      return database.write(call, work);
    },
  };
  const link = linkTo(sandbox, counted);
  const guild = sandbox.createGuild({ name: "Harbour" });
  const staff = guild.createRole("Moderator");
  const people = guild.addMembers(1000, { roles: [staff] });
  await link.state.track(tracking(guild, [staff]));
  await goLive({ ...link, sandbox });
  transactions = 0;
  const start = performance.now();
  for (let round = 1; round <= 10; round += 1) for (const user of people) guild.setNick(user, `round ${round.toString()}`);
  await until(() => people.every((user) => link.state.members(user.id)[0]?.nick === "round 10"), 60_000);
  console.info(`10,000 updates settled in ${(performance.now() - start).toFixed(0)} ms, ${transactions.toString()} transactions`);
  expect(transactions).toBeLessThan(200);
  expect(await database.read.guildMember.count({ where: { nick: "round 10" } })).toBe(1000);
});
