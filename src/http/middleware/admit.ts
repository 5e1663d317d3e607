import type { MiddlewareHandler, Next } from "hono";
import { callerOf } from "../../kernel/denied.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { createDenials, createPermissionCheck } from "../../operations/access.ts";
import type { HttpDeps } from "../deps.ts";
import type { Caller } from "../../operations/caller.ts";
import type { HttpContext, HttpEnv } from "../context.ts";
import { isLimited, mediaTypesOf, type RouteSpec } from "../../operations/route.ts";
import { createIdentify } from "./authenticate.ts";
import { negotiate } from "./negotiation.ts";
import { takeToken } from "./rate-limit.ts";

const expiryNoticeMs = 30 * 86_400_000;

/**
 * Everything that is checked before a byte of a body is read, in the order of the contract: credentials, limit, permission, capability,
 * version and format. One middleware and not five: each costs a promise, and the five cost as much as all they do.
 */
export function admit(spec: RouteSpec, deps: HttpDeps): MiddlewareHandler<HttpEnv> {
  const limiter = deps.limiters[spec.limit ?? (spec.method === "get" ? "read" : "write")];
  const identify = createIdentify(spec, limiter, deps);
  const requireAllowed = createPermissionCheck(spec, deps.known.permissions);
  const denialOf = createDenials(spec, deps.known.permissions);
  const mediaTypes = mediaTypesOf(spec.success);

  function enter(c: HttpContext, caller: Caller): void {
    const request = c.get("request");
    const { call, client } = caller;
    c.set("caller", caller);
    // A request without credentials, where none are needed, was counted by address.
    if (client.id !== "") {
      request.audited = callerOf(call);
      if (client.expiresAt.getTime() - request.now < expiryNoticeMs)
        request.responseHeaders["x-key-expires-at"] = client.expiresAt.toISOString();
      if (isLimited(spec)) takeToken(limiter, `${client.id}:${call.actor?.id ?? ""}`, request);
    }
    requireAllowed(call, c.req.param(), call.actor === null && request.headers["x-acting-user"] !== undefined);
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
