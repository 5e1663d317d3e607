// @module-tag sqlite
// @module-tag slow
import { expect, onTestFinished, test } from "vitest";
import { freshKey, secretTexts, validEnvironment } from "../config/environment.ts";
import { tier } from "../support/size.ts";
import { misconfigurations } from "./misconfigurations.ts";
import { type Mistake, noDiscord, nobody, otherKey, put, putFolder, usedDatabase } from "./misconfigurations-ground.ts";
import { oversights } from "./oversights.ts";
import { createWorkplace, type Outcome } from "./run.ts";

const start = ["serve"];

/** What an operator has asked for that cannot be. */
const misuses: Record<string, Mistake> = {
  "another secret key on the command line, where keys would be made that no server accepts": {
    prepare: async (work) => ({ ...(await usedDatabase(work, "SELECT 1")), SECRET_KEY: freshKey() }),
    argv: ["keys", "list"],
    code: 1,
    says: () => otherKey,
  },
  "a PostgreSQL that is not there on the command line": {
    prepare: () => ({ DATABASE_URL: "postgresql://provost:hunter2@127.0.0.1:1/provost" }),
    argv: ["keys", "list"],
    code: 1,
    says: () => "Can't reach PostgreSQL at 127.0.0.1:1 (connection refused). Check `DATABASE_URL`.",
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

test("thirty different settings, files and machines that are wrong are tried, and more", () => {
  expect(Object.keys(misconfigurations).length + Object.keys(oversights).length).toBeGreaterThanOrEqual(45);
});

for (const [title, mistake] of Object.entries({ ...misconfigurations, ...misuses })) {
  const { whyNot = false, prepare, argv = start, asNobody, code, says } = mistake;
  test(`${title} is answered with what is wrong and what mends it`, async ({ skip }) => {
    if (whyNot !== false) skip(whyNot);
    const work = await createWorkplace();
    // After what is prepared in it was taken away.
    onTestFinished(() => work[Symbol.asyncDispose]());
    const valid = validEnvironment();
    const env = { ...valid, ...noDiscord, ...(await prepare?.(work)) };
    const account = asNobody === true && process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};
    const outcome = await (isProcess(argv) ? work.provost(argv, env, account) : work.here(argv, env));
    const expected = says(work, env);
    if (typeof expected === "string") expect(outcome.stderr).toBe(`${expected}\n`);
    else expect(outcome.stderr.trimEnd()).toMatch(expected);
    expect(outcome.code).toBe(code);
    if (title in misconfigurations) expect(outcome.stderr.trimEnd().split("\n")).toHaveLength(1);
    expectClean(outcome, valid);
  });
}
