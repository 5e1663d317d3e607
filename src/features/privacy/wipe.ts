import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import { forgetAnswers } from "../../database/idempotency.ts";
import type { Journal } from "./journal/journal.ts";
import type { Erasures } from "./erasures.ts";
import type { UserServersService } from "../intelligence/user-servers/user-servers.service.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { Call } from "../../kernel/call.ts";
import type { Logger, Tx } from "../../database/database.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import type { AuthorizationService } from "../authorization/authorization.service.ts";
import type { ConsentEnds } from "../authorization/grants/consent-end.ts";
import type { BlacklistService } from "../blacklist/blacklist.service.ts";
import type { CallsignsService } from "../callsigns/callsigns.service.ts";
import type { MatchesService } from "../intelligence/matches/matches.service.ts";
import type { ConfirmationsService } from "../confirmations/confirmations.service.ts";
import type { LinkReach } from "../links/reach.ts";
import type { PermissionsService } from "../permissions/permissions.service.ts";
import type { AccessDirectory } from "../permissions/access/access-directory.ts";
import type { RosterService } from "../roster/roster.service.ts";
import { eraseTexts, type WipeTarget } from "./registry/erase.ts";
import { readsLock, type DataReadsUpkeep } from "./reads.ts";
import type { ErasureView } from "./privacy.schema.ts";

export interface PrivacyDeps extends Deps<"database" | "events" | "access" | "clock"> {
  audit: AuditService;
  blacklist: Pick<BlacklistService, "lockRecordsOf" | "dropNamesOf">;
  confirmations: Pick<ConfirmationsService, "hold" | "register" | "endAbout" | "lock">;
  authorization: AuthorizationService;
  servers: UserServersService;
  matches: MatchesService;
  permissions: Pick<PermissionsService, "requireRankAbove" | "userRows">;
  guildState: Pick<GuildState, "forget">;
  consentEnds: Pick<ConsentEnds, "end">;
  reach: LinkReach;
  roster: WipeDeps["roster"];
  callsigns: WipeDeps["callsigns"];
  erasures: Erasures;
  reads: DataReadsUpkeep;
  /** The file of deletions beside the database. */
  journal: Journal;
  /** Keyed hash of a person's id. */
  hashOf: (userId: string) => string;
  /** Ids of the requests a caller may not know of. */
  hiddenRequests: (call: Call) => Promise<readonly string[]>;
  logger: Logger;
}

export interface WipeDeps {
  blacklist: Pick<BlacklistService, "lockRecordsOf" | "dropNamesOf">;
  confirmations: Pick<ConfirmationsService, "endAbout">;
  reach: LinkReach;
  roster: Pick<RosterService, "dropFindingsNaming" | "isLive" | "leaveInTx" | "moveInTx">;
  callsigns: Pick<CallsignsService, "holdAllInTx">;
  guildState: Pick<GuildState, "forget">;
  authorization: AuthorizationService;
  consentEnds: Pick<ConsentEnds, "end">;
  matches: Pick<MatchesService, "recomputeUser">;
  permissions: Pick<PermissionsService, "userRows">;
  access: Pick<AccessDirectory, "setLeave">;
  reads: Pick<DataReadsUpkeep, "forget">;
}

type Deleted = Omit<ErasureView["deleted"], "audit_details">;

const nothing: Deleted = { authorization: 0, sessions: 0, servers: 0, matches: 0, reads: 0, sign_ins: 0, links: 0, staff: 0, names: 0 };

export interface Wipe {
  shared(tx: Tx, target: WipeTarget): Promise<Deleted>;
  /** Settles when Discord was told of every grant that is over, or could not be told. */
  told(): Promise<void>;
  /** Access was taken back: the grant is over, and what was read with it is gone. */
  grant(tx: Tx, target: WipeTarget): Promise<Deleted>;
  /** Everything but the records of moderation, which lose the person's name. */
  all(tx: Tx, target: WipeTarget): Promise<Deleted>;
}

/** The deletions themselves, without rights and without a word to anybody. */
export function createWipe(deps: WipeDeps): Wipe {
  const telling = new Set<Promise<void>>();

  /** Tell Discord that a grant is over, once that is committed: it costs the transaction nothing. */
  function tellLater(tx: Tx, tellDiscord: () => Promise<void>): void {
    tx.afterCommit(() => {
      const told = tellDiscord().finally(() => telling.delete(told));
      telling.add(told);
    });
  }

  /** What a person shared: their grant and all that was made from it. */
  async function shared(tx: Tx, target: WipeTarget): Promise<Deleted> {
    const { userId, before } = target;
    const older = upTo(before);
    await deps.consentEnds.end(tx, target);
    const grant = await deleteGrant(tx, target);
    const sessions = await tx.db.authorizationSession.deleteMany({ where: { userId, createdAt: older } });
    await tx.lock(readsLock);
    const reads = await tx.db.dataRead.deleteMany({ where: { userId, at: older } });
    // Whatever comes of the transaction: looks that are taken for written no longer are written once more at most.
    deps.reads.forget(userId);
    await forgetAnswers(tx, target.userId);
    const signIns = await tx.db.privacySession.deleteMany({ where: { userId, createdAt: older } });
    return { ...nothing, ...grant, sessions: sessions.count, reads: reads.count, sign_ins: signIns.count };
  }

  /** @returns whether there is nothing younger than what is to go */
  async function isCovered(tx: Tx, { userId, before }: WipeTarget): Promise<boolean> {
    if (before === undefined) return true;
    const younger = await tx.db.authorization.findFirst({ where: { userId, grantedAt: { gt: before } }, select: { userId: true } });
    return younger === null;
  }

  /** End the grant with all that it opened. What Discord is owed is told once this is committed. */
  async function endGrant(tx: Tx, target: WipeTarget): Promise<Pick<Deleted, "servers" | "matches">> {
    const { userId, before } = target;
    const matches = await tx.db.match.count({ where: { userId } });
    const servers = await tx.db.userServer.count({ where: { userId } });
    const isOpen = before === undefined || (await tx.db.authorization.findUnique({ where: { userId }, select: { userId: true } })) !== null;
    if (isOpen) {
      const { tellDiscord } = await deps.authorization.revokeInTx(tx, userId, {
        isNoted: false,
        ...(before !== undefined && { before }),
      });
      tellLater(tx, tellDiscord);
    }
    await tx.lock("matches");
    await tx.db.userServer.deleteMany({ where: { userId } });
    return { servers, matches };
  }

  async function deleteGrant(tx: Tx, target: WipeTarget): Promise<Pick<Deleted, "authorization" | "servers" | "matches">> {
    const { userId } = target;
    if (!(await isCovered(tx, target))) return { authorization: 0, servers: 0, matches: 0 };
    const ended = await endGrant(tx, target);
    await tx.db.match.deleteMany({ where: { userId } });
    const authorization = await tx.db.authorization.deleteMany({ where: { userId } });
    // Staff match records about themselves without any grant: these are found again.
    await deps.matches.recomputeUser(tx, userId);
    return { ...ended, authorization: authorization.count };
  }

  return {
    shared,

    told: async (): Promise<void> => void (await Promise.all(telling)),

    async grant(tx: Tx, target: WipeTarget): Promise<Deleted> {
      await deps.consentEnds.end(tx, target);
      if (!(await isCovered(tx, target))) return nothing;
      return { ...nothing, ...(await endGrant(tx, target)) };
    },

    async all(tx: Tx, target: WipeTarget): Promise<Deleted> {
      // Before the locks of links and records, as decisions about requests take them.
      await deps.consentEnds.end(tx, target);
      // Before the lock of matches, as anyone who changes a link takes them.
      await tx.lock("account_links");
      await deps.blacklist.lockRecordsOf(tx, target.userId);
      const deleted = await shared(tx, target);
      const links = await deleteLinks(tx, target, deps);
      const staff = await deleteStaff(tx, target, deps);
      await deps.confirmations.endAbout(tx, target.userId);
      const names = (await dropNames(tx, target, deps)) + (await eraseTexts(tx, target));
      await endPlace(tx, target, deps);
      return { ...deleted, links, staff, names };
    },
  };
}

/** Anyone who was linked is compared again: what concerned them only through this account is gone. */
async function deleteLinks(tx: Tx, { userId, before }: WipeTarget, { matches, reach }: WipeDeps): Promise<number> {
  const reached = await reach.reachOf(tx.db, userId);
  const where = { OR: [{ userA: userId }, { userB: userId }], createdAt: upTo(before) };
  const links = await tx.db.accountLink.findMany({ where, select: { userA: true, userB: true } });
  await tx.db.accountLink.deleteMany({ where });
  const others = new Set(links.flatMap(({ userA, userB }) => [userA, userB]).filter((id) => id !== userId));
  const derived = await tx.db.match.findMany({ where: { viaUserId: userId }, select: { userId: true } });
  for (const { userId: other } of [...derived, ...reached]) others.add(other);
  for (const other of others) await matches.recomputeUser(tx, other);
  await tx.db.match.deleteMany({ where: { viaUserId: userId, firstSeenAt: upTo(before) } });
  return links.length;
}

async function deleteStaff(tx: Tx, { userId, before }: WipeTarget, deps: WipeDeps): Promise<number> {
  const { guildState, permissions, roster, access } = deps;
  const older = upTo(before);
  const { rows } = await permissions.userRows.open(tx, userId);
  const old = await tx.db.userPermission.findMany({ where: { userId, createdAt: older }, select: { id: true } });
  const gone = rows.filter(({ id }) => old.some((row) => row.id === id));
  const kept = rows.filter((row) => !gone.includes(row));
  if (gone.length > 0) await permissions.userRows.save(tx, userId, { rows: kept, gone, fresh: [] });
  const profile = await tx.db.staffProfile.findUnique({ where: { userId, updatedAt: older } });
  if (profile !== null) {
    await tx.db.staffProfile.delete({ where: { userId } });
    if (profile.leaveFrom !== null) {
      await roster.leaveInTx(tx, userId, { event: "loa_ended", at: tx.now, permission: "users.redact" });
      tx.afterCommit(() => access.setLeave(userId, null, profile.revision + 1));
    }
  }
  const { count } = await tx.db.guildMember.deleteMany({ where: { userId, updatedAt: older } });
  if (count > 0 || before === undefined) tx.afterCommit(() => guildState.forget(userId));
  return gone.length + (profile === null ? 0 : 1) + count;
}

/** Anyone who is on the roster is followed in the guilds: their place ends, or their name would come back with the next event. */
async function endPlace(tx: Tx, { userId, before }: WipeTarget, { roster, callsigns }: WipeDeps): Promise<void> {
  const entry = await tx.db.rosterEntry.findUnique({ where: { userId, createdAt: upTo(before) } });
  if (entry === null || !roster.isLive(entry)) return;
  const note = { causeReference: null, permission: "users.redact" as const, reason: say("privacy.their-data-was-deleted") };
  await roster.moveInTx(tx, userId, { event: "resigned", ...note });
  await callsigns.holdAllInTx(tx, userId, note);
}

/** Names that are stored in several places, or by which records are found; the other texts are erased by the registry. */
async function dropNames(tx: Tx, { userId, before }: WipeTarget, { blacklist, roster }: WipeDeps): Promise<number> {
  const older = upTo(before);
  const requests = await tx.db.workflowRequest.updateMany({
    where: { requesterId: userId, requesterName: { not: null }, createdAt: older },
    data: { requesterName: null, revision: { increment: 1 } },
  });
  const records = await blacklist.dropNamesOf(tx, userId, older);
  return requests.count + records + (await roster.dropFindingsNaming(tx, userId, older));
}

/** What is no younger than a time; everything where there is none. */
function upTo(before: Date | undefined): { lte?: Date } {
  return before === undefined ? {} : { lte: before };
}
