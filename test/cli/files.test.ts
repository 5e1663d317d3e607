import { readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createProgress } from "../../src/cli/blacklist-import.ts";
import { validEnvironment } from "../config/environment.ts";
import { createEmptyCopy } from "../support/database.ts";
import { createWorkplace, dotEnv } from "./run.ts";

const patient = 60_000;

/** An operator's folder with a fresh database. */
async function createInstallation() {
  const database = await createEmptyCopy();
  const work = await createWorkplace(dotEnv({ ...validEnvironment(), DATABASE_URL: database.url, SQLITE_SYNCHRONOUS: "normal" }));
  return {
    ...work,
    path: (name: string) => join(work.directory, name),
    async [Symbol.asyncDispose]() {
      await work[Symbol.asyncDispose]();
      await database.remove();
    },
  };
}

test("a report never takes the place of the file that is imported, however it is called", { timeout: patient }, async () => {
  await using work = await createInstallation();
  const list = "kind,subject_id,severity,category\nuser,80351110224678912,high,raid\n";
  await writeFile(work.path("list.csv"), list);
  await symlink("list.csv", work.path("other.csv"));
  for (const report of ["list.csv", "./list.csv", "other.csv"]) {
    const { code, stdout, stderr } = await work.here(["blacklist", "import", "list.csv", "--report", report]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain("is the file that is imported");
    expect(await readFile(work.path("list.csv"), "utf8")).toBe(list);
  }
  await writeFile(work.path("report.ndjson"), "of last time\n");
  expect(await work.here(["blacklist", "import", "list.csv", "--report", "report.ndjson"])).toMatchObject({ code: 0 });
  expect(await readFile(work.path("report.ndjson"), "utf8")).toMatch(/^\{"line":2,"outcome":"created",.*\}\n$/);
});

test("an export overwrites no file, and is readable by its maker alone", { timeout: patient }, async () => {
  await using work = await createInstallation();
  for (const room of ["audit", "blacklist"]) {
    await writeFile(work.path("kept.txt"), "mine", { mode: 0o644 });
    expect(await work.here([room, "export", "--out", "kept.txt"])).toMatchObject({ code: 1, stdout: "" });
    expect(await readFile(work.path("kept.txt"), "utf8")).toBe("mine");
    expect(await work.here([room, "export", "--out", `${room}.txt`])).toMatchObject({ code: 0, stdout: "" });
    expect((await stat(work.path(`${room}.txt`))).mode & 0o777).toBe(0o600);
  }
});

test("a check that compared nothing does not pass for a whole chain", { timeout: patient }, async () => {
  await using work = await createInstallation();
  await work.here(["bootstrap", "--offline"]);
  const verify = (...argv: string[]) => work.here(["audit", "verify", ...argv]);
  expect(await verify("--checkpoints", "mistyped.log")).toMatchObject({
    code: 2,
    stdout: "",
    stderr: expect.stringContaining("mistyped.log"),
  });
  expect(await verify("--from", "5", "--to", "2")).toMatchObject({ code: 2, stdout: "" });
  expect(await verify("--from", "99999")).toMatchObject({ code: 2, stdout: "", stderr: "There is no entry from 99999 on.\n" });
  await writeFile(work.path("empty.log"), "");
  const unproved = await verify("--checkpoints", "empty.log");
  expect(unproved).toMatchObject({ code: 0, stdout: expect.stringContaining("0 checkpoints, chain ok") });
  expect(unproved.stderr).toContain("no signed position was compared");
  expect((await verify("--from", "1", "--to", "1", "--checkpoints", "empty.log")).stderr).toBe("");
});

test("on a terminal the line that rewrites itself ends before the sum is printed, and leaves no empty line", () => {
  for (const isEnded of [true, false]) {
    let shown = "";
    const stream = { isTTY: true, write: (text: string) => (shown += text) } as unknown as NodeJS.WriteStream;
    {
      using progress = createProgress(stream, () => 1);
      progress.note([{ line: 2, outcome: "created" }]);
      if (isEnded) progress.end();
      if (isEnded) expect(shown.endsWith("100 % read\u001b[K\n")).toBe(true);
    }
    expect(shown.match(/\n/g)).toHaveLength(1);
  }
});
