import type { Deps } from "../../deps.ts";
import { createHash, timingSafeEqual } from "node:crypto";
import type { Tx } from "../../../database/database.ts";
import { OAuthRefusal, type DiscordOAuth } from "../../../discord/oauth.ts";
import type { Call } from "../../../kernel/call.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import { Snowflake } from "../../../kernel/fields.ts";
import { hashToken, keyedHash, randomToken, sealedIn, type Keyring } from "../../../kernel/secrets.ts";
import { uuid7 } from "../../../kernel/ids.ts";
import { cookieName, cookieText } from "../../../pages/cookie.ts";
import { stateIn, type Language } from "../../../pages/language.ts";

export interface SignInService {
  /** Whether a state of Discord's answer is one of this service. */
  owns(state: string): boolean;
  /**
   * The person goes to Discord to say who they are. An earlier sign-in of this browser ends.
   * @param language of the page, where the person chose it
   * @param about what the person came for, as they named it
   */
  start(
    call: Call,
    cookies: Cookies,
    language?: Language,
    about?: string | null,
  ): Promise<{
    redirectTo: string;
    cookies: string[];
  }>;
  /**
   * The person comes back from Discord. A state counts once, in the browser it was given to; the signed-in browser gets a
   * new cookie. The token is dropped and not ended: that would end what the person has authorized besides.
   */
  finish(call: Call, given: SignInReturn): Promise<SignInStep>;
  /** Who is signed in at this browser; undefined for nobody. */
  who(cookies: Cookies): Promise<string | undefined>;
  /** What forms of this browser bring along: another site knows it as little as the cookie, of which it is made. */
  formToken(cookies: Cookies): string;
  /** Whether a form brings what {@link formToken} gave to this browser. */
  isFormToken(cookies: Cookies, given: string | undefined): boolean;
  /** The person leaves. @returns the `Set-Cookie` that takes the cookie away */
  end(call: Call, cookies: Cookies): Promise<string>;
  /** For the job that runs each minute: forget what is over. @returns how many */
  sweep(call: Call): Promise<number>;
}

/** The pages people sign in at, each for itself: signed in at one, they are nobody at the other. */
export type SignInPage = "privacy" | "appeal";

interface Gate {
  /** States of its sign-ins begin with this, so that the one registered address can tell them from others. */
  statePrefix: string;
  /** How long a sign-in lasts, in seconds. */
  seconds: number;
  /** Where somebody goes who signed in. @param about what they came for */
  home(about: string | null): string;
}

export interface SignInDeps extends Deps<"database" | "keyring" | "clock"> {
  page?: SignInPage;
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

const maxKept = 10_000;
/** How long the way to Discord and back may take. */
export const wayToDiscordSeconds = 900;

/** How long each page's sign-in lasts: an appeal takes time to write. */
export const signInSeconds = { privacy: 900, appeal: 3600 } as const satisfies Record<SignInPage, number>;

const gates: Readonly<Record<SignInPage, Gate>> = {
  privacy: { statePrefix: "p.", seconds: signInSeconds.privacy, home: () => "/privacy" },
  appeal: {
    statePrefix: "a.",
    seconds: signInSeconds.appeal,
    home: (about) => (about === null ? "/appeal" : `/appeal/decision/${encodeURIComponent(about)}`),
  },
};

/** Signing in with Discord at a page, for a short while. Nothing of Discord's answer is kept but the person's id. */
export function createSignIn({
  database,
  oauth,
  keyring,
  clock,
  publicUrl,
  page = "privacy",
  capacity = maxKept,
}: SignInDeps): SignInService {
  const { statePrefix, seconds, home } = gates[page];
  const redirectUri = (): string => `${publicUrl()}/authorize/callback`;
  const cookieOf = (cookies: Cookies): string | undefined => cookies[cookieName({ publicUrl }, page)];
  const cookieHashOf = (cookies: Cookies): string | undefined => {
    const value = cookieOf(cookies);
    return value === undefined ? undefined : hashToken(value);
  };
  /** A `Set-Cookie` that gives the cookie of the page to the browser, or takes it away where the value is null. */
  const setCookie = (value: string | null, lasts: number): string => cookieText({ publicUrl }, page, value, lasts);

  return {
    owns: (state: string): boolean => state.startsWith(statePrefix),

    async start(
      call: Call,
      cookies: Cookies,
      language?: Language,
      about: string | null = null,
    ): Promise<{ redirectTo: string; cookies: string[] }> {
      const [state, cookie, verifier] = [stateIn(language, `${statePrefix}${randomToken()}`), randomToken(), randomToken()];
      const earlier = cookieHashOf(cookies);
      await database.write(call, async (tx) => {
        if (earlier !== undefined) await tx.db.privacySession.deleteMany({ where: { page, cookieHash: earlier } });
        await makeRoom(tx, page, capacity);
        await keepSignIn(tx, { page, about, state, cookie, verifier }, keyring);
      });
      const codeChallenge = createHash("sha256").update(verifier).digest("base64url");
      const redirectTo = oauth.authorizeUrl({ state, codeChallenge, scopes: ["identify"], redirectUri: redirectUri() });
      return { redirectTo, cookies: [setCookie(cookie, wayToDiscordSeconds)] };
    },

    async finish(call: Call, { state, url, cookies }: SignInReturn): Promise<SignInStep> {
      const taken = await database.write(call, (tx) => takeState(tx, { page, state, cookieHash: cookieHashOf(cookies) }, keyring));
      if (typeof taken === "string") return { path: `/${page}/result/${taken}`, cookies: [] };
      const ended = { cookies: [setCookie(null, 0)] };
      try {
        const exchange = { callbackUrl: url, expectedState: state, codeVerifier: taken.verifier, redirectUri: redirectUri() };
        const { accessToken } = await oauth.exchange(exchange);
        const userId = Snowflake.safeParse((await oauth.me(accessToken)).id);
        if (!userId.success) return { path: `/${page}/result/failed`, ...ended };
        const cookie = randomToken();
        await database.write(call, (tx) => storePerson(tx, taken.id, { userId: userId.data, cookie, seconds }));
        return { path: home(taken.about), cookies: [setCookie(cookie, seconds)] };
      } catch (error) {
        return { path: `/${page}/result/${endingOf(error)}`, ...ended };
      }
    },

    async who(cookies: Cookies): Promise<string | undefined> {
      const cookieHash = cookieHashOf(cookies);
      if (cookieHash === undefined) return undefined;
      const session = await database.read.privacySession.findUnique({ where: { cookieHash } });
      return session?.page === page && session.expiresAt > clock.now() ? (session.userId ?? undefined) : undefined;
    },

    formToken: (cookies: Cookies): string => keyedHash(Buffer.from(cookieOf(cookies) ?? ""), "form"),

    isFormToken(cookies: Cookies, given: string | undefined): boolean {
      const token = Buffer.from(this.formToken(cookies));
      const sent = Buffer.from(given ?? "");
      return cookieOf(cookies) !== undefined && sent.length === token.length && timingSafeEqual(sent, token);
    },

    async end(call: Call, cookies: Cookies): Promise<string> {
      const cookieHash = cookieHashOf(cookies);
      if (cookieHash !== undefined) await database.write(call, (tx) => tx.db.privacySession.deleteMany({ where: { page, cookieHash } }));
      return setCookie(null, 0);
    },

    async sweep(call: Call): Promise<number> {
      const where = { page, expiresAt: { lte: clock.now() } };
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
  { page, about, state, cookie, verifier }: Record<"state" | "cookie" | "verifier", string> & { page: SignInPage; about: string | null },
  keyring: Keyring,
): Promise<void> {
  const id = uuid7(now.getTime());
  await db.privacySession.create({
    data: {
      id,
      page,
      about,
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
  { page, state, cookieHash }: { page: SignInPage; state: string; cookieHash: string | undefined },
  keyring: Keyring,
): Promise<{ id: string; about: string | null; verifier: string } | "failed" | "other-browser"> {
  const session = await db.privacySession.findUnique({ where: { stateHash: hashToken(state) } });
  if (session?.page !== page || session.expiresAt <= now || session.verifier === null) return "failed";
  if (session.cookieHash !== cookieHash) return "other-browser";
  const { id, about, verifier } = session;
  const { count } = await db.privacySession.updateMany({ where: { id, verifier }, data: { verifier: null, stateHash: null } });
  return count === 0 ? "failed" : { id, about, verifier: keyring.decrypt(verifier, sealedIn.privacyVerifier(id)) };
}

/** The row may have been swept away while Discord was asked; then nobody is signed in by it. */
export async function storePerson(
  { db, now }: Tx,
  id: string,
  { userId, cookie, seconds }: { userId: string; cookie: string; seconds: number },
): Promise<void> {
  const data = { userId, about: null, cookieHash: hashToken(cookie), expiresAt: addSeconds(now, seconds) };
  await db.privacySession.updateMany({ where: { id }, data });
}

/** Forget the oldest sign-ins, unfinished ones first, until one more fits. */
export async function makeRoom({ db }: Tx, page: SignInPage, capacity: number): Promise<void> {
  const over = (await db.privacySession.count({ where: { page } })) - capacity + 1;
  if (over <= 0) return;
  const oldestFirst = { createdAt: "asc" } as const;
  const unfinished = await db.privacySession.findMany({
    where: { page, userId: null },
    orderBy: oldestFirst,
    take: over,
    select: { id: true },
  });
  const chosen =
    unfinished.length > 0 ? unfinished : await db.privacySession.findMany({ where: { page }, orderBy: oldestFirst, take: over });
  await db.privacySession.deleteMany({ where: { id: { in: chosen.map(({ id }) => id) } } });
}
