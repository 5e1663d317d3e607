import { randomUUID } from "node:crypto";
import pg from "pg";
import { insertAll } from "../../src/database/insert.ts";
import type { Database } from "../../src/database/database.ts";
import type { Insert } from "../../src/database/tx.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createSandbox } from "../../sandbox/index.ts";
import type { PostgresServer } from "../../test/support/postgres-server.ts";
import { openApp, unlimited } from "../targets/app.ts";
import type { GrowthStore, People } from "./list.ts";

const entriesAtOnce = 1000;
/** The staff ladder: levels by rank. */
const ladder = { admin: 80, senior: 60, moderator: 40, viewer: 10 } as const;
const quiet = { ROSTER_FOLLOWS_DISCORD: "false", ROSTER_AUDIT_HOUR: "off", SQLITE_SYNCHRONOUS: "normal" };

/** The service over a filled store. */
export interface OpenStore {
  entries: number;
  people: People;
  /** @returns the answer's body, and how many milliseconds it took @throws Error for any status but 200 */
  ask(path: string, actor: keyof People): Promise<{ body: PageBody; ms: number }>;
  stop(): Promise<void>;
}

export interface PageBody {
  data: readonly unknown[];
  page: { limit: number; next_cursor: string | null };
}

/** Start the service on a database of its own that holds so many entries. @param server absent: SQLite */
export async function openStore(store: GrowthStore, size: number, server?: PostgresServer): Promise<OpenStore> {
  const sandbox = await createSandbox({ seed: "small", record: false });
  const { users, roles, guilds } = sandbox.seeded;
  const ordinary = { admin: users.adam, senior: users.sara, moderator: users.mona, viewer: users.victor }[store.ordinary];
  const people: People = { owner: users.olivia.id, ordinary: ordinary.id };
  const place = server === undefined ? {} : { DATABASE_URL: await createDatabase(server) };
  const { app, stop } = await openApp(sandbox, people.owner, { ...unlimited, ...quiet, ...place }, false);
  const entries = size * (store.entriesPerSize ?? 1);
  try {
    await fill(app.database, store, entries, people);
    if (place.DATABASE_URL !== undefined) await run(place.DATABASE_URL, "VACUUM ANALYZE");
    await app.start();
    await sandbox.waitFor(() => !app.guildState.freshness().stale);
    const held = { admin: roles.admin, senior: roles.seniorModerator, moderator: roles.moderator, viewer: roles.viewer };
    for (const [level, rank] of Object.entries(ladder) as [keyof typeof ladder, number][]) {
      const discord = [{ guild_id: guilds.harbour.id, role_id: held[level].id }];
      await app.staff.roles.put(systemCall("cli", uuid7()), level, { name: level, rank, level, discord });
    }
    await sandbox.waitFor(() => app.access.of(ordinary.id).isStaff);
  } catch (error) {
    await stop();
    throw error;
  }
  const { key } = await app.keys.bootstrap(systemCall("cli", uuid7()), { name: "bench" });
  return {
    entries,
    people,
    async ask(path, actor) {
      const headers = { Authorization: `Bearer ${key}`, "X-Acting-User": people[actor] };
      const since = performance.now();
      const answer = await fetch(`${app.address()}${path}`, { headers });
      const text = await answer.text();
      const ms = performance.now() - since;
      if (answer.status !== 200) throw new Error(`GET ${path}: ${answer.status.toString()} ${text.slice(0, 300)}`);
      return { body: JSON.parse(text) as PageBody, ms };
    },
    stop,
  };
}

/**
 * Insert the rows of many entries in few statements, as the service stores them.
 * @param first the first entry that is inserted; another one than 0 where numbers are taken already
 */
export async function fill(database: Database, store: GrowthStore, entries: number, people: People, first = 0): Promise<void> {
  for (let from = first; from < entries; from += entriesAtOnce) {
    const byModel = new Map<Insert["model"], object[]>();
    for (let index = from; index < Math.min(entries, from + entriesAtOnce); index += 1)
      for (const { model, rows: some } of store.rowsOf(index, entries, people)) {
        const all = byModel.get(model) ?? [];
        all.push(...some);
        byModel.set(model, all);
      }
    await database.write(systemCall("cli", "fill"), async (tx) => {
      for (const [model, all] of byModel) await insertAll(tx, [{ model, rows: all }]);
    });
  }
  await database.write(systemCall("cli", "fill"), async (tx) => {
    for (const [name, value] of Object.entries(store.counters?.(entries) ?? {}))
      await tx.db.counter.upsert({ where: { name }, create: { name, value }, update: { value } });
  });
}

async function createDatabase(server: PostgresServer): Promise<string> {
  const name = `growth_${randomUUID().replaceAll("-", "")}`;
  await run(server.url("postgres"), `CREATE DATABASE ${name}`);
  return server.url(name);
}

async function run(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
