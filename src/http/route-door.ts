import { ProblemError } from "../kernel/errors.ts";
import { createPermissionCheck, identify, noteCaller, takeToken } from "./admission.ts";
import { createPresenter } from "./answer.ts";
import { createBodyReader, noBody } from "./body.ts";
import type { Caller } from "./caller.ts";
import { createContentReader } from "./content.ts";
import { createAnswerCheck } from "./answer-check.ts";
import { createDenials } from "./denials.ts";
import type { Door, DoorGround, PathParams } from "./door.ts";
import type { Exchange, Reply } from "./exchange.ts";
import { negotiate } from "./negotiation.ts";
import { isLimited, mediaTypesOf } from "./route.ts";
import type { Route, RouteSpec } from "./route.ts";

/** A route as a door: the checks in the order of the contract, the handler, the answer. */
export function createRouteDoor({ spec, handle }: Route, ground: DoorGround): Door {
  const { refuse, gate, limiters } = ground;
  const isRead = spec.method === "get";
  const limiter = limiters[spec.limit ?? (isRead ? "read" : "write")];
  const mediaTypes = mediaTypesOf(spec.success);
  const requireAllowed = createPermissionCheck(spec, ground.knownPermissions);
  const readBody = createBodyReader(spec);
  const readContent = createContentReader(spec, ground.requireIfMatch);
  const checkAnswer = ground.validateAnswers ? createAnswerCheck(spec) : undefined;
  const present = createPresenter(spec);
  const denialOf = createDenials(spec, ground.knownPermissions);

  function noteDenial({ caller }: Exchange, params: PathParams, error: unknown, isAboutRecord: boolean): void {
    const denial = caller === undefined ? undefined : denialOf(params, error, isAboutRecord);
    if (caller !== undefined && denial !== undefined) ground.noteDenied?.({ caller, ...denial });
  }

  function serve(exchange: Exchange, params: PathParams): Reply | Promise<Reply> {
    try {
      if (ground.isShuttingDown() && spec.probe !== true) throw new ProblemError("shutting_down");
      const caller = identify(spec, limiter, ground, exchange);
      if (!(caller instanceof Promise)) return enter(exchange, params, caller);
      return caller.then((known) => enter(exchange, params, known)).catch((error: unknown) => refuseAtDoor(exchange, params, error));
    } catch (error) {
      return refuseAtDoor(exchange, params, error);
    }
  }

  function refuseAtDoor(exchange: Exchange, params: PathParams, error: unknown): Reply {
    noteDenial(exchange, params, error, false);
    return refuse(exchange, error);
  }

  function enter(exchange: Exchange, params: PathParams, caller: Caller): Promise<Reply> {
    noteCaller(exchange, caller);
    // A request without credentials, where none are needed, was counted by address.
    if (caller.client.id !== "" && isLimited(spec)) takeToken(limiter, `${caller.client.id}:${exchange.actorId}`, exchange);
    requireAllowed(caller.call, params, caller.call.actor === null && exchange.headers["x-acting-user"] !== undefined);
    if (spec.capability !== undefined) requireSwitchedOn(spec.capability, ground);
    negotiate(exchange, mediaTypes);
    return answer(exchange, params, caller);
  }

  async function answer(exchange: Exchange, params: PathParams, caller: Caller): Promise<Reply> {
    let body = noBody;
    try {
      if (!isRead) body = await readBody(exchange);
      caller.checkBody?.(body.digest());
      const input = readContent(exchange, params, isRead ? undefined : body, caller.call);
      if (spec.limitSubject !== undefined) takeToken(limiter, `subject:${spec.limitSubject(input)}`, exchange);
      const turn = spec.probe === true ? undefined : gate.enter();
      if (turn !== undefined) await turn;
      try {
        const answered = await (isRead
          ? handle(input)
          : ground.idempotency.run(exchange, caller, body, spec.success.status, () => handle(input)));
        if (caller.call.replayed) exchange.replyHeaders.push("Idempotency-Replayed", "true");
        checkAnswer?.(answered);
        return present(exchange, answered);
      } finally {
        if (spec.probe !== true) gate.leave();
      }
    } catch (error) {
      noteDenial(exchange, params, error, true);
      return refuse(exchange, error);
    } finally {
      if (body.discard !== undefined) await body.discard();
    }
  }

  return { method: spec.method.toUpperCase(), path: spec.path, operationId: spec.operationId, isPage: false, serve };
}

function requireSwitchedOn(capability: string, ground: DoorGround): void {
  const reason = ground.switchedOff(capability);
  if (reason !== undefined) throw new ProblemError("unsupported_operation", { detail: reason, extra: { capability, reason } });
}

/** Whether a route can be used as this installation is set up. */
export function isSupported(spec: RouteSpec, switchedOff: DoorGround["switchedOff"]): boolean {
  return spec.capability === undefined || switchedOff(spec.capability) === undefined;
}
