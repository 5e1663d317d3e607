// @module-tag sqlite
import { RESTEvents } from "discord.js";
import { expect, test } from "vitest";
import { callApi, startBot, startSandbox } from "./support.ts";

async function start() {
  const sandbox = await startSandbox();
  const guild = sandbox.createGuild({ name: "Harbour" });
  return { sandbox, guild };
}

test("a 429 hits one route as often as said, and the client waits and gets through", async () => {
  const { sandbox, guild } = await start();
  const client = await startBot(sandbox);
  const fault = sandbox.faults.rest({ route: "GET /guilds/:id/roles", status: 429, retryAfter: 0.05, times: 2 });
  let limited = 0;
  client.rest.on(RESTEvents.RateLimited, () => (limited += 1));
  expect((await client.guilds.cache.get(guild.id)?.roles.fetch())?.size).toBe(2);
  expect([limited, fault.hits]).toEqual([2, 2]);
  const statuses = sandbox.exchanges.filter(({ route }) => route === "/guilds/{guild_id}/roles").map(({ status }) => status);
  expect(statuses).toEqual([429, 429, 200]);
});

test("a global 429 says so in header and body", async () => {
  const { sandbox, guild } = await start();
  sandbox.faults.rest({ route: "*", status: 429, retryAfter: 2, global: true });
  const response = await fetch(`${sandbox.apiBase}/v10/guilds/${guild.id}`);
  expect(response.headers.get("X-RateLimit-Global")).toBe("true");
  expect(response.headers.get("Retry-After")).toBe("2");
  expect(await response.json()).toMatchObject({ global: true, retry_after: 2 });
});

test("a server error comes before the call has any effect", async () => {
  const { sandbox, guild } = await start();
  const ann = sandbox.createUser("ann");
  guild.addMember(ann);
  sandbox.faults.rest({ route: "PUT /guilds/{guild_id}/bans/{user_id}", status: 503 });
  const path = `/guilds/${guild.id}/bans/${ann.id}`;
  expect((await callApi(sandbox, "PUT", path, {})).status).toBe(503);
  expect(guild.member(ann)).toBeDefined();
  expect((await callApi(sandbox, "PUT", path, {})).status).toBe(204);
});

test("a hanging call is ended by the caller's own limit, others go on", async () => {
  const { sandbox, guild } = await start();
  sandbox.faults.rest({ route: "GET /guilds/:id", hang: true });
  const path = `/guilds/${guild.id}`;
  const hanging = fetch(`${sandbox.apiBase}/v10${path}`, { signal: AbortSignal.timeout(100) });
  await expect(hanging).rejects.toThrow(/timeout/i);
  expect((await callApi(sandbox, "GET", path)).status).toBe(200);
});

test("OAuth endpoints fail on demand, and faults can be taken back", async () => {
  const { sandbox } = await start();
  sandbox.faults.oauth({ route: "token", status: 502, times: 5 });
  const { DISCORD_CLIENT_ID: client_id, DISCORD_CLIENT_SECRET: client_secret } = sandbox.env();
  const body = new URLSearchParams({ grant_type: "client_credentials", client_id, client_secret });
  const call = async () => (await fetch(`${sandbox.apiBase}/oauth2/token`, { method: "POST", body })).status;
  expect(await call()).toBe(502);
  sandbox.faults.clear();
  expect(await call()).toBe(200);
});

test("while down every connection is refused; afterwards the same port answers and the client is back", async () => {
  const { sandbox, guild } = await start();
  const client = await startBot(sandbox);
  const back = new Promise((resolve) => client.once("shardReady", resolve));
  const outage = sandbox.faults.down(700);
  await sandbox.waitFor(() => sandbox.connectionCount() === 0);
  await expect(callApi(sandbox, "GET", `/guilds/${guild.id}`)).rejects.toThrow(/fetch failed/);
  await outage;
  expect((await callApi(sandbox, "GET", `/guilds/${guild.id}`)).status).toBe(200);
  await back;
  expect(sandbox.connectionCount()).toBe(1);
});

test("a sandbox stops while clients are connected and calls hang", async () => {
  const { sandbox, guild } = await start();
  await startBot(sandbox);
  sandbox.faults.rest({ route: "GET /guilds/:id", hang: true });
  const hanging = fetch(`${sandbox.apiBase}/v10/guilds/${guild.id}`);
  const failed = expect(hanging).rejects.toThrow(/fetch failed/);
  await sandbox.stop();
  await failed;
});

test("an answer is lost after the call had its effect, and a page stands where an answer should", async () => {
  const { sandbox, guild } = await start();
  const ann = sandbox.createUser("ann");
  guild.addMember(ann);
  const path = `/guilds/${guild.id}/bans/${ann.id}`;
  sandbox.faults.rest({ route: "PUT /guilds/:id/bans/:user", status: 502, late: true });
  expect((await callApi(sandbox, "PUT", path, {})).status).toBe(502);
  expect(guild.bans()).toHaveLength(1);
  expect(sandbox.exchanges.at(-1)).toMatchObject({ status: 502, requestBody: {} });
  sandbox.faults.rest({ route: "GET /guilds/:id", status: 403, html: "<h1>no</h1>" });
  const response = await fetch(`${sandbox.apiBase}/v10/guilds/${guild.id}`);
  expect([response.status, response.headers.get("Content-Type"), await response.text()]).toEqual([
    403,
    "text/html; charset=UTF-8",
    "<h1>no</h1>",
  ]);
});
