import type { ReadClient } from "../../database/database.ts";
import { idsOf, type Condition } from "../../database/walk.ts";
import type { Where } from "../../database/where.ts";
import { Prisma, type Server } from "../../generated/sqlite/client.ts";
import { orderOf } from "../../kernel/keyset.ts";
import type { RegisteredServer } from "./known.ts";
import type { ListRegistryQuery } from "./servers.schema.ts";

export type ServerCondition = Where<"Server">;

/** The order of the list of registered servers. */
export const order = orderOf("createdAt", "desc");

interface Asked {
  filters: Pick<ReturnType<typeof ListRegistryQuery.parse>, "status" | "q">;
  /** Whether the caller sees which servers are blacklisted. */
  readsRecords: boolean;
  now: Date;
  dialect: "sqlite" | "postgres";
}

/** What the filters of the list ask of a server. A status is the one the caller is shown. */
export function conditions({ filters: { status, q }, readsRecords, now, dialect }: Asked): Condition<ServerCondition>[] {
  const all: Condition<ServerCondition>[] = [];
  // Looked at first: records are looked up only for what holds the text.
  if (q !== undefined) all.push({ where: { sql: holdsText(q, dialect) } });
  const blacklisted = { sql: isBlacklisted(now) };
  if (status === "blacklisted")
    all.push(
      readsRecords ? { where: blacklisted, ids: idsOfBlacklisted } : { where: { id: { in: [] } }, ids: idsOf("Server", { id: [] }) },
    );
  else if (status !== undefined) {
    all.push({ where: { status }, ids: idsOf("Server", { status: [status] }), inOrder: { status } });
    if (readsRecords) all.push({ where: { NOT: blacklisted } });
  }
  return all;
}

/** SQLite ignores the case of ASCII letters by itself; PostgreSQL is asked to. */
function holdsText(q: string, dialect: "sqlite" | "postgres"): Prisma.Sql {
  const like = Prisma.raw(dialect === "postgres" ? "ILIKE" : "LIKE");
  return Prisma.sql`(t.id = ${q} OR t.name ${like} ${`%${q}%`}
    OR EXISTS (SELECT 1 FROM server_aliases AS a WHERE a.server_id = t.id AND a.alias_id = ${q}))`;
}

/**
 * A record is in force about a server, or about a further id of it. Both databases look it up for each server they come by: the negation
 * keeps SQLite, and the `LIMIT` PostgreSQL, from reading all records in force for it.
 */
function isBlacklisted(now: Date): Prisma.Sql {
  const inForce = Prisma.sql`NOT (r.status NOT IN ('active', 'scheduled') OR r.starts_at > ${now}) AND (r.expires_at IS NULL OR r.expires_at > ${now}) LIMIT 1`;
  return Prisma.sql`((SELECT r.id FROM blacklist_records AS r WHERE r.subject_hash = t.hash AND ${inForce}) IS NOT NULL
    OR (SELECT r.id FROM server_aliases AS a JOIN blacklist_records AS r ON r.subject_hash = a.alias_hash WHERE a.server_id = t.id AND ${inForce}) IS NOT NULL)`;
}

/** A row for each record about a server, whether in force or not, and registered or not: where there are few, they lead to the servers. */
const idsOfBlacklisted = Prisma.sql`SELECT COALESCE(s.id, a.server_id, '') AS id FROM blacklist_records AS r
  LEFT JOIN servers AS s ON s.hash = r.subject_hash LEFT JOIN server_aliases AS a ON a.alias_hash = r.subject_hash
  WHERE r.kind = 'server'`;

export async function withAliases(db: Pick<ReadClient, "serverAlias">, rows: readonly Server[]): Promise<RegisteredServer[]> {
  const found = await db.serverAlias.findMany({ where: { serverId: { in: rows.map(({ id }) => id) } } });
  return rows.map((row) => ({ ...row, aliases: found.filter(({ serverId }) => serverId === row.id) }));
}
