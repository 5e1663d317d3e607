import type { Database, Tx } from "../../database/database.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import type { Match } from "../../generated/sqlite/client.ts";
import type { Call } from "../../kernel/call.ts";
import { requirePermission } from "../../kernel/call.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Cursors, Page } from "../../kernel/page.ts";
import { toPage, withTotal } from "../../kernel/page.ts";
import type { GrantsService } from "../authorization/grants.service.ts";
import type { BlacklistIndex } from "./blacklist-index.ts";
import { intelligencePermissions, presentMatch, presentUser } from "./intelligence.policy.ts";
import type { MatchStatus, MatchView } from "./intelligence.schema.ts";
import { ListMatchesQuery } from "./intelligence.schema.ts";
import type { MatchChanges, MatchRecord } from "./match-record.ts";
import { applyRecord } from "./matches.apply.ts";
import { recomputeUser } from "./matches.recompute.ts";
import { recordOf } from "./matches.store.ts";
import type { UserServersService } from "./user-servers.service.ts";

export type { MatchChanges, MatchRecord, Severity } from "./match-record.ts";

export interface MatchesService {
  /** Fill the index from the stored records; once, at boot. */
  load(): Promise<void>;
  /** Compare one person with every record in force. Call after their servers are written in the same transaction. */
  recomputeUser(tx: Tx, userId: string): Promise<MatchChanges>;
  /** Compare one record with everyone. Call after it was created, changed, revoked or expired in the same transaction. */
  applyRecord(tx: Tx, record: MatchRecord): Promise<MatchChanges>;
  /** @throws ProblemError permission_denied, authorization_required, invalid_cursor */
  list(call: Call, userId: string, query: ListMatchesQuery): Promise<Page<MatchView>>;
}

export interface MatchesDeps {
  database: Database;
  /** The records by subject, for answers; the rows of the transaction decide matches. */
  index: BlacklistIndex;
  guildState: Pick<GuildState, "lookUp">;
  grants: GrantsService;
  servers: Pick<UserServersService, "detailsOf">;
  cursors: Cursors;
  clock: Clock;
  /** Staff match their own records without a grant. */
  isStaff: (userId: string) => boolean;
  hashOf: (serverId: string) => string;
}

export function createMatchesService(deps: MatchesDeps): MatchesService {
  const { database, index, guildState, grants, servers, cursors, clock, hashOf } = deps;

  return {
    async load() {
      const rows = await database.read.blacklistRecord.findMany({
        where: { status: { in: ["active", "scheduled"] } },
        omit: { reasonInternal: true, reasonPublic: true, evidence: true },
      });
      for (const row of rows) index.put(recordOf(row));
    },

    recomputeUser: (tx, userId) => recomputeUser(tx, userId, deps),

    applyRecord(tx, record) {
      tx.afterCommit(() => index.put(record));
      return applyRecord(tx, record, deps);
    },

    async list(call, userId, query) {
      requirePermission(call, intelligencePermissions.matches);
      const { limit, cursor, count, ...filters } = ListMatchesQuery.parse(query);
      await grants.requireGrant(userId);
      const now = clock.now();
      const bound = { userId, ...filters };
      const wanted = { AND: [{ userId }, conditions(filters, now)] };
      const rows = await database.read.match.findMany({
        where: { AND: [wanted, cursor === undefined ? {} : olderThan(cursors.decode("matches", bound, cursor))] },
        orderBy: [{ firstSeenAt: "desc" }, { id: "desc" }],
        take: limit + 1,
      });
      const details = await servers.detailsOf(userId, hashesOf(rows));
      const user = presentUser(userId, await guildState.lookUp(userId));
      const page = toPage(
        rows,
        limit,
        (row) => presentMatch(call, row, user, row.serverId === null ? undefined : details.get(hashOf(row.serverId)), now),
        (last) => cursors.encode("matches", bound, [last.firstSeenAt.toISOString(), last.id]),
      );
      return withTotal(page, { count }, () => database.read.match.count({ where: wanted }));
    },
  };

  function hashesOf(rows: readonly Match[]): string[] {
    return rows.flatMap((row) => (row.serverId === null ? [] : [hashOf(row.serverId)]));
  }
}

/** Filters go by the status a reader sees: a grace period that is over is open. */
function conditions({ status, kind }: { status?: MatchStatus | undefined; kind?: string | undefined }, now: Date) {
  return { ...(kind !== undefined && { kind }), ...(status !== undefined && statusCondition(status, now)) };
}

function statusCondition(status: MatchStatus, now: Date) {
  if (status === "grace") return { status, OR: [{ graceUntil: null }, { graceUntil: { gt: now } }] };
  if (status === "open") return { OR: [{ status }, { status: "grace", graceUntil: { lte: now } }] };
  return { status };
}

function olderThan([at, id]: readonly [string | number, string]) {
  const firstSeenAt = new Date(at);
  return { OR: [{ firstSeenAt: { lt: firstSeenAt } }, { firstSeenAt, id: { lt: id } }] };
}
