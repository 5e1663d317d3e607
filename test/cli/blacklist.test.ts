// @module-tag slow
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openDatabase, type Database } from "../../src/database/database.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { isSaid } from "../../src/kit/say.ts";
import { validEnvironment } from "../config/environment.ts";
import { createEmptyCopy } from "../support/database.ts";
import { installation } from "./installation.ts";
import { createWorkplace, dotEnv, runHere } from "./run.ts";
import { sizeOf } from "../support/size.ts";

/** The long run has IMPORT_ROWS=100000: `npm run test:import`. */
const rows = sizeOf({ quick: 600, all: 1500, long: 100_000 });
const isLong = rows > 20_000;
/** Far above what is in use at once, far below what a long file would add up to: whatever is kept by the line would end the process. */
const heapLimit = isLong ? ["--max-old-space-size=160"] : [];

/** An operator's folder with a fresh database, and the same database open here, as a running server has it. */
async function createInstallation() {
  const copy = await createEmptyCopy();
  const work = await createWorkplace(dotEnv({ ...validEnvironment(), DATABASE_URL: copy.url, SQLITE_SYNCHRONOUS: "normal" }));
  const database = await openDatabase({ url: copy.url, synchronous: "normal" });
  return {
    ...work,
    database,
    path: (name: string) => join(work.directory, name),
    async put(name: string, text: string | Buffer) {
      await writeFile(join(work.directory, name), text);
    },
    async [Symbol.asyncDispose]() {
      await database.close();
      await work[Symbol.asyncDispose]();
      await copy.remove();
    },
  };
}

type Installation = Awaited<ReturnType<typeof createInstallation>>;

/** Run the command and look at it while it runs. */
async function follow({ directory }: Installation, argv: readonly string[], onError: (text: string, pid: number) => void) {
  const { program } = await installation();
  const child = spawn(process.execPath, [...heapLimit, program, ...argv], { cwd: directory, env: { PATH: process.env["PATH"] ?? "" } });
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (piece: Buffer) => (stdout += piece.toString()));
  child.stderr.on("data", (piece: Buffer) => {
    stderr += piece.toString();
    onError(piece.toString(), child.pid ?? 0);
  });
  const code = await new Promise<number | null>((resolve) => void child.on("close", resolve));
  return { code, stdout, stderr };
}

const idOf = (n: number): string => (720_000_000_000_000_000n + BigInt(n) * 7919n).toString();
const isBad = (n: number): boolean => n % 100 === 37;

/** One line in a hundred is wrong, in turn in each of these ways. */
const faults: readonly [pointer: string, line: (id: string) => string][] = [
  ["/subject_id", () => `user,1.23E+17,high,scam,Rounded,`],
  ["/severity", (id) => `user,${id},loud,scam,Loud,`],
  ["/category", (id) => `server,${id},low,predatory_behaviour,No such thing,`],
  ["", (id) => `user,${id},low,scam,"open,`],
  ["/expires_at", (id) => `user,${id},low,scam,Over,2020-01-01T00:00:00.000Z`],
];
const faultOf = (n: number) => faults[Math.floor(n / 100) % faults.length] ?? faults[0];

function line(n: number): string {
  if (isBad(n)) return faultOf(n)?.[1](idOf(n)) ?? "";
  const isServer = n % 5 === 0;
  return `${isServer ? "server" : "user"},${idOf(n)},${n % 2 === 0 ? "high" : "low"},${isServer ? "raiding" : "scam"},"Sold things, case ${n}",`;
}

const header = "kind,subject_id,severity,category,reason_public,expires_at";
const numbers = Array.from({ length: rows }, (_, index) => index + 1);
const bad = numbers.filter(isBad);

async function stateOf({ read }: Database) {
  const counts = await Promise.all([
    read.blacklistRecord.count(),
    read.blacklistVersion.count(),
    read.blacklistChange.count(),
    read.outboxEvent.count(),
    read.auditEntry.count({ where: { action: { not: "blacklist.import" } } }),
  ]);
  const { _sum } = await read.blacklistRecord.aggregate({ _sum: { revision: true } });
  return { counts, revisions: _sum.revision };
}

/** Megabytes a process holds now; 0 where that cannot be seen. */
function memoryOf(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid.toString()}/status`, "utf8"))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

/** Another writer on the same database. Answers the longest time it had to wait, in milliseconds. */
function createNeighbour(database: Database) {
  const end = new AbortController();
  let longest = 0;
  const running = (async () => {
    for (let n = 0; !end.signal.aborted; n += 1) {
      const began = performance.now();
      await database.write(systemCall("job", "neighbour"), (tx) => {
        const row = { key: "neighbour", value: n };
        return tx.db.setting.upsert({ where: { key: row.key }, create: row, update: row });
      });
      longest = Math.max(longest, performance.now() - began);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  return async () => {
    end.abort();
    await running;
    return longest;
  };
}

test(
  "a large file goes in beside another writer: progress is shown, every wrong line is named, and told again it changes nothing",
  { timeout: isLong ? 1_800_000 : 120_000 },
  async () => {
    await using work = await createInstallation();
    await work.put("list.csv", [header, ...numbers.map(line)].join("\n"));
    const argv = ["blacklist", "import", "list.csv", "--report", "report.ndjson"];
    const seen: { lines: number; memory: number }[] = [];
    const stopNeighbour = createNeighbour(work.database);
    const began = performance.now();
    const first = await follow(work, argv, (text, pid) => {
      for (const [, lines] of text.matchAll(/^(\d+) lines, \d+ per second, \d+ wrong, \d+ % read$/gm))
        seen.push({ lines: Number(lines), memory: memoryOf(pid) });
    });
    const seconds = (performance.now() - began) / 1000;
    const maxWait = await stopNeighbour();
    const good = rows - bad.length;
    expect([first.code, first.stdout]).toEqual([1, `${rows} lines: ${good} created, ${bad.length} refused\n`]);
    expect(seen.length).toBeGreaterThanOrEqual(2);
    expect(seen[0]?.lines).toBeLessThan(rows);
    expect(maxWait).toBeLessThan(isLong ? 5000 : 20_000);

    const report = (await readFile(work.path("report.ndjson"), "utf8")).trimEnd().split("\n");
    const results = report.map(
      (one) => JSON.parse(one) as { line: number; outcome: string; errors?: { pointer: string; detail: string }[] },
    );
    expect(results.map((one) => one.line)).toEqual(numbers.map((n) => n + 1));
    const refused = results.filter(({ outcome }) => outcome !== "created");
    expect(refused.map((one) => [one.line, one.outcome, one.errors?.[0]?.pointer])).toEqual(
      bad.map((n) => [n + 1, "refused", faultOf(n)?.[0]]),
    );
    const named = bad.slice(0, 20).map((n) => `line ${(n + 1).toString()}:`);
    expect([...first.stderr.matchAll(/^line \d+:/gm)].map(([text]) => text)).toEqual(named);
    expect(first.stderr.includes("in the report alone")).toBe(bad.length >= 20);
    // Both tell in words what is wrong.
    const told = refused
      .slice(0, 20)
      .map(({ line: at, errors: [error] = [] }) =>
        [`line ${at}`, error?.pointer.slice(1), error?.detail].filter((part) => part !== "").join(": "),
      );
    expect(first.stderr.split("\n").filter((text) => /^line \d+:/.test(text))).toEqual(told);
    expect(report.filter((text) => isSaid(text))).toEqual([]);

    const state = await stateOf(work.database);
    expect(state.counts.slice(0, 3)).toEqual([good, good, good]);
    const again = (more: string[]) => (isLong ? follow(work, [...argv, ...more], () => undefined) : work.here([...argv, ...more]));
    const second = await again([]);
    expect([second.code, second.stdout]).toEqual([1, `${rows} lines: ${good} unchanged, ${bad.length} refused\n`]);
    expect(await stateOf(work.database)).toEqual(state);

    await work.put("list.csv", [header, ...numbers.map((n) => (n === 3 ? line(n).replace("Sold", "Stole") : line(n)))].join("\n"));
    const third = await again(["--mode", "replace"]);
    expect(third.stdout).toBe(`${rows} lines: 1 replaced, ${good - 1} unchanged, ${bad.length} refused\n`);
    const after = await stateOf(work.database);
    expect(after.counts.map((count, index) => count - (state.counts[index] ?? 0))).toEqual([1, 2, 2, 1, 2]);

    if (!isLong) return;
    const memory = (from: number, to: number) =>
      Math.max(...seen.filter(({ lines }) => lines > from && lines <= to).map((one) => one.memory));
    const growth = memory(10_000, rows) - memory(0, 10_000);
    console.log({ rows, seconds, perSecond: rows / seconds, peak: memory(0, rows), growth, maxWait });
    expect(growth).toBeLessThan(60);
  },
);

const record = (n: number, more: object = {}) => ({ kind: "user", subject_id: idOf(n), category: "scam", ...more });

/** A machine that does much else starts a process slowly. */
const patient = { timeout: 90_000 };

test("JSON is read, a rehearsal writes nothing, and an export goes in again through standard input", patient, async () => {
  await using work = await createInstallation();
  const state = await stateOf(work.database);
  await work.put("one.json", JSON.stringify({ records: [record(1, { tags: ["a b"], reason_internal: "=1+1" }), record(2)] }));
  await work.put("two.ndjson", [record(2), record(3)].map((one) => `${JSON.stringify(one)}\n`).join(""));
  const rehearsal = await work.here(["blacklist", "import", "one.json", "--dry-run"]);
  expect(rehearsal).toMatchObject({ code: 0, stdout: "2 lines: 2 created\n", stderr: expect.stringContaining("Nothing was written.\n") });
  expect(await stateOf(work.database)).toEqual(state);
  expect(await work.database.read.auditEntry.count()).toBe(0);
  expect(await work.here(["blacklist", "import", "one.json"])).toMatchObject({ code: 0, stdout: "2 lines: 2 created\n" });
  expect(await work.here(["blacklist", "import", "two.ndjson"])).toMatchObject({ code: 0, stdout: "2 lines: 1 created, 1 unchanged\n" });
  expect(await work.database.read.blacklistRecord.count({ where: { source: "import" } })).toBe(3);
  const entry = await work.database.read.auditEntry.findFirst({ where: { action: "blacklist.import" } });
  expect(entry).toMatchObject({ via: "cli", permissionUsed: "blacklist.import" });

  const { stdout } = await work.provost(["blacklist", "export"]);
  expect(stdout.split("\n")).toHaveLength(5);
  expect(stdout).toContain("'=1+1");
  const { program } = await installation();
  const argv = [program, "blacklist", "import", "-", "--format", "csv"];
  const child = spawn(process.execPath, argv, { cwd: work.directory, env: { PATH: process.env["PATH"] ?? "" } });
  let said = "";
  child.stdout.on("data", (piece: Buffer) => (said += piece.toString()));
  child.stdin.end(stdout);
  expect(await new Promise((resolve) => void child.on("close", resolve))).toBe(0);
  expect(said).toBe("3 lines: 3 unchanged\n");
});

test("an export into a file is for its owner alone, and never over another file", patient, async () => {
  await using work = await createInstallation();
  expect(await work.here(["blacklist", "export", "--format", "csv", "--out", "all.csv"])).toMatchObject({ code: 0, stdout: "" });
  expect((await stat(work.path("all.csv"))).mode & 0o777).toBe(0o600);
  const text = await readFile(work.path("all.csv"), "utf8");
  expect(text).toMatch(/^\ufeff"?number"?,/);
  expect(await work.here(["blacklist", "export", "--out", "all.csv"])).toMatchObject({ code: 1, stdout: "" });
  expect(await readFile(work.path("all.csv"), "utf8")).toBe(text);
});

test.each([
  ["nothing.csv", /^nothing\.csv does not exist\. Check the path\.$/m],
  ["list.txt", /--format/],
  ["nothing.csv --mode forget", /--mode/],
  ["nothing.csv --format xml", /--format/],
  [
    `${fileURLToPath(import.meta.url)} --format csv --report no/such/folder`,
    /^The folder no\/such does not exist\. Make it: `mkdir -p no\/such`\.$/m,
  ],
  ["", /missing required argument/],
])("wrong usage ends with 2: %s", async (line, said) => {
  const { code, stderr } = await runHere(["blacklist", "import", ...line.split(" ").filter((word) => word !== "")]);
  expect(code).toBe(2);
  expect(stderr).toMatch(said);
});

test("a file with an unknown column and one in another encoding end with 2, and nothing is written", patient, async () => {
  await using work = await createInstallation();
  await work.put("columns.csv", "kind,subject_id,colour\nuser,1,red\n");
  await work.put("latin.csv", Buffer.from(`kind,subject_id,reason_public\nuser,${idOf(1)},M\xfcller\n`, "latin1"));
  for (const [file, said] of [
    ["columns.csv", /There is no column "colour"\./],
    ["latin.csv", /not UTF-8/],
  ] as const) {
    const { code, stdout, stderr } = await work.here(["blacklist", "import", file]);
    expect([file, code, stdout]).toEqual([file, 2, ""]);
    expect(stderr).toMatch(said);
  }
  expect(await work.database.read.blacklistRecord.count()).toBe(0);
  expect(await work.database.read.auditEntry.count()).toBe(0);
});

test("Ctrl-C ends an import after the lines that are being written, and the same command goes on", patient, async () => {
  await using work = await createInstallation();
  const many = Array.from({ length: 1500 }, (_, index) => index + 1).filter((n) => !isBad(n));
  await work.put("list.csv", [header, ...many.map(line)].join("\n"));
  let isTold = false;
  const stopped = await follow(work, ["blacklist", "import", "list.csv"], (text, pid) => {
    if (isTold || !/^\d+ lines, /m.test(text)) return;
    isTold = true;
    process.kill(pid, "SIGINT");
  });
  expect(stopped.code).toBe(1);
  expect(stopped.stderr).toContain("Stopped. Run the same command again to go on");
  const there = await work.database.read.blacklistRecord.count();
  expect(there).toBeGreaterThan(0);
  expect(there).toBeLessThan(many.length);
  expect(stopped.stdout).toBe(`${there} lines: ${there} created\n`);
  const again = await work.here(["blacklist", "import", "list.csv"]);
  expect([again.code, again.stdout]).toEqual([0, `${many.length} lines: ${many.length - there} created, ${there} unchanged\n`]);
});
