import type { HttpBindings } from "@hono/node-server";
import type { MiddlewareHandler } from "hono";
import type { Clock } from "../../kernel/clock.ts";
import { problems } from "../../kernel/errors.ts";
import { bindingsOf, createRequestInfo, type HttpContext, type HttpEnv } from "../context.ts";
import { createCommonHeaders } from "../headers.ts";
import { dropRest } from "../request/body-stream.ts";
import { type AccessLog, clientLeft } from "./access-log.ts";
import type { AddressReader } from "./remote-address.ts";

type IncomingMessage = HttpBindings["incoming"];

export interface RequestContextOptions {
  clock: Clock;
  publicUrl: string | undefined;
  addressOf: AddressReader;
  log: AccessLog | undefined;
}

/** The request target as it was sent, from its path on. */
export function targetOf(request: Request, incoming: IncomingMessage | undefined): string {
  return incoming?.url ?? request.url.slice(request.url.indexOf("/", request.url.indexOf("://") + 3));
}

/**
 * The variable `request` that every other middleware reads, the headers all answers have, and the line in the access log. The answers of
 * one turn of the event loop leave together: each write into an idle connection wakes its reader, at the price of half the pipeline.
 */
export function requestContext({ clock, publicUrl, addressOf, log }: RequestContextOptions): MiddlewareHandler<HttpEnv> {
  const commonHeaders = createCommonHeaders(publicUrl);
  const endOfTurn = createEndOfTurn();
  return async (c, next) => {
    const startedAt = performance.now();
    const { incoming, outgoing } = bindingsOf(c);
    const { raw } = c.req;
    const request = createRequestInfo({
      method: raw.method,
      target: targetOf(raw, incoming),
      headers: incoming?.headers ?? headersOf(raw),
      remoteAddress: incoming === undefined ? "" : addressOf(incoming),
      now: clock.now().getTime(),
      commonHeaders,
    });
    c.set("request", request);
    await next();
    await endOfTurn();
    if (bindingsOf(c).isClosing === true) c.res.headers.set("connection", "close");
    if (incoming !== undefined && leavesMuchUnread(incoming, c.res.status)) linger(c, incoming);
    log?.note(request, c.get("caller"), outgoing?.destroyed === true ? clientLeft : c.res.status, performance.now() - startedAt);
  };
}

/** Of a request that no server took. It has a body without saying how long it is. */
function headersOf({ headers, body }: Request): Record<string, string> {
  return { ...Object.fromEntries(headers), ...(body !== null && { "transfer-encoding": "chunked" }) };
}

/** Answers that leave in one turn: many large ones at once would keep everybody else waiting. */
const mostPerTurn = 32;

/** @returns a function whose promises resolve at the end of this turn of the event loop, or of the next ones where too many wait */
function createEndOfTurn(): () => Promise<void> {
  const waiting: (() => void)[] = [];
  const release = (): void => {
    for (const leave of waiting.splice(0, mostPerTurn)) leave();
    if (waiting.length > 0) setImmediate(release);
  };
  return () =>
    new Promise((resolve) => {
      if (waiting.push(resolve) === 1) setImmediate(release);
    });
}

/** An unread body this large is not worth receiving to keep the connection, nor is one that has been waited for long enough. */
const worthReceiving = 64 * 1024;

function leavesMuchUnread({ complete, method, headers }: IncomingMessage, status: number): boolean {
  if (complete) return false;
  if (status === problems.request_timeout.status || method === "GET" || method === "HEAD") return true;
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > worthReceiving;
}

/** End the connection after the answer, but not before its sender has had time to read it: bytes nobody took would reset it. */
function linger(c: HttpContext, incoming: IncomingMessage): void {
  const { status, headers, body } = c.res;
  headers.set("connection", "close");
  if (body === null) return;
  const rest = new TransformStream<Uint8Array, Uint8Array>({ flush: () => dropRest(incoming) });
  c.res = undefined;
  c.res = new Response(body.pipeThrough(rest), { status, headers });
}
