import type { HttpBindings } from "@hono/node-server";
import type { MiddlewareHandler } from "hono";
import type { Clock } from "../../kernel/clock.ts";
import { problems } from "../../kernel/errors.ts";
import { bindingsOf, createRequestInfo, type HttpEnv } from "../context.ts";
import { createCommonHeaders } from "../headers.ts";
import { endSlowly } from "../request/body-stream.ts";
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
    await endOfTurn(Number(request.responseHeaders["content-length"] ?? 0));
    const isUnread = incoming !== undefined && leavesMuchUnread(incoming, c.res.status);
    if (outgoing !== undefined && (isUnread || bindingsOf(c).isClosing === true)) outgoing.shouldKeepAlive = false;
    if (isUnread) endSlowly(incoming);
    log?.note(request, c.get("caller"), outgoing?.destroyed === true ? clientLeft : c.res.status, performance.now() - startedAt);
  };
}

/** Of a request that no server took. It has a body without saying how long it is. */
function headersOf({ headers, body }: Request): Record<string, string> {
  return { ...Object.fromEntries(headers), ...(body !== null && { "transfer-encoding": "chunked" }) };
}

/** Bytes of answers that leave in one turn: to hand a megabyte to the system takes a good part of a millisecond. */
const mostPerTurn = 256 * 1024;
/** What an answer costs besides its bytes, as if it had so many more. */
const perAnswer = 8 * 1024;

/** @returns a function whose promises resolve at the end of this turn of the event loop, or of the next ones where too much waits */
function createEndOfTurn(): (bytes: number) => Promise<void> {
  let waiting: { bytes: number; leave: () => void }[] = [];
  const release = (): void => {
    let bytes = 0;
    const last = waiting.findIndex((answer) => (bytes += answer.bytes + perAnswer) >= mostPerTurn);
    const leaving = last === -1 ? waiting : waiting.splice(0, last + 1);
    if (last === -1) waiting = [];
    for (const { leave } of leaving) leave();
    if (waiting.length > 0) setImmediate(release);
  };
  return (bytes) =>
    new Promise((leave) => {
      if (waiting.push({ bytes, leave }) === 1) setImmediate(release);
    });
}

/** An unread body this large is not worth receiving to keep the connection, nor is one that has been waited for long enough. */
const worthReceiving = 64 * 1024;

function leavesMuchUnread({ complete, method, headers }: IncomingMessage, status: number): boolean {
  if (complete) return false;
  if (status === problems.request_timeout.status || method === "GET" || method === "HEAD") return true;
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > worthReceiving;
}
