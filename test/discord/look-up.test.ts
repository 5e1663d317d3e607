// @module-tag sqlite
// @module-tag slow
import { expect, test } from "vitest";
import { createMemberSource } from "../../src/discord/guild/member-read.ts";
import type { DiscordRequest } from "../../src/kernel/discord-port.ts";
import { ProblemError } from "../../src/kernel/errors.ts";
import { createStand, goLive, startSandbox, tracking, until, linkTo, openTestDatabase, type StandOptions } from "./support.ts";

const memberRoute = "/guilds/{guild_id}/members/{user_id}";
const notKnown = { members: [], isComplete: false };

async function createHarbour(discord: StandOptions["discord"] = {}) {
  const stand = await createStand({ discord });
  const guild = stand.sandbox.createGuild({ name: "Harbour" });
  const ann = stand.sandbox.createUser("ann", { global_name: "Ann" });
  guild.addMember(ann);
  await goLive(stand);
  const calls = () => stand.sandbox.exchanges.filter((exchange) => exchange.route === memberRoute).length;
  return { ...stand, guild, ann, calls };
}

test("fifty look-ups of one person at once make one call, and its answer is remembered", async () => {
  const { state, ann, guild, calls } = await createHarbour();
  const answers = await Promise.all(Array.from({ length: 50 }, () => state.lookUp(ann.id)));
  expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  expect(answers[0]).toMatchObject({
    members: [{ guildId: guild.id, userId: ann.id, globalName: "Ann", present: true }],
    isComplete: true,
  });
  await state.lookUp(ann.id);
  expect(calls()).toBe(1);
  expect([...state.trackedUsers()]).toEqual([]);
});

test("that somebody is not a member is remembered until they join", async () => {
  const { sandbox, state, guild, calls } = await createHarbour();
  const bob = sandbox.createUser("bob");
  expect(await state.lookUp(bob.id)).toEqual({ members: [], isComplete: true });
  expect(await state.lookUp(bob.id)).toEqual({ members: [], isComplete: true });
  expect(calls()).toBe(1);
  const seen = sandbox.gatewayLog.length;
  guild.addMember(bob);
  await until(() => sandbox.gatewayLog.slice(seen).some((entry) => entry.t === "GUILD_MEMBER_ADD"));
  await until(async () => (await state.lookUp(bob.id)).members.length === 1);
  expect(await state.lookUp(bob.id)).toMatchObject({ members: [{ userId: bob.id }] });
});

test("a stored person is answered without a call", async () => {
  const { state, guild, ann, calls } = await createHarbour();
  await state.track(tracking(guild, [], [ann.id]));
  const before = calls();
  expect(await state.lookUp(ann.id)).toMatchObject({ members: [{ userId: ann.id }], isComplete: true });
  expect(calls()).toBe(before);
});

test("while Discord refuses connections a look-up answers quickly that nothing is known, and the next at once", async () => {
  const { sandbox, state, ann } = await createHarbour();
  const back = sandbox.faults.down(Infinity);
  await until(() => state.freshness().stale);
  const start = performance.now();
  expect(await state.lookUp(ann.id)).toEqual(notKnown);
  expect(performance.now() - start).toBeLessThan(20_000);
  const next = performance.now();
  expect(await state.lookUp("100000000000000001")).toEqual(notKnown);
  expect(performance.now() - next).toBeLessThan(2400);
  sandbox.faults.up();
  await back;
});

test("a look-up has two and a half seconds", async () => {
  const asked: DiscordRequest[] = [];
  const call = (request: DiscordRequest) => (asked.push(request), Promise.reject(new ProblemError("discord_unavailable")));
  const source = createMemberSource({ call }, () => undefined);
  await expect(source.member("1", "2", "lookup")).rejects.toMatchObject({ code: "discord_unavailable" });
  expect(asked).toMatchObject([{ purpose: "lookup", deadlineMs: 2500 }]);
});

test("a call that hangs ends a look-up by its deadline", async () => {
  const { sandbox, state, ann } = await createHarbour({ lookUpMs: 100 });
  sandbox.faults.rest({ route: "GET /guilds/:id/members/:id", hang: true });
  const start = performance.now();
  expect(await state.lookUp(ann.id)).toEqual(notKnown);
  expect(performance.now() - start).toBeLessThan(2400);
});

test("an answer that could not be had is not remembered", async () => {
  const { sandbox, state, ann } = await createHarbour({ lookUpRestMs: 200, repeatMs: 20 });
  sandbox.faults.rest({ route: "GET /guilds/:id/members/:id", status: 500, times: 2 });
  expect(await state.lookUp(ann.id)).toEqual(notKnown);
  await until(async () => (await state.lookUp(ann.id)).isComplete, 6000);
  expect((await state.lookUp(ann.id)).members).toHaveLength(1);
});

test("without any link a look-up answers from what is stored", async () => {
  const sandbox = await startSandbox();
  const { database } = await openTestDatabase();
  const { state } = linkTo(sandbox, database);
  await state.load();
  expect(await state.lookUp("100000000000000001")).toEqual(notKnown);
  await state.track({ roles: new Set(["1:2"]), users: new Set(["3"]) });
});

/** A community of many servers, and how many requests about members were made when. */
async function createMany(count: number, state: StandOptions["state"] = {}) {
  const stand = await createStand({ state });
  const guilds = Array.from({ length: count }, (_, index) => stand.sandbox.createGuild({ name: `Harbour ${index.toString()}` }));
  await goLive(stand);
  const times = () => stand.sandbox.exchanges.filter(({ route }) => route === memberRoute).map(({ at }) => at);
  return { ...stand, guilds, times };
}

test("forty strangers at many servers cost a few requests a second in all, and who has no answer yet is unknown", async () => {
  const { sandbox, state, times } = await createMany(60, { lookUp: { waitMs: 1200 } });
  const answers = await Promise.all(Array.from({ length: 40 }, () => state.lookUp(sandbox.createUser("stranger").id)));
  expect(new Set(answers.map((answer) => JSON.stringify(answer)))).toEqual(new Set([JSON.stringify(notKnown)]));
  await until(() => times().length > 25);
  const [first = 0] = times();
  for (const [index, at] of times().entries()) expect(index + 1).toBeLessThanOrEqual(20 + (5 * (at - first + 2000)) / 1000);
});

test("a look-up that takes longer than anybody waits goes on, and its answer is there for whoever asks again", async () => {
  const { sandbox, state, times, guilds } = await createMany(24, { lookUp: { waitMs: 100 } });
  const bob = sandbox.createUser("bob");
  guilds[23]?.addMember(bob);
  await sandbox.caughtUp();
  expect(await state.lookUp(bob.id)).toEqual(notKnown);
  await until(async () => (await state.lookUp(bob.id)).isComplete);
  expect((await state.lookUp(bob.id)).members).toHaveLength(1);
  expect(times()).toHaveLength(24);
});

test("whoever is to be stored is looked up at once, however many strangers wait", async () => {
  const { sandbox, state, guilds, times } = await createMany(30, { lookUp: { waitMs: 200 } });
  const ann = sandbox.createUser("ann");
  guilds[0]?.addMember(ann);
  await sandbox.caughtUp();
  await Promise.all(Array.from({ length: 10 }, () => state.lookUp(sandbox.createUser("stranger").id)));
  await state.track(tracking(guilds[0]!, [], [ann.id]));
  expect(state.members(ann.id)).toMatchObject([{ present: true }]);
  expect(sandbox.exchanges.filter(({ route }) => route === "/guilds/{guild_id}/members")).toEqual([]);
  expect(times().length).toBeGreaterThanOrEqual(30);
});
