import type { Database, Tx } from "../../database/database.ts";
import type { UserServer } from "../../generated/sqlite/client.ts";
import type { Call } from "../../kernel/call.ts";
import { requirePermission } from "../../kernel/call.ts";
import type { Cursors, Page } from "../../kernel/page.ts";
import { toPage, withTotal } from "../../kernel/page.ts";
import type { Keyring } from "../../kernel/secrets.ts";
import type { GrantsService } from "../authorization/grants.service.ts";
import { intelligencePermissions, presentUserServer, ServerDetails } from "./intelligence.policy.ts";
import type { UserServerView } from "./intelligence.schema.ts";
import { ListServersQuery } from "./intelligence.schema.ts";

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

export interface UserServersService {
  /**
   * Replace a person's list by the complete one just read; memberships that are missing in it are marked as left.
   * Null forgets the list: the person's grant does not cover it.
   */
  store(tx: Tx, userId: string, seen: readonly SeenServer[] | null): Promise<ServerChanges>;
  /** @throws ProblemError permission_denied, authorization_required, invalid_cursor */
  list(call: Call, userId: string, query: ListServersQuery): Promise<Page<UserServerView>>;
  /** Details of stored servers by hash, for other answers about the same person. */
  detailsOf(userId: string, hashes: readonly string[]): Promise<Map<string, ServerDetails>>;
}

export interface UserServersDeps {
  database: Database;
  keyring: Keyring;
  cursors: Cursors;
  grants: GrantsService;
  hashOf: (serverId: string) => string;
  /** The record in force about a server, or null. */
  blacklistIdOf: (serverId: string) => string | null;
}

export function createUserServersService({
  database,
  keyring,
  cursors,
  grants,
  hashOf,
  blacklistIdOf,
}: UserServersDeps): UserServersService {
  const seal = (userId: string, { id, name, icon }: ServerDetails): string =>
    keyring.encrypt(JSON.stringify({ id, name, icon }), contextOf(userId));
  const open = (row: UserServer): ServerDetails => ServerDetails.parse(JSON.parse(keyring.decrypt(row.details, contextOf(row.userId))));

  async function add(tx: Tx, userId: string, servers: ReadonlyMap<string, SeenServer>): Promise<void> {
    const data = [...servers].map(([serverHash, server]) => ({
      userId,
      serverHash,
      details: seal(userId, server),
      relation: server.relation,
      firstSeenAt: tx.now,
      lastSeenAt: tx.now,
    }));
    if (data.length > 0) await tx.db.userServer.createMany({ data });
  }

  /** Only rows whose content changed are written one by one; the rest share one statement. */
  async function touch(tx: Tx, userId: string, rows: readonly UserServer[], byHash: ReadonlyMap<string, SeenServer>): Promise<void> {
    await tx.db.userServer.updateMany({
      where: { userId, serverHash: { in: rows.map((row) => row.serverHash) } },
      data: { lastSeenAt: tx.now, leftAt: null },
    });
    for (const row of rows) {
      const server = byHash.get(row.serverHash);
      if (server === undefined || isSame(open(row), row.relation, server)) continue;
      const where = { userId_serverHash: { userId, serverHash: row.serverHash } };
      await tx.db.userServer.update({ where, data: { details: seal(userId, server), relation: server.relation } });
    }
  }

  return {
    async store(tx, userId, seen) {
      if (seen === null) return forget(tx, userId);
      const byHash = new Map(seen.map((server) => [hashOf(server.id), server]));
      const rows = await tx.db.userServer.findMany({ where: { userId } });
      const known = new Map(rows.map((row) => [row.serverHash, row]));
      const left = rows.filter((row) => row.leftAt === null && !byHash.has(row.serverHash)).map((row) => row.serverHash);
      const fresh = new Map([...byHash].filter(([hash]) => !known.has(hash)));
      const again = rows.filter((row) => byHash.has(row.serverHash));
      if (left.length > 0) await tx.db.userServer.updateMany({ where: { userId, serverHash: { in: left } }, data: { leftAt: tx.now } });
      await add(tx, userId, fresh);
      if (again.length > 0) await touch(tx, userId, again, byHash);
      const back = again.filter((row) => row.leftAt !== null).length;
      return { added: fresh.size + back, removed: left.length, total: byHash.size };
    },

    async list(call, userId, query) {
      requirePermission(call, intelligencePermissions.servers, { own: userId });
      const { limit, cursor, count } = ListServersQuery.parse(query);
      await grants.requireGrant(userId, "guilds");
      const after = cursor === undefined ? undefined : cursors.decode("user-servers", { userId }, cursor)[1];
      const rows = await database.read.userServer.findMany({
        where: { userId, ...(after !== undefined && { serverHash: { gt: after } }) },
        orderBy: { serverHash: "asc" },
        take: limit + 1,
      });
      const page = toPage(
        rows,
        limit,
        (row) => present(call, row),
        (last) => cursors.encode("user-servers", { userId }, ["", last.serverHash]),
      );
      return withTotal(page, { count }, () => database.read.userServer.count({ where: { userId } }));
    },

    async detailsOf(userId, hashes) {
      if (hashes.length === 0) return new Map();
      const rows = await database.read.userServer.findMany({ where: { userId, serverHash: { in: [...hashes] } } });
      return new Map(rows.map((row) => [row.serverHash, open(row)]));
    },
  };

  function present(call: Call, row: UserServer): UserServerView {
    const details = open(row);
    return presentUserServer(call, row, details, blacklistIdOf(details.id));
  }
}

async function forget(tx: Tx, userId: string): Promise<ServerChanges> {
  const removed = await tx.db.userServer.count({ where: { userId, leftAt: null } });
  await tx.db.userServer.deleteMany({ where: { userId } });
  return { added: 0, removed, total: 0 };
}

function contextOf(userId: string): string {
  return `server:${userId}`;
}

function isSame(known: ServerDetails, relation: string, seen: SeenServer): boolean {
  return known.name === seen.name && known.icon === seen.icon && relation === seen.relation;
}
