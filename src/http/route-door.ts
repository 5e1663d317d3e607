import { hash } from "node:crypto";
import { ProblemError } from "../kernel/errors.ts";
import { createPermissionCheck, identify, noteCaller, takeToken } from "./admission.ts";
import { createPresenter } from "./answer.ts";
import type { Caller } from "./caller.ts";
import { createContentReader } from "./content.ts";
import { createAnswerCheck } from "./answer-check.ts";
import type { Door, DoorGround, PathParams } from "./door.ts";
import type { Exchange, Reply } from "./exchange.ts";
import { announcesBody, checkBodyHeaders } from "./json-body.ts";
import { negotiate } from "./negotiation.ts";
import type { Route, RouteSpec } from "./route.ts";

/** Bytes of a JSON body. */
export const bodyLimit = 256 * 1024;
const noBody = Buffer.alloc(0);

/** A route as a door: the checks in the order of the contract, the handler, the answer. */
export function createRouteDoor({ spec, handle }: Route, ground: DoorGround): Door {
  const { refuse, gate, limiters } = ground;
  const isRead = spec.method === "get";
  const limiter = limiters[spec.limit ?? (isRead ? "read" : "write")];
  const isPublic = "public" in spec.access;
  const mediaType = spec.success.shape === "raw" ? (spec.success.mediaType ?? "application/octet-stream") : "application/json";
  const requireAllowed = createPermissionCheck(spec, ground.knownPermissions);
  const readContent = createContentReader(spec, ground.requireIfMatch);
  const checkAnswer = ground.validateAnswers ? createAnswerCheck(spec) : undefined;
  const present = createPresenter(spec);

  function serve(exchange: Exchange, params: PathParams): Reply | Promise<Reply> {
    try {
      if (ground.isShuttingDown() && spec.probe !== true) throw new ProblemError("shutting_down");
      const caller = identify(spec, limiter, ground, exchange);
      if (!(caller instanceof Promise)) return enter(exchange, params, caller);
      return caller.then((known) => enter(exchange, params, known)).catch((error: unknown) => refuse(exchange, error));
    } catch (error) {
      return refuse(exchange, error);
    }
  }

  function enter(exchange: Exchange, params: PathParams, caller: Caller): Promise<Reply> {
    noteCaller(exchange, caller);
    if (!isPublic) takeToken(limiter, `${caller.client.id}:${exchange.actorId}`, exchange);
    requireAllowed(caller.call, params, exchange);
    if (spec.capability !== undefined) requireSwitchedOn(spec.capability, ground);
    negotiate(exchange, mediaType);
    return answer(exchange, params, caller);
  }

  async function answer(exchange: Exchange, params: PathParams, caller: Caller): Promise<Reply> {
    try {
      const raw = isRead ? undefined : await readBody(exchange);
      caller.checkBody?.(hash("sha256", raw ?? noBody, "base64url"));
      const input = readContent(exchange, params, raw, caller.call);
      if (spec.limitSubject !== undefined) takeToken(limiter, `subject:${spec.limitSubject(input)}`, exchange);
      const turn = spec.probe === true ? undefined : gate.enter();
      if (turn !== undefined) await turn;
      try {
        const answered = await (isRead
          ? handle(input)
          : ground.idempotency.run(exchange, caller, raw, spec.success.status, () => handle(input)));
        if (caller.call.replayed) exchange.replyHeaders.push("Idempotency-Replayed", "true");
        checkAnswer?.(answered);
        return present(exchange, answered);
      } finally {
        if (spec.probe !== true) gate.leave();
      }
    } catch (error) {
      return refuse(exchange, error);
    }
  }

  return { method: spec.method.toUpperCase(), path: spec.path, operationId: spec.operationId, isPage: false, serve };
}

async function readBody(exchange: Exchange): Promise<Buffer> {
  if (!announcesBody(exchange)) return noBody;
  checkBodyHeaders(exchange, bodyLimit);
  return exchange.readBody(bodyLimit);
}

function requireSwitchedOn(capability: string, ground: DoorGround): void {
  const reason = ground.switchedOff(capability);
  if (reason !== undefined) throw new ProblemError("unsupported_operation", { detail: reason, extra: { capability, reason } });
}

/** Whether a route can be used as this installation is set up. */
export function isSupported(spec: RouteSpec, switchedOff: DoorGround["switchedOff"]): boolean {
  return spec.capability === undefined || switchedOff(spec.capability) === undefined;
}
