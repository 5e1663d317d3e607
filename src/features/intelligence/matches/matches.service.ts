import type { Deps } from "../../deps.ts";
import type { Tx, Database } from "../../../database/database.ts";
import { type Match, Prisma, type BlacklistRecord } from "../../../generated/sqlite/client.ts";
import { requirePermission, type Call, requireWrite } from "../../../kernel/call.ts";
import { orderOf } from "../../../kernel/keyset.ts";
import { toPage, withTotal, type Page } from "../../../kernel/page.ts";
import type { DataReads } from "../../privacy/reads.ts";
import { intelligencePermissions, matchView, presentUser, visibleMatch, statusAt } from "../intelligence.policy.ts";
import {
  ListMatchesQuery,
  type MatchStatus,
  type MatchView,
  type ResolveMatchInput,
  ResolveMatchInput as Input,
  resolutionOutcomes,
  type ResolutionOutcome,
} from "../intelligence.schema.ts";
import { type MatchChanges, type MatchRecord, mayCount } from "../match-record.ts";
import { applyRecord, concernedBy, type Concerned, applyServers } from "./apply.ts";
import { applyRecords } from "./batch.ts";
import { comparePeople, matchesLock, type CompareDeps } from "./compare.ts";
import { createMatchSweep } from "./sweep.ts";
import { say } from "../../../kit/say.ts";
import type { GuildState } from "../../../discord/guild-state.ts";
import { ProblemError, recordNotFound, fieldError } from "../../../kernel/errors.ts";
import type { GrantsService } from "../../authorization/grants/grants.service.ts";
import type { PermissionsService } from "../../permissions/permissions.service.ts";
import type { AccessDirectory } from "../../permissions/access/access-directory.ts";
import { emitMatchChange, batches, idsAtOnce, recordOf, unread } from "./store.ts";
import { isActive, isExemptByPerson, type StoredMatch } from "../reconcile.ts";
import type { UserServersService } from "../user-servers/user-servers.service.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { requireRevision } from "../../../kernel/revision.ts";
import type { CandidateIndex, RecordKey } from "../candidates.ts";

interface IndexDeps extends CompareDeps, Deps<"database" | "clock"> {}

/** Records of one page while the index is filled. */
const pageSize = 5000;
/** Records learned in one transaction. */
const learnedAtOnce = 200;
/** How far clocks of several processes may lie apart, and how long a transaction may take, in seconds. */
const overlap = 120;

interface KeyRow {
  status: string;
  number: number;
  kind: string;
  subject_id: string;
  subject_hash: string | null;
}

interface IndexKeeper {
  load(): Promise<void>;
  /**
   * Learn what other processes have changed since the last look; answers how many records were new here.
   * @param call as in {@link IndexKeeper.follow}
   */
  catchUp(call: Call | null): Promise<number>;
  /**
   * Take over these records, which another process may have changed.
   * @param call compares those that are new here; null: another process does
   */
  follow(call: Call | null, ids: readonly string[]): Promise<void>;
}

const keyFields = { id: true, number: true, kind: true, subjectId: true, subjectHash: true, status: true } as const;
type KeyedRow = Pick<BlacklistRecord, keyof typeof keyFields>;

/** Keeps the index in step with the stored records, those of other processes too. */
export function createIndexKeeper(deps: IndexDeps): IndexKeeper {
  const { database, index, clock } = deps;
  let seenUntil: Date | undefined;

  /** Records that another process made or changed are compared again: a list read here meanwhile knew nothing of them. */
  async function learn(call: Call, ids: readonly string[]): Promise<void> {
    for (const some of batches(ids, learnedAtOnce)) {
      await database.write(call, async (tx) => {
        const rows = await tx.db.blacklistRecord.findMany({ where: { id: { in: some } }, omit: unread });
        await applyRecords(tx, rows.map(recordOf), deps);
      });
    }
  }

  /** Take over what is known here, and what ends; answers the ids of what is new. */
  function takeOver(rows: readonly KeyedRow[]): KeyedRow[] {
    return rows.filter((row) => {
      const key = keyOf(row);
      if (mayCount(row)) return !index.has(key);
      index.remove(key);
      return false;
    });
  }

  async function put(call: Call | null, rows: readonly KeyedRow[]): Promise<void> {
    if (call === null) for (const row of rows) index.put(keyOf(row));
    else
      await learn(
        call,
        rows.map(({ id }) => id),
      );
  }

  return {
    async load() {
      const began = clock.now();
      await fill(database, index);
      index.isComplete = true;
      seenUntil = began;
    },

    async catchUp(call) {
      if (seenUntil === undefined) return 0;
      const began = clock.now();
      const since = addSeconds(seenUntil, -overlap);
      let learned = 0;
      for (let after = { updatedAt: since, id: "" }; ;) {
        const rows = await database.read.blacklistRecord.findMany({
          where: laterThan(after),
          select: { ...keyFields, updatedAt: true },
          // In the order of the index that finds them: by id, SQLite would walk through all records.
          orderBy: [{ updatedAt: "asc" }, { id: "asc" }],
          take: idsAtOnce,
        });
        const unknown = takeOver(rows);
        await put(call, unknown);
        learned += unknown.length;
        if (rows.length < idsAtOnce) break;
        after = rows.at(-1) ?? after;
      }
      seenUntil = began;
      return learned;
    },

    async follow(call, ids) {
      for (const some of batches(ids, idsAtOnce)) {
        const unknown = takeOver(await database.read.blacklistRecord.findMany({ where: { id: { in: some } }, select: keyFields }));
        await put(call, unknown);
      }
    },
  };
}

const keyOf = (row: KeyedRow): RecordKey => ({ ...row, kind: row.kind === "server" ? "server" : "user" });

/** Records changed after a position, or at the same time and later by id. */
function laterThan({ updatedAt, id }: { updatedAt: Date; id: string }) {
  return { updatedAt: { gte: updatedAt }, OR: [{ updatedAt: { gt: updatedAt } }, { id: { gt: id } }] };
}

/** Page through the records that count, by number. */
async function fill({ read }: Database, index: CandidateIndex): Promise<void> {
  const [counted] = await read.$queryRaw<{ count: number | bigint }[]>`
    SELECT COUNT(*) AS count FROM blacklist_records WHERE kind = 'server' AND status IN ('active', 'scheduled')`;
  index.reserve(Number(counted?.count ?? 0));
  for (let after = 0; ;) {
    const rows = await read.$queryRaw<KeyRow[]>`
      SELECT number, kind, subject_id, subject_hash, status FROM blacklist_records
      WHERE number > ${after} ORDER BY number LIMIT ${pageSize}`;
    for (const row of rows) {
      // As a condition it would let SQLite read and sort all that count for every page.
      if (!mayCount(row)) continue;
      index.put({
        number: Number(row.number),
        kind: row.kind === "server" ? "server" : "user",
        subjectId: row.subject_id,
        subjectHash: row.subject_hash,
      });
    }
    if (rows.length < pageSize) return;
    after = Number(rows.at(-1)?.number ?? after);
  }
}

interface ResolveDeps extends CompareDeps, Deps<"database" | "audit"> {
  guildState: Pick<GuildState, "lookUp">;
  grants: GrantsService;
  servers: Pick<UserServersService, "detailsOf">;
  access: Pick<AccessDirectory, "of">;
  permissions: Pick<PermissionsService, "requireRankAbove">;
}

type Resolve = (call: Call, userId: string, matchId: string, input: ResolveMatchInput, ifMatch?: number) => Promise<MatchView>;
type Parsed = ReturnType<typeof Input.parse>;

/** What people decide about matches. */
function createResolve(deps: ResolveDeps): Resolve {
  const { database, guildState, grants, servers, audit, hashOf } = deps;

  /** Nobody decides about themselves, nor about who stands at or above them. */
  async function requireMayDecide(tx: Tx, userId: string): Promise<void> {
    const actorId = tx.call.actor?.id;
    if (actorId !== undefined) {
      const isOwn = actorId === userId || (await deps.reach.linkedAccountsOf(tx.db, actorId)).includes(userId);
      if (isOwn) throw new ProblemError("conflict_of_interest", { detail: say("intelligence.the-match-is-about-you-or-about") });
    }
    const { isStaff, rank } = deps.access.of(userId);
    if (isStaff) deps.permissions.requireRankAbove(tx.call, rank);
  }

  async function persistResolution(tx: Tx, match: Match, input: Parsed): Promise<void> {
    const { outcome, reason } = input;
    const from = { ...match, status: statusAt(match, tx.now) };
    const status = statusAfter(from, outcome, tx.now);
    const exemptUntil = outcome === "exempt" ? exemptionEnd(input.until, tx.now) : null;
    const by = tx.call.actor?.id ?? null;
    const until = exemptUntil?.toISOString();
    const resolution = { outcome, by, at: tx.now.toISOString(), reason, ...(until !== undefined && { until }) };
    await tx.db.match.update({
      where: { id: match.id },
      data: { status, exemptUntil, resolution: outcome === "reopen" ? Prisma.DbNull : resolution, revision: { increment: 1 } },
    });
    audit.record(tx, {
      action: "match.resolve",
      target: { kind: "match", id: match.id },
      subjectUserId: match.userId,
      reason,
      before: { status: from.status },
      after: { status, outcome, ...(until !== undefined && { until }) },
      permission: intelligencePermissions.resolve,
    });
    const [before, after] = [isActive(from.status), isActive(status)];
    emitMatchChange(tx, deps.events, before === after ? null : after ? "opened" : "closed", { ...match, status });
    // What was dismissed or exempt did not follow its record meanwhile.
    if (outcome === "reopen") await comparePeople(tx, [match.userId], "everything", deps);
  }

  /** The view with the names that are known now. */
  async function named(view: MatchView, userId: string): Promise<MatchView> {
    const user = presentUser(userId, (await guildState.lookUp(userId)).members);
    if (view.server === undefined) return { ...view, user };
    const hash = hashOf(view.server.id);
    const details = (await servers.detailsOf(userId, [hash])).get(hash);
    const known = details !== undefined && { name_snapshot: details.name, icon: details.icon };
    return { ...view, user, server: { ...view.server, ...known } };
  }

  return async (call, userId, matchId, given, ifMatch) => {
    requireWrite(call, intelligencePermissions.resolve);
    const input = Input.parse(given);
    await grants.requireGrant(userId);
    // What is kept for a repeated request holds no names: they come and go with what the person shares.
    const view = await database.write(call, async (tx) => {
      await tx.lock(matchesLock);
      await requireMayDecide(tx, userId);
      const match = await tx.db.match.findFirst({ where: { id: matchId, userId } });
      if (match === null) throw recordNotFound();
      for (const known of [input.revision, ifMatch]) requireRevision(known, match.revision);
      await persistResolution(tx, match, input);
      return matchView(await tx.db.match.findUniqueOrThrow({ where: { id: match.id } }), presentUser(userId, []), undefined, tx.now);
    });
    return visibleMatch(call, await named(view, userId), userId);
  };
}

/** From which status a person may move a match where. */
const moves: Readonly<Record<ResolutionOutcome, { from: readonly string[]; to: string }>> = {
  acknowledge: { from: ["open", "grace"], to: "acknowledged" },
  confirm: { from: ["open", "grace", "acknowledged"], to: "confirmed" },
  dismiss: { from: ["open", "grace", "acknowledged", "confirmed"], to: "dismissed" },
  exempt: { from: ["open", "grace", "acknowledged", "confirmed"], to: "exempt" },
  reopen: { from: ["acknowledged", "confirmed", "dismissed", "exempt"], to: "open" },
};

const maxExemption = 365 * 86_400;

/** What a person may do with a match: nothing once it is closed, nor with an exemption that the record itself gives. */
export function allowedMoves(match: StoredMatch, now: Date): ResolutionOutcome[] {
  const isTheirs = match.status !== "exempt" || isExemptByPerson(match, now);
  if (match.closedAt !== null || !isTheirs) return [];
  return resolutionOutcomes.filter((outcome) => moves[outcome].from.includes(match.status));
}

/**
 * The status a match gets. One that opens again inside its grace period is in grace again.
 * @throws ProblemError invalid_transition, with what is possible
 */
export function statusAfter(match: StoredMatch, outcome: ResolutionOutcome, now: Date): string {
  const allowed = allowedMoves(match, now);
  if (!allowed.includes(outcome)) throw new ProblemError("invalid_transition", { extra: { from: match.status, action: outcome, allowed } });
  const isInGrace = match.graceUntil !== null && match.graceUntil > now;
  return outcome === "reopen" && isInGrace ? "grace" : moves[outcome].to;
}

/** When an exemption ends; null: it has no end. @throws ProblemError validation_failed */
export function exemptionEnd(until: string | undefined, now: Date): Date | null {
  if (until === undefined) return null;
  const end = new Date(until);
  if (end <= now) throw fieldError("/until", "invalid_value", say("intelligence.an-exemption-ends-in-the-future"));
  if (end > addSeconds(now, maxExemption))
    throw fieldError("/until", "invalid_value", say("intelligence.an-exemption-lasts-a-year-at-most"));
  return end;
}

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
