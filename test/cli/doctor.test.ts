// @module-tag sqlite
// @module-tag slow
import { chmod, cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { userInfo } from "node:os";
import { join } from "node:path";
import BetterSqlite3 from "better-sqlite3";
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { writeMarker } from "../../src/backup/marker.ts";
import { doctorChecks, fileSystem, nodeFinding } from "../../src/cli/doctor.ts";
import { keepAlive } from "../../src/database/keep-alive.ts";
import { createSandbox, type GuildHandle, type Sandbox } from "../../sandbox/index.ts";
import { freshKey, secretTexts, validEnvironment } from "../config/environment.ts";
import { freePort } from "../support/free-port.ts";
import { createWorld } from "../support/world.ts";
import { createWorkplace } from "./run.ts";

type Variables = Record<string, string>;
type Workplace = Awaited<ReturnType<typeof createWorkplace>>;

interface Report {
  ok: boolean;
  checks: { name: string; status: string; text: string }[];
}

/** An installation that has been used, and a backup of it; each test has a copy. */
let used: Workplace;
const secrets = validEnvironment();
const backedUp = { BACKUP_DIR: "backups" };

beforeAll(async () => {
  used = await createWorkplace();
  expect((await used.here(["bootstrap", "--offline"], secrets)).code).toBe(0);
  await chmod(join(used.directory, "data/provost.db"), 0o600);
  const made = await used.provost(["backup", "--to", "backups"], secrets);
  expect(made.code, made.stderr).toBe(0);
});
afterAll(() => used[Symbol.asyncDispose]());
afterEach(() => {
  vi.useRealTimers();
});

/** Later, for all but the timers. */
function later(ms: number): void {
  vi.useFakeTimers({ now: Date.now() + ms, toFake: ["Date"] });
}

async function examine(work: Workplace, env: Variables, ...argv: string[]) {
  const outcome = await work.here(["doctor", "--json", ...argv], env);
  const report = JSON.parse(outcome.stdout) as Report;
  expect(report.ok).toBe(outcome.code === 0);
  const found = report.checks.filter(({ status }) => status === "warn" || status === "fail");
  return { ...report, code: outcome.code, found: found.map(({ name, status, text }) => [name, status, text]) };
}

interface Place {
  work: Workplace;
  sandbox: Sandbox;
  guild: GuildHandle;
}

interface Fault {
  argv?: readonly string[];
  /** Makes what is wrong; answers what the environment has otherwise. */
  plant: (place: Place) => Variables | void | Promise<Variables | void>;
  /** All that is found: check, result and line. */
  finds: (place: Place, env: Variables) => unknown[][];
}

const inData = (work: Workplace, name: string): string => join(work.directory, "data", name);

/** Change the database by hand. */
function change({ work }: Place, sql: string): void {
  const db = keepAlive(new BetterSqlite3(inData(work, "provost.db")));
  db.exec(sql);
  db.close();
}

/** Damage the page at which the table of owners begins. */
async function spoil(place: Place, damage: (page: Buffer) => void): Promise<void> {
  const db = keepAlive(new BetterSqlite3(inData(place.work, "provost.db")));
  db.pragma("wal_checkpoint(TRUNCATE)");
  const number = Number(db.prepare("SELECT rootpage FROM sqlite_master WHERE name = 'owners'").pluck().get());
  const size = Number(db.pragma("page_size", { simple: true }));
  db.close();
  const bytes = await readFile(inData(place.work, "provost.db"));
  damage(bytes.subarray((number - 1) * size, number * size));
  await writeFile(inData(place.work, "provost.db"), bytes);
}

const mapRole = (place: Place, roleId: string): void =>
  change(
    place,
    `INSERT INTO staff_roles (key, name, rank, level, created_at, updated_at) VALUES ('mod', 'Moderator', 1, 'moderator', 0, 0);
     INSERT INTO staff_role_discord_roles (staff_role_key, guild_id, role_id) VALUES ('mod', '${place.guild.id}', '${roleId}')`,
  );

function choose(place: Place, purpose: string, channelId: string): void {
  const channels = { review: null, alerts: null, board: null, [purpose]: channelId };
  const value = JSON.stringify({ channels, revision: 2, updated_by: null, updated_at: "2026-11-20T10:00:00.000Z" });
  change(place, `INSERT INTO settings (key, value, updated_at) VALUES ('channels:${place.guild.id}', '${value}', 0)`);
}

/** A page that another program shows. */
async function otherServer(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port.toString()}`;
}

const faults: Record<string, Fault> = {
  "a mistyped variable": {
    plant: () => ({ LOG_LEVL: "debug" }),
    finds: () => [["settings", "warn", "LOG_LEVL is not a setting: did you mean LOG_LEVEL?"]],
  },
  "a folder for backups that is a file": {
    plant: async ({ work }) => {
      await writeFile(join(work.directory, "notes"), "");
      return { BACKUP_DIR: "notes" };
    },
    finds: () => [
      ["disk", "fail", "`BACKUP_DIR`: notes is a file, or lies below one. Name a folder."],
      ["backups", "fail", "`BACKUP_DIR`: notes is a file, or lies below one. Name a folder."],
    ],
  },
  "files that others can open": {
    plant: async ({ work }) => {
      await writeFile(join(work.directory, ".env"), "", { mode: 0o644 });
      await chmod(join(work.directory, "data"), 0o755);
      await chmod(inData(work, "provost.db"), 0o640);
    },
    finds: () => [
      [
        "file modes",
        "warn",
        "Other accounts of this machine can open data, data/provost.db, .env, where records and keys are: run `chmod go= data data/provost.db .env`.",
      ],
    ],
  },
  "a file with a secret that others can open": {
    plant: async ({ work }) => {
      await writeFile(join(work.directory, "metrics-token"), "0123456789abcdef", { mode: 0o644 });
      await writeFile(join(work.directory, "url"), "file:./data/provost.db", { mode: 0o600 });
      return { METRICS_TOKEN_FILE: "metrics-token", DATABASE_URL_FILE: "url" };
    },
    finds: () => [
      [
        "file modes",
        "warn",
        `Other accounts of this machine can open metrics-token, where secrets are: run \`chown ${userInfo().username} metrics-token && chmod go= metrics-token\`.`,
      ],
    ],
  },
  "a restore that did not finish": {
    plant: ({ work }) => writeMarker(inData(work, ""), { from: "b.tar.gz", backup: "", database: "" }),
    finds: () => [
      [
        "restore",
        "fail",
        "`DATA_DIR`: the restore into ./data did not finish. Run `provost restore b.tar.gz` again, which begins it anew; for another backup empty the folder and the database first.",
      ],
    ],
  },
  "a database that is gone": {
    plant: ({ work }) => rm(inData(work, "provost.db")),
    finds: () => [
      [
        "database",
        "fail",
        "The database ./data/provost.db is empty, but `DATA_DIR` (./data) has the files of an installation (./data/checkpoints.log): put its database back, or start with `--accept-empty-database` to go on with this one.",
      ],
    ],
  },
  "a database of a newer version": {
    plant: (place) => change(place, "UPDATE _prisma_migrations SET migration_name = '20991231000000_later' WHERE rowid = 1"),
    finds: () => [
      [
        "database",
        "fail",
        "The database ./data/provost.db has the migration 20991231000000_later, which this version does not know. Run the version that wrote it, or a newer one.",
      ],
    ],
  },
  "a database file that is none": {
    plant: async ({ work }) => {
      await writeFile(join(work.directory, "notes.txt"), "not a database, but long enough to be taken for one".repeat(20), { mode: 0o600 });
      return { DATABASE_URL: "file:./notes.txt" };
    },
    finds: () => [["database", "fail", "The database ./notes.txt is damaged (file is not a database). Restore a backup of it."]],
  },
  "a database with a page that is overwritten": {
    plant: (place) => spoil(place, (page) => page.fill(0xff)),
    finds: () => [
      ["integrity", "fail", expect.stringMatching(/^The database \.\/data\/provost\.db is damaged \(.+\)\. Restore a backup of it\.$/)],
    ],
  },
  "a database with a page that does not add up": {
    // What its head says of unused bytes.
    plant: (place) => spoil(place, (page) => page.writeUInt8(200, 7)),
    finds: () => [
      [
        "integrity",
        "fail",
        expect.stringMatching(
          /^The database \.\/data\/provost\.db is damaged \(\*\*\* in database main \*\*\* Tree \d+ page \d+: .+\)\. Restore a backup of it\.$/,
        ),
      ],
    ],
  },
  "a data folder of another database": {
    plant: ({ work }) => writeFile(inData(work, "instance_id"), "another\n", { mode: 0o600 }),
    finds: () => [
      [
        "installation",
        "fail",
        "The database ./data/provost.db is that of another installation, but `DATA_DIR` (./data) has the files of an installation: put its database back, or start with `--accept-empty-database` to go on with this one.",
      ],
    ],
  },
  "another secret key": {
    plant: () => ({ SECRET_KEY: freshKey() }),
    finds: () => [
      [
        "secret key",
        "fail",
        "`SECRET_KEY` is another one than this database was used with, so every API key would be refused, and signed positions of the audit would no longer count: put the old one back, or, if it is lost, start the server once with `--accept-new-secret-key` and make new API keys.",
      ],
    ],
  },
  "a lost key of those that encrypt": {
    plant: async ({ work }) => {
      await writeFile(inData(work, "keys.json"), '{"k0":"0123456789abcdef"}\n', { mode: 0o600 });
    },
    finds: () => [
      [
        "encryption keys",
        "fail",
        "ENCRYPTION_KEYS no longer has the key k0 that it had: what was encrypted with it, such as the Discord grants of people, cannot be opened. Put it back at the end of ENCRYPTION_KEYS. If that is meant, delete data/keys.json and restart.",
      ],
    ],
  },
  "signed positions that are gone": {
    argv: ["--offline"],
    plant: async ({ work }) => {
      later(1_300_000);
      await rm(inData(work, "checkpoints.log"), { force: true });
      return { AUDIT_CHECKPOINTS: "elsewhere/checkpoints.log" };
    },
    finds: () => [
      [
        "audit",
        "warn",
        "AUDIT_CHECKPOINTS: there are no signed positions of the audit at elsewhere/checkpoints.log, so a change of its entries by hand would not be found out: put the file back from a backup, or name its place. A running server begins a new one.",
      ],
    ],
  },
  "no folder for backups": {
    plant: () => ({ BACKUP_DIR: "" }),
    finds: () => [
      [
        "backups",
        "warn",
        "BACKUP_DIR is not set, so no backup is made at night and a failing disk takes everything: set it to a folder on another disk.",
      ],
    ],
  },
  "a folder for backups without any": {
    plant: () => ({ BACKUP_DIR: "none" }),
    finds: () => [
      ["backups", "warn", "BACKUP_DIR: none has no backup yet, so a failing disk takes everything: make one with `npx provost backup`."],
    ],
  },
  "a backup after which one is missing": {
    argv: ["--offline"],
    plant: () => later(29 * 3_600_000),
    finds: () => [
      [
        "backups",
        "warn",
        expect.stringMatching(
          /^BACKUP_DIR: the newest backup, backups\/provost-\w+\.tar\.gz, is of [-\dT:.]+Z, one is due each day, and what came after it is in none: make one with `npx provost backup`, which says what keeps the nightly one from being made\.$/,
        ),
      ],
    ],
  },
  "a clock that is ahead": {
    plant: () => later(3 * 3_600_000),
    finds: () => [
      [
        "clock",
        "warn",
        "The clock of this machine is 3 hours ahead of Discord's: records and the audit get wrong times, and what has an end ends too early or too late. Set it by the network, such as with `timedatectl set-ntp true`, and restart.",
      ],
    ],
  },
  "a Discord that does not answer": {
    plant: async () => ({ DISCORD_API_BASE: `http://127.0.0.1:${(await freePort()).toString()}/api` }),
    finds: (_, { DISCORD_API_BASE = "" }) => [
      [
        "discord",
        "fail",
        `Discord does not answer at ${DISCORD_API_BASE} (connection refused), so no person can use the bot, and what needs Discord was not checked: check the network of this machine and its firewall, or look at https://discordstatus.com.`,
      ],
    ],
  },
  "a refused token": {
    plant: () => ({ DISCORD_TOKEN: "sandbox.hunter2.token" }),
    finds: () => [
      [
        "token",
        "fail",
        "Discord refuses the bot token. In the developer portal open Bot, reset the token, put the new one into `DISCORD_TOKEN`, then restart.",
      ],
    ],
  },
  "the id of another application": {
    plant: () => ({ DISCORD_CLIENT_ID: "80351110224678912" }),
    finds: ({ sandbox }) => [
      [
        "token",
        "fail",
        `DISCORD_CLIENT_ID is 80351110224678912, but DISCORD_TOKEN belongs to the application ${sandbox.env().DISCORD_CLIENT_ID}: commands are not registered, and nobody can agree to be checked. Copy the id, the token and the client secret from the same application.`,
      ],
    ],
  },
  "a refused client secret": {
    plant: () => ({ DISCORD_CLIENT_SECRET: "hunter2hunter2" }),
    finds: () => [
      [
        "client secret",
        "fail",
        "Discord refuses DISCORD_CLIENT_SECRET: nobody can agree to be checked or see their own data. Copy the client secret from the OAuth2 page of the Discord developer portal into DISCORD_CLIENT_SECRET, then restart.",
      ],
    ],
  },
  "an intent that is off": {
    plant: ({ sandbox }) => sandbox.setPrivilegedIntents(0),
    finds: () => [
      [
        "intents",
        "fail",
        "Discord refuses to show the bot the members of its servers. In the developer portal open Bot, switch on Server Members Intent under Privileged Gateway Intents, then restart.",
      ],
    ],
  },
  "a redirect address that the application does not have": {
    plant: () => ({ PUBLIC_URL: "https://mod.example.org" }),
    finds: () => [
      [
        "redirect",
        "fail",
        "The application does not have the redirect address https://mod.example.org/authorize/callback, so nobody can agree to be checked or see their own data: add it on the OAuth2 page of the Discord developer portal, or set PUBLIC_URL to the address that is there.",
      ],
    ],
  },
  "a server that the bot is not in": {
    plant: ({ guild }) => ({ GUILD_IDS: `${guild.id},613425648685547520` }),
    finds: (_, { DISCORD_CLIENT_ID: id = "" }) => [
      [
        "servers",
        "fail",
        `GUILD_IDS names the server 613425648685547520, but the bot is not in it. Invite it with https://discord.com/oauth2/authorize?client_id=${id}&scope=bot+applications.commands&guild_id=613425648685547520, or take the id out of GUILD_IDS and restart.`,
      ],
    ],
  },
  "permissions that the bot lacks": {
    plant: ({ guild }) => {
      if (guild.botRole !== undefined)
        guild.setRolePermissions(guild.botRole, ["ManageRoles", "ManageNicknames", "KickMembers", "ViewChannel"]);
    },
    finds: ({ guild }) => [
      [
        "servers",
        "warn",
        `In Harbour (${guild.id}) the bot lacks View Audit Log, Time out members, Ban Members: what moderators do by hand is not recorded, nobody can be timed out, nobody can be banned. Give its role that under Server Settings, Roles.`,
      ],
    ],
  },
  "a staff role above the bot's": {
    plant: (place) => mapRole(place, place.guild.createRole("Moderator", { position: 251 }).id),
    finds: ({ guild }) => [
      [
        "servers",
        "warn",
        `In Harbour (${guild.id}) the role Moderator stands above the bot's, so the bot can neither give nor take it: drag the role of the bot above it under Server Settings, Roles.`,
      ],
    ],
  },
  "a staff role that is gone": {
    plant: (place) => mapRole(place, "80351110224678912"),
    finds: ({ guild }) => [
      [
        "servers",
        "warn",
        `In Harbour (${guild.id}) there is no role 80351110224678912, which is mapped to a staff role or named by a rule: choose another one with \`/setup wizard\`.`,
      ],
    ],
  },
  "a channel for cards that the bot does not see": {
    plant: (place) => {
      const { guild } = place;
      choose(place, "review", guild.createChannel("cards", { hiddenFrom: [guild.everyoneRole] }).id);
    },
    finds: ({ guild }) => [
      [
        "servers",
        "warn",
        `In Harbour (${guild.id}) the channel cards for review lets the bot not post: give its role View Channel there, under Edit Channel, Permissions.`,
      ],
    ],
  },
  "a channel for alerts that is gone": {
    plant: (place) => choose(place, "alerts", "80351110224678912"),
    finds: ({ guild }) => [
      [
        "servers",
        "warn",
        `In Harbour (${guild.id}) the channel 80351110224678912 for alerts is not there, so nothing is posted: choose another one with \`/setup channels\`.`,
      ],
    ],
  },
};

async function createPlace(): Promise<Place & { env: Variables }> {
  const sandbox = await createSandbox();
  onTestFinished(() => sandbox.stop());
  const guild = sandbox.createGuild({ name: "Harbour" });
  const work = await createWorkplace();
  onTestFinished(() => work[Symbol.asyncDispose]());
  await cp(used.directory, work.directory, { recursive: true });
  for (const name of await readdir(join(work.directory, "data"))) await chmod(inData(work, name), 0o600);
  await chmod(join(work.directory, "data"), 0o700);
  sandbox.allowRedirect("http://127.0.0.1:0/authorize/callback");
  const env = { ...secrets, ...backedUp, ...sandbox.env(), GUILD_IDS: guild.id, PORT: "0" };
  return { sandbox, guild, work, env };
}

test.each(Object.entries(faults))("%s is found, and nothing else", async (_, { argv = [], plant, finds }) => {
  const place = await createPlace();
  const env = { ...place.env, ...(await plant(place)) };
  const { found } = await examine(place.work, env, ...argv);
  expect(found).toEqual(finds(place, env));
  expect(JSON.stringify(found)).not.toContain("hunter2");
});

test("an installation that is well has nothing but checks that are ok, beside its server and behind its address", async () => {
  const { work } = await createPlace();
  // The server in this process makes its files as the usual shell lets it; a process of its own does not.
  const before = process.umask(0o077);
  onTestFinished(() => void process.umask(before));
  const keys = { SECRET_KEY: freshKey(), ENCRYPTION_KEYS: `k1:${freshKey()}` };
  const world = await createWorld({ env: keys });
  const env = {
    ...secrets,
    ...keys,
    ...world.sandbox.env(),
    GUILD_IDS: world.guild.id,
    DATA_DIR: world.dataDir,
    DATABASE_URL: world.databaseUrl,
    PORT: new URL(world.url).port,
    PUBLIC_URL: world.url,
    ...backedUp,
  };
  const stateOf = () => Promise.all(["instance_id", "keys.json", "server.pid"].map((name) => readFile(join(world.dataDir, name), "utf8")));
  const left = { names: await readdir(world.dataDir), state: await stateOf() };
  const { code, stdout, stderr } = await work.provost(["doctor"], env);
  expect([code, stderr]).toEqual([0, ""]);
  const [head, ...lines] = stdout.trimEnd().split("\n");
  expect(head).toMatch(/^CHECK +RESULT +DETAIL$/);
  expect(lines.map((line) => line.split(/ {2,}/).slice(0, 2))).toEqual(
    Object.keys(doctorChecks).flatMap((name) => (name === "disk" ? ["DATA_DIR", "BACKUP_DIR"] : [""]).map(() => [name, "ok"])),
  );
  for (const text of [...secretTexts(secrets), ...Object.values(keys), env.DISCORD_TOKEN]) expect(stdout).not.toContain(text);
  expect({ names: await readdir(world.dataDir), state: await stateOf() }).toEqual(left);
  expect(world.sandbox.revokedTokens).toEqual([]);

  const other = await otherServer((_, response) => response.end("Hello"));
  const installed = await otherServer((_, response) =>
    response.end(JSON.stringify({ service: { version: "1", instance_id: "another" }, checks: {} })),
  );
  const nobody = `http://127.0.0.1:${(await freePort()).toString()}`;
  for (const url of [other, installed, nobody]) world.sandbox.allowRedirect(`${url}/authorize/callback`);
  const foundAt = async (PUBLIC_URL: string) => (await examine(work, { ...env, PUBLIC_URL })).found;
  const rest = "so nobody can open the pages of this one: let the reverse proxy pass it to this server.";
  expect(await foundAt(other)).toEqual([["address", "fail", `PUBLIC_URL: ${other} answers with something else (status 200), ${rest}`]]);
  expect(await foundAt(installed)).toEqual([["address", "fail", `PUBLIC_URL: ${installed} leads to another installation, ${rest}`]]);
  expect(await foundAt(nobody)).toEqual([
    [
      "address",
      "fail",
      `PUBLIC_URL: ${nobody} does not answer (connection refused), though the server runs, so nobody can open its pages: check the DNS entry of the name, the certificate, and the reverse proxy.`,
    ],
  ]);
});

test("what cannot be asked of Discord is skipped and not wrong, and with --offline it is left out", async () => {
  const { work, env } = await createPlace();
  const away = await examine(work, { ...env, DISCORD_API_BASE: `http://127.0.0.1:${(await freePort()).toString()}/api` });
  expect(away.code).toBe(1);
  const online = Object.entries(doctorChecks).flatMap(([name, { isOnline }]) => (isOnline === true ? [name] : []));
  expect(away.checks.flatMap(({ name, status }) => (status === "skip" ? [name] : []))).toEqual(online.filter((name) => name !== "discord"));
  const offline = await examine(work, env, "--offline");
  expect(offline.code).toBe(0);
  expect([...new Set(offline.checks.map(({ name }) => name))]).toEqual(Object.keys(doctorChecks).filter((name) => !online.includes(name)));
});

test("settings that are refused end it with a line each and the code 78", async () => {
  await using work = await createWorkplace();
  expect(await work.here(["doctor"], { ...secrets, PORT: "80800" })).toEqual({
    code: 78,
    stdout: "",
    stderr: "PORT: must be a whole number from 0 to 65535 (it has 5 characters: digits)\n",
  });
});

test("before the first start nothing is wrong, and nothing is made", async () => {
  await using work = await createWorkplace();
  const { code, found, checks } = await examine(work, { ...secrets, ...backedUp, PUBLIC_URL: "https://mod.example.org" }, "--offline");
  expect([code, found]).toEqual([0, []]);
  expect(checks.find(({ name }) => name === "database")).toEqual({
    name: "database",
    status: "pass",
    text: "./data/provost.db is made by the first start",
  });
  expect(await readdir(work.directory)).toEqual([]);
});

test("a check that takes long is named meanwhile", async () => {
  const { work, env, sandbox } = await createPlace();
  sandbox.faults.rest({ route: "GET /users/@me", status: 429, retryAfter: 2 });
  const { code, stderr } = await work.here(["doctor"], env);
  expect([code, stderr]).toEqual([0, "Checking: discord …\n"]);
});

test("a network file system under SQLite, and a Node.js that is too old, are named", async () => {
  const ground = { config: { database: { url: "file:./data/provost.db" } } } as Parameters<typeof fileSystem>[0];
  expect(await fileSystem(ground, () => Promise.resolve(0x6969))).toEqual([
    {
      status: "warn",
      text: "The database ./data/provost.db is on a network file system (NFS), where SQLite can lose or damage data: move it to a disk of this machine and name it in DATABASE_URL, or use PostgreSQL.",
    },
  ]);
  expect(nodeFinding("20.18.3", "20.19.0")).toEqual({
    status: "fail",
    text: "Node.js 20.18.3 runs this, and Provost needs 20.19.0 or newer: it can fail anywhere. Install a newer one, such as with `nvm install --lts`.",
  });
  expect(nodeFinding("20.19.0", "20.19.0").status).toBe("pass");
  expect(nodeFinding("22.1.0", "20.19.0").status).toBe("pass");
});
