import type { Deps } from "../../deps.ts";
import type { Tx } from "../../../database/database.ts";
import { OAuthRefusal, type DiscordOAuth, type UserTokens } from "../../../discord/oauth.ts";
import type { AuthorizationSession } from "../../../generated/sqlite/client.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import { textsOf } from "../../../kernel/parsing.ts";
import type { MatchesService } from "../../intelligence/matches/matches.service.ts";
import type { SeenServer, UserServersService } from "../../intelligence/user-servers/user-servers.service.ts";
import { webCall } from "../../../kernel/call.ts";
import { leastDetail } from "../authorization.policy.ts";
import type { ServerDetail, SessionFailure } from "../authorization.schema.ts";
import { readAccount, readServers } from "../discord-answers.ts";
import { endingOf, endingOfFailure, type Ending } from "../endings/endings.ts";
import { lockGrant, type GrantsStore } from "../grants/store.ts";
import type { Revocations } from "../revocations.ts";
import { endSession } from "../sessions/end.ts";

export interface FlowDeps extends Deps<"database" | "audit" | "events" | "keyring"> {
  revocations: Revocations;
  oauth: DiscordOAuth;
  store: GrantsStore;
  servers: Pick<UserServersService, "store">;
  matches: Pick<MatchesService, "recomputeUser">;
  serverDetail: ServerDetail;
  publicUrl: () => string;
}

/**
 * Check whose tokens these are and store what they open. From here on there are tokens: whatever goes wrong, Discord is told to end them.
 * @throws what {@link endByError} takes
 */
export async function useTokens(deps: FlowDeps, session: AuthorizationSession, tokens: UserTokens, requestId: string): Promise<Ending> {
  const { oauth, database } = deps;
  let account: string | null = null;
  let isKept = false;
  try {
    account = await readAccount(oauth, tokens.accessToken);
    if (account !== session.userId) return await fail(deps, session, "wrong_account", requestId);
    if (!textsOf(session.scopes).every((scope) => tokens.scopes.includes(scope)))
      return await fail(deps, session, "scope_missing", requestId);
    const seen = await readServers(oauth, tokens);
    const ending = await database.write(webCall(requestId, session.userId), (tx) => storeGrant(tx, deps, session, tokens, seen));
    isKept = ending === "done";
    return ending;
  } finally {
    // Whose tokens these are is unknown where Discord did not say: then they are taken for the person's own.
    const isForeign = account !== null && account !== session.userId;
    if (!isKept && isForeign) await endForeign(deps, account ?? "", tokens.accessToken);
    else if (!isKept) await deps.revocations.end(webCall(requestId), session.userId, tokens.refreshToken);
  }
}

/** Grant, servers, matches, session and audit stand or fall together. */
async function storeGrant(
  tx: Tx,
  deps: FlowDeps,
  session: AuthorizationSession,
  tokens: UserTokens,
  seen: readonly SeenServer[],
): Promise<Ending> {
  await lockGrant(tx, session.userId);
  const { count } = await tx.db.authorizationSession.updateMany({
    where: { id: session.id, status: "opened" },
    data: { status: "authorized", endedAt: tx.now, verifier: null },
  });
  if (count === 0) {
    const ended = await tx.db.authorizationSession.findUnique({ where: { id: session.id } });
    // Ending these tokens would end the grant that another tab of the same person has just given.
    return ended?.status === "authorized" ? "done" : (endingOf(ended, tx.now) ?? "used");
  }
  await deps.store.save(tx, session, tokens);
  await deps.revocations.forget(tx, session.userId);
  const servers = await deps.servers.store(
    tx,
    session.userId,
    tokens.scopes.includes("guilds") ? seen : null,
    leastDetail(session.detail, deps.serverDetail),
  );
  const matches = await deps.matches.recomputeUser(tx, session.userId);
  deps.audit.record(tx, {
    action: "authorization.grant",
    target: { kind: "authorization", id: session.userId },
    subjectUserId: session.userId,
    after: {
      session_id: session.id,
      purpose: session.purpose,
      scopes: [...tokens.scopes],
      detail: session.detail,
      servers,
      matches,
    },
  });
  deps.events.emit(tx, { type: "authorization.granted", data: { user_id: session.userId, session_id: session.id } });
  return "done";
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

async function decline(deps: FlowDeps, session: AuthorizationSession, requestId: string): Promise<Ending> {
  await deps.database.write(webCall(requestId), (tx) => endSession(tx, deps, session, { status: "declined" }));
  return "declined";
}

async function fail(deps: FlowDeps, session: AuthorizationSession, failure: SessionFailure, requestId: string): Promise<Ending> {
  await deps.database.write(webCall(requestId), (tx) => endSession(tx, deps, session, { status: "failed", failure }));
  return endingOfFailure(failure);
}

/**
 * Ending the tokens of an account that was not asked is a courtesy: Discord being down must not change the page. Where the account
 * has granted access itself it would end that, too.
 */
async function endForeign({ database, oauth }: FlowDeps, account: string, accessToken: string): Promise<void> {
  if ((await database.read.authorization.count({ where: { userId: account, status: "active" } })) > 0) return;
  try {
    await oauth.revoke(accessToken);
  } catch (error) {
    if (!(error instanceof ProblemError) && !(error instanceof OAuthRefusal)) throw error;
  }
}
