// @module-tag postgres
import { expect, inject, onTestFinished, test } from "vitest";
import pg from "pg";
import { createEmptyCopy, createUnmigrated } from "../support/database.ts";
import { validEnvironment } from "../config/environment.ts";
import { createWorkplace } from "./run.ts";

interface Report {
  checks: { name: string; status: string; text: string }[];
}

async function administer(url: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const sql of statements) await client.query(sql);
  await client.end();
}

/** What the checks of what is stored say about the database at an address. */
async function examine(url: string) {
  await using work = await createWorkplace();
  const env = { ...validEnvironment(), DATABASE_URL: url, BACKUP_DIR: "backups", PUBLIC_URL: "https://mod.example.org" };
  const { code, stdout, stderr } = await work.here(["doctor", "--offline", "--json"], env);
  expect(stdout + stderr).not.toMatch(/hunter2|:password@/);
  const { checks } = JSON.parse(stdout) as Report;
  return { code, found: checks.flatMap(({ name, status, text }) => (status === "fail" ? [[name, text]] : [])), checks };
}

test.runIf(inject("dialect") === "postgres")("a PostgreSQL that is well is said to be, and one that is not used yet as well", async () => {
  const [fresh, used] = [await createUnmigrated(), await createEmptyCopy()];
  onTestFinished(() => Promise.all([fresh.remove(), used.remove()]).then(() => undefined));
  const notUsed = await examine(fresh.url);
  expect([notUsed.code, notUsed.found]).toEqual([0, []]);
  expect(notUsed.checks.find(({ name }) => name === "database")?.text).toMatch(
    /^test_\w+ of PostgreSQL at 127\.0\.0\.1:\d+: the next start brings its tables up to date \(\d+ migrations\)$/,
  );
  const known = await examine(used.url);
  expect([known.code, known.found]).toEqual([0, []]);
  expect(known.checks.map(({ name }) => name)).not.toContain("integrity");
});

test.runIf(inject("dialect") === "postgres")("what keeps PostgreSQL from being used is named before a start fails at it", async () => {
  const { url, remove } = await createUnmigrated();
  const address = new URL(url);
  const name = address.pathname.slice(1);
  const [poor, where] = [`poor_${name}`, `PostgreSQL at ${address.host}`];
  await administer(url, `CREATE ROLE ${poor} LOGIN PASSWORD 'hunter2'`, "REVOKE CREATE ON SCHEMA public FROM PUBLIC");
  onTestFinished(async () => {
    await remove();
    await administer(inject("template"), `DROP ROLE IF EXISTS ${poor}`);
  });
  const foundAt = async (change: Partial<Pick<URL, "username" | "password" | "pathname" | "port">>) =>
    (await examine(Object.assign(new URL(url), change).href)).found;

  expect(await foundAt({ password: "hunter2" })).toEqual([
    ["database", `${where} refuses the password of the user postgres. Put the right one into \`DATABASE_URL\`.`],
  ]);
  expect(await foundAt({ pathname: "/nowhere" })).toEqual([
    ["database", `${where} has no database nowhere. Make it: \`createdb --owner postgres nowhere\`, or check \`DATABASE_URL\`.`],
  ]);
  expect(await foundAt({ port: "1" })).toEqual([
    ["database", "Can't reach PostgreSQL at 127.0.0.1:1 (connection refused). Check `DATABASE_URL`."],
  ]);
  expect(await foundAt({ username: poor, password: "hunter2" })).toEqual([
    [
      "database",
      `The user ${poor} may not make tables in the database ${name} of ${where}. Make them its owner: \`ALTER DATABASE "${name}" OWNER TO "${poor}"\`.`,
    ],
  ]);
  await administer(url, `ALTER DATABASE ${name} SET default_transaction_read_only = on`);
  expect(await foundAt({})).toEqual([
    ["database", `${where} takes no changes: it is a standby, or set to read-only. Name the primary in \`DATABASE_URL\`.`],
  ]);
});
