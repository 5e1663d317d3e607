import { constants, existsSync } from "node:fs";
import { access } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import { textSetting, type Source } from "../../backup/source.ts";
import type { Config } from "../../config/config.ts";
import { sqliteFile } from "../../database/dialect.ts";
import { failuresMs, failuresText } from "../../discord-actions/failures.ts";
import { foreignDatabase, pendingMigrations, readMigrations } from "../../database/migrate-sqlite.ts";
import { damagedText, placeOf } from "../../database/refusals.ts";
import { markedId, otherInstallation } from "../../installation.ts";
import { fingerprintOf, fingerprintSetting, otherKeyText } from "../../secret-key.ts";
import { fail, pass, skip, warn, type Finding } from "../findings.ts";
import type { Ground } from "./ground.ts";

/** A check of what is stored; where nothing is, or it cannot be read, the check is not made. */
export function ofStored(check: (source: Source, ground: Ground) => Promise<Finding[]>): (ground: Ground) => Promise<Finding[]> {
  return async (ground) => {
    const seen = await ground.database();
    if (seen.state === "absent") return [pass("nothing is stored yet")];
    if (seen.state === "refused" || !(await hasTables(seen.source))) return [skip("the database cannot be read")];
    return check(seen.source, ground);
  };
}

/** Whether the database opens, takes changes and has a schema that this version knows, and whether the running server can write to it. */
export async function database({ config, database: open, server }: Ground): Promise<Finding[]> {
  const seen = await open();
  const { url } = config.database;
  if (seen.state === "refused") return [fail(seen.reason)];
  if (seen.state === "absent") return [absent(config, await markedId(config))];
  const running = await server();
  if (running?.checks["storage"]?.status === "fail" && running.service.instance_id === (await markedId(config)))
    return [fail(`The running server confirms no writes to ${placeOf(url)}: its log says why, as does \`provost status --key-file\`.`)];
  const due = await migrationsDue(seen.source, url);
  await requireWritable(seen.source, url, due.length > 0);
  if (due.length === 0) return [pass(placeOf(url))];
  return [pass(`${placeOf(url)}: the next start brings its tables up to date (${due.length.toString()} migrations)`)];
}

function absent(config: Config, marked: string | undefined): Finding {
  const refusal = otherInstallation(config, marked, undefined);
  if (refusal !== undefined) return fail(refusal);
  return pass(`${placeOf(config.database.url)} is made by the first start`);
}

const tableNames = {
  sqlite: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
  postgres: "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename",
};

async function tablesOf({ dialect, query }: Source): Promise<string[]> {
  return (await query(tableNames[dialect])).map(({ name }) => String(name));
}

async function hasTables(source: Source): Promise<boolean> {
  return (await tablesOf(source).catch((): string[] => [])).includes("settings");
}

/** @throws DatabaseError for a database that this version may not touch */
async function migrationsDue(source: Source, url: string): Promise<string[]> {
  const { dialect, query } = source;
  const tables = await tablesOf(source);
  const [first] = tables;
  if (first !== undefined && !tables.includes("_prisma_migrations")) throw foreignDatabase(placeOf(url), first);
  const rows =
    first === undefined
      ? []
      : await query(
          "SELECT migration_name AS name, checksum, finished_at IS NOT NULL AS finished FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY started_at",
        );
  const applied = rows.map(({ name, checksum, finished }) => ({
    name: String(name),
    checksum: String(checksum),
    isFinished: Boolean(finished),
  }));
  return pendingMigrations(placeOf(url), await readMigrations(dialect), applied).map(({ name }) => name);
}

/** @throws Error of the database or the file system, which says why it takes no changes */
async function requireWritable({ dialect, query }: Source, url: string, makesTables: boolean): Promise<void> {
  if (dialect === "sqlite") {
    await access(sqliteFile(url), constants.W_OK).catch(() => Promise.reject(withCode("SQLITE_READONLY")));
    return;
  }
  const [can] = await query(
    "SELECT current_setting('transaction_read_only') = 'on' AS read_only, coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may_create",
  );
  if (can?.["read_only"]) throw withCode("25006");
  if (makesTables && !can?.["may_create"]) throw withCode("42501");
}

const withCode = (code: string): Error => Object.assign(new Error(code), { code });

const integrityMs = 10_000;

/** SQLite alone: PostgreSQL looks after its own pages. Table by table, so that a large database does not keep the operator waiting. */
export const integrity = ofStored(async (source, { config }) => {
  if (source.dialect !== "sqlite") return [];
  const tables = await tablesOf(source);
  const until = performance.now() + integrityMs;
  let looked = 0;
  for (const table of tables) {
    if (performance.now() > until) break;
    const [row] = await source.query(`PRAGMA quick_check("${table}")`);
    const verdict = String(row?.["quick_check"]);
    if (verdict !== "ok") return [fail(damagedText(placeOf(config.database.url), verdict))];
    looked += 1;
    await nextTurn();
  }
  const part = `in ${looked.toString()} of ${tables.length.toString()} tables, as far as ${(integrityMs / 1000).toString()} s reach`;
  return [pass(looked === tables.length ? "no table is damaged" : `no damage ${part}`)];
});

const instanceOf = (source: Source): Promise<string | null> => textSetting(source, "instance_id");

/** Whether the database is the one that the data folder belongs to. */
export const installation = ofStored(async (source, { config }) => {
  const found = await instanceOf(source);
  const refusal = otherInstallation(config, await markedId(config), found ?? undefined);
  return [refusal === undefined ? pass(found ?? "nothing is stored yet") : fail(refusal)];
});

export const secretKey = ofStored(async (source, { secrets }) => {
  const [instance, stored] = [await instanceOf(source), await textSetting(source, fingerprintSetting)];
  if (instance === null || stored === null) return [pass("the database has not been used yet")];
  return [stored === fingerprintOf(secrets.secretKey, instance) ? pass("the one that the database was used with") : fail(otherKeyText)];
});

/** New entries wait for a signed position: twice as long, and something is wrong. */
export const checkpoints = ofStored(async ({ query }, { config }) => {
  const path = config.auditCheckpoints;
  if (existsSync(path)) return [pass(path)];
  const [first] = await query("SELECT CAST(at AS TEXT) AS at FROM audit_entries ORDER BY seq LIMIT 1");
  const ageMs = first === undefined ? 0 : Date.now() - timeOf(String(first["at"]));
  if (ageMs < 2 * config.auditCheckpointMinutes * 60_000) return [pass("no position of the audit is due to be signed")];
  return [
    warn(
      `AUDIT_CHECKPOINTS: there are no signed positions of the audit at ${path}, so a change of its entries by hand would not be found out: put the file back from a backup, or name its place. A running server begins a new one.`,
    ),
  ];
});

/** What the bot could not do to people in Discord, and nobody has tried again. */
export const actions = ofStored(async ({ query }) => {
  const rows = await query(
    `SELECT last_error AS why, CAST(updated_at AS TEXT) AS at FROM list_actions WHERE state = 'failed' AND stance = 'apply'
     UNION ALL SELECT last_error AS why, CAST(updated_at AS TEXT) AS at FROM workflow_effects WHERE status = 'failed' AND CAST(input AS TEXT) LIKE '%"guildId"%'`,
  );
  const found = rows
    .map(({ why, at }) => ({ why: String(why ?? ""), at: new Date(timeOf(String(at))) }))
    .filter(({ at }) => at.getTime() >= Date.now() - failuresMs)
    .toSorted((one, other) => other.at.getTime() - one.at.getTime());
  const text = failuresText({ count: found.length, newest: found[0] ?? null });
  return [text === undefined ? pass("nothing has failed that waits for a person") : warn(text)];
});

/** SQLite stores milliseconds or text, PostgreSQL answers text. */
const timeOf = (text: string): number => (/^\d+$/.test(text) ? Number(text) : Date.parse(text));
