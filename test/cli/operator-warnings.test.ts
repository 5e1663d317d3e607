// @module-tag sqlite
// @module-tag slow
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createSandbox, type Sandbox } from "../../sandbox/index.ts";
import { freshKey, validEnvironment } from "../config/environment.ts";
import { until } from "../discord/support.ts";
import { installation } from "./installation.ts";
import { oversights } from "./oversights.ts";
import { createWorkplace, operatorEnv } from "./run.ts";

async function createDiscord() {
  const sandbox = await createSandbox();
  onTestFinished(() => sandbox.stop());
  const guild = sandbox.createGuild({ name: "Harbour" });
  return { sandbox, guild, env: environment(sandbox, guild.id) };
}

function environment(sandbox: Sandbox, guildId: string): Record<string, string> {
  return { ...validEnvironment(), ...sandbox.env(), GUILD_IDS: guildId, PORT: "0" };
}

/** Run the server as an operator does until its log says something; it is then stopped. @returns the texts of its log */
async function serveUntil(
  directory: string,
  env: Record<string, string>,
  text: string,
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
  await until(() => (said.includes(text) && said.includes('"listening"')) || child.exitCode !== null, 60_000);
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

test.each(Object.entries(oversights))("%s is the one thing that the log warns of", async (_, { prepare, ask, warns }) => {
  await using work = await createWorkplace();
  const { sandbox, guild, env: usual } = await createDiscord();
  const env = { ...usual, ...(await prepare({ work, sandbox, guild })) };
  const expected = warns(env);
  const begin = typeof expected === "string" ? (expected.split(": Discord")[0] ?? "") : "DISCORD_CLIENT_ID is";
  const said = await serveUntil(work.directory, env, begin, ask);
  expect(said).toEqual([typeof expected === "string" ? expected : (expect.stringMatching(expected) as string)]);
  expect(said.join()).not.toContain("hunter2");
});

test("keys of ENCRYPTION_KEYS that are not those of before are named at each start until they are back, or are meant", async () => {
  await using work = await createWorkplace();
  const { env } = await createDiscord();
  const start = (given: Record<string, string>) => serveUntil(work.directory, { ...env, ...given }, '"listening"');
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
