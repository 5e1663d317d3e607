import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import BetterSqlite3 from "better-sqlite3";
import pg from "pg";
import { inject } from "vitest";
import { createApp, type App } from "../../src/app.ts";
import { readConfig } from "../../src/config/config.ts";
import { sqliteFile } from "../../src/database/dialect.ts";
import { keepAlive } from "../../src/database/keep-alive.ts";
import { createSandbox, type Sandbox } from "../../sandbox/index.ts";
import { answerOf, createClient, type Answer } from "../support/client.ts";
import { createFolder, databaseAfter, databaseBefore } from "./folders.ts";

type Row = Record<string, unknown>;
export type Rows = Record<string, Row[]>;

/** What an installation of an earlier version left, without what only one of them has. */
interface Installation {
  made_at: string;
  secrets: Record<"SECRET_KEY" | "ENCRYPTION_KEYS", string>;
  /** An API key that may do everything for anybody. */
  key: string;
  /** Ids of people. */
  owner: string;
  admin: string;
  discord: {
    guild: { id: string; name: string; owner_id: string };
    channels: { id: string; name: string }[];
    roles: { id: string; name: string; position: number; permissions: string }[];
    members: { id: string; username: string; nick: string | null; roles: string[]; joinedAt?: number }[];
    /** Until when, in milliseconds since 1970. */
    timeouts?: { id: string; until: number }[];
    bans?: { id: string; username: string; reason: string }[];
  };
  /** The data folder, in base64 by path. */
  files: Record<string, string>;
  rows: Rows;
}

/** `fixtures/a114556f/README.md` says how it was made. */
export interface OldInstallation extends Installation {
  /** An API key for the blacklist alone. */
  scoped: string;
  senior: string;
  rogue: string;
  accused: string;
  case: { id: string; number: string };
  requests: { waiting: string; reversible: string };
  /** The tokens that Discord had given, in the clear. */
  tokens: string[];
  /** What it answered to the owner, by path. */
  answers: Record<string, unknown>;
}

/** Left in the middle of what the bot did; `fixtures/78111b26/README.md` says how it was made. */
export interface BusyInstallation extends Installation {
  /** Ids by what happened to them. */
  people: Record<string, string>;
  /** References of requests, by the person and the action. */
  requests: Record<string, string>;
}

interface Place {
  url: string;
  dataDir: string;
}

type OnEnd = (end: () => Promise<void>) => void;

export const readOldInstallation = (): Promise<OldInstallation> => readFixture("a114556f");
export const readBusyInstallation = (): Promise<BusyInstallation> => readFixture("78111b26");

async function readFixture<Left extends Installation>(version: string): Promise<Left> {
  const file = fileURLToPath(new URL(`fixtures/${version}/${inject("dialect")}.json.gz`, import.meta.url));
  return JSON.parse(gunzipSync(await readFile(file)).toString()) as Left;
}

/** Its database and its data folder, put back as that version left them. */
export async function placeOldInstallation(old: OldInstallation, onEnd?: OnEnd): Promise<Place> {
  return await place(await databaseBefore("_default_callsign_pool", onEnd), old, onEnd);
}

/** The same of the other one. */
export async function placeBusyInstallation(old: BusyInstallation, onEnd?: OnEnd): Promise<Place> {
  return await place(await databaseAfter(inject("dialect") === "sqlite" ? "_evidence_chunks" : "_static_triggers", onEnd), old, onEnd);
}

async function place(url: string, { rows, files }: Installation, onEnd?: OnEnd): Promise<Place> {
  await (inject("dialect") === "sqlite" ? fillSqlite(url, rows) : fillPostgres(url, rows));
  const dataDir = await createFolder(onEnd);
  for (const [path, bytes] of Object.entries(files)) {
    await mkdir(dirname(join(dataDir, path)), { recursive: true, mode: 0o700 });
    await writeFile(join(dataDir, path), Buffer.from(bytes, "base64"), { mode: 0o600 });
  }
  return { url, dataDir };
}

async function fillSqlite(url: string, rows: Rows): Promise<void> {
  const db = keepAlive(new BetterSqlite3(sqliteFile(url)));
  db.pragma("foreign_keys = OFF");
  db.transaction(() => {
    for (const [table, list] of Object.entries(rows)) {
      // What the migrations themselves add is among the rows.
      db.prepare(`DELETE FROM "${table}"`).run();
      for (const row of list) {
        const columns = Object.keys(row);
        const names = columns.map((name) => `"${name}"`).join(", ");
        db.prepare(`INSERT INTO "${table}" (${names}) VALUES (${columns.map(() => "?").join(", ")})`).run(...Object.values(row));
      }
    }
  })();
  db.close();
}

async function fillPostgres(url: string, rows: Rows): Promise<void> {
  await asAdministrator(url, async (client) => {
    // The order of tables does not matter then.
    await client.query("SET session_replication_role = replica");
    for (const [table, list] of Object.entries(rows)) {
      await client.query(`DELETE FROM "${table}"`);
      await client.query(`INSERT INTO "${table}" SELECT * FROM jsonb_populate_recordset(NULL::"${table}", $1)`, [JSON.stringify(list)]);
    }
  });
}

/** Every row as the fixture has them, read past the service. */
export async function readRows(url: string, tables: readonly string[]): Promise<Rows> {
  if (inject("dialect") === "sqlite") {
    const db = keepAlive(new BetterSqlite3(sqliteFile(url), { readonly: true }));
    const rows = Object.fromEntries(tables.map((table) => [table, db.prepare(`SELECT * FROM "${table}"`).all() as Row[]]));
    db.close();
    return rows;
  }
  return await asAdministrator(url, async (client) => {
    const rows: Rows = {};
    for (const table of tables) {
      const found = await client.query<{ row: Row }>(`SELECT to_jsonb(t) AS row FROM "${table}" t`);
      rows[table] = found.rows.map(({ row }) => row);
    }
    return rows;
  });
}

async function asAdministrator<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return await work(client).finally(() => client.end());
}

/**
 * The current service on it, in the time in which it was left: nothing has run out.
 * @param now the time of the service; a few minutes after it was left unless told, when what waited for Discord is due
 */
export async function startOn(old: Installation, { url, dataDir }: Place, sandbox: Sandbox, now?: () => number): Promise<Upgraded> {
  const reading = readConfig({
    ...sandbox.env(),
    ...old.secrets,
    GUILD_IDS: old.discord.guild.id,
    DATABASE_URL: url,
    DATA_DIR: dataDir,
    PORT: "0",
    LOG_LEVEL: "silent",
    SQLITE_SYNCHRONOUS: "normal",
    ROSTER_FOLLOWS_DISCORD: "false",
    ROSTER_AUDIT_HOUR: "off",
    SECOND_PERSON_FOR_DANGER: "true",
  });
  if (!reading.ok) throw new Error(reading.lines.join("\n"));
  const passed = Date.now() - Date.parse(old.made_at) - 300_000;
  const clock = { now: () => new Date(now?.() ?? Date.now() - passed) };
  const app = await createApp({ ...reading, clock, validateAnswers: true, isScheduled: false, logTo: { write: () => undefined } });
  await app.start();
  await sandbox.waitFor(() => !app.guildState.freshness().stale);
  const client = createClient();
  return {
    app,
    async request(method, path, body, { key = old.key, actor = old.owner, headers = {} } = {}) {
      await sandbox.caughtUp();
      const sent = body === undefined ? undefined : JSON.stringify(body);
      return answerOf(
        await client.send(app.address() + path, {
          method,
          headers: {
            authorization: `Bearer ${key}`,
            ...(actor !== null && { "x-acting-user": actor }),
            ...(sent !== undefined && { "content-type": "application/json", "content-length": Buffer.byteLength(sent).toString() }),
            ...headers,
          },
          body: sent,
        }),
      );
    },
    async stop() {
      client.close();
      await app.stop();
    },
  };
}

export interface Upgraded {
  app: App;
  request(
    method: string,
    path: string,
    body?: unknown,
    asked?: { key?: string; actor?: string | null; headers?: Record<string, string> },
  ): Promise<Answer>;
  stop(): Promise<void>;
}

/**
 * The Discord that its rows speak of: the same ids, names, roles and members, timed out and banned as they were.
 * @param now the time of Discord; the machine's own unless told
 */
export async function createOldDiscord({ discord }: Installation, now?: () => number): Promise<Sandbox> {
  const sandbox = await createSandbox({ ackDeadlineMs: 30_000, ...(now !== undefined && { now }) });
  const { world } = sandbox.inside;
  const { nextId } = world;
  const ids: string[] = [];
  Object.assign(world, { nextId: () => ids.shift() ?? nextId() });
  const withId = <T>(id: string, make: () => T): T => {
    ids.push(id);
    return make();
  };
  const users = new Map(discord.members.map(({ id, username }) => [id, withId(id, () => sandbox.createUser(username))]));
  const [general, ...channels] = discord.channels;
  ids.push(discord.guild.id, general?.id ?? "");
  const owner = users.get(discord.guild.owner_id);
  const guild = sandbox.createGuild({ name: discord.guild.name, ...(owner !== undefined && { owner }) });
  guild.allowCommands(discord.roles);
  for (const { id, name } of channels) withId(id, () => guild.createChannel(name));
  const made = world.guilds.get(guild.id);
  for (const { id, name, position, permissions } of discord.roles) {
    const role = withId(id, () => guild.createRole(name, { position }));
    Object.assign(made?.roles.get(role.id) ?? {}, { permissions: BigInt(permissions) });
  }
  for (const { id, roles, nick, joinedAt } of discord.members) {
    const user = users.get(id);
    if (user === undefined) throw new Error(`nobody has the id ${id}`);
    const held = roles.flatMap((role) => made?.roles.get(role) ?? []);
    if (id === discord.guild.owner_id) guild.setRoles(user, held);
    else guild.addMember(user, { roles: held, ...(nick !== null && { nick }) });
    Object.assign(made?.members.get(id) ?? {}, joinedAt !== undefined && { joinedAt });
  }
  for (const { id, until } of discord.timeouts ?? []) Object.assign(made?.members.get(id) ?? {}, { timeoutUntil: until });
  for (const { id, username, reason } of discord.bans ?? [])
    made?.bans.set(id, { user: withId(id, () => sandbox.createUser(username)), reason });
  return sandbox;
}
