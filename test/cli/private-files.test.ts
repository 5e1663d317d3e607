// @module-tag slow
import { chmod, lstat, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createWorld } from "../support/world.ts";
import { validEnvironment } from "../config/environment.ts";
import { createWorkplace, dotEnv } from "./run.ts";

const modeOf = async (path: string): Promise<string> => ((await lstat(path)).mode & 0o777).toString(8);

/** What others may read of a folder and what lies in it, whatever lies deeper is behind it. */
async function openIn(folder: string): Promise<string[]> {
  const paths = [folder, ...(await readdir(folder)).map((name) => join(folder, name))];
  const modes = await Promise.all(paths.map(modeOf));
  return paths.filter((_, index) => !["600", "700"].includes(modes[index] ?? ""));
}

/** As the usual shell has it, whatever the machine of the tests has. */
function usualUmask(): void {
  const before = process.umask(0o022);
  onTestFinished(() => void process.umask(before));
}

test("what the command line writes is for the operator's own account alone", async () => {
  usualUmask();
  await using work = await createWorkplace(dotEnv(validEnvironment()));
  const made = await work.provost(["bootstrap", "--offline"]);
  expect(made.code, made.stderr).toBe(0);
  const folder = join(work.directory, "data");
  expect(await readdir(folder)).toContain("provost.db");
  expect(await openIn(folder)).toEqual([]);
});

test("a service closes what an earlier version left open to others, and says so", async () => {
  const lines: string[] = [];
  const world = await createWorld({ log: (line) => void lines.push(line) });
  const folder = world.dataDir;
  const left = (await readdir(folder)).map((name) => join(folder, name));
  for (const path of left) await chmod(path, (await lstat(path)).isDirectory() ? 0o755 : 0o644);
  await chmod(folder, 0o755);
  const before = process.umask(0o077);
  onTestFinished(() => void process.umask(before));
  lines.length = 0;
  await world.restart();
  expect(await openIn(folder)).toEqual([]);
  const told = lines.find((line) => line.includes("other accounts of this machine could open these"));
  expect(JSON.parse(told ?? "{}").paths).toEqual(expect.arrayContaining([folder, ...left.filter((path) => !path.includes("server."))]));
  lines.length = 0;
  await world.restart();
  expect(lines.filter((line) => line.includes("other accounts"))).toEqual([]);
});

test("secrets are written into a file that only its owner reads, and never over others", async () => {
  usualUmask();
  await using work = await createWorkplace("SECRET_KEY=changeme\nENCRYPTION_KEYS=\nHOST=127.0.0.1\n");
  const file = join(work.directory, ".env");
  await chmod(file, 0o644);
  const wrote = await work.provost(["secrets", "--write", ".env"]);
  expect([wrote.code, wrote.stdout]).toEqual([
    0,
    "Wrote SECRET_KEY and ENCRYPTION_KEYS into .env, which only you can read. Fill in the rest of it, then run `npx provost config check`.\n",
  ]);
  const text = await readFile(file, "utf8");
  expect(text).toMatch(/^HOST=127\.0\.0\.1\nSECRET_KEY=\S{44}\nENCRYPTION_KEYS=k\d{8}:\S{44}\n$/);
  expect(await modeOf(file)).toBe("600");
  const again = await work.provost(["secrets", "--write", ".env"]);
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining(".env has SECRET_KEY and ENCRYPTION_KEYS already")]);
  expect(await readFile(file, "utf8")).toBe(text);
  await work.provost(["secrets", "--write", "other.env"]);
  expect(await modeOf(join(work.directory, "other.env"))).toBe("600");
  await writeFile(file, "SECRET_KEY_FILE=/run/secrets/key\n");
  expect((await work.provost(["secrets", "--write", ".env"])).stderr).toContain("SECRET_KEY already");
});
