import { can, requirePermission, requireWrite, type Call } from "../kernel/call.ts";
import { callerOf } from "../kernel/denied.ts";
import { ProblemError } from "../kernel/errors.ts";
import type { Caller } from "./caller.ts";
import { isSnowflake } from "./content.ts";
import type { DoorGround, PathParams } from "./door.ts";
import { type Exchange, header } from "./exchange.ts";
import type { RateLimiter } from "./rate-limit.ts";
import { isLimited, type Access, type RouteSpec } from "./route.ts";

const bearer = /^Bearer +(\S+) *$/i;
const expiryNoticeMs = 30 * 86_400_000;
const never = new Date(8.64e15);

/** The call of a stranger at a public door: it holds no permission at all. */
export function strangerCall(requestId: string): Call {
  return { client: null, actor: null, via: "rest", requestId, idempotency: null, replayed: false };
}

/**
 * The limit by address, then the credentials. A route without credentials is limited by address itself.
 * @throws ProblemError rate_limited or of status 401
 */
export function identify(spec: RouteSpec, limiter: RateLimiter, ground: DoorGround, exchange: Exchange): Caller | Promise<Caller> {
  const presented = presentedKey(exchange);
  if ("public" in spec.access && (spec.access.credentials !== "optional" || presented === undefined)) {
    if (isLimited(spec)) takeToken(limiter, exchange.network, exchange);
    return { call: strangerCall(exchange.requestId), client: { id: "", keyId: "", expiresAt: never } };
  }
  const failures = ground.limiters.failed_auth;
  const wait = failures.wait(exchange.network, exchange.now);
  if (wait > 0) {
    noteLimit(failures, 0, exchange);
    throw new ProblemError("rate_limited", { detail: "Too many failed attempts from this address.", retryAfter: wait });
  }
  const { requestId, remoteAddress, method, path } = exchange;
  const actingUser = actingUserOf(exchange);
  try {
    const caller = ground.authenticate({
      presented,
      actingUser,
      assertion: header(exchange, "x-acting-assertion"),
      remoteAddress,
      requestId,
      method,
      path,
      onClient: (clientId) => (exchange.caller = { clientId, actorId: null, via: "rest", requestId }),
    });
    return caller instanceof Promise ? caller.catch((error: unknown) => countFailure(failures, exchange, error)) : caller;
  } catch (error) {
    return countFailure(failures, exchange, error);
  }
}

function countFailure(failures: RateLimiter, exchange: Exchange, error: unknown): never {
  if (error instanceof ProblemError && error.status === 401) failures.take(exchange.network, exchange.now);
  throw error;
}

function presentedKey({ headers }: Exchange): string | undefined {
  const { authorization } = headers;
  if (authorization === undefined) return typeof headers["x-api-key"] === "string" ? headers["x-api-key"] : undefined;
  return authorization.startsWith("Bearer ") ? authorization.slice(7).trim() : bearer.exec(authorization)?.[1];
}

/** A malformed acting user is nobody here and refused with the rest of the content. */
function actingUserOf(exchange: Exchange): string | undefined {
  const id = header(exchange, "x-acting-user");
  return id !== undefined && isSnowflake(id) ? id : undefined;
}

/** Note who calls, for the log line and for the notice that the key ends soon. */
export function noteCaller(exchange: Exchange, { call, client }: Caller): void {
  exchange.keyId = client.keyId;
  exchange.actorId = call.actor?.id ?? "";
  if (client.id !== "") exchange.caller = callerOf(call);
  if (client.expiresAt.getTime() - exchange.now < expiryNoticeMs) {
    exchange.replyHeaders.push("X-Key-Expires-At", client.expiresAt.toISOString());
  }
}

/**
 * Take a token and say so in the headers of the answer.
 * @throws ProblemError rate_limited
 */
export function takeToken(limiter: RateLimiter, key: string, exchange: Exchange): void {
  const remaining = limiter.take(key, exchange.now);
  noteLimit(limiter, Math.max(0, remaining), exchange);
  if (remaining < 0) throw new ProblemError("rate_limited", { retryAfter: -remaining });
}

function noteLimit(limiter: RateLimiter, remaining: number, { replyHeaders }: Exchange): void {
  replyHeaders.push("RateLimit-Policy", limiter.policy, "RateLimit", limiter.describe(remaining));
}

/**
 * A check of the caller's permission, made once per route. An acting user who was named badly is nobody, and refused with the content. A path parameter that makes no permission of the catalog fails its own
 * schema right afterwards. Throws ProblemError as the kernel's `requireWrite`.
 */
export function createPermissionCheck(
  spec: RouteSpec,
  known: ReadonlySet<string>,
): (call: Call, params: PathParams, isActorMalformed: boolean) => void {
  const { access } = spec;
  if ("public" in access) return () => undefined;
  const isWrite = spec.write ?? spec.method !== "get";
  const permissionFor = permissionOf(access);
  const othersFor = (access.either ?? []).map((permission) => permissionOf({ permission }));
  return (call, params, isActorMalformed) => {
    const own = access.own === undefined ? undefined : params[access.own];
    const require = isWrite && !isActorMalformed ? requireWrite : requirePermission;
    const permission = permissionFor(params);
    const others = call.actor === null ? [] : othersFor.map((other) => other(params));
    const asked = [permission, ...others].filter((one) => known.has(one));
    const held = asked.find((one) => can(call, one));
    // Whoever holds none of them is let in by the key alone: whether it is their own matter is for the verb to find out.
    const inKey =
      held === undefined && access.personal === true && call.actor !== null ? asked.find((one) => allows(call, one)) : undefined;
    if (inKey !== undefined) require(call, inKey, { own: call.actor?.id });
    else if (known.has(permission)) require(call, held ?? permission, { own });
    if (access.also !== undefined) require(call, access.also, { own });
  };
}

const allows = ({ client }: Call, permission: string): boolean => client?.allows(permission) ?? true;

type Guarded = Extract<Access, { permission: string }>;

export function permissionOf({ permission }: Guarded): (params: PathParams) => string {
  if (!permission.includes("{")) return () => permission;
  return (params) => permission.replace(/\{(\w+)\}/g, (_match, name: string) => (params[name] ?? "").toLowerCase().replaceAll("_", "-"));
}
