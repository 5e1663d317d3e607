import { say } from "../kit/say.ts";
import {
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  type AuthorizationServer,
  clientCredentialsGrantRequest,
  ClientSecretPost,
  processAuthorizationCodeResponse,
  processClientCredentialsResponse,
  processRefreshTokenResponse,
  refreshTokenGrantRequest,
  revocationRequest,
  type TokenEndpointResponse,
  validateAuthResponse,
} from "oauth4webapi";
import type { Logger } from "pino";
import { z } from "zod";
import { addSeconds, type Clock, systemClock } from "../kernel/clock.ts";
import { shownText } from "../kernel/foreign.ts";
import { badClient, deadline, fetchAnswer, fetchIssuer, OAuthRefusal, readAs, toRefusal } from "./rest/plain-requests.ts";
import { userAgent } from "./rest/rest.ts";

/** The signed-in person: the fields that are used. */
const DiscordUser = z.object({
  id: z.string(),
  username: shownText,
  global_name: shownText.nullish().transform((name) => name ?? null),
  avatar: z
    .string()
    .nullish()
    .transform((hash) => hash ?? null),
});
type DiscordUser = z.output<typeof DiscordUser>;

/** A guild of the signed-in person. `permissions` is a bit set as decimal text. */
const PartialGuild = z.object({
  id: z.string(),
  name: shownText,
  icon: z
    .string()
    .nullish()
    .transform((hash) => hash ?? null),
  owner: z.boolean().default(false),
  permissions: z.string().default("0"),
});
type PartialGuild = z.output<typeof PartialGuild>;

export { OAuthRefusal };

export interface UserTokens {
  accessToken: string;
  refreshToken: string;
  expiresAt: Date;
  /** The granted scopes, which may be fewer than the requested ones. */
  scopes: readonly string[];
}

/** The authorization-code grant for one application. Without a usable answer of Discord every call is ProblemError discord_unavailable. */
export interface DiscordOAuth {
  /** Origin of the authorization page, for a page's `form-action`. */
  origin: string;
  authorizeUrl(p: { state: string; codeChallenge: string; scopes: readonly string[]; redirectUri: string }): string;
  /** @throws OAuthRefusal access_denied, state_invalid, invalid_grant, scope_missing, discord_error */
  exchange(p: { callbackUrl: URL; expectedState: string; codeVerifier: string; redirectUri: string }): Promise<UserTokens>;
  /** Spends the refresh token. @throws OAuthRefusal invalid_grant, discord_error */
  refresh(refreshToken: string): Promise<UserTokens>;
  /**
   * Ask for a token without a person, which Discord gives for the owner of the application, and drop it: to revoke it would end what the
   * owner has agreed to as a person. @throws OAuthRefusal discord_error, of the client where Discord does not take its id or its secret
   */
  checkClient(): Promise<void>;
  /** Ends the whole grant; a token that has ended already is no error. */
  revoke(token: string): Promise<void>;
  /** @throws OAuthRefusal token_rejected, scope_missing, discord_error */
  me(accessToken: string): Promise<DiscordUser>;
  /** At most 200 guilds. @throws OAuthRefusal token_rejected, scope_missing, discord_error */
  guilds(accessToken: string): Promise<PartialGuild[]>;
}

export interface OAuthOptions {
  /** With the `/api` part and without a slash at the end, as the configuration has checked it. */
  apiBase: string;
  clientId: string;
  clientSecret: string;
  clock?: Clock;
  logger?: Pick<Logger, "error">;
}

/** Calls with a person's token go past the bot's REST client, so that a 401 does not count against the bot's token. */
export function createDiscordOAuth({ apiBase, clientId, clientSecret, clock = systemClock, logger }: OAuthOptions): DiscordOAuth {
  const { origin } = new URL(apiBase);
  const client = { client_id: clientId };
  const authentication = ClientSecretPost(clientSecret);
  const usual = async () => ({
    [allowInsecureRequests]: apiBase.startsWith("http:"),
    headers: { "user-agent": await userAgent() },
    signal: deadline(),
  });
  let issuer: string | undefined;

  const server = async (): Promise<AuthorizationServer> => ({
    issuer: (issuer ??= await fetchIssuer(origin)),
    token_endpoint: `${apiBase}/oauth2/token`,
    revocation_endpoint: `${apiBase}/oauth2/token/revoke`,
  });

  const tokensOf = async (answer: Promise<TokenEndpointResponse>): Promise<UserTokens> => {
    const now = clock.now();
    const { access_token, refresh_token, expires_in, scope = "" } = await answer;
    if (refresh_token === undefined || expires_in === undefined)
      throw new OAuthRefusal("discord_error", say("discord.discords-answer-was-not-understood"));
    return {
      accessToken: access_token,
      refreshToken: refresh_token,
      expiresAt: addSeconds(now, expires_in),
      scopes: scope.split(" ").filter((name) => name !== ""),
    };
  };

  const validated = (as: AuthorizationServer, callbackUrl: URL, expectedState: string): URLSearchParams => {
    try {
      return validateAuthResponse(as, client, callbackUrl, expectedState);
    } catch (error) {
      const refusal = toRefusal(error);
      if (refusal instanceof OAuthRefusal && refusal.code !== "discord_error") throw refusal;
      if (callbackUrl.searchParams.get("state") === expectedState && callbackUrl.searchParams.has("error")) throw refusal;
      throw new OAuthRefusal("state_invalid", say("discord.the-answer-does-not-belong-to-this"));
    }
  };

  /** That the application itself is refused is for the operator to mend, whoever the person is. */
  const refusing = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      const refusal = toRefusal(error);
      if (refusal instanceof OAuthRefusal && refusal.isOfClient)
        logger?.error(
          { client_id: clientId },
          "Discord refuses DISCORD_CLIENT_SECRET: nobody can agree to be checked or see their own data. Copy the client secret from the OAuth2 page of the Discord developer portal into DISCORD_CLIENT_SECRET, then restart.",
        );
      throw refusal;
    }
  };

  const get = async <T>(path: string, accessToken: string, schema: z.ZodType<T>): Promise<T> => {
    const headers = { authorization: `Bearer ${accessToken}`, "user-agent": await userAgent() };
    return readAs(schema, await fetchAnswer(() => fetch(`${apiBase}/v10${path}`, { headers, signal: deadline(), redirect: "manual" })));
  };

  return {
    origin,
    authorizeUrl({ state, codeChallenge, scopes, redirectUri }) {
      const query = new URLSearchParams({
        response_type: "code",
        client_id: clientId,
        scope: scopes.join(" "),
        redirect_uri: redirectUri,
        state,
        code_challenge: codeChallenge,
        code_challenge_method: "S256",
        prompt: "consent",
      });
      return `${apiBase}/oauth2/authorize?${query.toString()}`;
    },
    exchange: ({ callbackUrl, expectedState, codeVerifier, redirectUri }) =>
      refusing(async () => {
        const as = await server();
        const parameters = validated(as, callbackUrl, expectedState);
        const options = await usual();
        const response = await fetchAnswer(() =>
          authorizationCodeGrantRequest(as, client, authentication, parameters, redirectUri, codeVerifier, options),
        );
        return tokensOf(processAuthorizationCodeResponse(as, client, response));
      }),
    refresh: (refreshToken) =>
      refusing(async () => {
        const as = await server();
        const options = await usual();
        const response = await fetchAnswer(() => refreshTokenGrantRequest(as, client, authentication, refreshToken, options));
        return tokensOf(processRefreshTokenResponse(as, client, response));
      }),
    checkClient: () =>
      refusing(async () => {
        const as = await server();
        const parameters = new URLSearchParams({ scope: "identify" });
        const options = await usual();
        const response = await fetchAnswer(() => clientCredentialsGrantRequest(as, client, authentication, parameters, options));
        await processClientCredentialsResponse(as, client, response);
      }),
    revoke: (token) =>
      refusing(async () => {
        const options = await usual();
        const as = await server();
        const response = await fetchAnswer(() => revocationRequest(as, client, authentication, token, options));
        await response.body?.cancel();
        if (response.status === 401) throw badClient();
      }),
    me: (accessToken) => get("/users/@me", accessToken, DiscordUser),
    guilds: (accessToken) => get("/users/@me/guilds?limit=200", accessToken, z.array(PartialGuild)),
  };
}
