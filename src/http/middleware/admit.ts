import type { MiddlewareHandler, Next } from "hono";
import { callerOf } from "../../kernel/denied.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { aboutPath, createDenials, createPermissionCheck } from "../../operations/permission-check.ts";
import type { HttpDeps } from "../deps.ts";
import type { Caller } from "../../operations/caller.ts";
import { header, type HttpContext, type HttpEnv, type RequestInfo } from "../context.ts";
import { isLimited, mediaTypesOf, type RouteSpec } from "../../operations/route.ts";
import { budgetOf, limitOf, type RateLimiter, spend } from "../../operations/rate-limit.ts";
import type { Call } from "../../kernel/call.ts";
import { isSnowflake } from "../../kernel/fields.ts";
import { parseAccept } from "hono/utils/accept";
import { apiVersion } from "../headers.ts";

/**
 * Take a token and say so in the headers of the answer.
 * @throws ProblemError rate_limited
 */
export function takeToken(limiter: RateLimiter, budget: string, request: RequestInfo): void {
  spend(limiter, budget, request.now, (left) => noteLimit(limiter, left, request));
}

function noteLimit(limiter: RateLimiter, remaining: number, { responseHeaders }: RequestInfo): void {
  responseHeaders["ratelimit-policy"] = limiter.policy;
  responseHeaders["ratelimit"] = limiter.describe(remaining);
}

const expiryNoticeMs = 30 * 86_400_000;

/**
 * Everything that is checked before a byte of a body is read, in the order of the contract: credentials, limit, permission, capability,
 * version and format. One middleware and not five: each costs a promise, and the five cost as much as all they do.
 */
export function admit(spec: RouteSpec, deps: HttpDeps): MiddlewareHandler<HttpEnv> {
  const limiter = deps.limiters[limitOf(spec)];
  const identify = createIdentify(spec, limiter, deps);
  const requireAllowed = createPermissionCheck(spec, deps.known.permissions);
  const denialOf = createDenials(spec, deps.known.permissions);
  const mediaTypes = mediaTypesOf(spec.success);

  function enter(c: HttpContext, from: Caller): void {
    const request = c.get("request");
    const params = c.req.param();
    const caller = { ...from, call: aboutPath(from.call, params) };
    const { call, client } = caller;
    c.set("caller", caller);
    // A request without credentials, where none are needed, was counted by address.
    if (client.id !== "") {
      request.audited = callerOf(call);
      if (client.expiresAt.getTime() - request.now < expiryNoticeMs)
        request.responseHeaders["x-key-expires-at"] = client.expiresAt.toISOString();
      if (isLimited(spec)) takeToken(limiter, budgetOf(spec, { clientId: client.id, actorId: call.actor?.id }, params), request);
    }
    requireAllowed(call, params, call.actor === null && request.headers["x-acting-user"] !== undefined);
    if (spec.capability !== undefined) requireSwitchedOn(spec.capability, deps);
    negotiate(request, mediaTypes);
  }

  async function admitLater(c: HttpContext, next: Next, caller: Promise<Caller>): Promise<void> {
    enter(c, await caller);
    await next();
  }

  return (c, next) => {
    const request = c.get("request");
    request.route = spec.path;
    request.denialOf = denialOf;
    if (spec.probe !== true && deps.isShuttingDown(c)) throw new ProblemError("shutting_down");
    const caller = identify(request);
    if (caller instanceof Promise) return admitLater(c, next, caller);
    enter(c, caller);
    return next();
  };
}

function requireSwitchedOn(capability: string, { switchedOff }: HttpDeps): void {
  const reason = switchedOff(capability);
  if (reason !== undefined) throw new ProblemError("unsupported_operation", { detail: reason, extra: { capability, reason } });
}

const bearer = /^Bearer +(\S+) *$/i;
const never = new Date(8.64e15);

/** The call of a stranger at a public route: it holds no permission at all. */
function strangerCall(requestId: string): Call {
  return { client: null, actor: null, via: "rest", requestId, idempotency: null, replayed: false };
}

/** Finds out who calls. @throws ProblemError rate_limited, or of status 401 (and 403 for an acting user the key may not name) */
export type Identify = (request: RequestInfo) => Caller | Promise<Caller>;

/**
 * A route without credentials is limited by address; so are failed credentials. Of an address that has failed too often only keys are
 * looked at that exist, so that nobody is locked out by the wrong keys of others.
 */
export function createIdentify(spec: RouteSpec, limiter: RateLimiter, { authenticate, limiters }: HttpDeps): Identify {
  const { failed_auth: failures } = limiters;
  const isPublic = "public" in spec.access;
  const isOptional = "credentials" in spec.access;

  function refuse(request: RequestInfo, wait: number, error: unknown): never {
    if (!(error instanceof ProblemError) || error.status !== 401) throw error;
    failures.take(request.network, request.now);
    if (wait === 0) throw error;
    noteLimit(failures, 0, request);
    throw new ProblemError("rate_limited", { detail: "Too many failed attempts from this address.", retryAfter: wait });
  }

  return (request) => {
    const { requestId, remoteAddress, isAddressCertain, network, method, path, search, now } = request;
    const presented = presentedKey(request);
    if (isPublic && (!isOptional || presented === undefined)) {
      if (isLimited(spec)) takeToken(limiter, network, request);
      return { call: strangerCall(requestId), client: { id: "", keyId: "", expiresAt: never } };
    }
    const wait = failures.wait(network, now);
    try {
      const caller = authenticate({
        presented,
        isSuspect: wait > 0,
        actingUser: actingUserOf(request),
        assertion: header(request, "x-acting-assertion"),
        ...(isAddressCertain && { remoteAddress }),
        requestId,
        method,
        path,
        search,
        onClient: (clientId) => (request.audited = { clientId, actorId: null, via: "rest", requestId }),
      });
      return caller instanceof Promise ? caller.catch((error: unknown) => refuse(request, wait, error)) : caller;
    } catch (error) {
      return refuse(request, wait, error);
    }
  };
}

function presentedKey({ headers }: RequestInfo): string | undefined {
  const { authorization } = headers;
  if (typeof authorization !== "string") return typeof headers["x-api-key"] === "string" ? headers["x-api-key"] : undefined;
  return authorization.startsWith("Bearer ") ? authorization.slice(7).trim() : bearer.exec(authorization)?.[1];
}

/** A malformed acting user is nobody here and refused with the rest of the content. */
function actingUserOf(request: RequestInfo): string | undefined {
  const id = header(request, "x-acting-user");
  return id !== undefined && isSnowflake(id) ? id : undefined;
}

/**
 * Refuse a version or an answer format that is not offered.
 * @param mediaTypes what the route can answer
 * @throws ProblemError unsupported_version or not_acceptable
 */
export function negotiate(request: RequestInfo, mediaTypes: readonly string[]): void {
  const version = header(request, "api-version");
  if (version !== undefined && version.trim().split(".")[0] !== apiVersion) {
    throw new ProblemError("unsupported_version", { detail: `This service speaks version ${apiVersion}.` });
  }
  const { accept } = request.headers;
  if (typeof accept !== "string" || accept === "*/*" || accept === mediaTypes[0]) return;
  if (!mediaTypes.some((mediaType) => accepts(accept, mediaType)))
    throw new ProblemError("not_acceptable", { detail: `This route answers ${mediaTypes.join(" or ")}.` });
}

/** Whether somebody asks for a page rather than for JSON, as browsers do. */
export function prefersHtml({ headers: { accept } }: RequestInfo): boolean {
  if (typeof accept !== "string" || !accept.includes("text/html")) return false;
  const qualities = qualitiesIn(accept);
  return (qualities.get("text/html") ?? 0) > (qualities.get("application/json") ?? 0);
}

/** The most specific range decides, and `q=0` refuses (RFC 9110 §12.5.1). */
function accepts(accept: string, mediaType: string): boolean {
  const [group = ""] = mediaType.split("/");
  const ranges = [mediaType, `${group}/*`, "*/*"];
  const qualities = qualitiesIn(accept);
  for (const range of ranges) {
    const quality = qualities.get(range);
    if (quality !== undefined) return quality > 0;
  }
  return accept.trim() === "";
}

const qualitiesIn = (accept: string): ReadonlyMap<string, number> =>
  new Map(parseAccept(accept.toLowerCase()).map(({ type, q }) => [type, q]));
