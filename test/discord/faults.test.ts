// @module-tag slow
import { once } from "node:events";
import { createServer } from "node:http";
import { createServer as createNetServer, type AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { Database } from "../../src/database/database.ts";
import { createGatewayPace, maxAwayMs, maxBrokenMs, pauseAfterFailures } from "../../src/discord/gateway/identify-budget.ts";
import { ProblemError } from "../../src/kernel/errors.ts";
import { inWords } from "../../src/kit/say.ts";
import { createStand, goLive, isLive, linkTo, openTestDatabase, startSandbox, tracking, until, type StandOptions } from "./support.ts";

/** A real database whose next writes can be made to fail. */
async function openFailing() {
  const { database } = await openTestDatabase();
  let error: Error | undefined;
  const failing: Database = {
    ...database,
    write: (call, work) => (error === undefined ? database.write(call, work) : Promise.reject(error)),
  };
  return { database: failing, failWith: (next: Error | undefined) => void (error = next) };
}

async function createHarbour(discord: StandOptions["discord"] = {}) {
  const sandbox = await startSandbox();
  const { database, failWith } = await openFailing();
  const link = linkTo(sandbox, database, { state: { sync: { retryMs: 50 } }, discord });
  const guild = sandbox.createGuild({ name: "Harbour" });
  const staff = guild.createRole("Moderator");
  const [ann] = guild.addMembers(1, { roles: [staff] });
  await link.state.track(tracking(guild, [staff]));
  await goLive({ ...link, sandbox });
  return { ...link, sandbox, guild, staff, ann: ann!, database, failWith };
}

test("while the database is busy the state is stale and shows nothing unwritten; afterwards nothing is lost", async () => {
  const stand = await createHarbour();
  const { state, guild, ann, failWith, database } = stand;
  failWith(new ProblemError("storage_busy"));
  guild.setRoles(ann, []);
  guild.setNick(ann, "Ann");
  await until(() => state.freshness().stale);
  expect(state.members(ann.id)[0]?.roleIds).toHaveLength(1);
  failWith(undefined);
  await until(() => isLive(stand));
  expect(state.members(ann.id)).toMatchObject([{ roleIds: [], nick: "Ann" }]);
  expect(await database.read.guildMember.findMany({ select: { nick: true } })).toEqual([{ nick: "Ann" }]);
});

test("a write that cannot succeed is given up, and the server is read again", async () => {
  const stand = await createHarbour();
  const { state, guild, ann, failWith, log } = stand;
  failWith(new Error("a row that does not fit"));
  guild.setRoles(ann, []);
  await until(() => log.some((line) => line.includes("a write failed")));
  failWith(undefined);
  await until(() => isLive(stand) && state.members(ann.id)[0]?.roleIds.length === 0);
});

test("a dispatch that makes no sense harms nothing, and the servers are read again", async () => {
  const stand = await createHarbour();
  const { state, ann, guild, log } = stand;
  stand.sandbox.faults.event("GUILD_MEMBER_UPDATE", { guild_id: guild.id, roles: [], nick: "a-name-nobody-has" });
  await until(() => log.some((line) => line.includes("not understood")));
  expect(isLive(stand)).toBe(false);
  expect(log.join("")).not.toContain("a-name-nobody-has");
  expect(stand.discord.eventFaults().count).toBeGreaterThan(0);
  await until(() => isLive(stand));
  expect(state.members(ann.id)).toHaveLength(1);
});

test("a bot that has nearly used up its session starts does not start another", async () => {
  const stand = await createStand();
  const { sandbox, discord } = stand;
  sandbox.createGuild({ name: "Harbour" });
  const limit = { total: 1000, remaining: 99, reset_after: 60_000, max_concurrency: 1 };
  const url = `ws://127.0.0.1:${sandbox.port.toString()}`;
  const fault = sandbox.faults.rest({
    route: "GET /gateway/bot",
    status: 200,
    times: 1000,
    body: { url, shards: 1, session_start_limit: limit },
  });
  discord.start();
  await until(() => discord.status().state === "down");
  expect(inWords(discord.status()).reason).toMatch(/session starts/);
  expect(sandbox.gatewayLog.filter((entry) => entry.op === 2)).toEqual([]);
  fault.clear();
  await until(() => isLive(stand), 60_000);
});

test("a gateway that answers a web page instead of a link, or nothing at all, ends nothing", async () => {
  const silent = createNetServer().listen(0, "127.0.0.1");
  const page = createServer((_request, response) => response.writeHead(502).end("<html>Bad gateway</html>")).listen(0, "127.0.0.1");
  await Promise.all([once(silent, "listening"), once(page, "listening")]);
  onTestFinished(() => {
    silent.close();
    page.close();
  });
  for (const server of [page, silent]) {
    const stand = await createStand({ discord: { loginDeadlineMs: 500 } });
    const { sandbox, discord } = stand;
    sandbox.createGuild({ name: "Harbour" });
    const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port.toString()}`;
    const limit = { total: 1000, remaining: 1000, reset_after: 60_000, max_concurrency: 1 };
    const fault = sandbox.faults.rest({
      route: "GET /gateway/bot",
      status: 200,
      times: 1000,
      body: { url, shards: 1, session_start_limit: limit },
    });
    discord.start();
    await until(() => discord.status().state === "down");
    fault.clear();
    await until(() => isLive(stand), 60_000);
  }
});

test("after two attempts in vain the next ones wait half a second, and twice as long each time, up to six seconds while nobody answers and half a minute while links break", () => {
  const pauses = (maxMs: number) => [0, 1, 2, 3, 4, 5, 8, 9, 40].map((failures) => pauseAfterFailures(failures, maxMs));
  expect(pauses(maxBrokenMs)).toEqual([0, 0, 0, 500, 1000, 2000, 16_000, 30_000, 30_000]);
  expect(pauses(maxAwayMs)).toEqual([0, 0, 0, 500, 1000, 2000, 6000, 6000, 6000]);
});

test("the first greeting after an outage ends the wait for it, also when it says that the session is invalid", async () => {
  const isAtOnce = (wait: Promise<void>) =>
    Promise.race([wait.then(() => true), new Promise<boolean>((resolve) => void setImmediate(() => resolve(false)))]);
  const pace = createGatewayPace();
  onTestFinished(() => pace.stop());
  pace.hello();
  pace.up();
  // The link is lost, and nobody answers for a long time.
  for (let attempt = 0; attempt < 40; attempt += 1) pace.closed();
  expect(await isAtOnce(pace.beforeAttempt())).toBe(false);
  pace.hello();
  pace.closed();
  expect(await isAtOnce(pace.beforeAttempt())).toBe(true);
  // A gateway that greets and breaks each link is no such thing.
  for (let attempt = 0; attempt < 3; attempt += 1) {
    pace.hello();
    pace.closed();
  }
  expect(await isAtOnce(pace.beforeAttempt())).toBe(false);
});

test("links that break again and again are tried with growing pauses", async () => {
  const stand = await createHarbour({ reconnectMs: 100 });
  const { sandbox, discord } = stand;
  const opened = () => sandbox.gatewayLog.filter((entry) => entry.direction === "open").length;
  const before = opened();
  const start = performance.now();
  const seen = new Set<string>();
  const closing = setInterval(() => {
    seen.add(discord.status().state);
    if (sandbox.connectionCount() > 0) sandbox.faults.close(4000);
  }, 5);
  await until(() => opened() - before >= 5, 60_000);
  clearInterval(closing);
  // The library waits half a second each time; ours add a tenth, two and four, or a quarter less.
  expect(performance.now() - start).toBeGreaterThan(2900);
  expect(seen).toContain("down");
  await until(() => isLive(stand), 60_000);
  expect(discord.status().state).toBe("ready");
});
