import type { Handler, MiddlewareHandler } from "hono";
import { groupBy } from "../../kernel/group.ts";
import type { RateLimiter } from "../../operations/rate-limit.ts";
import type { Method, Route } from "../../operations/route.ts";
import { respond, type HttpEnv, type RequestInfo } from "../context.ts";
import { takeToken } from "./rate-limit.ts";

/** What a request may bring beyond what browsers let every page send. */
const requestHeaders =
  "Authorization, X-API-Key, X-Acting-User, X-Acting-Assertion, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Api-Version, X-Request-Id";
/** What a page may read of an answer beyond its status and body. */
const answerHeaders =
  "Api-Version, Content-Disposition, ETag, Idempotency-Replayed, Link, Location, RateLimit, RateLimit-Policy, Retry-After, X-Key-Expires-At, X-Request-Id";
/** Seconds for which a browser need not ask again. */
const maxAge = "600";

/** How pages of other origins may use the routes. */
export interface CrossOrigin {
  /** Lets a page of a listed origin read whatever the route answers, refusals as well. */
  shared: MiddlewareHandler<HttpEnv>;
  /** Answers, for each address of routes, what a browser asks before a request that not every page may make. */
  preflights(routes: readonly Route[]): { path: string; handler: Handler<HttpEnv> }[];
}

/**
 * The protocol of browsers for other origins (CORS, https://fetch.spec.whatwg.org/#http-cors-protocol), without cookies. Hono's middleware
 * would make each answer a second time to add its headers, and answers preflights of origins that are not listed.
 * @param origins as browsers write them
 * @param limiter counts preflights by address, as every request without credentials
 */
export function createCrossOrigin(origins: readonly string[], limiter: RateLimiter): CrossOrigin {
  const listed = new Set(origins);

  function allow({ headers: { origin }, responseHeaders }: RequestInfo): boolean {
    responseHeaders["vary"] = "Origin";
    if (typeof origin !== "string" || !listed.has(origin)) return false;
    responseHeaders["access-control-allow-origin"] = origin;
    responseHeaders["access-control-expose-headers"] = answerHeaders;
    return true;
  }

  function preflight(path: string, methods: readonly Method[]): Handler<HttpEnv> {
    const headers = {
      "access-control-allow-methods": namesOf(methods),
      "access-control-allow-headers": requestHeaders,
      "access-control-max-age": maxAge,
    };
    return (c) => {
      const request = c.get("request");
      if (!allow(request)) return c.notFound();
      request.route = path;
      takeToken(limiter, request.network, request);
      return respond(c, { status: 204, type: "", body: null, headers });
    };
  }

  return {
    shared: (c, next) => {
      allow(c.get("request"));
      return next();
    },
    preflights: (routes) => {
      const byAddress = groupBy(routes, ({ spec }) => spec.path.replaceAll(/\{\w+\}/g, "{}"));
      return [...byAddress.values()].map((same) => {
        const path = same[0]?.spec.path ?? "";
        return { path, handler: preflight(path, same.map(({ spec }) => spec.method).toSorted()) };
      });
    },
  };
}

/** As `Allow` and its like have them. */
export function namesOf(methods: readonly Method[]): string {
  return methods
    .map((method) => method.toUpperCase())
    .flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]))
    .join(", ");
}
