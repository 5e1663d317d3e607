import type { Logger } from "pino";
import type { Deps } from "../../deps.ts";
import type { Tx } from "../../../database/database.ts";
import type { UserServer } from "../../../generated/sqlite/client.ts";
import { can, requirePermission, type Call } from "../../../kernel/call.ts";
import { toPage, withTotal, type Page } from "../../../kernel/page.ts";
import { serverBox } from "../../../kernel/server-box.ts";
import type { GrantsService } from "../../authorization/grants/grants.service.ts";
import type { DataReads } from "../../privacy/reads.ts";
import type { ServerFacts, KnownServer } from "../../servers/facts.ts";
import { intelligencePermissions, ServerDetails } from "../intelligence.policy.ts";
import { ListServersQuery, type UserServerView, type ServerRef } from "../intelligence.schema.ts";
import { storeServers, type Detail, type SeenServer, type ServerChanges } from "./store.ts";
import { createVisibility, noClearance, seesRedactions, type FieldClasses } from "../../../kernel/visibility.ts";

export type { Detail, SeenServer, ServerChanges } from "./store.ts";

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
