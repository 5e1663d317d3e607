// @module-tag both
// @module-tag slow
import { expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { sizeOf } from "../support/size.ts";
import { createWorld, type World } from "../support/world.ts";
import { actionsOf, settled } from "./native-actions-ground.ts";

const job = () => systemCall("job", uuid7());
const withoutLog = ["ViewChannel", "SendMessages", "BanMembers", "KickMembers", "ModerateMembers", "ManageRoles"];

/** Has the bot do something to somebody by an approved request. */
async function punish(world: World, user: User, discord: object) {
  const [requester, decider] = [await world.staff("moderator"), await world.staff("owner")];
  const body = { user_id: user.id, action: "warning", reason: "Led the raid of last night.", discord };
  const filed = await world.post("/workflows/punishment", body, { actor: requester });
  expect(filed.status, JSON.stringify(filed.body)).toBe(201);
  const path = `/workflows/punishment/${String(filed.body.reference)}`;
  const decided = await world.post(
    `${path}/decision`,
    { decision: "approve", override: true, reason: "It is urgent, and nobody else is awake." },
    { actor: decider },
  );
  expect(decided.body, JSON.stringify(decided.body)).toMatchObject({ status: "approved" });
  const effect = async () => {
    await world.app.deliveries.deliverDue(job());
    const { effects } = (await world.get(path, { actor: decider })).body.data;
    return effects.find(({ key }: { key: string }) => key === "discord.punish") as { status: string; detail: string };
  };
  await expect.poll(async () => (await effect()).status, { timeout: 10_000 }).toBe("done");
  return { path, decider, effect };
}

test("what the bot does is its own: it is recorded nowhere as done by somebody else", async () => {
  const world = await createWorld();
  const owner = await world.staff("owner");
  for (const discord of [{ action: "ban" }, { action: "timeout" }, { action: "kick" }]) {
    const user = world.member();
    await punish(world, user, discord);
    await settled(world);
    expect(await actionsOf(world, user, owner)).toEqual([]);
  }
  expect(world.guild.auditLog().every(({ user_id }) => user_id === world.sandbox.bot.id)).toBe(true);
});

test("a ban and a timeout that somebody lifts by hand end what the bot did, and nobody is told or released again", async () => {
  const world = await createWorld();
  const mona = await world.staff("moderator");
  const banned = world.member();
  const ban = await punish(world, banned, { action: "ban" });
  const muted = world.member();
  const timeout = await punish(world, muted, { action: "timeout" });
  const told = [banned, muted].map((user) => world.sandbox.directMessages(user).length);
  world.guild.unban(banned, { by: mona, reason: "A misunderstanding." });
  world.guild.timeout(muted, 0, { by: mona });
  await settled(world);
  for (const { effect } of [ban, timeout]) {
    const { status, detail } = await effect();
    expect(status).toBe("ended");
    expect(detail).toContain(`It was ended by hand in Discord by ${mona.id}.`);
  }
  await world.app.deliveries.deliverDue(job());
  expect([banned, muted].map((user) => world.sandbox.directMessages(user).length)).toEqual(told);
  // Somebody bans them anew; taking back the old decision takes nothing of that.
  world.guild.ban(banned, { by: mona, reason: "Again." });
  await settled(world);
  const reversed = await world.post(
    `${ban.path}/decision`,
    { decision: "reverse", override: true, reason: "It was wrong, as somebody else had shown." },
    { actor: ban.decider },
  );
  expect(reversed.body, JSON.stringify(reversed.body)).toMatchObject({ status: "reversed" });
  await world.app.deliveries.deliverDue(job());
  expect(world.guild.bans().map(({ user }) => user.id)).toEqual([banned.id]);
  expect((await ban.effect()).status).toBe("ended");
});

test("what was done while the service was away is read from where it stopped, in order and each once; nothing before its first start", async () => {
  const size = sizeOf({ quick: 120, all: 400, long: 1000 });
  const world = await createWorld();
  const [mona, owner] = [await world.staff("moderator"), await world.staff("owner")];
  const people = world.guild.addMembers(size);
  const half = size / 2;
  for (const person of people.slice(0, half)) world.guild.ban(person, { by: mona });
  // In the middle of it: what was told and not written yet is read anew.
  await world.sandbox.caughtUp();
  await world.restart();
  for (const person of people.slice(half, half + 5)) world.guild.ban(person, { by: mona });
  await world.app.stop();
  for (const person of people.slice(half + 5)) world.guild.ban(person, { by: mona });
  await world.restart();
  await settled(world);
  const rows = await world.app.database.read.nativeAction.findMany({ orderBy: [{ at: "asc" }, { id: "asc" }] });
  const log = world.guild.auditLog();
  expect(rows.map(({ entryId }) => entryId ?? "").toSorted()).toEqual(log.map(({ id }) => id).toSorted());
  expect(rows.map(({ userId }) => userId ?? "").toSorted()).toEqual(people.map(({ id }) => id).toSorted());
  expect(rows.every(({ actorId, kind }) => actorId === mona.id && kind === "ban")).toBe(true);
  expect(await actionsOf(world, people[0]!, owner)).toHaveLength(1);
  await world.restart();
  await settled(world);
  expect(await world.app.database.read.nativeAction.count()).toBe(size);
  const pages = world.sandbox.exchanges.filter(({ path }) => path.endsWith("/audit-logs"));
  expect(pages.length).toBeLessThanOrEqual(4 + 2 * Math.ceil(size / 100));
});

test("a burst is written in slices, and the service answers meanwhile", async () => {
  const size = sizeOf({ quick: 150, all: 400, long: 1000 });
  const world = await createWorld();
  const [mona, owner] = [await world.staff("moderator"), await world.staff("owner")];
  for (const person of world.guild.addMembers(size)) world.guild.ban(person, { by: mona });
  const counts: number[] = [];
  const count = async (): Promise<number> => {
    counts.push(await world.app.database.read.nativeAction.count());
    return counts.at(-1) ?? 0;
  };
  // Answered between two looks, however slow the machine is: what is written in one piece is never seen half done.
  while ((await count()) < size) expect((await world.app.http.request("/nowhere")).status).toBe(404);
  const grown = counts.map((now, index) => now - (counts[index - 1] ?? 0));
  expect(Math.max(...grown)).toBeLessThanOrEqual(size / 2);
  expect(owner.id).toBeDefined();
});

test("without View Audit Log bans are recorded without who, the permission is named, and who is learned once it is given", async () => {
  const lines: string[] = [];
  const world = await createWorld({ log: (line) => lines.push(line) });
  const [mona, owner] = [await world.staff("moderator"), await world.staff("owner")];
  const { botRole } = world.guild;
  world.guild.setRolePermissions(botRole!, withoutLog);
  const [person, other] = [world.member(), world.member()];
  world.guild.ban(person, { by: mona, reason: "Nobody may see this." });
  world.guild.kick(other, { by: mona });
  await expect.poll(async () => (await actionsOf(world, person, owner)).length, { timeout: 2000 }).toBe(1);
  await settled(world);
  expect(await actionsOf(world, person, owner)).toMatchObject([{ action: "ban", by: null, reason: null }]);
  expect(await actionsOf(world, other, owner)).toEqual([]);
  const { reason } = (await world.get("/health")).body.checks.guild_state;
  expect(reason).toContain("View Audit Log");
  expect(reason).toContain(world.guild.id);
  expect((await world.get(`/users/${person.id}/native-actions`, { actor: owner })).body.meta).toMatchObject({
    unseen_guild_ids: [world.guild.id],
  });
  expect(lines.filter((line) => line.includes("View Audit Log"))).toHaveLength(1);
  expect(lines.join("")).not.toContain("Nobody may see this.");

  const own = world.member();
  await punish(world, own, { action: "ban" });
  world.guild.unban(person, { by: mona });
  await expect.poll(async () => (await actionsOf(world, person, owner)).length, { timeout: 3000 }).toBe(2);
  expect(await actionsOf(world, own, owner)).toEqual([]);

  world.guild.setRolePermissions(botRole!, [...withoutLog, "ViewAuditLog"]);
  await world.app.runJobs();
  await settled(world);
  expect((await actionsOf(world, person, owner)).map(({ action, by, reason: why }) => [action, by, why])).toEqual([
    ["ban", mona.id, "Nobody may see this."],
    ["unban", mona.id, null],
  ]);
  expect(await actionsOf(world, other, owner)).toMatchObject([{ action: "kick", by: mona.id }]);
  expect(await actionsOf(world, own, owner)).toEqual([]);
  expect((await world.get("/health")).body.checks.guild_state.status).toBe("pass");
});
