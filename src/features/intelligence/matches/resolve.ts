import { say } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import type { Tx } from "../../../database/database.ts";
import type { GuildState } from "../../../discord/guild-state.ts";
import { Prisma, type Match } from "../../../generated/sqlite/client.ts";
import { requireWrite, type Call } from "../../../kernel/call.ts";
import { ProblemError, recordNotFound, fieldError } from "../../../kernel/errors.ts";
import type { GrantsService } from "../../authorization/grants/grants.service.ts";
import type { PermissionsService } from "../../permissions/permissions.service.ts";
import type { AccessDirectory } from "../../permissions/access/access-directory.ts";
import { intelligencePermissions, matchView, presentUser, statusAt, visibleMatch } from "../intelligence.policy.ts";
import {
  ResolveMatchInput as Input,
  resolutionOutcomes,
  type MatchView,
  type ResolveMatchInput,
  type ResolutionOutcome,
} from "../intelligence.schema.ts";
import { comparePeople, matchesLock, type CompareDeps } from "./compare.ts";
import { emitMatchChange } from "./store.ts";
import { isActive, isExemptByPerson, type StoredMatch } from "../reconcile.ts";
import type { UserServersService } from "../user-servers/user-servers.service.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { requireRevision } from "../../../kernel/revision.ts";

export interface ResolveDeps extends CompareDeps, Deps<"database" | "audit"> {
  guildState: Pick<GuildState, "lookUp">;
  grants: GrantsService;
  servers: Pick<UserServersService, "detailsOf">;
  access: Pick<AccessDirectory, "of">;
  permissions: Pick<PermissionsService, "requireRankAbove">;
}

type Resolve = (call: Call, userId: string, matchId: string, input: ResolveMatchInput, ifMatch?: number) => Promise<MatchView>;
type Parsed = ReturnType<typeof Input.parse>;

/** What people decide about matches. */
export function createResolve(deps: ResolveDeps): Resolve {
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
