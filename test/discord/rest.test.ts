// @module-tag sqlite
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createDiscordRest } from "../../src/discord/rest/rest.ts";
import type { Clock } from "../../src/kernel/clock.ts";
import { createGate } from "../database/samples.ts";
import { createLog, startSandbox } from "./support.ts";

async function createCalls(options: { tokenRestMs?: number; repeatMs?: number; clock?: Clock } = {}) {
  const sandbox = await startSandbox();
  const { logger, log } = createLog();
  const rest = createDiscordRest({ apiBase: sandbox.apiBase, token: sandbox.env().DISCORD_TOKEN, logger, ...options });
  const guild = sandbox.createGuild({ name: "Harbour" });
  const get = (deadlineMs = 5000) =>
    rest.call<{ id: string }>({ method: "GET", route: `/guilds/${guild.id}`, purpose: "action", deadlineMs });
  return { sandbox, rest, guild, get, log };
}

const route = "GET /guilds/:id";

test("a call answers what Discord says", async () => {
  const { get, guild, rest } = await createCalls();
  expect(await get()).toMatchObject({ id: guild.id });
  expect(rest.counts().action).toEqual({ ok: 1, refused: 0, failed: 0, rateLimited: 0 });
});

test("a rate limit is waited for while the deadline allows", async () => {
  const { sandbox, get, guild, rest } = await createCalls();
  sandbox.faults.rest({ route, status: 429, retryAfter: 1 });
  expect(await get()).toMatchObject({ id: guild.id });
  expect(rest.counts().action.rateLimited).toBeGreaterThanOrEqual(1);
});

test("a rate limit beyond the deadline answers at once, with the time to wait", async () => {
  const { sandbox, get } = await createCalls();
  sandbox.faults.rest({ route, status: 429, retryAfter: 30 });
  const start = performance.now();
  const refusal: unknown = await get().catch((error: unknown) => error);
  expect(refusal).toMatchObject({ code: "discord_unavailable" });
  expect((refusal as { retryAfter: number }).retryAfter).toBeGreaterThan(25);
  expect(performance.now() - start).toBeLessThan(25_000);
});

test("5xx answers are tried again with pauses, and end as unavailable", async () => {
  const { sandbox, get, guild } = await createCalls();
  sandbox.faults.rest({ route, status: 502, times: 2 });
  const start = performance.now();
  expect(await get()).toMatchObject({ id: guild.id });
  expect(performance.now() - start).toBeGreaterThan(400);
  const hasty = await createCalls({ repeatMs: 20 });
  const fault = hasty.sandbox.faults.rest({ route, status: 502, times: 100 });
  await expect(hasty.get()).rejects.toMatchObject({ code: "discord_unavailable" });
  expect(fault.hits).toBe(4);
});

test("after a failure no look-up is tried for three seconds, while other calls are", async () => {
  const { sandbox, rest, guild, get } = await createCalls({ repeatMs: 20 });
  const lookUp = () => rest.call({ method: "GET", route: `/guilds/${guild.id}`, purpose: "lookup" });
  const fault = sandbox.faults.rest({ route, status: 502, times: 2 });
  await expect(lookUp()).rejects.toMatchObject({ code: "discord_unavailable" });
  await expect(lookUp()).rejects.toMatchObject({ code: "discord_unavailable", retryAfter: 3 });
  expect(fault.hits).toBe(2);
  expect(await get()).toMatchObject({ id: guild.id });
});

test("a call whose effect is unknown is not repeated", async () => {
  const { sandbox, rest, guild } = await createCalls();
  const fault = sandbox.faults.rest({ route: "POST /guilds/:id/roles", status: 502, times: 5 });
  await expect(
    rest.call({ method: "POST", route: `/guilds/${guild.id}/roles`, body: { name: "x" }, purpose: "action" }),
  ).rejects.toMatchObject({
    code: "discord_unavailable",
  });
  expect(fault.hits).toBe(1);
});

test("a refusal by Discord carries its code", async () => {
  const { rest } = await createCalls();
  await expect(rest.call({ method: "GET", route: "/guilds/100000000000000001", purpose: "action" })).rejects.toMatchObject({
    code: "discord_error",
    extra: { discord_status: 404, discord_code: 10_004 },
  });
});

test("after a 401 calls are held back for a while, because Discord counts them", async () => {
  const { sandbox, rest, get, log } = await createCalls();
  const fault = sandbox.faults.rest({ route, status: 401, times: 2 });
  await expect(get()).rejects.toMatchObject({ code: "discord_unavailable" });
  expect(rest.isTokenRefused()).toBe(true);
  await expect(get()).rejects.toMatchObject({ code: "discord_unavailable", retryAfter: 60 });
  expect(fault.hits).toBe(1);
  expect(log.join("")).not.toContain(sandbox.env().DISCORD_TOKEN);
});

test("the token is not forgotten after a 401: the next call that is made may work", async () => {
  const { sandbox, rest, get, guild } = await createCalls({ tokenRestMs: 0 });
  sandbox.faults.rest({ route, status: 401 });
  await expect(get()).rejects.toMatchObject({ code: "discord_unavailable" });
  expect(await get()).toMatchObject({ id: guild.id });
  expect(rest.isTokenRefused()).toBe(false);
});

test("an answer to a call from before the refusal does not make the token right", async () => {
  const refusal = createGate();
  const server = createServer((request, response) => {
    const answer = (status: number, body: object): void =>
      void response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
    if (request.url?.includes("/members/") === true) answer(401, { message: "401: Unauthorized", code: 0 });
    else void refusal.opened.then(() => answer(200, { id: "80351110224678912" }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const apiBase = `http://127.0.0.1:${(server.address() as AddressInfo).port.toString()}`;
  const rest = createDiscordRest({ apiBase, token: "token", logger: createLog().logger });
  const call = (path: string) =>
    rest.call({ method: "GET", route: `/guilds/80351110224678912${path}`, purpose: "action", deadlineMs: 5000 });
  const earlier = call("");
  await expect(call("/members/80351110224678913")).rejects.toMatchObject({ code: "discord_unavailable" });
  refusal.open();
  expect(await earlier).toEqual({ id: "80351110224678912" });
  expect(rest.isTokenRefused()).toBe(true);
});

test("a call that hangs ends by its deadline", async () => {
  const { sandbox, get } = await createCalls();
  sandbox.faults.rest({ route, hang: true });
  await expect(get(300)).rejects.toMatchObject({ code: "discord_unavailable" });
});

test.each([
  [-600, "10 minutes behind"],
  [7_200, "2 hours ahead of"],
])("a clock that is %i seconds off is told of once, with what sets it", async (seconds, text) => {
  const { get, log } = await createCalls({ clock: { now: () => new Date(Date.now() + seconds * 1000) } });
  await get();
  await get();
  const said = log.filter((line) => line.includes("The clock of this machine"));
  expect(said).toHaveLength(1);
  expect(said[0]).toContain(`The clock of this machine is ${text} Discord's`);
  expect(said[0]).toContain("timedatectl set-ntp true");
});

test("a clock that is a few seconds off is right enough", async () => {
  const { get, log } = await createCalls({ clock: { now: () => new Date(Date.now() + 20_000) } });
  await get();
  expect(log.join()).not.toContain("clock");
});
