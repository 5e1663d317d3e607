// @module-tag sqlite
// @module-tag slow
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, inject, onTestFinished, test } from "vitest";
import { freePort } from "./support/free-port.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const prisma = fileURLToPath(new URL("../node_modules/prisma/build/index.js", import.meta.url));
/** Without what a contributor has not set either. */
const { PRISMA_SCHEMA_ENGINE_BINARY: _, ...environment } = process.env;
const env = { ...environment, DATABASE_URL: inject("template") };

test("the command line of Prisma finds the schema of the project and has nothing against it", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [prisma, "validate"], { cwd: root, env });
  expect(stdout).toContain("The schema at prisma/schema.prisma is valid");
});

test("the studio of Prisma shows the database that DATABASE_URL names, in a page of its own", async () => {
  const port = (await freePort()).toString();
  const studio = spawn(process.execPath, [prisma, "studio", "--port", port, "--browser", "none"], { cwd: root, env, stdio: "ignore" });
  onTestFinished(async () => {
    const ended = studio.exitCode === null ? once(studio, "exit") : undefined;
    studio.kill("SIGKILL");
    await ended;
  });
  const ask = (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${port}${path}`, init);
  await expect
    .poll(() =>
      ask("/").then(
        ({ status }) => status,
        () => 0,
      ),
    )
    .toBe(200);
  expect((await ask("/studio.js")).status).toBe(200);
  const query = { sql: "SELECT COUNT(*) AS count FROM staff_roles", parameters: [] };
  const answer = await ask("/bff", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ procedure: "query", query }),
  });
  expect(await answer.json()).toEqual([null, [{ count: expect.any(Number) }]]);
});
