import type { Database, Tx } from "../../database/database.ts";
import type { DiscordOAuth, UserTokens } from "../../discord/oauth.ts";
import { OAuthRefusal } from "../../discord/oauth.ts";
import type { AuthorizationSession } from "../../generated/sqlite/client.ts";
import { ProblemError } from "../../kernel/errors.ts";
import type { Keyring } from "../../kernel/secrets.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { MatchesService } from "../intelligence/matches.service.ts";
import type { SeenServer, UserServersService } from "../intelligence/user-servers.service.ts";
import { textsOf, webCall } from "./authorization.policy.ts";
import type { SessionFailure } from "./authorization.schema.ts";
import { readAccount, readServers } from "./discord-answers.ts";
import type { Ending } from "./endings.ts";
import { endingOfFailure } from "./endings.ts";
import type { GrantsStore } from "./grants.store.ts";
import { endSession } from "./sessions.service.ts";

export interface FlowDeps {
  database: Database;
  audit: Pick<AuditService, "record">;
  oauth: DiscordOAuth;
  keyring: Keyring;
  store: GrantsStore;
  servers: Pick<UserServersService, "store">;
  matches: Pick<MatchesService, "recomputeUser">;
  publicUrl: () => string;
}

/**
 * Check whose tokens these are and store what they open. From here on there are tokens: whatever goes wrong, Discord is told to end them.
 * @throws what {@link endByError} takes
 */
export async function useTokens(deps: FlowDeps, session: AuthorizationSession, tokens: UserTokens, requestId: string): Promise<Ending> {
  const { oauth, database } = deps;
  let isKept = false;
  try {
    if ((await readAccount(oauth, tokens.accessToken)) !== session.userId) return await fail(deps, session, "wrong_account", requestId);
    if (!textsOf(session.scopes).every((scope) => tokens.scopes.includes(scope)))
      return await fail(deps, session, "scope_missing", requestId);
    const seen = await readServers(oauth, tokens);
    isKept = await database.write(webCall(requestId, session.userId), (tx) => storeGrant(tx, deps, session, tokens, seen));
    return isKept ? "done" : "used";
  } finally {
    if (!isKept) await revokeQuietly(oauth, tokens.accessToken);
  }
}

/** Grant, servers, matches, session and audit stand or fall together. */
async function storeGrant(
  tx: Tx,
  deps: FlowDeps,
  session: AuthorizationSession,
  tokens: UserTokens,
  seen: readonly SeenServer[],
): Promise<boolean> {
  const { count } = await tx.db.authorizationSession.updateMany({
    where: { id: session.id, status: "opened" },
    data: { status: "authorized", endedAt: tx.now, verifier: null },
  });
  if (count === 0) {
    // Ending these tokens would end the grant that another tab of the same person has just given.
    const ended = await tx.db.authorizationSession.findUnique({ where: { id: session.id }, select: { status: true } });
    return ended?.status === "authorized";
  }
  await deps.store.save(tx, session, tokens);
  const servers = await deps.servers.store(tx, session.userId, tokens.scopes.includes("guilds") ? seen : null);
  const matches = await deps.matches.recomputeUser(tx, session.userId);
  deps.audit.record(tx, {
    action: "authorization.grant",
    target: { kind: "authorization", id: session.userId },
    subjectUserId: session.userId,
    after: { session_id: session.id, purpose: session.purpose, scopes: [...tokens.scopes], servers, matches },
  });
  return true;
}

/**
 * The ending a failure on the way back means.
 * @throws what is neither Discord's refusal nor a known problem
 */
export async function endByError(deps: FlowDeps, session: AuthorizationSession, error: unknown, requestId: string): Promise<Ending> {
  if (error instanceof OAuthRefusal) {
    if (error.code === "access_denied") return decline(deps, session, requestId);
    const failure = error.code === "scope_missing" || error.code === "state_invalid" ? error.code : "discord_error";
    return fail(deps, session, failure, requestId);
  }
  if (!(error instanceof ProblemError)) throw error;
  // The session still waits: the person can press the button again.
  return error.code === "discord_unavailable" ? "discord-unreachable" : "failed";
}

async function decline({ database, audit }: FlowDeps, session: AuthorizationSession, requestId: string): Promise<Ending> {
  await database.write(webCall(requestId), (tx) => endSession(tx, audit, session, { status: "declined" }));
  return "declined";
}

async function fail(
  { database, audit }: FlowDeps,
  session: AuthorizationSession,
  failure: SessionFailure,
  requestId: string,
): Promise<Ending> {
  await database.write(webCall(requestId), (tx) => endSession(tx, audit, session, { status: "failed", failure }));
  return endingOfFailure(failure);
}

/** Ending a grant is a courtesy where nothing was stored; Discord being down must not change the page. */
export async function revokeQuietly(oauth: DiscordOAuth, accessToken: string): Promise<void> {
  try {
    await oauth.revoke(accessToken);
  } catch (error) {
    if (!(error instanceof ProblemError) && !(error instanceof OAuthRefusal)) throw error;
  }
}
