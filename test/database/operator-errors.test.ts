// @module-tag postgres
// @module-tag slow
import pg from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { migrate } from "../../src/database/database.ts";
import { createEmptyCopy, createUnmigrated } from "../support/database.ts";
import { validEnvironment } from "../config/environment.ts";
import { createWorkplace } from "../cli/run.ts";

/** The address of a database, with another user, name or parameter. */
function changed(url: string, change: (url: URL) => void): string {
  const address = new URL(url);
  change(address);
  return address.href;
}

/** Whom the server lets in. */
async function readLines(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ text: string }>("SELECT pg_read_file(current_setting('hba_file')) AS text");
  await client.end();
  return rows[0]?.text.split("\n").filter((line) => /^\w/.test(line)) ?? [];
}

async function writeLines(url: string, lines: readonly string[]): Promise<void> {
  const rows = lines.map((line) => `('${line}')`).join(", ");
  await administer(
    url,
    `DO $do$ BEGIN EXECUTE format('COPY (VALUES ${rows.replaceAll("'", "''")}) TO %L', current_setting('hba_file')); END $do$`,
    "SELECT pg_reload_conf()",
  );
}

/** Run statements as the administrator of the server. */
async function administer(url: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const sql of statements) await client.query(sql);
  await client.end();
}

/** What the start says when the database has this address. */
async function startWith(url: string) {
  await using work = await createWorkplace();
  const env = { ...validEnvironment(), DISCORD_API_BASE: "http://127.0.0.1:9/api", PORT: "0", DATABASE_URL: url };
  const { code, stdout, stderr } = await work.provost(["serve"], env);
  expect(code).toBe(1);
  expect(stdout + stderr).not.toMatch(/\n\s+at |"stack":"[^"]|hunter2|:password@/);
  return stderr.trimEnd();
}

test.runIf(inject("dialect") === "postgres")(
  "what PostgreSQL refuses is said with the server, the user or the database, and what mends it",
  async () => {
    const { url, remove } = await createUnmigrated();
    const { host, pathname } = new URL(url);
    const name = pathname.slice(1);
    const [poor, barred] = [`poor_${name}`, `barred_${name}`];
    onTestFinished(async () => {
      await remove();
      await administer(inject("template"), `DROP ROLE IF EXISTS ${poor}`);
    });
    const where = `PostgreSQL at ${host}`;
    await administer(url, `CREATE ROLE ${poor} LOGIN PASSWORD 'hunter2'`, "REVOKE CREATE ON SCHEMA public FROM PUBLIC");
    const as = (user: string) => changed(url, (address) => Object.assign(address, { username: user, password: "hunter2" }));

    expect(await startWith(changed(url, (address) => (address.password = "hunter2")))).toBe(
      `${where} refuses the password of the user postgres. Put the right one into \`DATABASE_URL\`.`,
    );
    expect(await startWith(as(barred))).toBe(
      `${where} refuses the password of the user ${barred}. Put the right one into \`DATABASE_URL\`.`,
    );
    const lines = await readLines(url);
    await writeLines(url, [`host all ${barred} all reject`, ...lines]);
    expect(await startWith(as(barred))).toBe(`${where} wants an encrypted connection. Add \`?sslmode=verify-full\` to \`DATABASE_URL\`.`);
    await writeLines(url, lines);
    expect(await startWith(changed(url, (address) => (address.pathname = "/nowhere")))).toBe(
      `${where} has no database nowhere. Make it: \`createdb --owner postgres nowhere\`, or check \`DATABASE_URL\`.`,
    );
    expect(await startWith(as(poor))).toBe(
      `The user ${poor} may not make tables in the database ${name} of ${where}. Make them its owner: \`ALTER DATABASE "${name}" OWNER TO "${poor}"\`.`,
    );
    expect(await startWith(changed(url, (address) => address.searchParams.set("sslmode", "verify-full")))).toBe(
      `${where} takes no encrypted connections. Take \`sslmode\` out of \`DATABASE_URL\`.`,
    );
    await administer(url, `ALTER ROLE ${poor} CONNECTION LIMIT 0`);
    expect(await startWith(as(poor))).toBe(`${where} has no free connection. Raise its max_connections, or stop what else is connected.`);
    await administer(url, `ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    expect(await startWith(url)).toBe(
      `${where} takes no changes: it is a standby, or set to read-only. Name the primary in \`DATABASE_URL\`.`,
    );
    await administer(url, "SET default_transaction_read_only = off", `ALTER DATABASE ${name} RESET default_transaction_read_only`);
    await administer(url, "CREATE TABLE shop (id int)");
    expect(await startWith(url)).toBe(
      `The database ${name} of ${where} has the table shop but no migrations, so it belongs to another program. Name an empty one in \`DATABASE_URL\`.`,
    );
    await administer(url, "DROP TABLE shop");
    await migrate(url);
    const newest = "(SELECT max(migration_name) FROM _prisma_migrations)";
    await administer(url, `UPDATE _prisma_migrations SET migration_name = '20991231000000_later' WHERE migration_name = ${newest}`);
    expect(await startWith(url)).toBe(
      `The database ${name} of ${where} has the migration 20991231000000_later, which this version does not know. Run the version that wrote it, or a newer one.`,
    );
  },
);

test.runIf(inject("dialect") === "postgres")("a standby behind tables that are up to date is named, too", async () => {
  const { url, remove } = await createEmptyCopy();
  onTestFinished(remove);
  const { host, pathname } = new URL(url);
  await administer(url, `ALTER DATABASE ${pathname.slice(1)} SET default_transaction_read_only = on`);
  expect(await startWith(url)).toBe(
    `PostgreSQL at ${host} takes no changes: it is a standby, or set to read-only. Name the primary in \`DATABASE_URL\`.`,
  );
});
