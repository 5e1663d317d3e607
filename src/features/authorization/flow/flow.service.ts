import { createHash } from "node:crypto";
import type { AuthorizationSession } from "../../../generated/sqlite/client.ts";
import { sealedIn, hashToken, randomToken } from "../../../kernel/secrets.ts";
import { textsOf } from "../../../kernel/parsing.ts";
import { webCall } from "../../../kernel/call.ts";
import { stateIn, type Language } from "../../../pages/language.ts";
import { endingOf, type Ending, endingOfFailure } from "../endings/endings.ts";
import type { Deps } from "../../deps.ts";
import type { Tx } from "../../../database/database.ts";
import { OAuthRefusal, type DiscordOAuth, type UserTokens } from "../../../discord/oauth.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import type { MatchesService } from "../../intelligence/matches/matches.service.ts";
import type { SeenServer, UserServersService } from "../../intelligence/user-servers/user-servers.service.ts";
import { leastDetail } from "../authorization.policy.ts";
import type { ServerDetail, SessionFailure } from "../authorization.schema.ts";
import { readAccount, readServers } from "../discord-answers.ts";
import { lockGrant, type GrantsStore } from "../grants/store.ts";
import type { Revocations } from "../revocations.ts";
import { endSession } from "../sessions/end.ts";

interface FlowDeps extends Deps<"database" | "audit" | "events" | "keyring"> {
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
async function useTokens(deps: FlowDeps, session: AuthorizationSession, tokens: UserTokens, requestId: string): Promise<Ending> {
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
async function endByError(deps: FlowDeps, session: AuthorizationSession, error: unknown, requestId: string): Promise<Ending> {
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

/** What a browser carries to Discord and back. */
export interface Started {
  redirectTo: string;
  sessionId: string;
  /** For the browser alone; its hash is stored. */
  cookie: string;
}

/** Discord's answer as the browser brought it. */
export interface Returned {
  state: string | undefined;
  /** The address with its whole query. */
  url: URL;
  /** The cookie given to the browser for a session, if it still has it. */
  cookieOf: (sessionId: string) => string | undefined;
  requestId: string;
}

export interface FlowService {
  /**
   * The person agrees on our page and goes on to Discord. Starting again replaces the earlier state.
   * @param language of the page, where the person chose it
   */
  start(token: string, requestId: string, language?: Language): Promise<Started | { ending: Ending }>;
  /** The person comes back from Discord. Discord is asked outside any transaction; one transaction stores everything. */
  finish(returned: Returned): Promise<Finished>;
}

/** How a way back ended, and what is known of its session. */
export interface Finished {
  ending: Ending;
  sessionId?: string;
  /** Name of the address the last page can lead back to. */
  returnTo?: string;
}

export function createFlowService(deps: FlowDeps): FlowService {
  const { database, oauth, keyring, publicUrl } = deps;
  const redirectUri = (): string => `${publicUrl()}/authorize/callback`;

  return {
    start(token, requestId, language) {
      const [state, cookie, verifier] = [stateIn(language, randomToken()), randomToken(), randomToken()];
      return database.write(webCall(requestId), async (tx) => {
        const session = await tx.db.authorizationSession.findUnique({ where: { tokenHash: hashToken(token) } });
        const ending = endingOf(session, tx.now);
        if (session === null || ending !== undefined) return { ending: ending ?? "expired" };
        const { count } = await tx.db.authorizationSession.updateMany({
          where: { id: session.id, status: { in: ["pending", "opened"] } },
          data: {
            status: "opened",
            openedAt: session.openedAt ?? tx.now,
            stateHash: hashToken(state),
            cookieHash: hashToken(cookie),
            verifier: keyring.encrypt(verifier, sealedIn.sessionVerifier(session.id)),
          },
        });
        if (count === 0) return { ending: "used" as const };
        const codeChallenge = createHash("sha256").update(verifier).digest("base64url");
        const redirectTo = oauth.authorizeUrl({ state, codeChallenge, scopes: textsOf(session.scopes), redirectUri: redirectUri() });
        return { redirectTo, sessionId: session.id, cookie };
      });
    },

    async finish(returned) {
      const taken = await takeState(deps, returned);
      if ("ending" in taken) return taken;
      const { session, verifier, state } = taken;
      try {
        const tokens = await oauth.exchange({
          callbackUrl: returned.url,
          expectedState: state,
          codeVerifier: verifier,
          redirectUri: redirectUri(),
        });
        return finished(await useTokens(deps, session, tokens, returned.requestId), session);
      } catch (error) {
        return finished(await endByError(deps, session, error, returned.requestId), session);
      }
    },
  };
}

function finished(ending: Ending, { id, returnTo }: AuthorizationSession): Finished {
  return { ending, sessionId: id, ...(returnTo !== null && { returnTo }) };
}

type Taken = { session: AuthorizationSession; verifier: string; state: string } | Finished;

/** A state counts once, for one session, in the browser it was given to. A foreign browser does not use it up. */
function takeState({ database, keyring }: FlowDeps, { state, cookieOf, requestId }: Returned): Promise<Taken> {
  if (state === undefined) return Promise.resolve({ ending: "failed" });
  return database.write(webCall(requestId), async (tx): Promise<Taken> => {
    const session = await tx.db.authorizationSession.findUnique({ where: { stateHash: hashToken(state) } });
    if (session === null) return { ending: "failed" };
    const ending = endingOf(session, tx.now);
    if (ending !== undefined) return { ending };
    const { verifier } = session;
    if (verifier === null) return { ending: "used" };
    const cookie = cookieOf(session.id);
    if (cookie === undefined || hashToken(cookie) !== session.cookieHash) return { ending: "other-browser" };
    const { count } = await tx.db.authorizationSession.updateMany({
      where: { id: session.id, stateHash: session.stateHash, status: "opened", verifier: { not: null } },
      data: { verifier: null },
    });
    return count === 0 ? { ending: "used" } : { session, verifier: keyring.decrypt(verifier, sealedIn.sessionVerifier(session.id)), state };
  });
}
