import { Hono, type Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { DiscordApiError, invalidForm, notFound, unauthorized } from "../errors.ts";
import { faultResponse, type FaultRules } from "../fault-rules.ts";
import type { World } from "../model.ts";
import type { Grants } from "../oauth-grants.ts";
import type { Recorder } from "../recorder.ts";
import type { Upload } from "../uploads.ts";
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
  app.use((c, next) => {
    context.recorder.called(c.req.path, c.req.header("user-agent") ?? "");
    return next();
  });
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
  const fault = context.faults.take(route.method, template, wire(c, template).path);
  const note = (requestBody: unknown, status: number, responseBody: unknown): void =>
    context.recorder.exchange({ ...wire(c, template), requestBody, status, responseBody });
  if (fault) {
    let requestBody: unknown;
    if (fault.late) await perform(context, route, c, (_, sent) => (requestBody = sent));
    if (fault.hang) await context.stopped;
    const response = faultResponse(fault);
    note(requestBody, response.status, fault.html ?? (await response.clone().json()));
    return response;
  }
  const { status, body, html, headers = {} } = await perform(context, route, c, (reply, sent) => note(sent, reply.status, reply.body));
  if (html !== undefined) return c.html(html, status as ContentfulStatusCode, headers);
  if (body === undefined) return new Response(null, { status, headers });
  return Response.json(body, { status, headers });
}

type Ended = (reply: Reply, requestBody: unknown) => void;

/** The call itself. What it came with is told at once, so that the record has it before anybody who awaits the effect looks. */
async function perform(context: RestContext, route: Route, c: Context, ended: Ended): Promise<Reply> {
  let body: unknown;
  let reply: Reply;
  try {
    const auth = authenticate(context, route, c.req.header("authorization"));
    const sent = await readBody(c.req.raw);
    ({ body } = sent);
    const { searchParams, origin } = new URL(c.req.url);
    const { headers } = c.req.raw;
    reply = await route.handle({ params: c.req.param(), query: searchParams, origin, body, files: sent.files, headers, auth });
  } catch (error) {
    reply = errorReply(error);
  }
  ended(reply, body);
  return reply;
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

type Sent = { body: unknown; files: Map<string, Upload> };

async function readBody(request: Request): Promise<Sent> {
  const type = request.headers.get("content-type") ?? "";
  const files = new Map<string, Upload>();
  if (!type.startsWith("multipart/form-data")) return { body: await readText(request, type), files };
  const form = await request.formData();
  for (const [key, file] of form) {
    const number = /^files\[(\d+)\]$/.exec(key)?.[1];
    if (number === undefined || typeof file === "string") continue;
    files.set(number, {
      name: file.name,
      bytes: Buffer.from(await file.arrayBuffer()),
      ...(file.type !== "" && { contentType: file.type }),
    });
  }
  const payload = form.get("payload_json");
  return { body: typeof payload === "string" ? parseJson(payload) : {}, files };
}

async function readText(request: Request, type: string): Promise<unknown> {
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
