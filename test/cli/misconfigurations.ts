import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import BetterSqlite3 from "better-sqlite3";
import { onTestFinished } from "vitest";
import { keepAlive } from "../../src/database/keep-alive.ts";
import { freshKey } from "../config/environment.ts";
import {
  giveToNobody,
  isRoot,
  type Mistake,
  mountSmall,
  occupiedPort,
  put,
  putFolder,
  refusedSetting,
  usedDatabase,
  whyNoLowPort,
  whyNoMount,
} from "./misconfigurations-ground.ts";
import { misconfiguredDatabases } from "./misconfigured-databases.ts";

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
  ...misconfiguredDatabases,
};
