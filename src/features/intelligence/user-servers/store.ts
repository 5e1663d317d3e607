import type { Tx } from "../../../database/database.ts";
import type { UserServer } from "../../../generated/sqlite/client.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import type { ServerRow } from "../../../kernel/server-box.ts";
import type { ServerDetails } from "../intelligence.policy.ts";

/** How much of a person's servers may be kept: names and ids, or keyed hashes alone. */
export type Detail = "full" | "listed";

/** A server as its member's own list tells it. */
export interface SeenServer extends ServerDetails {
  relation: "owner" | "manager" | "member";
}

/** What a newly read list changed, and how many servers it has. */
export interface ServerChanges {
  added: number;
  removed: number;
  total: number;
}

/** How long a server is kept after it was missing in a list for the first time. */
const leftRetentionSeconds = 30 * 86_400;

interface Keeping {
  detail: Detail;
  seal(row: ServerRow, details: ServerDetails): string;
  /** Null where nothing is kept but the hash, or what is kept cannot be opened. */
  open(row: UserServer): ServerDetails | null;
  hashOf(serverId: string): string;
}

/** Replace a person's list by the complete one just read; null forgets it. */
export async function storeServers(tx: Tx, userId: string, seen: readonly SeenServer[] | null, keeping: Keeping): Promise<ServerChanges> {
  if (seen === null) return forget(tx, userId);
  const byHash = new Map(seen.map((server) => [keeping.hashOf(server.id), server]));
  // What may be kept no longer goes first, of former servers too.
  if (keeping.detail === "listed")
    await tx.db.userServer.updateMany({ where: { userId, details: { not: null } }, data: { details: null } });
  await tx.db.userServer.deleteMany({ where: { userId, leftAt: { lte: addSeconds(tx.now, -leftRetentionSeconds) } } });
  const rows = await tx.db.userServer.findMany({ where: { userId } });
  const known = new Map(rows.map((row) => [row.serverHash, row]));
  const left = rows.filter((row) => row.leftAt === null && !byHash.has(row.serverHash)).map((row) => row.serverHash);
  const fresh = new Map([...byHash].filter(([hash]) => !known.has(hash)));
  const again = rows.filter((row) => byHash.has(row.serverHash));
  if (left.length > 0) await tx.db.userServer.updateMany({ where: { userId, serverHash: { in: left } }, data: { leftAt: tx.now } });
  await add(tx, userId, fresh, keeping);
  if (again.length > 0) await touch(tx, again, byHash, keeping);
  const back = again.filter((row) => row.leftAt !== null).length;
  return { added: fresh.size + back, removed: left.length, total: byHash.size };
}

async function add(tx: Tx, userId: string, servers: ReadonlyMap<string, SeenServer>, { detail, seal }: Keeping): Promise<void> {
  const data = [...servers].map(([serverHash, server]) => ({
    userId,
    serverHash,
    details: detail === "full" ? seal({ userId, serverHash }, server) : null,
    relation: server.relation,
    firstSeenAt: tx.now,
    lastSeenAt: tx.now,
  }));
  if (data.length > 0) await tx.db.userServer.createMany({ data });
}

/** Only rows whose content changed are written one by one; the rest share one statement. */
async function touch(tx: Tx, rows: readonly UserServer[], byHash: ReadonlyMap<string, SeenServer>, keeping: Keeping): Promise<void> {
  const [{ userId } = { userId: "" }] = rows;
  await tx.db.userServer.updateMany({
    where: { userId, serverHash: { in: rows.map((row) => row.serverHash) } },
    data: { lastSeenAt: tx.now, leftAt: null },
  });
  for (const row of rows) {
    const server = byHash.get(row.serverHash);
    if (server === undefined || isSame(row, server, keeping)) continue;
    const where = { userId_serverHash: { userId, serverHash: row.serverHash } };
    const details = keeping.detail === "full" ? keeping.seal(row, server) : null;
    await tx.db.userServer.update({ where, data: { details, relation: server.relation } });
  }
}

async function forget(tx: Tx, userId: string): Promise<ServerChanges> {
  const removed = await tx.db.userServer.count({ where: { userId, leftAt: null } });
  await tx.db.userServer.deleteMany({ where: { userId } });
  return { added: 0, removed, total: 0 };
}

function isSame(row: UserServer, seen: SeenServer, { detail, open }: Keeping): boolean {
  if (row.relation !== seen.relation) return false;
  if (detail === "listed") return true;
  const known = open(row);
  return known !== null && known.name === seen.name && known.icon === seen.icon;
}
