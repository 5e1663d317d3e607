// @module-tag sqlite
// @module-tag slow
import { SimpleIdentifyThrottler } from "discord.js";
import { expect, onTestFinished, test, vi } from "vitest";
import { createIdentifyBudget } from "../../src/discord/gateway/identify-budget.ts";
import { inWords } from "../../src/kit/say.ts";
import { createStand, goLive, isLive, linkTo, openTestDatabase, startSandbox, tracking, until, type StandOptions } from "./support.ts";

/** A live link with one stored holder of a tracked role. */
async function createHarbour(options: StandOptions = {}) {
  const stand = await createStand(options);
  const guild = stand.sandbox.createGuild({ name: "Harbour" });
  const staff = guild.createRole("Moderator");
  const [ann] = guild.addMembers(1, { roles: [staff] });
  await stand.state.track(tracking(guild, [staff]));
  await goLive(stand);
  return { ...stand, guild, staff, ann: ann! };
}

function identifies({ sandbox }: Pick<Awaited<ReturnType<typeof createStand>>, "sandbox">): number {
  return sandbox.gatewayLog.filter((entry) => entry.op === 2).length;
}

test("during an outage the last state answers, marked stale; what was missed is healed afterwards", async () => {
  const { sandbox, state, discord, guild, ann, staff } = await createHarbour();
  const [bob, carl] = [sandbox.createUser("bob"), sandbox.createUser("carl")];
  guild.addMember(carl, { roles: [staff] });
  await until(() => state.members(carl.id).length === 1);
  const before = Date.now();
  const back = sandbox.faults.down(1500);
  await until(() => state.freshness().stale);
  expect(discord.status().state).not.toBe("ready");
  guild.setRoles(ann, []);
  guild.addMember(bob, { roles: [staff] });
  guild.kick(carl);
  expect(state.members(ann.id)[0]?.roleIds).toEqual([staff.id]);
  const { asOf, ageSeconds } = state.freshness();
  expect(asOf!.getTime()).toBeLessThanOrEqual(Date.now());
  expect(asOf!.getTime()).toBeGreaterThan(before - 5000);
  expect(ageSeconds).not.toBeNull();
  await back;
  await until(() => isLive({ state }), 60_000);
  expect(state.members(ann.id)[0]?.roleIds).toEqual([]);
  expect(state.members(bob.id)).toMatchObject([{ present: true, roleIds: [staff.id] }]);
  expect(state.members(carl.id)).toMatchObject([{ present: false }]);
  expect(discord.status()).toMatchObject({ state: "ready", reconnects: 1 });
  expect(identifies({ sandbox })).toBe(2);
});

test("an incomplete read marks nobody as gone; a complete one does", async () => {
  const { sandbox, guild, ann, discord, database } = await createHarbour();
  await discord.stop();
  guild.kick(ann);
  const again = linkTo(sandbox, database, { state: { sync: { windowMs: 50, chunkTimeoutMs: 0, retryMs: 50 } }, discord: { repeatMs: 20 } });
  await again.state.load();
  const fault = sandbox.faults.rest({ route: "GET /guilds/:id/members", status: 500, times: 1000 });
  again.discord.start();
  await until(() => again.log.some((line) => line.includes("member list failed")), 60_000);
  expect(again.state.members(ann.id)).toMatchObject([{ present: true }]);
  expect(again.state.freshness().stale).toBe(true);
  fault.clear();
  await until(() => isLive(again), 60_000);
  expect(again.state.members(ann.id)).toMatchObject([{ present: false }]);
});

test("a dropped socket is resumed: what happened meanwhile is replayed and nothing is read again", async () => {
  const { sandbox, state, discord, guild, ann } = await createHarbour();
  const reads = () => sandbox.gatewayLog.filter((entry) => entry.op === 8).length;
  expect(reads()).toBe(1);
  sandbox.faults.dropSockets();
  guild.setRoles(ann, []);
  await until(() => discord.status().reconnects === 1);
  await until(() => isLive({ state }) && discord.status().state === "ready");
  await until(() => state.members(ann.id)[0]?.roleIds.length === 0);
  expect(reads()).toBe(1);
  expect(identifies({ sandbox })).toBe(1);
});

test("a reconnect asked for by Discord is followed", async () => {
  const { sandbox, state, discord } = await createHarbour();
  sandbox.faults.reconnect();
  await until(() => discord.status().reconnects === 1 && discord.status().state === "ready" && isLive({ state }));
});

test("after an invalidated session everything is read again", async () => {
  const { sandbox, state, guild, ann } = await createHarbour();
  sandbox.faults.invalidateSessions();
  guild.setRoles(ann, []);
  await until(() => !isLive({ state }));
  await until(() => isLive({ state }), 60_000);
  expect(state.members(ann.id)[0]?.roleIds).toEqual([]);
  expect(identifies({ sandbox })).toBe(2);
});

test("unless told otherwise the library keeps session starts five seconds apart", async () => {
  const asked = vi.spyOn(SimpleIdentifyThrottler.prototype, "waitForIdentify").mockResolvedValue();
  onTestFinished(() => asked.mockRestore());
  const unknown = { fetchGatewayInformation: () => Promise.reject(new Error("there is no gateway")) };
  const throttler = await createIdentifyBudget().throttler(unknown, () => undefined);
  await throttler.waitForIdentify(0, new AbortController().signal);
  expect(asked).toHaveBeenCalledOnce();
});

test("a link that has gone silent is noticed", async () => {
  const { sandbox, state, discord } = await createHarbour({ sandbox: { heartbeatMs: 150 } });
  sandbox.faults.silence();
  await until(() => discord.status().reconnects === 1, 60_000);
  await until(() => isLive({ state }), 60_000);
});

test("a refused token is fatal with an instruction and is not tried again", async () => {
  const stand = await createStand({ discord: { token: "sandbox.wrong" } });
  stand.discord.start();
  await until(() => stand.discord.status().state === "fatal");
  expect(inWords(stand.discord.status()).reason).toMatch(/DISCORD_TOKEN/);
  const calls = stand.sandbox.exchanges.length;
  await stand.discord.stop();
  expect(stand.sandbox.exchanges).toHaveLength(calls);
  expect(stand.log.join("")).not.toContain("sandbox.wrong");
});

test("a missing members intent is fatal and names the switch", async () => {
  const stand = await createStand();
  stand.sandbox.setPrivilegedIntents(0);
  stand.discord.start();
  await until(() => stand.discord.status().state === "fatal");
  expect(inWords(stand.discord.status()).reason).toMatch(/Server Members Intent/);
  expect(identifies(stand)).toBe(1);
});

test.each([
  [4004, /DISCORD_TOKEN/],
  [4014, /Server Members Intent/],
])("a close with %i while running is fatal; the last state answers, stale", async (code, reason) => {
  const { sandbox, state, discord, ann } = await createHarbour();
  sandbox.faults.close(code);
  await until(() => discord.status().state === "fatal");
  expect(inWords(discord.status()).reason).toMatch(reason);
  expect(state.freshness().stale).toBe(true);
  expect(state.members(ann.id)).toHaveLength(1);
  expect(sandbox.connectionCount()).toBe(0);
});

test("starting while Discord is down returns at once and connects when it is back", async () => {
  const sandbox = await startSandbox();
  sandbox.createGuild({ name: "Harbour" });
  const back = sandbox.faults.down(700);
  const { database } = await openTestDatabase();
  const link = linkTo(sandbox, database);
  link.discord.start();
  expect(link.discord.status().state).toBe("connecting");
  await until(() => link.discord.status().state === "down");
  expect(inWords(link.discord.status()).reason).toBe("Discord cannot be reached.");
  await back;
  await until(() => isLive(link), 60_000);
  expect(link.discord.status().state).toBe("ready");
});

test("an error of the gateway's address is tried again with growing pauses", async () => {
  const stand = await createStand();
  stand.sandbox.createGuild({ name: "Harbour" });
  stand.sandbox.faults.rest({ route: "GET /gateway/bot", status: 503, times: 6 });
  await goLive(stand);
  expect(stand.discord.status().state).toBe("ready");
});

test("a login that gets no answer is given up and begun anew", async () => {
  const stand = await createStand({ discord: { loginDeadlineMs: 400 } });
  stand.sandbox.createGuild({ name: "Harbour" });
  stand.sandbox.faults.rest({ route: "GET /gateway/bot", status: 200, hang: true, times: 1 });
  await goLive(stand);
});

test("after a restart the stored state answers with its age until the link is live", async () => {
  const { sandbox, discord, database, ann, staff } = await createHarbour();
  await discord.stop();
  const again = linkTo(sandbox, database);
  await again.state.load();
  expect(again.state.members(ann.id)).toMatchObject([{ roleIds: [staff.id], present: true }]);
  expect(again.state.freshness()).toMatchObject({ stale: true });
  expect(again.state.freshness().ageSeconds).toBeLessThan(10);
  expect(again.state.isTooOld()).toBe(false);
  await goLive({ ...again, sandbox });
});

test("a state that was never read is too old, and one that outlived the limit becomes so", async () => {
  let now = Date.now();
  const clock = { now: () => new Date(now) };
  const { state, sandbox, discord } = await createHarbour({ state: { clock, staleLimitSeconds: 60 } });
  expect(state.isTooOld()).toBe(false);
  sandbox.faults.close(4004);
  await until(() => discord.status().state === "fatal");
  expect(state.isTooOld()).toBe(false);
  now += 61_000;
  expect(state.isTooOld()).toBe(true);
  const { database } = await openTestDatabase();
  const fresh = linkTo(sandbox, database);
  await fresh.state.load();
  expect(fresh.state.freshness()).toEqual({ stale: true, asOf: null, ageSeconds: null });
  expect(fresh.state.isTooOld()).toBe(true);
});

test("a refusal of the token in a call is reported while the gateway goes on", async () => {
  const { sandbox, state, discord } = await createHarbour();
  sandbox.faults.rest({ route: "GET /guilds/:id/members/:id", status: 401, times: 1 });
  expect(await state.lookUp("100000000000000001")).toEqual({ members: [], isComplete: false });
  expect(discord.status()).toMatchObject({ state: "down" });
  expect(inWords(discord.status()).reason).toMatch(/DISCORD_TOKEN/);
  const calls = sandbox.exchanges.length;
  expect(await state.lookUp("100000000000000002")).toEqual({ members: [], isComplete: false });
  expect(sandbox.exchanges).toHaveLength(calls);
});

test("nothing is written after the stop", async () => {
  const { sandbox, discord, guild, ann, database } = await createHarbour();
  await discord.stop();
  await until(() => sandbox.connectionCount() === 0);
  guild.setRoles(ann, []);
  const [row] = await database.read.guildMember.findMany();
  expect(row?.roleIds).toHaveLength(1);
});
