import type { Deps } from "../../deps.ts";
import type { Tx } from "../../../database/database.ts";
import type { Match } from "../../../generated/sqlite/client.ts";
import { requirePermission, type Call } from "../../../kernel/call.ts";
import { orderOf } from "../../../kernel/keyset.ts";
import { toPage, withTotal, type Page } from "../../../kernel/page.ts";
import type { DataReads } from "../../privacy/reads.ts";
import { intelligencePermissions, matchView, presentUser, visibleMatch } from "../intelligence.policy.ts";
import { ListMatchesQuery, type MatchStatus, type MatchView, type ResolveMatchInput } from "../intelligence.schema.ts";
import type { MatchChanges, MatchRecord } from "../match-record.ts";
import { applyRecord, concernedBy, type Concerned } from "./apply.ts";
import { applyRecords } from "./batch.ts";
import { comparePeople, matchesLock } from "./compare.ts";
import { createIndexKeeper } from "./match-index.ts";
import { createResolve, type ResolveDeps } from "./resolve.ts";
import { applyServers } from "./servers.ts";
import { createMatchSweep } from "./sweep.ts";

const order = orderOf("firstSeenAt", "desc");

export type { MatchChanges, MatchRecord } from "../match-record.ts";
export type { Concerned } from "./apply.ts";

export interface MatchesService {
  /** Whether a record may be about this account, from memory alone: one too many is possible, one too few is not. */
  mayList(userId: string): boolean;
  /** Fill the index from the stored records; once, at boot. */
  load(): Promise<void>;
  /** Take over records that another process may have changed. @param call compares those that are new here; null: another process does */
  follow(call: Call | null, ids: readonly string[]): Promise<void>;
  /** The same for all records that were changed since the last time. @returns how many were new here */
  catchUp(call: Call | null): Promise<number>;
  /** Compare one person with every record in force. Call after their servers are written in the same transaction. */
  recomputeUser(tx: Tx, userId: string): Promise<MatchChanges>;
  /** Take the lock of matches, which comes before numbers of records. */
  lock(tx: Tx): Promise<void>;
  /** Take the lock of matches, and read whom a new record concerns, so that little is left to do when it has its number. */
  concernedBy(tx: Tx, record: MatchRecord, isLast: boolean): Promise<Concerned>;
  /** Compare one record with everyone. Call after it was created, changed, revoked or expired in the same transaction. */
  applyRecord(tx: Tx, record: MatchRecord, concerned?: Concerned): Promise<MatchChanges>;
  /** The same for many records at once, most of which concern nobody who is known here. */
  applyRecords(tx: Tx, records: readonly MatchRecord[]): Promise<MatchChanges>;
  /** Compare everyone in these servers again: one of them was registered, watched, merged, or is party of an agreement. Call in the same transaction, after the rows. */
  applyServer(tx: Tx, serverIds: readonly string[]): Promise<MatchChanges>;
  /**
   * Decide about a match; answers it as it is then.
   * @throws ProblemError permission_denied, authorization_required, record_not_found, precondition_failed, invalid_transition,
   * conflict_of_interest, hierarchy_violation
   */
  resolve(call: Call, userId: string, matchId: string, input: ResolveMatchInput, ifMatch?: number): Promise<MatchView>;
  /** End what ends by time: grace periods, exemptions; forget what is closed for long enough. For the job that runs each minute. */
  sweep(call: Call): Promise<number>;
  /** When the next grace period or exemption ends. */
  nextDue(): Promise<Date | null>;
  /** @throws ProblemError permission_denied, authorization_required, invalid_cursor */
  list(call: Call, userId: string, query: ListMatchesQuery): Promise<Page<MatchView>>;
}

export interface MatchesDeps extends ResolveDeps, Deps<"cursors" | "clock" | "logger"> {
  reads: DataReads;
}

export function createMatchesService(deps: MatchesDeps): MatchesService {
  const { database, guildState, grants, servers, cursors, clock, hashOf, reads } = deps;
  const keeper = createIndexKeeper(deps);
  const { sweep, nextDue } = createMatchSweep(deps);

  return {
    mayList: (userId) => !deps.index.isComplete || deps.index.find([], [userId]).size > 0,
    load: keeper.load,
    follow: keeper.follow,
    catchUp: keeper.catchUp,

    async recomputeUser(tx, userId) {
      await tx.lock(matchesLock);
      return comparePeople(tx, [userId], "everything", deps);
    },

    lock: (tx) => tx.lock(matchesLock),

    concernedBy: (tx, record, isLast) => concernedBy(tx, record, deps, isLast),

    applyRecord: (tx, record, concerned) => applyRecord(tx, record, deps, concerned),

    applyRecords: (tx, records) => applyRecords(tx, records, deps),

    applyServer: (tx, serverIds) => applyServers(tx, serverIds, deps),

    resolve: createResolve(deps),

    async sweep(call) {
      requirePermission(call, "system.act");
      return (await keeper.catchUp(call)) + (await sweep(call));
    },
    nextDue,

    async list(call, userId, query) {
      requirePermission(call, intelligencePermissions.matches);
      const { limit, cursor, count, ...filters } = ListMatchesQuery.parse(query);
      const bound = { userId, ...filters };
      const after = cursor === undefined ? {} : order.after(cursors.decode("matches", bound, cursor));
      await grants.requireGrant(userId);
      reads.note(call, userId, "matches");
      const now = clock.now();
      const wanted = { AND: [{ userId }, conditions(filters, now)] };
      const rows = await database.read.match.findMany({
        where: { AND: [wanted, after] },
        orderBy: order.orderBy,
        take: limit + 1,
      });
      const details = await servers.detailsOf(userId, hashesOf(rows));
      const user = presentUser(userId, (await guildState.lookUp(userId)).members);
      const page = toPage(
        rows,
        limit,
        (row) =>
          visibleMatch(call, matchView(row, user, row.serverId === null ? undefined : details.get(hashOf(row.serverId)), now), userId),
        (last) => cursors.encode("matches", bound, order.of(last)),
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
