// @module-tag sqlite
// @module-tag slow
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, expect, onTestFinished, test } from "vitest";
import type { Health } from "../src/cli/status-checks.ts";
import { createSandbox } from "../sandbox/index.ts";
import { createWorkplace, dotEnv, operatorEnv } from "./cli/run.ts";
import { freePort } from "./support/free-port.ts";
import { tier } from "./support/size.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));
const folder = await mkdtemp(join(tmpdir(), "provost-release-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

/** What npm makes of the archive, packed once; the addon is the one that is installed here, as to compile it takes minutes. */
let made: Promise<{ archive: string; tree: string }> | undefined;
const release = () => (made ??= pack());
async function pack() {
  await run(join(root, "node_modules/.bin/tsx"), [join(root, "scripts/release-pack.ts"), folder]);
  const [archive = ""] = await readdir(folder);
  await run("tar", ["-xzf", join(folder, archive), "-C", folder]);
  const tree = join(folder, "package");
  for (const name of ["better-sqlite3", "bindings", "file-uri-to-path"])
    await cp(join(root, "node_modules", name), join(tree, "node_modules", name), { recursive: true });
  return { archive, tree };
}

test("the release archive is the program and its one package, in the versions of the lock file", async () => {
  const { archive, tree } = await release();
  expect(archive).toMatch(/^provost-\d+\.\d+\.\d+\.tgz$/);
  expect(await readdir(tree)).toEqual(
    expect.arrayContaining([
      ".env.example",
      "CHANGELOG.md",
      "LICENSE",
      "README.md",
      "bin",
      "deploy",
      "dist",
      "examples",
      "npm-shrinkwrap.json",
      "prisma",
    ]),
  );
  const released = JSON.parse(await readFile(join(tree, "package.json"), "utf8"));
  expect(Object.keys(released.dependencies)).toEqual(["better-sqlite3"]);
  const { packages } = JSON.parse(await readFile(join(tree, "npm-shrinkwrap.json"), "utf8"));
  const locked = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")).packages;
  for (const [place, { version }] of Object.entries<{ version: string }>(packages)) expect(version, place).toBe(locked[place].version);
  expect(Object.keys(packages)).toEqual(expect.arrayContaining(["node_modules/bindings", "node_modules/tar-fs"]));
});

test("its source maps say nothing of the folder that it was made in", async () => {
  const { tree } = await release();
  const files = (await readdir(join(tree, "dist"), { recursive: true })).filter((file) => file.endsWith(".map"));
  expect(files).toContain("client/index.js.map");
  expect(files.length).toBeGreaterThan(10);
  for (const file of files) {
    const { sources } = JSON.parse(await readFile(join(tree, "dist", file), "utf8")) as { sources: string[] };
    const up = file.includes("/") ? "../../" : "../";
    for (const source of sources)
      expect(source, file).toMatch(new RegExp(`^(${up.replaceAll(".", "\\.")}(src|client|locales|sandbox|node_modules)/|[a-z-]+:)`));
  }
});

test("the archive has the client for programs, with its types and without a package", async () => {
  const { tree } = await release();
  const { exports } = JSON.parse(await readFile(join(tree, "package.json"), "utf8")) as { exports: Record<string, Record<string, string>> };
  const { types = "", default: module = "" } = exports["./client"] ?? {};
  expect(await readFile(join(tree, types), "utf8")).toContain("export declare function createProvostClient");
  const script =
    'import { createProvostClient } from "provost/client"; console.log(typeof createProvostClient({ baseUrl: "http://127.0.0.1", key: "" }).GET);';
  await writeFile(join(tree, "program.mjs"), script);
  expect((await run(process.execPath, [join(tree, "program.mjs")])).stdout).toBe("function\n");
  expect(await readFile(join(tree, module), "utf8")).not.toMatch(/^import /m);
});

test.runIf(tier === "long")("npm installs it into an empty folder, with the addon for this machine, in less than 150 MB", async () => {
  const { archive } = await release();
  const empty = await mkdtemp(join(tmpdir(), "provost-installed-"));
  onTestFinished(() => rm(empty, { recursive: true, force: true }));
  await run("npm", ["install", "--prefix", empty, join(folder, archive)], { cwd: empty });
  const { stdout } = await run(join(empty, "node_modules/.bin/provost"), ["audit", "verify", "--help"], { cwd: empty });
  expect(stdout).toContain("Usage: provost audit verify");
  const { stdout: kilobytes } = await run("du", ["-sk", empty]);
  expect(Number.parseInt(kilobytes, 10)).toBeLessThan(150_000);
});

/** What an operator types on the way to a running server, and all of what it says; `docs/going-live.md` has the same way. */
interface Step {
  argv: string;
  code: number;
  stdout?: string | RegExp;
  stderr?: string | RegExp;
}

const allIsWell =
  /^CHECK +RESULT +DETAIL\nversion +ok .+\ndatabase +ok\ndiscord +ok\nguilds +ok\npermissions +ok\naudit +ok\ncards +ok\njobs +ok\nqueue +ok\nactions +ok\nevidence +ok.*\ndisk +ok .+\nbackup +ok .+\n$/;
const placeholders = [
  "DISCORD_TOKEN: still holds a placeholder; copy it from the Bot page of the Discord developer portal",
  "DISCORD_CLIENT_ID: still holds a placeholder; copy the application id from the General Information page of the Discord developer portal",
  "DISCORD_CLIENT_SECRET: still holds a placeholder; copy it from the OAuth2 page of the Discord developer portal",
  "GUILD_IDS: still holds a placeholder; list the ids of your own Discord servers, comma-separated, such as 80351110224678912. In Discord switch on Developer Mode (User Settings, Advanced), then right-click a server and choose Copy Server ID",
];

const beforeDiscord: Step[] = [
  {
    argv: "secrets --write .env",
    code: 0,
    stdout:
      "Wrote SECRET_KEY and ENCRYPTION_KEYS into .env, which only you can read. Fill in the rest of it, then run `npx provost config check`.\n",
  },
  {
    argv: "secrets --write .env",
    code: 1,
    stderr:
      ".env has SECRET_KEY and ENCRYPTION_KEYS already, and what is stored needs them. If nothing is stored yet, delete those lines and run the command again.\n",
  },
  { argv: "config check", code: 78, stderr: `${placeholders.join("\n")}\n` },
  { argv: "serve", code: 78, stderr: `${placeholders.join("\n")}\n` },
];
const beforeStart = (port: string): Step[] => [
  { argv: "config check", code: 0, stdout: /^\{\n/, stderr: "The configuration is valid.\n" },
  {
    argv: "status",
    code: 1,
    stderr: `No server answers at http://127.0.0.1:${port} (connection refused). Start it with \`npx provost serve\`, or name its address with \`--url\`.\n`,
  },
  {
    argv: "bootstrap",
    code: 0,
    stdout: /^prv_live_\w+\n$/,
    stderr: 'Key "first key" with every scope; it may name acting users. Keep it safe, it is shown only now:\n',
  },
  {
    argv: "bootstrap",
    code: 1,
    stderr: "There is an API key already (1). Make another one with `provost keys create`, or add `--force`.\n",
  },
  { argv: "owners list", code: 0, stdout: /^USER ID +BY\n\d+ +OWNER_IDS\n$/ },
];
const whileItRuns = (pid: string): Step[] => [
  { argv: "status", code: 0, stdout: allIsWell },
  { argv: "commands diff", code: 0, stderr: /^Nothing differs; commands as they should be: \d+\.\n$/ },
  {
    argv: "backup --to backups --verify",
    code: 0,
    stdout: /^Backup .+: everything up to .+, 0 files of evidence, audit up to entry \d+\.\n$/,
    stderr: /^copying the database\n/,
  },
  { argv: "doctor", code: 0, stdout: /^CHECK +RESULT +DETAIL\n(\w.+ (ok|skipped) .+\n|backups +warning +BACKUP_DIR is not set.+\n)+$/ },
  { argv: "audit verify", code: 0, stdout: /^\d+ entr(y|ies), \d+ checkpoints?, chain ok\n$/ },
  {
    argv: "serve",
    code: 1,
    stdout: /^\{"level":60,/,
    stderr: `\`DATA_DIR\`: ./data is in use by process ${pid}. Stop that server (\`kill ${pid}\`), or give this one a folder of its own.\n`,
  },
];

test("from the archive to a running server, each command says what it did or what to do", async () => {
  const { tree } = await release();
  await using work = await createWorkplace(await readFile(join(tree, ".env.example"), "utf8"));
  const program = join(tree, "bin/provost.js");
  const take = async (steps: readonly Step[]): Promise<void> => {
    for (const { argv, code, stdout = "", stderr = "" } of steps) {
      const said = await work.provost(argv.split(" "), {}, { program });
      const wanted = (text: string | RegExp): unknown => (typeof text === "string" ? text : expect.stringMatching(text));
      expect.soft({ argv, ...said }).toEqual({ argv, code, stdout: wanted(stdout), stderr: wanted(stderr) });
    }
  };
  await take(beforeDiscord);

  const sandbox = await createSandbox();
  onTestFinished(() => sandbox.stop());
  const [guild, owner, port] = [sandbox.createGuild({ name: "Harbour" }), sandbox.createUser("olivia"), (await freePort()).toString()];
  const given = { ...sandbox.env(), GUILD_IDS: guild.id, OWNER_IDS: owner.id, PORT: port };
  sandbox.allowRedirect(`http://127.0.0.1:${port}/authorize/callback`);
  const file = join(work.directory, ".env");
  const kept = (await readFile(file, "utf8")).split("\n").filter((line) => !Object.keys(given).some((name) => line.startsWith(`${name}=`)));
  await writeFile(file, `${kept.join("\n")}\n${dotEnv(given)}`);
  await take(beforeStart(port));

  const server = spawn(process.execPath, [program, "serve"], { cwd: work.directory, env: operatorEnv() });
  onTestFinished(() => void server.kill("SIGKILL"));
  const ended = once(server, "exit");
  let log = "";
  for (const stream of [server.stdout, server.stderr]) stream.on("data", (part: Buffer) => (log += part.toString()));
  await sandbox.waitFor(() => sandbox.inside.world.application.commands.size > 0);
  const guilds = async () => ((await (await fetch(`http://127.0.0.1:${port}/health`)).json()) as Health).checks["guild_state"]?.status;
  await expect.poll(guilds).toBe("pass");
  await take(whileItRuns(String(server.pid)));
  server.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
  const told = log
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as { msg: string }).msg);
  expect(told.filter((msg) => msg !== "request")).toEqual(["listening", "slash commands registered", "stopping"]);
});
