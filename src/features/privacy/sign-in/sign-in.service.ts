import type { Deps } from "../../deps.ts";
import { createHash } from "node:crypto";
import type { Tx } from "../../../database/database.ts";
import { OAuthRefusal, type DiscordOAuth } from "../../../discord/oauth.ts";
import type { Call } from "../../../kernel/call.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import { Snowflake } from "../../../kernel/fields.ts";
import { hashToken, randomToken, sealedIn, type Keyring } from "../../../kernel/secrets.ts";
import { uuid7 } from "../../../kernel/ids.ts";
import { cookieName, cookieText } from "../../../pages/cookie.ts";
import { stateIn, type Language } from "../../../pages/language.ts";

export type SignInService = ReturnType<typeof createSignIn>;

export interface SignInDeps extends Deps<"database" | "keyring" | "clock"> {
  oauth: DiscordOAuth;
  publicUrl: () => string;
  /** The most sign-ins kept at once; where there are more, the oldest go, unfinished ones first. */
  capacity?: number;
}

/** How signing in can end. */
export type SignInEnding = "declined" | "other-browser" | "discord-unreachable" | "failed";

/** Where the browser goes next, below the pages' prefix, and the `Set-Cookie` texts it takes along. */
export interface SignInStep {
  path: string;
  cookies: string[];
}

/** Discord's answer as the browser brought it. */
export interface SignInReturn {
  state: string;
  /** The address with its whole query. */
  url: URL;
  cookies: Cookies;
}

type Cookies = Readonly<Record<string, string>>;

const name = "privacy";
/** States of sign-ins begin with this, so that the one registered address can tell them from those of authorizations. */
const statePrefix = "p.";
const maxKept = 10_000;

/** Signing in with Discord at the privacy page, for a short while. Nothing of Discord's answer is kept but the person's id. */
export function createSignIn({ database, oauth, keyring, clock, publicUrl, capacity = maxKept }: SignInDeps) {
  const redirectUri = (): string => `${publicUrl()}/authorize/callback`;
  const cookieHashOf = (cookies: Cookies): string | undefined => {
    const value = cookies[cookieName({ publicUrl }, name)];
    return value === undefined ? undefined : hashToken(value);
  };
  /** A `Set-Cookie` that gives the cookie of the privacy page to the browser, or takes it away where the value is null. */
  const setCookie = (value: string | null, seconds: number): string => cookieText({ publicUrl }, name, value, seconds);

  return {
    /** Whether a state of Discord's answer is one of this service. */
    owns: (state: string): boolean => state.startsWith(statePrefix),

    /**
     * The person goes to Discord to say who they are. An earlier sign-in of this browser ends.
     * @param language of the page, where the person chose it
     */
    async start(call: Call, cookies: Cookies, language?: Language): Promise<{ redirectTo: string; cookies: string[] }> {
      const [state, cookie, verifier] = [stateIn(language, `${statePrefix}${randomToken()}`), randomToken(), randomToken()];
      const earlier = cookieHashOf(cookies);
      await database.write(call, async (tx) => {
        if (earlier !== undefined) await tx.db.privacySession.deleteMany({ where: { cookieHash: earlier } });
        await makeRoom(tx, capacity);
        await keepSignIn(tx, { state, cookie, verifier }, keyring);
      });
      const codeChallenge = createHash("sha256").update(verifier).digest("base64url");
      const redirectTo = oauth.authorizeUrl({ state, codeChallenge, scopes: ["identify"], redirectUri: redirectUri() });
      return { redirectTo, cookies: [setCookie(cookie, wayToDiscordSeconds)] };
    },

    /**
     * The person comes back from Discord. A state counts once, in the browser it was given to; the signed-in browser gets a
     * new cookie. The token is dropped and not ended: that would end what the person has authorized besides.
     */
    async finish(call: Call, { state, url, cookies }: SignInReturn): Promise<SignInStep> {
      const taken = await database.write(call, (tx) => takeState(tx, state, cookieHashOf(cookies), keyring));
      if (typeof taken === "string") return { path: `/privacy/result/${taken}`, cookies: [] };
      const ended = { cookies: [setCookie(null, 0)] };
      try {
        const exchange = { callbackUrl: url, expectedState: state, codeVerifier: taken.verifier, redirectUri: redirectUri() };
        const { accessToken } = await oauth.exchange(exchange);
        const userId = Snowflake.safeParse((await oauth.me(accessToken)).id);
        if (!userId.success) return { path: "/privacy/result/failed", ...ended };
        const cookie = randomToken();
        await database.write(call, (tx) => storePerson(tx, taken.id, userId.data, cookie));
        return { path: "/privacy", cookies: [setCookie(cookie, signInSeconds)] };
      } catch (error) {
        return { path: `/privacy/result/${endingOf(error)}`, ...ended };
      }
    },

    /** Who is signed in at this browser; undefined for nobody. */
    async who(cookies: Cookies): Promise<string | undefined> {
      const cookieHash = cookieHashOf(cookies);
      if (cookieHash === undefined) return undefined;
      const session = await database.read.privacySession.findUnique({ where: { cookieHash } });
      return session !== null && session.expiresAt > clock.now() ? (session.userId ?? undefined) : undefined;
    },

    /** The person leaves. @returns the `Set-Cookie` that takes the cookie away */
    async end(call: Call, cookies: Cookies): Promise<string> {
      const cookieHash = cookieHashOf(cookies);
      if (cookieHash !== undefined) await database.write(call, (tx) => tx.db.privacySession.deleteMany({ where: { cookieHash } }));
      return setCookie(null, 0);
    },

    /** For the job that runs each minute: forget what is over. @returns how many */
    async sweep(call: Call): Promise<number> {
      const where = { expiresAt: { lte: clock.now() } };
      if ((await database.read.privacySession.findFirst({ where, select: { id: true } })) === null) return 0;
      return database.write(call, async (tx) => (await tx.db.privacySession.deleteMany({ where })).count);
    },
  };
}

/** @throws what is neither Discord's refusal nor a known problem */
function endingOf(error: unknown): SignInEnding {
  if (error instanceof OAuthRefusal) return error.code === "access_denied" ? "declined" : "failed";
  if (!(error instanceof ProblemError)) throw error;
  return error.code === "discord_unavailable" ? "discord-unreachable" : "failed";
}

/** Remember a sign-in that begins: hashes, and the verifier encrypted. */
export async function keepSignIn(
  { db, now }: Tx,
  { state, cookie, verifier }: Record<"state" | "cookie" | "verifier", string>,
  keyring: Keyring,
): Promise<void> {
  const id = uuid7(now.getTime());
  await db.privacySession.create({
    data: {
      id,
      stateHash: hashToken(state),
      cookieHash: hashToken(cookie),
      verifier: keyring.encrypt(verifier, sealedIn.privacyVerifier(id)),
      createdAt: now,
      expiresAt: addSeconds(now, wayToDiscordSeconds),
    },
  });
}

/** Use up a state. It counts once, in time, in the browser it was given to; a foreign browser does not use it up. */
export async function takeState(
  { db, now }: Tx,
  state: string,
  cookieHash: string | undefined,
  keyring: Keyring,
): Promise<{ id: string; verifier: string } | "failed" | "other-browser"> {
  const session = await db.privacySession.findUnique({ where: { stateHash: hashToken(state) } });
  if (session === null || session.expiresAt <= now || session.verifier === null) return "failed";
  if (session.cookieHash !== cookieHash) return "other-browser";
  const { id, verifier } = session;
  const { count } = await db.privacySession.updateMany({ where: { id, verifier }, data: { verifier: null, stateHash: null } });
  return count === 0 ? "failed" : { id, verifier: keyring.decrypt(verifier, sealedIn.privacyVerifier(id)) };
}

/** The row may have been swept away while Discord was asked; then nobody is signed in by it. */
export async function storePerson({ db, now }: Tx, id: string, userId: string, cookie: string): Promise<void> {
  const data = { userId, cookieHash: hashToken(cookie), expiresAt: addSeconds(now, signInSeconds) };
  await db.privacySession.updateMany({ where: { id }, data });
}

/** Forget the oldest sign-ins, unfinished ones first, until one more fits. */
export async function makeRoom({ db }: Tx, capacity: number): Promise<void> {
  const over = (await db.privacySession.count()) - capacity + 1;
  if (over <= 0) return;
  const oldestFirst = { createdAt: "asc" } as const;
  const unfinished = await db.privacySession.findMany({ where: { userId: null }, orderBy: oldestFirst, take: over, select: { id: true } });
  const chosen = unfinished.length > 0 ? unfinished : await db.privacySession.findMany({ orderBy: oldestFirst, take: over });
  await db.privacySession.deleteMany({ where: { id: { in: chosen.map(({ id }) => id) } } });
}

/** How long a sign-in lasts. */
export const signInSeconds = 900;
/** How long the way to Discord and back may take. */
export const wayToDiscordSeconds = 900;
