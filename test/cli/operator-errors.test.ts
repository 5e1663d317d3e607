// @module-tag sqlite
import { mkdir, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import BetterSqlite3 from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { keepAlive } from "../../src/database/keep-alive.ts";
import { freshKey, secretTexts, validEnvironment } from "../config/environment.ts";
import { createWorkplace, type Outcome } from "./run.ts";
import { tier } from "../support/size.ts";

type Variables = Record<string, string>;
type Workplace = Awaited<ReturnType<typeof createWorkplace>>;

/** What an operator has done wrong, and what the service says to it. */
interface Mistake {
  /** Makes what is wrong; answers what the process is given. */
  prepare?: (work: Workplace) => Promise<Variables> | Variables;
  argv?: readonly string[];
  code: number;
  /** All of what is written to standard error. */
  says: (work: Workplace, env: Record<string, string>) => string | RegExp;
}

const noDiscord = { DISCORD_API_BASE: "http://127.0.0.1:9/api", PORT: "0" };
const start = ["serve"];

async function occupiedPort(): Promise<string> {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void other.close());
  return (other.address() as AddressInfo).port.toString();
}

async function put(work: Workplace, name: string, text: string): Promise<Variables> {
  await writeFile(join(work.directory, name), text);
  return {};
}

async function putFolder(work: Workplace, name: string): Promise<Variables> {
  await mkdir(join(work.directory, name));
  return {};
}

/** A database that the service has used, changed by hand. */
async function usedDatabase(work: Workplace, sql: string): Promise<Variables> {
  await work.here(["keys", "list"], { ...validEnvironment(), ...noDiscord });
  const db = keepAlive(new BetterSqlite3(join(work.directory, "data/provost.db")));
  db.exec(sql);
  db.close();
  return {};
}

const otherKey =
  "`SECRET_KEY` is another one than this database was used with, so every API key would be refused, and signed positions of the audit would no longer count: put the old one back, or, if it is lost, start the server once with `--accept-new-secret-key` and make new API keys.";

const mistakes: Record<string, Mistake> = {
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
  "the same on the command line, where keys would be made that no server accepts": {
    prepare: async (work) => ({ ...(await usedDatabase(work, "SELECT 1")), SECRET_KEY: freshKey() }),
    argv: ["keys", "list"],
    code: 1,
    says: () => otherKey,
  },
  "a PostgreSQL that is not there": {
    prepare: () => ({ DATABASE_URL: "postgresql://provost:hunter2@127.0.0.1:1/provost" }),
    code: 1,
    says: () => "Can't reach PostgreSQL at 127.0.0.1:1 (connection refused). Check `DATABASE_URL`.",
  },
  "the same on the command line": {
    prepare: () => ({ DATABASE_URL: "postgresql://provost:hunter2@127.0.0.1:1/provost" }),
    argv: ["keys", "list"],
    code: 1,
    says: () => "Can't reach PostgreSQL at 127.0.0.1:1 (connection refused). Check `DATABASE_URL`.",
  },
  "a PostgreSQL at a name that leads nowhere": {
    prepare: () => ({ DATABASE_URL: "postgresql://provost:hunter2@db.invalid/provost" }),
    argv: ["owners", "list"],
    code: 1,
    says: () => /^Can't reach PostgreSQL at db\.invalid:5432 \((no such host|the name cannot be looked up now)\)\. Check `DATABASE_URL`\.$/,
  },
  "a verification of a database that is not there": {
    argv: ["audit", "verify", "--database", "gone.db"],
    code: 2,
    says: ({ directory }) => `There is no database file ${directory}/gone.db. Check the path.`,
  },
  "a verification with signed positions that are not there": {
    argv: ["audit", "verify", "--checkpoints", "gone.log"],
    code: 2,
    says: () => "gone.log does not exist. Check the path.",
  },
  "a verification of an export that is not there": {
    argv: ["audit", "verify", "--file", "gone.ndjson"],
    code: 2,
    says: () => "gone.ndjson does not exist. Check the path.",
  },
  "an import of a file that is not there": {
    argv: ["blacklist", "import", "gone.csv"],
    code: 2,
    says: () => "gone.csv does not exist. Check the path.",
  },
  "an import of a folder": {
    prepare: (work) => putFolder(work, "list.csv"),
    argv: ["blacklist", "import", "list.csv"],
    code: 2,
    says: () => "list.csv is a folder. Name a file.",
  },
  "an import of a file whose name says nothing": {
    argv: ["blacklist", "import", "list"],
    code: 2,
    says: () => "The name of list does not say what it holds. Add `--format csv`, `--format json` or `--format ndjson`.",
  },
  "an import of a file that is no JSON": {
    prepare: (work) => put(work, "list.json", "kind,subject_id\n"),
    argv: ["blacklist", "import", "list.json"],
    code: 1,
    says: () =>
      /^line 1: This is no list of records in JSON, or it is cut off: write \[…\] or \{"records": \[…\]\}\.\n1 line, .+, 100 % read$/,
  },
  "a report on a full disk": {
    prepare: (work) => put(work, "list.csv", "kind,subject_id,severity,category\nuser,80351110224678912,high,raid\n"),
    argv: ["blacklist", "import", "list.csv", "--report", "/dev/full"],
    code: 2,
    says: () => /^1 line, .+\nThere is no space left for \/dev\/full\. Free some on its disk, and run the command again\.$/,
  },
  "an export over a file": {
    prepare: (work) => put(work, "kept.txt", "mine"),
    argv: ["audit", "export", "--out", "kept.txt"],
    code: 1,
    says: () => "kept.txt exists already, and is not overwritten. Name another file.",
  },
  "an export into a folder that is not there": {
    argv: ["blacklist", "export", "--out", "no/such/list.csv"],
    code: 1,
    says: () => "The folder no/such does not exist. Make it: `mkdir -p no/such`.",
  },
  "secrets into a folder that is not there": {
    argv: ["secrets", "--write", "no/.env"],
    code: 1,
    says: () => "The folder no does not exist. Make it: `mkdir -p no`.",
  },
  "secrets into an .env that has some": {
    prepare: (work) => put(work, "other.env", `SECRET_KEY=${"a".repeat(43)}=\n`),
    argv: ["secrets", "--write", "other.env"],
    code: 1,
    says: () =>
      "other.env has SECRET_KEY already, and what is stored needs it. If nothing is stored yet, delete that line and run the command again.",
  },
  "a key that is not there": {
    argv: ["keys", "revoke", "abcdefabcdef"],
    code: 1,
    says: () => "There is no key abcdefabcdef. `provost keys list` shows all of them.",
  },
  "a key that ends twice": {
    argv: ["keys", "create", "--name", "x", "--scopes", "*", "--expires-days", "3", "--expires-at", "2099-01-01T00:00:00Z"],
    code: 1,
    says: () => /^--expires-\w+: .*not both.*$/,
  },
  "a key with a scope that there is not": {
    argv: ["keys", "create", "--name", "x", "--scopes", "cases.raed"],
    code: 1,
    says: () => /^--scopes: .*cases\.raed.*$/,
  },
  "a removal of commands without a terminal": {
    argv: ["commands", "clear"],
    code: 1,
    says: () => "Nothing was removed. Without a terminal to ask at, add `--yes`.",
  },
  "an erasure without a word that it is meant": {
    argv: ["users", "erase", "80351110224678912", "--reason", "asked"],
    code: 1,
    says: () => "Nothing was erased. It cannot be undone: add `--yes` to erase 80351110224678912.",
  },
  "a mistyped command": {
    argv: ["key", "list"],
    code: 2,
    says: () => "error: unknown command 'key'\n(Did you mean keys?)\nSee `provost --help`.",
  },
  "a mistyped command of a group": {
    argv: ["keys", "lst"],
    code: 2,
    says: () => "error: unknown command 'lst'\n(Did you mean list?)\nSee `provost keys --help`.",
  },
  "a mistyped option": {
    argv: ["keys", "create", "--name", "x", "--scopes", "*", "--delegatoin", "none"],
    code: 2,
    says: () => "error: unknown option '--delegatoin'\n(Did you mean --delegation?)\nSee `provost keys create --help`.",
  },
  "a missing argument": {
    argv: ["keys", "revoke"],
    code: 2,
    says: () => "error: missing required argument 'key id'\nSee `provost keys revoke --help`.",
  },
  "an option that the server does not have": {
    argv: ["serve", "--prot", "8080"],
    code: 2,
    says: () => "error: unknown option '--prot'\nSee `provost serve --help`.",
  },
};

/** No output may hold a stack or a secret, in the log lines neither. */
function expectClean({ stdout, stderr }: Outcome, env: ReturnType<typeof validEnvironment>): void {
  const said = stdout + stderr;
  expect(said).not.toMatch(/\n\s+at |"stack":"[^"]|node:internal/);
  for (const text of [...secretTexts(env), "hunter2"]) expect(said).not.toContain(text);
}

/** The server is always a process of its own; a verb is one in all tiers but the quick one, as test/cli/program.test.ts shows how processes end. */
const isProcess = (argv: readonly string[]): boolean => tier !== "quick" || argv[0] === "serve";

test.each(Object.entries(mistakes))(
  "%s is answered with what is wrong and what mends it",
  async (_, { prepare, argv = start, code, says }) => {
    await using work = await createWorkplace();
    const valid = validEnvironment();
    const env = { ...valid, ...noDiscord, ...(await prepare?.(work)) };
    const outcome = await (isProcess(argv) ? work.provost : work.here)(argv, env);
    const expected = says(work, env);
    if (typeof expected === "string") expect(outcome.stderr).toBe(`${expected}\n`);
    else expect(outcome.stderr.trimEnd()).toMatch(expected);
    expect(outcome.code).toBe(code);
    expectClean(outcome, valid);
  },
);
