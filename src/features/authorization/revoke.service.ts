import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import type { Tx } from "../../database/database.ts";
import type { Authorization } from "../../generated/sqlite/client.ts";
import { requireWrite, type Call } from "../../kernel/call.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { requireRevision } from "../../kernel/revision.ts";
import type { Erasures } from "../privacy/erasures.ts";
import { authorizationPermissions } from "./authorization.policy.ts";
import { presentAuthorization, readState } from "./presenter.ts";
import { RevokeInput, type AuthorizationView } from "./authorization.schema.ts";
import type { ConsentEnds } from "./grants/consent-end.ts";
import { lockGrant, type GrantsStore } from "./grants/store.ts";
import { endSession } from "./sessions/end.ts";
import type { MatchesService } from "../intelligence/matches/matches.service.ts";
import type { UserServersService } from "../intelligence/user-servers/user-servers.service.ts";
import type { Revocations } from "./revocations.ts";

export interface RevokeService {
  /**
   * End what a person has granted and is being asked, for staff or for the person themself. What it opened goes at once.
   * @throws ProblemError permission_denied, precondition_failed, invalid_transition when there is nothing to end
   */
  revoke(call: Call, userId: string, input: RevokeInput, ifMatch?: number): Promise<AuthorizationView>;
  /** The same as a part of another change. A person without a grant and without open sessions is no error. */
  revokeInTx(tx: Tx, userId: string, options?: RevokeOptions): Promise<Revoked>;
}

export interface RevokeOptions {
  reason?: string | undefined;
  /** Whether it is written to the journal of deletions; false where a line of the journal is carried out. */
  isNoted?: boolean;
  /** Sessions that were opened later go on. */
  before?: Date;
}

export interface Revoked {
  /** Whether there was anything to end. */
  hasEnded: boolean;
  /** Tells Discord, to be called after the commit; never fails, and the job goes on where it does not get through. */
  tellDiscord(): Promise<void>;
}

export interface RevokeDeps extends EndDeps, Deps<"database" | "audit" | "events"> {
  erasures: Pick<Erasures, "note">;
  cooldownSeconds: number;
}

/** Grants that still open or keep something. */
const endable = new Set(["active", "reauthorization_required"]);

export function createRevokeService(deps: RevokeDeps): RevokeService {
  const { database, revocations } = deps;

  const revokeInTx: RevokeService["revokeInTx"] = async (tx, userId, options = {}) => {
    await lockGrant(tx, userId);
    const createdAt = options.before === undefined ? {} : { lte: options.before };
    const sessions = await tx.db.authorizationSession.findMany({ where: { userId, createdAt, status: { in: ["pending", "opened"] } } });
    for (const session of sessions) await endSession(tx, deps, session, { status: session.expiresAt > tx.now ? "cancelled" : "expired" });
    const open = sessions.filter((session) => session.expiresAt > tx.now).length;
    const grant = await tx.db.authorization.findUnique({ where: { userId } });
    const isGranted = grant !== null && endable.has(grant.status);
    const hasEnded = isGranted || open > 0;
    if (hasEnded) await end(tx, deps, { userId, grant: isGranted ? grant : null, open, ...options });
    return { hasEnded, tellDiscord: () => revocations.tell(tx.call, userId) };
  };

  return {
    revokeInTx,

    async revoke(call, userId, input, ifMatch) {
      requireWrite(call, authorizationPermissions.revoke, { own: userId });
      const { reason } = RevokeInput.parse(input);
      const view = await database.write(call, async (tx) => {
        await lockGrant(tx, userId);
        const stored = await tx.db.authorization.findUnique({ where: { userId } });
        requireRevision(ifMatch, stored?.revision ?? 0);
        const { hasEnded } = await revokeInTx(tx, userId, { reason });
        const state = presentAuthorization(call, await readState(tx.db, userId, tx.now), deps.cooldownSeconds, tx.now);
        if (!hasEnded) throw nothingToRevoke(state.status);
        return state;
      });
      if (!call.replayed) await revocations.tell(call, userId);
      return view;
    },
  };
}

/** @param change `open`: how many open sessions were called off */
async function end(
  tx: Tx,
  deps: RevokeDeps,
  change: RevokeOptions & { userId: string; grant: Authorization | null; open: number },
): Promise<void> {
  const { userId, grant, open, reason, isNoted = true } = change;
  const gone = grant === null ? null : await endGrant(tx, deps, grant, "revoked");
  deps.audit.record(tx, {
    action: "authorization.revoke",
    target: { kind: "authorization", id: userId },
    subjectUserId: userId,
    ...(reason !== undefined && { reason }),
    before: { status: grant?.status ?? "pending" },
    after: { status: grant === null ? "none" : "revoked", sessions: open, ...gone },
    permission: authorizationPermissions.revoke,
  });
  deps.events.emit(tx, { type: "authorization.revoked", data: { user_id: userId } });
  if (isNoted && grant !== null) await deps.erasures.note(tx, "revocation", userId);
}

function nothingToRevoke(from: string): ProblemError {
  return new ProblemError("invalid_transition", {
    detail: say("authorization.the-person-has-no-grant-and-no"),
    extra: { from, action: "revoke", allowed: [] },
  });
}

export interface EndDeps {
  store: GrantsStore;
  revocations: Revocations;
  consentEnds: Pick<ConsentEnds, "end">;
  servers: Pick<UserServersService, "store">;
  matches: Pick<MatchesService, "recomputeUser">;
}

/**
 * End a grant permanently: its tokens, its servers, what they matched and what rests on it go in this transaction, and Discord is owed the end of it.
 * @returns how many servers and matches went; null when the grant is not the one that was read any more
 */
export async function endGrant(
  tx: Tx,
  { store, revocations, consentEnds, servers, matches }: EndDeps,
  grant: Authorization,
  status: "expired" | "revoked",
): Promise<{ servers: number; matches: number } | null> {
  const { userId } = grant;
  const tokens = store.open(grant);
  if (!(await store.end(tx, grant, status))) return null;
  await consentEnds.end(tx, { userId });
  const forgotten = await servers.store(tx, userId, null);
  const changes = await matches.recomputeUser(tx, userId);
  // Nothing but the refresh token is sure to be alive: access tokens end after seven days.
  if (tokens !== null) await revocations.owe(tx, userId, tokens.refreshToken);
  return { servers: forgotten.removed, matches: changes.removed };
}
