// @module-tag sqlite
// @module-tag slow
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createSandbox, type Sandbox } from "../../src/sandbox/index.ts";
import { freshKey, validEnvironment } from "../config/environment.ts";
import { until } from "../discord/support.ts";
import { installation } from "./installation.ts";
import { createWorkplace, operatorEnv } from "./run.ts";

async function createDiscord() {
  const sandbox = await createSandbox();
  onTestFinished(() => sandbox.stop());
  const guild = sandbox.createGuild({ name: "Harbour" });
  return { sandbox, env: environment(sandbox, guild.id) };
}

function environment(sandbox: Sandbox, guildId: string): Record<string, string> {
  return { ...validEnvironment(), ...sandbox.env(), GUILD_IDS: guildId, PORT: "0" };
}

/** Run the server as an operator does until its log says something; it is then stopped. @returns the texts of its log */
async function serveUntil(
  directory: string,
  env: Record<string, string>,
  text: RegExp,
  ask: (url: string) => Promise<unknown> = async () => {},
) {
  const script = (await installation()).program;
  const child = execFile(process.execPath, [script, "serve"], { cwd: directory, env: operatorEnv(env) });
  onTestFinished(() => void child.kill("SIGKILL"));
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  let [said, url] = ["", ""];
  child.stdout?.on("data", (part: string) => (said += part));
  child.stderr?.on("data", (part: string) => (said += part));
  await until(() => (url = /"url":"([^"]+)"/.exec(said)?.[1] ?? "") !== "" || child.exitCode !== null, 60_000);
  await ask(url);
  await until(() => text.test(said) || child.exitCode !== null, 60_000);
  child.kill("SIGTERM");
  expect(await ended).toBe(0);
  expect(said).not.toMatch(/"stack":"[^"]/);
  return said
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as { level: number; msg: string; reason?: string })
    .filter(({ level }) => level >= 40)
    .map(({ msg, reason }) => (reason === undefined ? msg : `${msg}: ${reason}`));
}

test("a server of GUILD_IDS that the bot is not in is named with the address that invites it", async () => {
  await using work = await createWorkplace();
  const { env } = await createDiscord();
  const elsewhere = "613425648685547520";
  const said = await serveUntil(work.directory, { ...env, GUILD_IDS: `${env["GUILD_IDS"] ?? ""},${elsewhere}` }, /not in it/);
  const { DISCORD_CLIENT_ID: id = "" } = env;
  expect(said).toEqual([
    `GUILD_IDS names the server ${elsewhere}, but the bot is not in it. Invite it with https://discord.com/oauth2/authorize?client_id=${id}&scope=bot+applications.commands&guild_id=${elsewhere}, or take the id out of GUILD_IDS and restart.`,
  ]);
});

test("a variable that looks like a setting and is none is named at the start", async () => {
  await using work = await createWorkplace();
  const { env } = await createDiscord();
  const said = await serveUntil(work.directory, { ...env, LOG_LEVL: "debug" }, /listening/);
  expect(said).toEqual(["LOG_LEVL is not a setting: did you mean LOG_LEVEL?"]);
});

test("a client id of another application than the token's is named", async () => {
  await using work = await createWorkplace();
  const { env } = await createDiscord();
  const said = await serveUntil(work.directory, { ...env, DISCORD_CLIENT_ID: "80351110224678912", COMMANDS_REGISTER: "off" }, /belongs to/);
  expect(said).toEqual([
    `DISCORD_CLIENT_ID is 80351110224678912, but DISCORD_TOKEN belongs to the application ${env["DISCORD_CLIENT_ID"] ?? ""}: commands are not registered, and nobody can agree to be checked. Copy the id, the token and the client secret from the same application.`,
  ]);
});

test("a refused token, and a switch that is off in the developer portal, are named with what mends them; HTTP goes on", async () => {
  await using work = await createWorkplace();
  const { sandbox, env } = await createDiscord();
  const refused = await serveUntil(work.directory, { ...env, DISCORD_TOKEN: "sandbox.hunter2.token" }, /after a restart/);
  const failed = "the bot is not connected to Discord, and tries again only after a restart; HTTP goes on";
  expect(refused).toContain(
    `${failed}: Discord refuses the bot token. In the developer portal open Bot, reset the token, put the new one into \`DISCORD_TOKEN\`, then restart.`,
  );
  expect(refused.join()).not.toContain("hunter2");
  sandbox.setPrivilegedIntents(0);
  let live = 0;
  const off = await serveUntil(work.directory, env, /after a restart/, async (url) => (live = (await fetch(`${url}/livez`)).status));
  expect(off).toContain(
    `${failed}: Discord refuses to show the bot the members of its servers. In the developer portal open Bot, switch on Server Members Intent under Privileged Gateway Intents, then restart.`,
  );
  expect(live).toBe(200);
});

test("keys of ENCRYPTION_KEYS that are not those of before are named at each start until they are back, or are meant", async () => {
  await using work = await createWorkplace();
  const { env } = await createDiscord();
  const start = (given: Record<string, string>) => serveUntil(work.directory, { ...env, ...given }, /listening/);
  expect(await start({})).toEqual([]);
  const others = { ENCRYPTION_KEYS: `k3:${freshKey()}` };
  const way = "If that is meant, delete data/keys.json and restart.";
  const lost = (id: string) =>
    `ENCRYPTION_KEYS no longer has the key ${id} that it had: what was encrypted with it, such as the Discord grants of people, cannot be opened. Put it back at the end of ENCRYPTION_KEYS. ${way}`;
  const warnings = [lost("k2"), lost("k1")];
  expect(await start(others)).toEqual(expect.arrayContaining(warnings));
  expect(await start(others)).toEqual(expect.arrayContaining(warnings));
  const added = { ENCRYPTION_KEYS: `k3:${freshKey()},${env["ENCRYPTION_KEYS"] ?? ""}` };
  expect(await start(added)).toEqual([]);
  const marks = await readFile(join(work.directory, "data/keys.json"), "utf8");
  for (const key of (env["ENCRYPTION_KEYS"] ?? "").split(",").map((entry) => entry.slice(3))) expect(marks).not.toContain(key);
  expect(await work.provost(["secrets", "reencrypt"], { ...env, ...added })).toMatchObject({ code: 0 });
  expect(await start({ ENCRYPTION_KEYS: added.ENCRYPTION_KEYS.split(",")[0] ?? "" })).toEqual([]);
});

test("a proxy that is not trusted is named by the variable", async () => {
  await using work = await createWorkplace();
  const { env } = await createDiscord();
  const ask = (url: string) => fetch(`${url}/livez`, { headers: { "x-forwarded-for": "203.0.113.9" } });
  expect(await serveUntil(work.directory, env, /TRUSTED_PROXIES/, ask)).toEqual([
    "A request came through a proxy (X-Forwarded-For), but TRUSTED_PROXIES is empty: everybody behind that proxy shares the limits of one address. If the proxy is yours, set TRUSTED_PROXIES to its address and restart.",
  ]);
});

test("an address that only this machine opens is no address for a consent page, and http is none for others", async () => {
  await using work = await createWorkplace();
  const valid = validEnvironment();
  expect(await work.provost(["config", "check"], valid)).toMatchObject({
    code: 0,
    stderr:
      "PUBLIC_URL is http://127.0.0.1:8080, which opens on this machine alone: nobody else can follow a link to the consent page. Set PUBLIC_URL to the https address of this service.\nThe configuration is valid.\n",
  });
  expect(await work.provost(["config", "check"], { ...valid, PUBLIC_URL: "http://mod.example.org" })).toMatchObject({
    code: 78,
    stderr:
      "PUBLIC_URL: must be an https address without trailing slash, credentials or query, such as https://mod.example.org; http only for this machine (it has 22 characters: letters, other signs)\n",
  });
});
