import { execFile } from "node:child_process";
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import BetterSqlite3 from "better-sqlite3";
import { onTestFinished } from "vitest";
import { keepAlive } from "../../src/database/keep-alive.ts";
import type { GuildHandle, Sandbox } from "../../src/sandbox/index.ts";
import { freshKey, validEnvironment } from "../config/environment.ts";
import type { createWorkplace } from "./run.ts";

export type Variables = Record<string, string>;
export type Workplace = Awaited<ReturnType<typeof createWorkplace>>;

/** What an operator has done wrong, and what the program says to it. */
export interface Mistake {
  /** Why it cannot be made on this machine; false: it can. */
  whyNot?: string | false;
  /** Makes what is wrong; answers what the process is given. */
  prepare?: (work: Workplace) => Promise<Variables> | Variables;
  argv?: readonly string[];
  /** Run as an account that may do nothing: for root no mode refuses anything. */
  asNobody?: true;
  code: number;
  /** All of what is written to standard error. */
  says: (work: Workplace, env: Variables) => string | RegExp;
}

/** What an operator has set up wrong, with which the server runs. */
export interface Oversight {
  prepare: (place: { work: Workplace; sandbox: Sandbox; guild: GuildHandle }) => Promise<Variables> | Variables;
  /** Done once it listens. */
  ask?: (url: string) => Promise<unknown>;
  /** The only warning in its log; what the log adds as the reason is behind it. */
  warns: (env: Variables) => string | RegExp;
}

export const noDiscord = { DISCORD_API_BASE: "http://127.0.0.1:9/api", PORT: "0" };

async function occupiedPort(): Promise<string> {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void other.close());
  return (other.address() as AddressInfo).port.toString();
}

export async function put(work: Workplace, name: string, text: string): Promise<Variables> {
  await writeFile(join(work.directory, name), text);
  return {};
}

export async function putFolder(work: Workplace, name: string): Promise<Variables> {
  await mkdir(join(work.directory, name));
  return {};
}

/** A database that the service has used, changed by hand. @returns the key that it was used with */
export async function usedDatabase(work: Workplace, sql: string): Promise<Variables> {
  const env = validEnvironment();
  await work.here(["keys", "list"], { ...env, ...noDiscord });
  const db = keepAlive(new BetterSqlite3(join(work.directory, "data/provost.db")));
  db.exec(sql);
  db.close();
  return { SECRET_KEY: env.SECRET_KEY };
}

export const otherKey =
  "`SECRET_KEY` is another one than this database was used with, so every API key would be refused, and signed positions of the audit would no longer count: put the old one back, or, if it is lost, start the server once with `--accept-new-secret-key` and make new API keys.";

const isRoot = process.getuid?.() === 0;
const run = promisify(execFile);
/** The account that may do nothing, on every Linux. */
export const nobody = 65_534;

/** What the account may write; the folders above are the operator's. */
async function giveToNobody(work: Workplace, ...names: string[]): Promise<void> {
  for (const name of [".", ...names]) await chown(join(work.directory, name), nobody, nobody);
}

/** A disk of a megabyte in memory; only root makes one. */
async function mountSmall(work: Workplace, name: string, options: string): Promise<void> {
  const place = join(work.directory, name);
  await mkdir(place, { recursive: true });
  await run("mount", ["-t", "tmpfs", "-o", options, "tmpfs", place]);
  onTestFinished(async () => void (await run("umount", ["-l", place])));
}

/** Whether this machine lets its root mount; in a container often not. */
const whyNoMount = await tryMount();

async function tryMount(): Promise<string | false> {
  if (!isRoot) return "only root mounts a disk";
  const place = await mkdtemp(join(tmpdir(), "provost-mount-"));
  try {
    await run("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", place]);
    await run("umount", [place]);
    return false;
  } catch {
    return "this machine lets nobody mount a disk";
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

async function whyNoLowPort(): Promise<string | false> {
  if (!isRoot) return false;
  const lowest = await readFile("/proc/sys/net/ipv4/ip_unprivileged_port_start", "utf8").catch(() => "0");
  return Number(lowest) <= 80 && "every account of this machine may listen at port 80";
}

/** Every command refuses the settings as the server does; a short one is the quickest to try. */
const refusedSetting = (given: Variables, says: string): Mistake => ({
  prepare: () => given,
  argv: ["config", "check"],
  code: 78,
  says: () => says,
});

/** Settings, files and machines that keep the server from starting. */
export const misconfigurations: Record<string, Mistake> = {
  "a setting that is missing": refusedSetting(
    { DISCORD_TOKEN: "" },
    "DISCORD_TOKEN: is missing; copy it from the Bot page of the Discord developer portal",
  ),
  "a placeholder": refusedSetting(
    { DISCORD_CLIENT_SECRET: "changeme" },
    "DISCORD_CLIENT_SECRET: still holds a placeholder; copy it from the OAuth2 page of the Discord developer portal",
  ),
  "a port that is no number": refusedSetting(
    { PORT: "80a" },
    "PORT: must be a whole number from 0 to 65535 (it has 3 characters: letters, digits)",
  ),
  "the name of a server in place of its id": refusedSetting(
    { GUILD_IDS: "Harbour" },
    "GUILD_IDS: must be a comma-separated list of ids of 17–20 digits without a zero in front (it has 7 characters: letters)",
  ),
  "an address without encryption": refusedSetting(
    { PUBLIC_URL: "http://mod.example.org" },
    "PUBLIC_URL: must be an https address without trailing slash, credentials or query, such as https://mod.example.org; http only for this machine (it has 22 characters: letters, other signs)",
  ),
  "an address with a slash at its end": refusedSetting(
    { PUBLIC_URL: "https://mod.example.org/" },
    "PUBLIC_URL: must be an https address without trailing slash, credentials or query, such as https://mod.example.org; http only for this machine (it has 24 characters: letters, other signs)",
  ),
  "proxies that are no addresses": refusedSetting(
    { TRUSTED_PROXIES: "caddy" },
    "TRUSTED_PROXIES: must be a comma-separated list of IP addresses and networks such as 127.0.0.1,10.0.0.0/8 (it has 5 characters: letters)",
  ),
  "evidence without bounds": refusedSetting(
    { EVIDENCE_MAX_BYTES: "999999999" },
    "EVIDENCE_MAX_BYTES: must be a whole number from 1024 to 536870912 (it has 9 characters: digits)",
  ),
  "a database of another kind": refusedSetting(
    { DATABASE_URL: "mysql://root:hunter2@localhost/provost" },
    "DATABASE_URL: must be file:<path> or postgresql://<user>:<password>@<host>:<port>/<database> (it has 38 characters: letters, digits, other signs)",
  ),
  "an address of another Discord, to which the token would go": refusedSetting(
    { DISCORD_API_BASE: "https://discord.example.org/api" },
    "DISCORD_API_BASE: names neither Discord nor this machine, and the bot token would go there. Remove it, or set ALLOW_CUSTOM_DISCORD_API=true if that is meant",
  ),
  "a client secret in place of the token": refusedSetting(
    { DISCORD_TOKEN: "hunter2hunter2hunter2hunter2hunt", DISCORD_API_BASE: "" },
    "DISCORD_TOKEN: is not one of Discord's; copy it from the Bot page of the Discord developer portal",
  ),
  "a value and a file of it": {
    prepare: (work) => put(work, "key", freshKey()).then(() => ({ SECRET_KEY_FILE: "./key" })),
    argv: ["config", "check"],
    code: 78,
    says: () => "SECRET_KEY: is given twice; remove SECRET_KEY or SECRET_KEY_FILE",
  },
  "a file of a value that is not there": {
    prepare: () => ({ DISCORD_TOKEN: "", DISCORD_TOKEN_FILE: "/run/secrets/no_such_token" }),
    argv: ["config", "check"],
    code: 78,
    says: () => "DISCORD_TOKEN_FILE: names a file that cannot be read, /run/secrets/no_such_token (does not exist); check the path",
  },
  "a file of a value that is empty": {
    prepare: (work) => put(work, "token", "\n").then(() => ({ DISCORD_TOKEN: "", DISCORD_TOKEN_FILE: "./token" })),
    argv: ["config", "check"],
    code: 78,
    says: () => "DISCORD_TOKEN_FILE: names an empty file, ./token; put the value into it",
  },
  "an .env with a quote that does not end": {
    prepare: (work) => put(work, ".env", 'OPERATOR_NAME="Harbour\nLOG_LEVEL="debug"\n'),
    argv: ["config", "check"],
    code: 78,
    says: () =>
      "OPERATOR_NAME: the quote before its value in .env does not end on its line; put one at the end of the value, or take it out",
  },
  "an .env that is a folder": {
    prepare: (work) => putFolder(work, ".env"),
    argv: ["config", "check"],
    code: 78,
    says: () => ".env is a folder. Name a file.",
  },
  "a port that only root may have": {
    whyNot: await whyNoLowPort(),
    prepare: async (work) => {
      await giveToNobody(work);
      return { PORT: "80" };
    },
    asNobody: true,
    code: 1,
    says: () => "Port 80 is not open to this account. Set `PORT` to a number above 1023.",
  },
  "a data folder that can only be read": {
    prepare: async (work) => {
      await mkdir(join(work.directory, "data"));
      await giveToNobody(work, "data");
      await chmod(join(work.directory, "data"), 0o500);
      return {};
    },
    asNobody: true,
    code: 1,
    says: () =>
      /^`DATA_DIR`: \.\/data can't be opened by the account \S+ \(permission denied\)\. Run `chown \S+ \.\/data`, or name another folder\.$/,
  },
  "a data folder of another account": {
    whyNot: !isRoot && "only root gives a folder away",
    prepare: async (work) => {
      await mkdir(join(work.directory, "data"), { mode: 0o700 });
      await giveToNobody(work);
      return {};
    },
    asNobody: true,
    code: 1,
    says: () =>
      /^`DATA_DIR`: \.\/data can't be opened by the account \S+ \(permission denied\)\. Run `chown \S+ \.\/data`, or name another folder\.$/,
  },
  "a database file that can only be read": {
    prepare: async (work) => {
      const env = await usedDatabase(work, "SELECT 1");
      await giveToNobody(work, "data", "data/provost.db");
      await chmod(join(work.directory, "data/provost.db"), 0o400);
      return env;
    },
    asNobody: true,
    code: 1,
    says: () =>
      /^The database \.\/data\/provost\.db can't be opened by the account \S+ \(permission denied\)\. Run `chown \S+ \.\/data\/provost\.db`, or name another file\.$/,
  },
  "a full disk": {
    whyNot: whyNoMount,
    prepare: async (work) => {
      await mountSmall(work, "data", "size=256k");
      return {};
    },
    code: 1,
    says: () => "There is no space left for the database ./data/provost.db. Free some on its disk, and start again.",
  },
  "a disk that can only be read": {
    whyNot: whyNoMount,
    prepare: async (work) => {
      await mountSmall(work, "disk", "size=1m,ro");
      return { DATA_DIR: "./disk/data" };
    },
    code: 1,
    says: () => "`DATA_DIR`: ./disk/data is on a disk that can only be read. Name another folder.",
  },
  "a restore that did not finish": {
    prepare: async (work) => {
      await mkdir(join(work.directory, "data"));
      return put(work, "data/restoring", '{"from":"b.tar.gz","backup":"","database":""}\n');
    },
    code: 1,
    says: () =>
      "`DATA_DIR`: the restore into ./data did not finish. Run `provost restore b.tar.gz` again, which begins it anew; for another backup empty the folder and the database first.",
  },
  "a folder for backups that is a file": {
    prepare: async (work) => ({ ...(await usedDatabase(work, "SELECT 1")), ...(await put(work, "notes", "")), BACKUP_DIR: "notes" }),
    argv: ["backup"],
    code: 1,
    says: () => /^\S*notes.* is a file, or lies below one\. Name a folder\.$/,
  },

  "a port that another program has": {
    prepare: async () => ({ PORT: await occupiedPort() }),
    code: 1,
    says: (_, { PORT = "" }) => `Port ${PORT} on 127.0.0.1 is in use. Stop the program that has it, or set another \`PORT\`.`,
  },
  "an address that is not this machine's": {
    prepare: () => ({ HOST: "203.0.113.7" }),
    code: 1,
    says: () => "`HOST` is 203.0.113.7, which is no address of this machine. Set `HOST=127.0.0.1`, or `HOST=0.0.0.0` for every address.",
  },
  "a host name that leads nowhere": {
    prepare: () => ({ HOST: "no-such-host.invalid" }),
    code: 1,
    says: () =>
      "`HOST` is no-such-host.invalid, a name that leads to no address. Set `HOST=127.0.0.1`, or `HOST=0.0.0.0` for every address.",
  },
  "a data folder where none can be made": {
    prepare: () => ({ DATA_DIR: "/sys/provost/data" }),
    code: 1,
    says: () =>
      /^`DATA_DIR`: \/sys\/provost\/data can't be opened by the account \S+ \(permission denied\)\. Run `chown \S+ \/sys`, or name another folder\.$/,
  },
  "a data folder that is a file": {
    prepare: (work) => put(work, "data", ""),
    code: 1,
    says: () => "`DATA_DIR`: ./data is a file, or lies below one. Name a folder.",
  },
  "a data folder below a file": {
    prepare: async (work) => {
      await writeFile(join(work.directory, "notes"), "");
      return { DATA_DIR: "./notes/data" };
    },
    code: 1,
    says: () => "`DATA_DIR`: ./notes/data is a file, or lies below one. Name a folder.",
  },
  "a data folder that another server has": {
    prepare: async (work) => {
      await mkdir(join(work.directory, "data"));
      const lock = keepAlive(new BetterSqlite3(join(work.directory, "data/server.lock")));
      onTestFinished(() => void lock.close());
      lock.exec("BEGIN EXCLUSIVE");
      return put(work, "data/server.pid", "4242\n");
    },
    code: 1,
    says: () => "`DATA_DIR`: ./data is in use by process 4242. Stop that server (`kill 4242`), or give this one a folder of its own.",
  },
  "a database file that is a folder": {
    prepare: async (work) => {
      await mkdir(join(work.directory, "there"));
      return { DATABASE_URL: "file:./there" };
    },
    code: 1,
    says: () => "The database ./there is a folder. Name a file: `DATABASE_URL=file:<path>`.",
  },
  "a database file that is none": {
    prepare: async (work) => {
      await writeFile(join(work.directory, "notes.txt"), "not a database, but long enough to be taken for the head of one".repeat(20));
      return { DATABASE_URL: "file:./notes.txt" };
    },
    code: 1,
    says: () => "The database ./notes.txt is damaged (file is not a database). Restore a backup of it.",
  },
  "a database of a newer version": {
    prepare: (work) => usedDatabase(work, "UPDATE _prisma_migrations SET migration_name = '20991231000000_later' WHERE rowid = 1"),
    code: 1,
    says: () =>
      "The database ./data/provost.db has the migration 20991231000000_later, which this version does not know. Run the version that wrote it, or a newer one.",
  },
  "a database of another program": {
    prepare: (work) => usedDatabase(work, "DROP TABLE _prisma_migrations"),
    code: 1,
    says: () =>
      /^The database \.\/data\/provost\.db has the table \w+ but no migrations, so it belongs to another program\. Name an empty one in `DATABASE_URL`\.$/,
  },
  "a database of another installation": {
    prepare: async (work) => {
      await usedDatabase(work, "SELECT 1");
      return put(work, "data/instance_id", "another\n");
    },
    code: 1,
    says: () =>
      /^The database \.\/data\/provost\.db is (empty|that of another installation), but `DATA_DIR` \(\.\/data\) has the files of an installation: put its database back, or start with `--accept-empty-database` to go on with this one\.$/,
  },
  "another secret key than the database was used with": {
    prepare: async (work) => ({ ...(await usedDatabase(work, "SELECT 1")), SECRET_KEY: freshKey() }),
    code: 1,
    says: () => otherKey,
  },
  "a PostgreSQL that is not there": {
    prepare: () => ({ DATABASE_URL: "postgresql://provost:hunter2@127.0.0.1:1/provost" }),
    code: 1,
    says: () => "Can't reach PostgreSQL at 127.0.0.1:1 (connection refused). Check `DATABASE_URL`.",
  },
  "a PostgreSQL at a name that leads nowhere": {
    prepare: () => ({ DATABASE_URL: "postgresql://provost:hunter2@db.invalid/provost" }),
    argv: ["owners", "list"],
    code: 1,
    says: () => /^Can't reach PostgreSQL at db\.invalid:5432 \((no such host|the name cannot be looked up now)\)\. Check `DATABASE_URL`\.$/,
  },
};

const elsewhere = "613425648685547520";

/** What the server says to at its start, or when it is first used, and goes on. */
export const oversights: Record<string, Oversight> = {
  "a variable that is mistyped": {
    prepare: () => ({ LOG_LEVL: "debug" }),
    warns: () => "LOG_LEVL is not a setting: did you mean LOG_LEVEL?",
  },
  "a variable of another bot": {
    prepare: () => ({ DISCORD_PREFIX: "!" }),
    warns: () => "DISCORD_PREFIX is not a setting: docs/configuration.md lists all of them. Remove it.",
  },
  "a server that the bot is not in": {
    prepare: ({ guild }) => ({ GUILD_IDS: `${guild.id},${elsewhere}` }),
    warns: ({ DISCORD_CLIENT_ID: id = "" }) =>
      `GUILD_IDS names the server ${elsewhere}, but the bot is not in it. Invite it with https://discord.com/oauth2/authorize?client_id=${id}&scope=bot+applications.commands&guild_id=${elsewhere}, or take the id out of GUILD_IDS and restart.`,
  },
  "the id of another application": {
    prepare: () => ({ DISCORD_CLIENT_ID: "80351110224678912", COMMANDS_REGISTER: "off" }),
    warns: () =>
      /^DISCORD_CLIENT_ID is 80351110224678912, but DISCORD_TOKEN belongs to the application \d+: commands are not registered, and nobody can agree to be checked\. Copy the id, the token and the client secret from the same application\.$/,
  },
  "a token that Discord refuses": {
    prepare: () => ({ DISCORD_TOKEN: "sandbox.hunter2.token" }),
    warns: () =>
      "the bot is not connected to Discord, and tries again only after a restart; HTTP goes on: Discord refuses the bot token. In the developer portal open Bot, reset the token, put the new one into `DISCORD_TOKEN`, then restart.",
  },
  "an intent that is off": {
    prepare: ({ sandbox }) => {
      sandbox.setPrivilegedIntents(0);
      return {};
    },
    warns: () =>
      "the bot is not connected to Discord, and tries again only after a restart; HTTP goes on: Discord refuses to show the bot the members of its servers. In the developer portal open Bot, switch on Server Members Intent under Privileged Gateway Intents, then restart.",
  },
  "a proxy that is not trusted": {
    prepare: () => ({}),
    ask: (url) => fetch(`${url}/livez`, { headers: { "x-forwarded-for": "203.0.113.9" } }),
    warns: () =>
      "A request came through a proxy (X-Forwarded-For), but TRUSTED_PROXIES is empty: everybody behind that proxy shares the limits of one address. If the proxy is yours, set TRUSTED_PROXIES to its address and restart.",
  },
  "an .env that others can read": {
    prepare: async ({ work }) => {
      await put(work, ".env", "LOG_LEVEL=info\n");
      await chmod(join(work.directory, ".env"), 0o644);
      return {};
    },
    warns: () => "other accounts of this machine could open these files; now only this account can",
  },
  "a data folder that others can open": {
    prepare: async ({ work }) => {
      await mkdir(join(work.directory, "data"), { mode: 0o755 });
      await chmod(join(work.directory, "data"), 0o755);
      return {};
    },
    warns: () => "other accounts of this machine could open these files; now only this account can",
  },
  "a clock that is three hours ahead": {
    prepare: async ({ work }) => {
      await put(
        work,
        "ahead.mjs",
        "const now = Date.now;\nglobalThis.Date = class extends Date {\n  constructor(...given) {\n    super(...(given.length === 0 ? [now() + 10_800_000] : given));\n  }\n  static now() {\n    return now() + 10_800_000;\n  }\n};\n",
      );
      return { NODE_OPTIONS: "--import=./ahead.mjs" };
    },
    warns: () =>
      "The clock of this machine is 3 hours ahead of Discord's: records and the audit get wrong times, and what has an end ends too early or too late. Set it by the network, such as with `timedatectl set-ntp true`, and restart.",
  },
};
