import type { Logger } from "pino";
import type { Deps } from "../../deps.ts";
import type { Tx } from "../../../database/database.ts";
import type { UserServer } from "../../../generated/sqlite/client.ts";
import { can, requirePermission, type Call } from "../../../kernel/call.ts";
import { toPage, withTotal, type Page } from "../../../kernel/page.ts";
import { serverBox, type ServerRow } from "../../../kernel/server-box.ts";
import type { GrantsService } from "../../authorization/grants/grants.service.ts";
import type { DataReads } from "../../privacy/reads.ts";
import type { ServerFacts, KnownServer } from "../../servers/facts.ts";
import { intelligencePermissions, ServerDetails } from "../intelligence.policy.ts";
import { ListServersQuery, type UserServerView, type ServerRef } from "../intelligence.schema.ts";
import { createVisibility, noClearance, seesRedactions, type FieldClasses } from "../../../kernel/visibility.ts";
import { addSeconds } from "../../../kernel/clock.ts";

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
async function storeServers(tx: Tx, userId: string, seen: readonly SeenServer[] | null, keeping: Keeping): Promise<ServerChanges> {
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

export interface UserServersService {
  /**
   * Replace a person's list by the complete one just read; memberships that are missing in it are marked as left.
   * Null forgets the list: the person's grant does not cover it.
   * @param detail what may be kept: under `listed` nothing that names a server, and what was kept before is wiped; `full` by default
   */
  store(tx: Tx, userId: string, seen: readonly SeenServer[] | null, detail?: Detail): Promise<ServerChanges>;
  /**
   * The servers this caller may be shown. Those of which only a hash is kept count as `unlisted_count`, until somebody registers
   * or lists them.
   * @throws ProblemError permission_denied, authorization_required, invalid_cursor
   */
  list(call: Call, userId: string, query: ListServersQuery): Promise<Page<UserServerView>>;
  /** Details of stored servers by hash, for other answers about the same person; one without details is not in it. */
  detailsOf(userId: string, hashes: readonly string[]): Promise<Map<string, ServerDetails>>;
}

export interface UserServersDeps extends Deps<"database" | "keyring" | "cursors" | "clock"> {
  grants: GrantsService;
  facts: Pick<ServerFacts, "knownAmong">;
  reads: DataReads;
  logger: Logger;
  hashOf: (serverId: string) => string;
}

export function createUserServersService(deps: UserServersDeps): UserServersService {
  const { database, cursors, clock, grants, facts, reads, logger, hashOf } = deps;

  /** Null where nothing is kept but the hash, or what is kept cannot be opened. */
  function open(row: UserServer): ServerDetails | null {
    if (row.details === null) return null;
    try {
      return ServerDetails.parse(JSON.parse(serverBox.open(deps, row, row.details)));
    } catch {
      return null;
    }
  }

  /** Open the rows of one person. What cannot be opened is shown to nobody, and the operator reads of it. */
  function openAll(userId: string, rows: readonly UserServer[]): { row: UserServer; details: ServerDetails | null }[] {
    const opened = rows.map((row) => ({ row, details: open(row) }));
    const count = opened.filter(({ row, details }) => row.details !== null && details === null).length;
    if (count > 0)
      logger.error(
        { user: userId, count },
        "servers of a person's list cannot be opened and are not shown: their texts were changed, stand in another row than their own, or their key is gone; a refresh of the person reads them anew",
      );
    return opened;
  }

  return {
    store: (tx, userId, seen, detail = "full") =>
      storeServers(tx, userId, seen, {
        seal: (row, { id, name, icon }) => serverBox.seal(deps, row, JSON.stringify({ id, name, icon })),
        open,
        hashOf,
        detail,
      }),

    async list(call, userId, query) {
      requirePermission(call, intelligencePermissions.servers, { own: userId });
      const { limit, cursor, count } = ListServersQuery.parse(query);
      const after = cursor === undefined ? "" : cursors.decode("user-servers", { userId }, cursor)[1];
      await grants.requireGrant(userId, "guilds");
      reads.note(call, userId, "servers");
      // Read as a whole: Discord tells of 200 servers at most, and which of them are shown is decided row by row.
      const rows = await database.read.userServer.findMany({ where: { userId }, orderBy: { serverHash: "asc" } });
      const known = await facts.knownAmong(
        database.read,
        rows.map(({ serverHash }) => serverHash),
        clock.now(),
      );
      const opened = openAll(userId, rows).map((one) => ({ ...one, known: known.get(one.row.serverHash) }));
      const shown = opened.filter(({ details, known: server }) => details !== null || isShown(call, server));
      const page = toPage(
        shown.filter(({ row }) => row.serverHash > after),
        limit,
        (server) => presentUserServer(call, server),
        ({ row }) => cursors.encode("user-servers", { userId }, ["", row.serverHash]),
      );
      const isTold = can(call, intelligencePermissions.unlistedCount);
      const notes = { unlisted_count: rows.length - shown.length };
      return withTotal({ ...page, ...(isTold && { notes }) }, { count }, () => shown.length);
    },

    async detailsOf(userId, hashes) {
      if (hashes.length === 0) return new Map();
      const rows = await database.read.userServer.findMany({
        where: { userId, serverHash: { in: [...hashes] }, details: { not: null } },
      });
      return new Map(openAll(userId, rows).flatMap(({ row, details }) => (details === null ? [] : [[row.serverHash, details] as const])));
    },
  };
}

/** Who may know how the register stands towards a server. */
const registry = "servers.read";

/** What of a server of a person's list is for whom: readers of the blacklist (staff) and of the register (decider). */
const fields: FieldClasses<UserServerView> = {
  server: { id: "public", name_snapshot: "public", icon: "public", status: "decider", merged_into: "decider" },
  relation: "public",
  tags: "decider",
  agreements: "decider",
  blacklist_id: "staff",
};
const visible = createVisibility(fields);

/** A server of a person's list: what was stored of it, where that may be kept, and what the community knows of it by itself. */
export interface ListedServer {
  row: UserServer;
  details: ServerDetails | null;
  known: KnownServer | undefined;
}

/**
 * Whether a caller is shown a server of which only a hash is stored: the register or a record in force says which one it is, to those
 * who may read that. A defunct server is out of the register as far as people's lists go.
 */
export function isShown(call: Call, known: KnownServer | undefined): boolean {
  if (known === undefined) return false;
  if (known.registered !== null && known.registered.status !== "defunct" && can(call, registry)) return true;
  return known.blacklistId !== null && can(call, intelligencePermissions.records);
}

/** The server without what this viewer may not see; that it is blacklisted is for those who may read the record. */
export function presentUserServer(call: Call, { row, details, known }: ListedServer): UserServerView {
  const staff = can(call, intelligencePermissions.records);
  const view: UserServerView = {
    server: serverRef(details, known, staff),
    relation: {
      is_owner: row.relation === "owner",
      can_manage: row.relation !== "member",
      is_member: row.leftAt === null,
      joined_seen_first_at: row.firstSeenAt.toISOString(),
      last_seen_at: row.lastSeenAt.toISOString(),
      ...(row.leftAt !== null && { left_at: row.leftAt.toISOString() }),
    },
    tags: known?.registered?.tags ?? [],
    agreements: known?.agreements ?? [],
    blacklist_id: known?.blacklistId ?? null,
  };
  return visible(view, { ...noClearance, staff, decider: can(call, registry) }, seesRedactions(call));
}

function serverRef(details: ServerDetails | null, known: KnownServer | undefined, readsRecords: boolean): ServerRef {
  const name = details?.name ?? known?.name;
  const registered = known?.registered ?? null;
  const isBlacklisted = readsRecords && known !== undefined && known.blacklistId !== null;
  return {
    id: details?.id ?? known?.id ?? "",
    ...(typeof name === "string" && { name_snapshot: name }),
    icon: details?.icon ?? known?.icon ?? null,
    status: isBlacklisted ? "blacklisted" : (registered?.status ?? "known"),
    ...(typeof registered?.mergedInto === "string" && { merged_into: registered.mergedInto }),
  };
}
