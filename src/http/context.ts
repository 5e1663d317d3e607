import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import { finished, Readable } from "node:stream";
import { limitedNetwork } from "../kernel/addresses.ts";
import type { AuditedCaller, Denial } from "../kernel/denied.ts";
import { uuid7 } from "../kernel/ids.ts";
import type { Caller } from "../operations/caller.ts";
import type { PathParams } from "../operations/route.ts";
import type { ResponseHeaders } from "./headers.ts";

/** What the server tells with each request: Node's own objects, and how it serves. Undefined for requests made by `app.request()`. */
export interface ServerBindings extends HttpBindings {
  serving: Serving;
}

/** How a server serves now: the same object for all of its requests, as it may change while one is in work. */
export interface Serving {
  /** It finishes the requests in work and takes no more. */
  isClosing: boolean;
  /** Milliseconds in which a body has to arrive; one that is received as a stream may take that long for each part of it. */
  readonly bodyMs: number;
}

/** What the middlewares know of a request. */
export interface RequestInfo {
  readonly method: string;
  /** As sent: not decoded, without the query. */
  readonly path: string;
  /** What follows `?`, or an empty text. */
  readonly search: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly remoteAddress: string;
  /** Whether the address is certainly the caller's own, and not that of a proxy before them. */
  readonly isAddressCertain: boolean;
  /** What limits by address count: the address, or its network. */
  readonly network: string;
  readonly requestId: string;
  /** Milliseconds since the epoch, of the clock that limits and expiry use. */
  readonly now: number;
  /** Headers that whatever is answered will carry, by lower-case name. */
  readonly responseHeaders: ResponseHeaders;
  /** The path of the route, as the document has it. */
  route: string;
  /** An HTML page: its refusals are HTML, and its path, which may hold a secret, stays out of the log. */
  isPage: boolean;
  /** The code of the refusal. */
  problem: string;
  /** Whether the handler was reached: a refusal may then say something about a record. */
  isAdmitted: boolean;
  /** What a refusal for lack of rights was about. */
  denialOf: ((params: PathParams, error: unknown, isAboutRecord: boolean) => Denial | undefined) | undefined;
  /** Who asks, as far as it is known, for the audit of refusals. */
  audited: AuditedCaller | undefined;
}

export interface HttpEnv {
  Bindings: Partial<ServerBindings>;
  Variables: { request: RequestInfo; caller: Caller };
}
export type HttpContext = Context<HttpEnv>;

/** The bindings of a request; none when no server took it. */
export function bindingsOf({ env }: { env: HttpEnv["Bindings"] | undefined }): Partial<ServerBindings> {
  return env ?? {};
}

const requestIdForm = /^[A-Za-z0-9._-]{8,64}$/;

interface Arrived {
  method: string;
  target: string;
  headers: RequestInfo["headers"];
  caller: { address: string; isCertain: boolean };
  now: number;
  commonHeaders: (requestId: string) => ResponseHeaders;
}

/** A request id of the caller is kept when it is harmless, otherwise a UUIDv7 is made. */
export function createRequestInfo({ method, target, headers, caller, now, commonHeaders }: Arrived): RequestInfo {
  const query = target.indexOf("?");
  const given = headers["x-request-id"];
  const requestId = typeof given === "string" && requestIdForm.test(given) ? given : uuid7();
  return {
    method,
    path: query === -1 ? target : target.slice(0, query),
    search: query === -1 ? "" : target.slice(query + 1),
    headers,
    remoteAddress: caller.address,
    isAddressCertain: caller.isCertain,
    network: limitedNetwork(caller.address),
    requestId,
    now,
    responseHeaders: commonHeaders(requestId),
    route: "",
    isPage: false,
    problem: "",
    isAdmitted: false,
    denialOf: undefined,
    audited: undefined,
  };
}

/** A header that must not repeat; Node joins repeated ones, which then fail their own rule. */
export function header({ headers }: RequestInfo, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" ? value : value?.[0];
}

/** What goes back. `body` null sends neither a body nor a content type; header names are lower case. */
export interface Reply {
  status: number;
  type: string;
  body: string | Buffer | Readable | null;
  headers: Readonly<Record<string, string>>;
}

/** Let go of a body that is not sent. */
export function discard({ body }: Reply): void {
  if (body instanceof Readable) body.destroy();
}

/** The response, made once and with plain headers: that is what the server writes without copying. */
export function respond(c: HttpContext, reply: Reply): Response {
  const { status } = reply;
  // Written as text it would be measured and encoded twice.
  const body = typeof reply.body === "string" ? Buffer.from(reply.body) : reply.body;
  const request = c.get("request");
  const { vary } = request.responseHeaders;
  const headers = Object.assign(request.responseHeaders, reply.headers);
  if (vary !== undefined && reply.headers["vary"] !== undefined) headers["vary"] = `${vary}, ${reply.headers["vary"]}`;
  if (body !== null) headers["content-type"] = reply.type;
  if (body !== null && !(body instanceof Readable)) headers["content-length"] = String(body.length);
  if (request.method === "HEAD" || body === null) {
    discard(reply);
    return new Response(null, { status, headers });
  }
  return new Response(body instanceof Readable ? toWebStream(body, c) : body, { status, headers });
}

/** Read no faster than the client takes it. What breaks off in the middle cuts the connection, as nothing else tells the client. */
function toWebStream(body: Readable, c: HttpContext): ReadableStream<Uint8Array> {
  const { outgoing } = bindingsOf(c);
  const chunks = body[Symbol.asyncIterator]();
  // Also where nobody pulls, because nobody takes what was sent before.
  finished(body, (error) => {
    if (error !== undefined && error !== null) outgoing?.destroy();
  });
  const source = {
    async pull(controller: ReadableStreamDefaultController<Uint8Array>) {
      try {
        const { done, value } = (await chunks.next()) as IteratorResult<string | Buffer>;
        if (done !== true) return controller.enqueue(typeof value === "string" ? Buffer.from(value) : value);
      } catch (error) {
        if (outgoing === undefined) return controller.error(error);
        outgoing.destroy();
      }
      controller.close();
    },
    cancel: () => void body.destroy(),
  };
  return new ReadableStream(source, { highWaterMark: 0 });
}
