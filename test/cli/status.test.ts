// @module-tag sqlite
import { createServer, type AddressInfo } from "node:net";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { statusChecks, type Seen } from "../../src/cli/status-checks.ts";
import { version } from "../../src/version.ts";
import { validEnvironment } from "../config/environment.ts";
import { freePort } from "../support/free-port.ts";
import { createWorld, type World } from "../support/world.ts";
import { createWorkplace } from "./run.ts";

async function ask(world: World, ...argv: string[]) {
  await using work = await createWorkplace();
  await writeFile(join(work.directory, "key"), `${world.key}\n`);
  return await work.here(["status", ...argv], { ...validEnvironment(), DATA_DIR: world.dataDir, PORT: new URL(world.url).port });
}

interface Report {
  ok: boolean;
  url: string;
  checks: { name: string; status: string; text: string }[];
}

test("of a server that does well every check is ok, found by HOST and PORT, for people and for programs", async () => {
  const world = await createWorld();
  const { code, stdout, stderr } = await ask(world);
  expect([code, stderr]).toEqual([0, ""]);
  const lines = stdout.trimEnd().split("\n");
  expect(lines[0]).toMatch(/^CHECK +RESULT +DETAIL$/);
  // The other processes are told of where there can be others.
  const names = Object.keys(statusChecks).filter((name) => name !== "processes");
  expect(lines.slice(1).map((line) => line.split(/ +/).slice(0, 2))).toEqual(names.map((name) => [name, "ok"]));
  const report = JSON.parse((await ask(world, "--json")).stdout) as Report;
  expect(report).toMatchObject({ ok: true, url: world.url });
  expect(report.checks[0]).toEqual({ name: "version", status: "pass", text: version });
});

test("a bot that Discord refuses is named with the code 1, and with the reason for the holder of a key", async () => {
  const world = await createWorld();
  world.sandbox.faults.rest({ route: "GET /guilds/:id/members/:id", status: 401 });
  const refused = {
    method: "GET",
    route: `/guilds/${world.guild.id}/members/80351110224678912`,
    purpose: "action",
    deadlineMs: 5000,
  } as const;
  await expect(world.app.discord.rest.call(refused)).rejects.toThrow();
  const stranger = await ask(world);
  expect(stranger.code).toBe(1);
  expect(stranger.stdout).toMatch(
    /^discord +wrong +The bot is not connected to Discord\. The log says why, or name a key .+ with `--key-file`\.$/m,
  );
  const holder = await ask(world, "--key-file", "key");
  expect(holder.code).toBe(1);
  expect(holder.stdout).toMatch(/^discord +wrong +Discord refuses the bot token\. .*`DISCORD_TOKEN`/m);
  expect(holder.stdout + holder.stderr).not.toContain(world.key);
});

test("a key that the server refuses, and a file of one that is not there, are named", async () => {
  const world = await createWorld();
  await using work = await createWorkplace();
  const env = { ...validEnvironment(), PORT: new URL(world.url).port };
  await writeFile(join(work.directory, "key"), "prv_live_nobody");
  const refused = await work.here(["status", "--key-file", "key"], env);
  expect(refused).toEqual({
    code: 1,
    stdout: "",
    stderr: `The server at ${world.url} refuses the key of key. \`npx provost keys list\` shows those that are valid.\n`,
  });
  const gone = await work.here(["status", "--key-file", "gone"], env);
  expect(gone).toEqual({ code: 1, stdout: "", stderr: "gone does not exist. Check the path.\n" });
});

test("an address where nobody listens, and one where another program does, are named", async () => {
  await using work = await createWorkplace();
  const free = (await freePort()).toString();
  const silent = await work.here(["status"], { ...validEnvironment(), PORT: free });
  expect(silent).toEqual({
    code: 1,
    stdout: "",
    stderr: `No server answers at http://127.0.0.1:${free} (connection refused). Start it with \`npx provost serve\`, or name its address with \`--url\`.\n`,
  });
  const other = createServer((socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"));
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void other.close());
  const port = (other.address() as AddressInfo).port.toString();
  const { code, stderr } = await work.here(["status"], { ...validEnvironment(), HOST: "0.0.0.0", PORT: port });
  expect([code, stderr]).toEqual([
    1,
    `http://127.0.0.1:${port}/health does not answer as Provost does (status 200). Name the address of the server with \`--url\`, or try again in a minute.\n`,
  ]);
});

const seen: Seen = {
  health: { service: { version: "1.0.0", instance_id: "i" }, checks: {} },
  installed: "1.0.0",
  dataDir: "./data",
  freeBytes: 1e11,
  backups: { folder: null, newest: undefined, now: new Date("2026-11-27T09:00:00.000Z") },
};

test.each([
  [1e11, "pass", /^95367 MB free at \.\/data$/],
  [5e8, "warn", /^477 MB free at \.\/data: free some space on its disk/],
  [5e7, "fail", /^48 MB free at \.\/data: free some space on its disk/],
  [undefined, "pass", /not on this machine/],
])("a disk with %s bytes free is a %s", (freeBytes, status, text) => {
  expect(statusChecks["disk"]?.({ ...seen, freeBytes })).toEqual({ status, text: expect.stringMatching(text) as string });
});

test.each([
  [null, undefined, "pass", /^none is made by itself, as BACKUP_DIR is not set$/],
  ["/backups", undefined, "warn", /^There is no backup in \/backups\. The log has the reason at the job `backup`/],
  ["/backups", "2026-11-27T04:00:00.000Z", "pass", /^the newest in \/backups is of 2026-11-27T04:00:00\.000Z$/],
  [
    "/backups",
    "2026-11-26T04:00:00.000Z",
    "warn",
    /is of 2026-11-26T04:00:00\.000Z, and one is due each day\. The log .* `npx provost backup --verify`\.$/,
  ],
])("backups in %s of which the newest is of %s are a %s", (folder, at, status, text) => {
  const backups = { ...seen.backups, folder, newest: at === undefined ? undefined : { path: `${folder ?? ""}/one`, at: new Date(at) } };
  expect(statusChecks["backup"]?.({ ...seen, backups })).toEqual({ status, text: expect.stringMatching(text) as string });
});

test("the newest backup is read from the folder that BACKUP_DIR names", async () => {
  const world = await createWorld();
  await using work = await createWorkplace();
  await writeFile(join(work.directory, "provost-20261126T040000Z.tar.gz"), "");
  const env = { ...validEnvironment(), DATA_DIR: world.dataDir, PORT: new URL(world.url).port, BACKUP_DIR: work.directory };
  const { code, stdout } = await work.here(["status"], env);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^backup +\w+ +the newest in .+ is of 2026-11-26T04:00:00\.000Z/m)]);
});

test("a server of another version than the program, and one that does not tell of a check, are to be restarted", () => {
  expect(statusChecks["version"]?.({ ...seen, installed: "1.1.0" })).toEqual({
    status: "warn",
    text: "1.0.0 runs, and 1.1.0 is installed: restart the server.",
  });
  expect(statusChecks["cards"]?.(seen)).toMatchObject({ status: "warn", text: expect.stringContaining("Restart it.") as string });
});
