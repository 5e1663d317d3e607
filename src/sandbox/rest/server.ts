import { Hono } from "hono";
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { DiscordApiError, invalidForm, notFound, unauthorized } from "../errors.ts";
import type { FaultRules } from "../fault-rules.ts";
import { faultResponse } from "../fault-rules.ts";
import type { World } from "../model.ts";
import type { Grants } from "../oauth-grants.ts";
import type { Recorder } from "../recorder.ts";
import type { Auth, Reply, Route } from "./route.ts";

const hiddenHeaders = new Set(["authorization", "cookie"]);

export type RestContext = {
  world: World;
  grants: Grants;
  faults: FaultRules;
  recorder: Recorder;
  /** Settles when hanging calls may end. */
  stopped: Promise<void>;
};

/** Mounts the routes below `/api/v10` and `/api`; every other address answers 404 and is noted as unhandled. */
export function createRestApp(context: RestContext, routes: readonly Route[]): Hono {
  const api = new Hono();
  for (const route of routes) api.on(route.method, route.path.replace(/\{(\w+)\}/g, ":$1"), (c) => serve(context, route, c));
  // Client libraries send `@me` and `@original` percent-encoded.
  const app = new Hono({ getPath: (request) => new URL(request.url).pathname.replaceAll("%40", "@") });
  app.route("/api/v10", api);
  app.route("/api", api);
  app.notFound((c) => {
    const { method, path } = c.req;
    context.recorder.unhandledRoute(method, path);
    const body = { message: notFound().message, code: 0 };
    context.recorder.exchange({ ...wire(c, null), requestBody: undefined, status: 404, responseBody: body });
    return c.json(body, 404);
  });
  return app;
}

async function serve(context: RestContext, route: Route, c: Context): Promise<Response> {
  const template = route.path.replace(
    "/messages/{message_id}",
    c.req.param("message_id") === "@original" ? "/messages/@original" : "/messages/{message_id}",
  );
  const fault = context.faults.take(route.method, template);
  if (fault?.hang) await context.stopped;
  let body: unknown;
  const response = fault ? faultResponse(fault) : undefined;
  let reply: Reply;
  if (response) reply = { status: response.status, body: await response.clone().json() };
  else
    try {
      const auth = authenticate(context, route, c.req.header("authorization"));
      body = await readBody(c.req.raw);
      const { searchParams, origin } = new URL(c.req.url);
      reply = await route.handle({
        params: c.req.param(),
        query: searchParams,
        origin,
        body,
        headers: c.req.raw.headers,
        auth,
      });
    } catch (error) {
      reply = errorReply(error);
    }
  context.recorder.exchange({
    ...wire(c, template),
    requestBody: body,
    status: reply.status,
    responseBody: reply.body,
  });
  if (response) return response;
  const headers = reply.headers ?? {};
  if (reply.html !== undefined) return c.html(reply.html, reply.status as ContentfulStatusCode, headers);
  if (reply.body === undefined) return new Response(null, { status: reply.status, headers });
  return Response.json(reply.body, { status: reply.status, headers });
}

/** The call's outward face for the record. */
function wire(c: Context, route: string | null) {
  const url = new URL(c.req.url);
  return {
    method: c.req.method,
    path: decodeURIComponent(url.pathname.replace(/^\/api(\/v10)?(?=\/|$)/, "")),
    route,
    query: Object.fromEntries(url.searchParams),
    requestHeaders: Object.fromEntries([...c.req.raw.headers].filter(([name]) => !hiddenHeaders.has(name))),
  };
}

function authenticate({ world, grants }: RestContext, route: Route, header: string | undefined): Auth {
  if (route.auth === "none") return { kind: "none" };
  const [scheme, token] = (header ?? "").split(" ");
  if (scheme === "Bot" && token === world.application.botToken) {
    if (route.auth === "bearer") throw new DiscordApiError(403, 20001, "Bots cannot use this endpoint");
    return { kind: "bot" };
  }
  const grant = scheme === "Bearer" && token !== undefined ? grants.findByAccessToken(token) : undefined;
  if (!grant) throw unauthorized();
  if (route.auth === "bot") throw new DiscordApiError(403, 20002, "Only bots can use this endpoint");
  return { kind: "bearer", grant };
}

async function readBody(request: Request): Promise<unknown> {
  const type = request.headers.get("content-type") ?? "";
  if (type.startsWith("multipart/form-data")) {
    const payload = (await request.formData()).get("payload_json");
    return typeof payload === "string" ? parseJson(payload) : {};
  }
  const text = await request.text();
  if (text === "") return undefined;
  if (type.startsWith("application/x-www-form-urlencoded")) return Object.fromEntries(new URLSearchParams(text));
  if (type.startsWith("application/json")) return parseJson(text);
  throw invalidForm("_", "CONTENT_TYPE_INVALID", 'Expected "Content-Type" header to be application/json.');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new DiscordApiError(400, 50109, "The request body contains invalid JSON.");
  }
}

function errorReply(error: unknown): Reply {
  if (!(error instanceof DiscordApiError)) throw error;
  const { status, code, message, fields } = error;
  return { status, body: { message, code, ...(fields && { errors: fields }) } };
}
