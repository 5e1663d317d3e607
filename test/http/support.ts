import type { PermissionKey } from "../../src/kernel/permissions.ts";
import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { pino } from "pino";
import { afterEach } from "vitest";
import { z } from "zod";
import { createHttpApp, type HttpAppOptions } from "../../src/http/http-app.ts";
import { withAnswerCheck } from "../../src/operations/answer-check.ts";
import type { Authenticate } from "../../src/operations/caller.ts";
import { type Route, routesFor } from "../../src/operations/route.ts";
import { createRateLimiters, type RateLimits } from "../../src/operations/rate-limit.ts";
import { listen, type ServerTimeouts } from "../../src/http/listen.ts";
import type { Actor } from "../../src/kernel/call.ts";
import { ProblemError } from "../../src/kernel/errors.ts";
import { listQuery, Snowflake } from "../../src/kernel/fields.ts";
import { requireRevision } from "../../src/kernel/revision.ts";

const routes = routesFor();

export const staffId = "80351110224678912";
export const strangerId = "80351110224678999";

/** Keys by what they may do. */
const keys: Readonly<Record<string, (permission: string) => boolean>> = {
  "key-all": () => true,
  "key-delegate": (permission) => permission !== "system.act",
  "key-read": (permission) => permission === "cases.read",
};

const actorOf = (id: string): Actor => ({
  id,
  isStaff: id !== strangerId,
  isOwner: false,
  rank: 1,
  isStale: () => false,
  decide: () => ({ allowed: true, reasons: [] }),
  heldUntil: () => null,
});

export const farAway = new Date("2030-01-01T00:00:00.000Z");

/** Verifies the keys of this file, at once as the warm path does. */
export const authenticate: Authenticate = ({ presented, actingUser, requestId }) => {
  const allows = keys[presented ?? ""];
  if (presented === undefined || allows === undefined) throw new ProblemError("invalid_credentials");
  const actor = actingUser === undefined ? null : actorOf(actingUser);
  return {
    call: { client: { id: presented, name: presented, allows }, actor, via: "rest", requestId, idempotency: null, replayed: false },
    client: { id: presented, keyId: presented, expiresAt: farAway },
  };
};

const Thing = z.object({ id: z.string(), name: z.string(), revision: z.int() });
const guard = (permission: PermissionKey) => ({ summary: "A thing", access: { permission } });
const body = z.strictObject({ owner_id: Snowflake, name: z.string().min(1).max(10), tags: z.array(z.string()).max(3).default([]) });

/** One route of every kind. */
export function thingRoutes(): Route[] {
  return [
    routes.get("/things/{thing_id}", "getThing", {
      ...guard("cases.read"),
      request: { params: z.object({ thing_id: Snowflake }) },
      success: { status: 200, shape: "single", schema: Thing, description: "The thing" },
      refusals: ["record_not_found"],
      handle: async ({ params }) => ({ id: params.thing_id, name: "a thing", revision: 7 }),
    }),
    routes.get("/things", "listThings", {
      ...guard("cases.read"),
      request: { query: z.object({ ...listQuery, status: z.enum(["active", "ended"]).optional(), tag: z.array(z.string()).optional() }) },
      success: { status: 200, shape: "list", schema: Thing, description: "Things" },
      handle: async ({ query }) => ({
        data: [{ id: "1", name: "first", revision: 1 }],
        limit: query.limit,
        next_cursor: query.cursor === undefined ? "next&page" : null,
      }),
    }),
    routes.post("/things", "createThing", {
      ...guard("cases.create"),
      request: { body, example: { owner_id: staffId, name: "one" } },
      success: {
        status: 201,
        shape: "flat",
        schema: z.object({ success: z.literal(true), name: z.string() }),
        description: "The new thing",
      },
      handle: async ({ body }) => ({ success: true as const, name: body.name }),
    }),
    routes.patch("/things/{thing_id}", "updateThing", {
      ...guard("cases.create"),
      request: { params: z.object({ thing_id: Snowflake }), body: z.strictObject({ name: z.string().optional() }), bodyOptional: true },
      success: { status: 200, shape: "single", schema: Thing, description: "The thing" },
      handle: async ({ params, ifMatch }) => {
        requireRevision(ifMatch, 7);
        return { id: params.thing_id, name: "a thing", revision: 8 };
      },
    }),
    routes.post("/callsigns/next", "nextCallsign", {
      ...guard("cases.create"),
      capability: "callsigns.next",
      request: { body: z.strictObject({ pool: z.string() }) },
      success: { status: 201, shape: "single", schema: z.object({ id: z.string() }), description: "A callsign" },
      handle: async () => ({ id: "1" }),
    }),
    routes.get("/broken", "breakThings", {
      ...guard("cases.read"),
      success: { status: 200, shape: "single", schema: Thing, description: "Never" },
      handle: async () => {
        throw new Error("the password is swordfish");
      },
    }),
  ];
}

const running: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.close()));
});

const plenty = { count: 100_000, seconds: 60 };

export type TestOptions = Partial<Omit<HttpAppOptions, "limits">> & { limits?: Partial<RateLimits>; validateAnswers?: boolean };

/** The options of an app with the routes above; nothing is limited unless said. */
export function appOptions({ validateAnswers = true, routes = thingRoutes(), ...options }: TestOptions = {}): HttpAppOptions {
  return {
    routes: validateAnswers ? routes.map(withAnswerCheck) : routes,
    pages: [],
    authenticate,
    logger: pino({ level: "silent" }),
    clock: { now: () => new Date() },
    known: { permissions: new Set(["cases.read", "cases.create"]), expansions: {} },
    switchedOff: () => undefined,
    unsupportedStatus: 501,
    isShuttingDown: () => false,
    requireIfMatch: false,
    fingerprintKey: Buffer.alloc(32),
    info: { title: "Things", version: "1.0.0" },
    ...options,
    limiters: createRateLimiters({
      read: plenty,
      write: plenty,
      authorize: plenty,
      export: plenty,
      failed_auth: plenty,
      ...options.limits,
    }),
  };
}

/** A listening app that the test's end closes. */
export async function startApp(options: TestOptions = {}, timeouts: Partial<ServerTimeouts> = {}) {
  const all = appOptions(options);
  const app = createHttpApp(all);
  const server = await listen(app, { host: "127.0.0.1", port: 0, timeouts, publicUrl: all.publicUrl, logger: all.logger });
  running.push(server);
  const { port } = server;
  return {
    app,
    server,
    port,
    ask: (ask: Ask) => send(port, ask),
    raw: (text: string | Buffer, until?: string) => sendRaw(port, text, until),
  };
}

export interface Ask {
  method?: string;
  path: string;
  key?: string | null;
  headers?: Readonly<Record<string, string | string[]>>;
  /** An object is sent as JSON. */
  body?: unknown;
}

export interface Answer {
  status: number;
  headers: NodeJS.Dict<string | string[]>;
  text: string;
  /** The parsed body; an empty object when it is not JSON. */
  json: Record<string, unknown>;
}

/** Ask over a real socket, with the key that may do everything unless said. */
function send(port: number, { method = "GET", path, key = "key-all", headers = {}, body }: Ask): Promise<Answer> {
  const payload = body === undefined || typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const sent: Record<string, string | string[]> = { ...(key !== null && { Authorization: `Bearer ${key}` }), ...headers };
  if (payload !== undefined && !hasHeader(sent, "content-type")) sent["Content-Type"] = "application/json";
  if (sent["Content-Type"] === "") delete sent["Content-Type"];
  if (payload !== undefined && !hasHeader(sent, "transfer-encoding")) sent["Content-Length"] = String(Buffer.byteLength(payload));
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: "127.0.0.1", port, method, path, headers: sent, agent: false, timeout: 10_000 }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString("utf8");
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json: parse(text) });
      });
    });
    request.on("error", reject);
    request.end(payload);
  });
}

function hasHeader(headers: Readonly<Record<string, unknown>>, name: string): boolean {
  return Object.keys(headers).some((given) => given.toLowerCase() === name);
}

function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** Write bytes and read until the server ends the connection, or `until` appears. */
function sendRaw(port: number, bytes: string | Buffer, until?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes));
    let received = "";
    const done = (): void => {
      socket.destroy();
      resolve(received);
    };
    socket.setTimeout(8000, () => {
      socket.destroy();
      reject(new Error(`the connection stayed open; received ${JSON.stringify(received)}`));
    });
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
      if (until !== undefined && received.includes(until)) done();
    });
    socket.on("end", done);
    socket.on("close", done);
    socket.on("error", () => done());
  });
}
