import type { Handler } from "hono";
import { createPresenter } from "./answer.ts";
import type { HttpDeps } from "./deps.ts";
import { type HttpEnv, respond } from "./context.ts";
import { takeToken } from "./middleware/rate-limit.ts";
import { createBodyReader, noBody } from "./request/body.ts";
import { createContentReader } from "./request/content.ts";
import { asError } from "./problem.ts";
import type { Route } from "../operations/route.ts";

/** Read the content, let the service do it, present what it answers. */
export function handleRoute({ spec, handle }: Route, deps: HttpDeps): Handler<HttpEnv> {
  const { gate, idempotency, limiters } = deps;
  const isRead = spec.method === "get";
  const limiter = limiters[spec.limit ?? (isRead ? "read" : "write")];
  const readBody = createBodyReader(spec);
  const readContent = createContentReader(spec, deps.requireIfMatch);
  const present = createPresenter(spec);

  return async (c) => {
    const request = c.get("request");
    const caller = c.get("caller");
    request.isAdmitted = true;
    const body = isRead ? noBody : await readBody(c);
    try {
      caller.checkBody?.(body.digest());
      const input = readContent(request, c.req.param(), isRead ? undefined : body, caller.call);
      if (spec.limitSubject !== undefined) takeToken(limiter, `subject:${spec.limitSubject(input)}`, request);
      const turn = spec.probe === true ? undefined : gate.acquire();
      const leave = turn instanceof Promise ? await turn : turn;
      try {
        const answered = await (isRead ? handle(input) : idempotency.run(request, caller, body, spec.success.status, () => handle(input)));
        if (caller.call.replayed) request.responseHeaders["idempotency-replayed"] = "true";
        return respond(c, present(request, answered));
      } finally {
        leave?.();
      }
    } catch (error) {
      throw asError(error);
    } finally {
      if (body.discard !== undefined) await body.discard();
    }
  };
}
