import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { openDatabase, type Database, migrate } from "../../src/database/database.ts";
import { hashOf } from "./part.ts";

/** A stored community of people with servers. */
export interface Community {
  people: number;
  database: Database;
  end(): Promise<void>;
}

/** Servers that a new record will be about: for every size and turn, the server with that many people. */
export interface Concerned {
  sizes: readonly number[];
  turns: number;
}

const at = 1_760_000_000_000;

export const serverId = (size: number, turn: number): string => (700_000_000_000_000_000n + BigInt(size * 1000 + turn)).toString();
const userId = (person: number): string => (200_000_000_000_000_000n + BigInt(person) * 4_194_304n).toString();

/** Everybody is in 10 to 20 servers of their own, a grant in force; some share the servers that will be recorded. */
export async function createCommunity(people: number, concerned: Concerned): Promise<Community> {
  const folder = await mkdtemp(join(tmpdir(), "provost-bench-"));
  const file = join(folder, "matches.db");
  const url = `file:${file}`;
  await migrate(url);
  fill(file, people, concerned);
  const database = await openDatabase({ url, synchronous: "normal" });
  return {
    people,
    database,
    async end() {
      await database.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function fill(file: string, people: number, { sizes, turns }: Concerned): void {
  const db = new Sqlite(file);
  db.pragma("synchronous = OFF");
  db.pragma("cache_size = -400000");
  const grant = db.prepare(
    "INSERT INTO authorizations (user_id, status, scopes, purposes, consent_version, granted_at) VALUES (?, 'active', '[\"identify\",\"guilds\"]', '[]', '1', ?)",
  );
  const held = db.prepare(
    "INSERT INTO user_servers (user_id, server_hash, relation, first_seen_at, last_seen_at) VALUES (?, ?, 'member', ?, ?)",
  );
  const when = new Date(at).toISOString();
  db.transaction(() => {
    for (let person = 0; person < people; person += 1) {
      grant.run(userId(person), when);
      for (let place = 0; place < 10 + (person % 11); place += 1) held.run(userId(person), hashOf(`${person}:${place}`), when, when);
    }
    for (const size of sizes) {
      for (let turn = 0; turn < turns; turn += 1) {
        const step = Math.floor(people / size);
        for (let member = 0; member < size; member += 1)
          held.run(userId(member * step + (turn % step)), hashOf(serverId(size, turn)), when, when);
      }
    }
  })();
  db.close();
}
