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

/** Bytes of an answer that is large: to hand a megabyte to the system takes a good part of a millisecond. */
const large = 32 * 1024;
/** What leaves in one turn at most, the rest in the next ones: many answers at once would keep everybody else waiting. */
const mostPerTurn = { small: 32, large: 1 } as const;

/** @returns a function whose promises resolve at the end of this turn of the event loop or of a later one, small answers before large ones */
function createEndOfTurn(): (bytes: number) => Promise<void> {
  const waiting: { small: (() => void)[]; large: (() => void)[] } = { small: [], large: [] };
  const isEmpty = (): boolean => waiting.small.length + waiting.large.length === 0;
  const release = (): void => {
    for (const leave of waiting.small.splice(0, mostPerTurn.small)) leave();
    for (const leave of waiting.large.splice(0, mostPerTurn.large)) leave();
    if (!isEmpty()) setImmediate(release);
  };
  return (bytes) =>
    new Promise((resolve) => {
      if (isEmpty()) setImmediate(release);
      waiting[bytes < large ? "small" : "large"].push(resolve);
    });
}

/** An unread body this large is not worth receiving to keep the connection, nor is one that has been waited for long enough. */
const worthReceiving = 64 * 1024;

function leavesMuchUnread({ complete, method, headers }: IncomingMessage, status: number): boolean {
  if (complete) return false;
  if (status === problems.request_timeout.status || method === "GET" || method === "HEAD") return true;
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > worthReceiving;
}
