// @module-tag sqlite
import { expect, test } from "vitest";
import { createMemberSource } from "../../src/discord/member-source.ts";
import type { DiscordRequest } from "../../src/discord/rest-request.ts";
import { ProblemError } from "../../src/kernel/errors.ts";
import { createStand, goLive, startSandbox, tracking, until, linkTo, openTestDatabase, type StandOptions } from "./support.ts";

const memberRoute = "/guilds/{guild_id}/members/{user_id}";

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
  expect(answers[0]).toMatchObject([{ guildId: guild.id, userId: ann.id, globalName: "Ann", present: true }]);
  await state.lookUp(ann.id);
  expect(calls()).toBe(1);
  expect([...state.trackedUsers()]).toEqual([]);
});

test("that somebody is not a member is remembered until they join", async () => {
  const { sandbox, state, guild, calls } = await createHarbour();
  const bob = sandbox.createUser("bob");
  expect(await state.lookUp(bob.id)).toEqual([]);
  expect(await state.lookUp(bob.id)).toEqual([]);
  expect(calls()).toBe(1);
  const seen = sandbox.gatewayLog.length;
  guild.addMember(bob);
  await until(() => sandbox.gatewayLog.slice(seen).some((entry) => entry.t === "GUILD_MEMBER_ADD"));
  await until(async () => (await state.lookUp(bob.id)).length === 1);
  expect(await state.lookUp(bob.id)).toMatchObject([{ userId: bob.id }]);
});

test("a stored person is answered without a call", async () => {
  const { state, guild, ann, calls } = await createHarbour();
  await state.track(tracking(guild, [], [ann.id]));
  const before = calls();
  expect(await state.lookUp(ann.id)).toMatchObject([{ userId: ann.id }]);
  expect(calls()).toBe(before);
});

test("while Discord refuses connections a look-up answers [] quickly, and the next at once", async () => {
  const { sandbox, state, ann } = await createHarbour();
  const back = sandbox.faults.down(Infinity);
  await until(() => state.freshness().stale);
  const start = performance.now();
  expect(await state.lookUp(ann.id)).toEqual([]);
  expect(performance.now() - start).toBeLessThan(3000);
  const next = performance.now();
  expect(await state.lookUp("100000000000000001")).toEqual([]);
  expect(performance.now() - next).toBeLessThan(1000);
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
  const { sandbox, state, ann } = await createHarbour({ lookUpMs: 300 });
  sandbox.faults.rest({ route: "GET /guilds/:id/members/:id", hang: true });
  const start = performance.now();
  expect(await state.lookUp(ann.id)).toEqual([]);
  expect(performance.now() - start).toBeLessThan(2500);
});

test("an answer that could not be had is not remembered", async () => {
  const { sandbox, state, ann } = await createHarbour({ lookUpRestMs: 200, repeatMs: 20 });
  sandbox.faults.rest({ route: "GET /guilds/:id/members/:id", status: 500, times: 2 });
  expect(await state.lookUp(ann.id)).toEqual([]);
  await until(async () => (await state.lookUp(ann.id)).length === 1, 6000);
  expect(await state.lookUp(ann.id)).toHaveLength(1);
});

test("without any link a look-up answers from what is stored", async () => {
  const sandbox = await startSandbox();
  const { database } = await openTestDatabase();
  const { state } = linkTo(sandbox, database);
  await state.load();
  expect(await state.lookUp("100000000000000001")).toEqual([]);
  await state.track({ roles: new Set(["1:2"]), users: new Set(["3"]) });
});
