import { createHash } from "node:crypto";
import type { AuthorizationSession } from "../../../generated/sqlite/client.ts";
import { sealedIn, hashToken, randomToken } from "../../../kernel/secrets.ts";
import { textsOf } from "../../../kernel/parsing.ts";
import { webCall } from "../../../kernel/call.ts";
import { stateIn, type Language } from "../../../pages/language.ts";
import { endingOf, type Ending } from "../endings/endings.ts";
import { endByError, useTokens, type FlowDeps } from "./finish.ts";

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
