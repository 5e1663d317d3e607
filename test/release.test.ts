// @module-tag sqlite
// @module-tag slow
import { execFile } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));

test("the release archive is the program and its one package, in the versions of the lock file", { timeout: 180_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "provost-release-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await run(join(root, "node_modules/.bin/tsx"), [join(root, "scripts/release-pack.ts"), folder]);
  const [archive = ""] = await readdir(folder);
  expect(archive).toMatch(/^provost-\d+\.\d+\.\d+\.tgz$/);
  await run("tar", ["-xzf", join(folder, archive), "-C", folder]);
  const tree = join(folder, "package");
  expect(await readdir(tree)).toEqual(
    expect.arrayContaining([
      ".env.example",
      "CHANGELOG.md",
      "LICENSE",
      "README.md",
      "bin",
      "deploy",
      "dist",
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

  for (const name of ["better-sqlite3", "bindings", "file-uri-to-path"])
    await cp(join(root, "node_modules", name), join(tree, "node_modules", name), { recursive: true });
  const help = await run(process.execPath, [join(tree, "bin/provost.js"), "--help"]);
  expect(help.stdout).toContain("backup");
});
