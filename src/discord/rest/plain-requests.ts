import { say } from "../../kit/say.ts";
import { AuthorizationResponseError, OperationProcessingError, ResponseBodyError, WWWAuthenticateChallengeError } from "oauth4webapi";
import { z, type ZodType } from "zod";
import { shownText } from "../../kernel/foreign.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { unavailable } from "./errors.ts";
import { userAgent } from "./rest.ts";

type OAuthRefusalCode = "invalid_grant" | "access_denied" | "state_invalid" | "token_rejected" | "scope_missing" | "discord_error";

/** A refusal by Discord or by the person. It never holds a token or a code. */
export class OAuthRefusal extends Error {
  override name = "OAuthRefusal";
  readonly code: OAuthRefusalCode;
  /** Whether Discord refuses the application and not the person. */
  readonly isOfClient: boolean;

  constructor(code: OAuthRefusalCode, message: string, isOfClient = false) {
    super(message);
    this.code = code;
    this.isOfClient = isOfClient;
  }
}

const deadlineMs = 10_000;

/** A signal that ends a request after 10 s. */
export function deadline(): AbortSignal {
  return AbortSignal.timeout(deadlineMs);
}

/**
 * Make a request and pass on answers below 500.
 * @throws ProblemError discord_unavailable when there is no answer, or one of 429 or 5xx
 */
export async function fetchAnswer(request: () => Promise<Response>): Promise<Response> {
  let response: Response;
  try {
    response = await request();
  } catch (error) {
    throw unavailable(5000, error);
  }
  if (response.status !== 429 && response.status < 500) return response;
  await response.body?.cancel();
  const seconds = Number(response.headers.get("retry-after"));
  throw unavailable(seconds > 0 ? seconds * 1000 : 5000);
}

/** Why an authorization response or a token answer was not accepted, without anything secret. */
export function toRefusal(error: unknown): OAuthRefusal | ProblemError {
  if (error instanceof OAuthRefusal || error instanceof ProblemError) return error;
  if (error instanceof AuthorizationResponseError) return ofAuthorization(error.error);
  if (error instanceof ResponseBodyError) return ofToken(error.error);
  if (error instanceof WWWAuthenticateChallengeError) return badClient();
  if (error instanceof OperationProcessingError)
    return new OAuthRefusal("discord_error", say("discord.discords-answer-was-not-understood"));
  return unavailable(5000, error);
}

function ofAuthorization(error: string): OAuthRefusal {
  if (error === "access_denied") return new OAuthRefusal("access_denied", say("discord.the-person-declined"));
  if (error === "invalid_scope") return new OAuthRefusal("scope_missing", say("discord.discord-does-not-know-the-scopes-asked"));
  return new OAuthRefusal("discord_error", say("discord.discord-ended-the-authorization-with-an-error"));
}

function ofToken(error: string): OAuthRefusal {
  if (error === "invalid_grant") return new OAuthRefusal("invalid_grant", say("discord.the-grant-has-ended-or-was-used"));
  if (error === "invalid_client" || error === "unauthorized_client") return badClient();
  if (error === "invalid_scope") return new OAuthRefusal("scope_missing", say("discord.discord-does-not-grant-the-scopes-asked"));
  return new OAuthRefusal("discord_error", say("discord.discord-refused-the-token-request"));
}

/** Discord does not take the id or the secret of the application. */
export function badClient(): OAuthRefusal {
  return new OAuthRefusal("discord_error", say("discord.discord-refused-the-applications-id-or-secret"), true);
}

/**
 * Read an answer to a call with a user's token.
 * @throws OAuthRefusal token_rejected, scope_missing, discord_error
 */
export async function readAs<T>(schema: ZodType<T>, response: Response): Promise<T> {
  if (response.status === 401) throw new OAuthRefusal("token_rejected", say("discord.discord-did-not-accept-the-persons-token"));
  if (response.status === 403) throw new OAuthRefusal("scope_missing", say("discord.the-person-did-not-allow-this"));
  const parsed = schema.safeParse(response.ok ? await response.json().catch(() => undefined) : undefined);
  if (!parsed.success) throw new OAuthRefusal("discord_error", say("discord.discords-answer-was-not-understood"));
  return parsed.data;
}

/**
 * The issuer that an authorization response has to name, if it names one: from the metadata at the origin, or else the origin itself.
 * @throws ProblemError discord_unavailable
 */
export async function fetchIssuer(origin: string): Promise<string> {
  const response = await fetchAnswer(async () =>
    fetch(`${origin}/.well-known/oauth-authorization-server`, {
      headers: { "user-agent": await userAgent() },
      signal: deadline(),
      redirect: "manual",
    }),
  );
  if (!response.ok) return origin;
  const metadata = Metadata.safeParse(await response.json().catch(() => undefined));
  return metadata.success ? metadata.data.issuer : origin;
}

const Metadata = z.object({ issuer: z.string() });

const GuildInvite = z.object({ type: z.literal(0), guild: z.object({ id: z.string(), name: shownText }) });
/** An invite to a group of direct messages, or to a friend. */
const OtherInvite = z.object({ type: z.union([z.literal(1), z.literal(2)]) });
const Invite = z.union([GuildInvite, OtherInvite]);

/** Discord's answers to an unknown invite code, and to a malformed one. */
const nowhere = new Set([400, 404]);

/**
 * Look up the server of an invite, without credentials; null if the invite is not valid or leads to no server.
 * The look-up throws ProblemError discord_unavailable without a usable answer, discord_error for an answer that cannot be read.
 * @param apiBase with the `/api` part and without a slash at the end
 */
export function readInvite(apiBase: string): (code: string) => Promise<{ serverId: string; name: string } | null> {
  return async (code) => {
    const address = `${apiBase}/v10/invites/${encodeURIComponent(code)}`;
    const response = await fetchAnswer(async () =>
      fetch(address, { headers: { "user-agent": await userAgent() }, signal: deadline(), redirect: "manual" }),
    );
    if (response.status !== 200) {
      await response.body?.cancel();
      if (nowhere.has(response.status)) return null;
      throw unavailable(5000);
    }
    const invite = Invite.safeParse(parsed(await response.text().catch((error: unknown) => Promise.reject(unavailable(5000, error)))));
    if (!invite.success) throw new ProblemError("discord_error", { detail: say("discord.discords-answer-was-not-understood") });
    return invite.data.type === 0 ? { serverId: invite.data.guild.id, name: invite.data.guild.name } : null;
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
