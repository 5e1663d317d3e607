import type { HttpBindings } from "@hono/node-server";
import type { MiddlewareHandler } from "hono";
import type { Clock } from "../../kernel/clock.ts";
import { problems } from "../../kernel/errors.ts";
import { bindingsOf, createRequestInfo, type HttpEnv, type RequestInfo } from "../context.ts";
import { createCommonHeaders } from "../headers.ts";
import type { AnsweredRequest } from "../metrics.ts";
import { endSlowly } from "../request/body-stream.ts";
import { addressIn, createAddressRanges, plainAddress } from "../../kernel/addresses.ts";
import { redact } from "../../kernel/secrets.ts";
import type { Caller } from "../../operations/caller.ts";

type IncomingMessage = HttpBindings["incoming"];

export interface RequestContextOptions {
  clock: Clock;
  publicUrl: string | undefined;
  addressOf: AddressReader;
  log: AccessLog | undefined;
  /** Called with how each request ended. */
  onAnswer: ((ended: AnsweredRequest) => void) | undefined;
}

/** The request target as it was sent, from its path on. */
export function targetOf(request: Request, incoming: IncomingMessage | undefined): string {
  return incoming?.url ?? request.url.slice(request.url.indexOf("/", request.url.indexOf("://") + 3));
}

/**
 * The variable `request` that every other middleware reads, the headers all answers have, and the line in the access log. The answers of
 * one turn of the event loop leave together: each write into an idle connection wakes its reader, at the price of half the pipeline.
 */
export function requestContext({ clock, publicUrl, addressOf, log, onAnswer }: RequestContextOptions): MiddlewareHandler<HttpEnv> {
  const commonHeaders = createCommonHeaders(publicUrl);
  const endOfTurn = createEndOfTurn();
  return async (c, next) => {
    const startedAt = performance.now();
    const { incoming, outgoing, serving } = bindingsOf(c);
    const { raw } = c.req;
    const request = createRequestInfo({
      method: raw.method,
      target: targetOf(raw, incoming),
      headers: incoming?.headers ?? headersOf(raw),
      caller: incoming === undefined ? { address: "", isCertain: false } : addressOf(incoming),
      now: clock.now().getTime(),
      commonHeaders,
    });
    c.set("request", request);
    await next();
    await endOfTurn(Number(request.responseHeaders["content-length"] ?? 0));
    const isUnread = incoming !== undefined && leavesMuchUnread(incoming, c.res.status);
    if (outgoing !== undefined && (isUnread || serving?.isClosing === true)) outgoing.shouldKeepAlive = false;
    if (isUnread) endSlowly(incoming);
    const status = outgoing?.destroyed === true ? clientLeft : c.res.status;
    const milliseconds = performance.now() - startedAt;
    log?.note(request, c.get("caller"), status, milliseconds);
    onAnswer?.({ method: request.method, route: request.route, status, milliseconds });
  };
}

/** Of a request that no server took. It has a body without saying how long it is. */
function headersOf({ headers, body }: Request): Record<string, string> {
  return { ...Object.fromEntries(headers), ...(body !== null && { "transfer-encoding": "chunked" }) };
}

/** Bytes of an answer that is large: to hand a megabyte to the system takes a good part of a millisecond. */
const large = 32 * 1024;
/**
 * What leaves in one turn at most, the rest in the next ones: many answers at once would keep everybody else waiting. An answer that waits
 * for many turns outlives the young generation, so that a few of 40 kB, a page of a list each, leave together.
 */
const maxPerTurn = { small: 32, largeBytes: 128 * 1024 } as const;

/** @returns a function whose promises resolve at the end of this turn of the event loop or of a later one, small answers before large ones */
function createEndOfTurn(): (bytes: number) => Promise<void> {
  const small: (() => void)[] = [];
  const others: { bytes: number; leave: () => void }[] = [];
  const isEmpty = (): boolean => small.length + others.length === 0;
  const release = (): void => {
    for (const leave of small.splice(0, maxPerTurn.small)) leave();
    let left: number = maxPerTurn.largeBytes;
    do {
      const next = others.shift();
      next?.leave();
      left -= next?.bytes ?? Infinity;
    } while ((others[0]?.bytes ?? Infinity) <= left);
    if (!isEmpty()) setImmediate(release);
  };
  return (bytes) =>
    new Promise((leave) => {
      if (isEmpty()) setImmediate(release);
      if (bytes < large) small.push(leave);
      else others.push({ bytes, leave });
    });
}

/** An unread body this large is not worth receiving to keep the connection, nor is one that has been waited for long enough. */
const worthReceiving = 64 * 1024;

function leavesMuchUnread({ complete, method, headers }: IncomingMessage, status: number): boolean {
  if (complete) return false;
  if (status === problems.request_timeout.status || method === "GET" || method === "HEAD") return true;
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > worthReceiving;
}

/** The address limits go by, and whether it is certainly the caller's own: allow-lists of keys let in no other. */
export interface CallerAddress {
  address: string;
  isCertain: boolean;
}
export type AddressReader = (request: Pick<HttpBindings["incoming"], "socket" | "headers">) => CallerAddress;

/**
 * Behind a reverse proxy every connection comes from the proxy. `X-Forwarded-For` is then read from the right, as each proxy appends
 * whom it was called by: the caller is the first hop that is no trusted proxy. A hop that cannot be read ends the reading, too, as what
 * stands before it may have been written by anybody: then the address is a proxy's, and not certainly the caller's. Without a trusted
 * proxy the header counts nothing, and whether the connection is the caller's own or a proxy's is not certain either.
 * @param trustedProxies addresses and networks (`10.0.0.0/8`)
 * @param onIgnored called once, when the header arrives and no proxy is trusted
 */
export function createAddressReader(trustedProxies: readonly string[], onIgnored: () => void = () => undefined): AddressReader {
  const isTrusted = createAddressRanges(trustedProxies);
  let isTold = false;

  return ({ socket, headers }) => {
    const nearest = plainAddress(socket.remoteAddress ?? "");
    const forwarded = headers["x-forwarded-for"];
    if (forwarded === undefined) return { address: nearest, isCertain: true };
    if (trustedProxies.length === 0) {
      if (!isTold) onIgnored();
      isTold = true;
      return { address: nearest, isCertain: false };
    }
    let caller = nearest;
    for (const hop of [forwarded].flat().join(",").split(",").toReversed()) {
      if (!isTrusted(caller)) break;
      const before = addressIn(hop.trim());
      if (before === undefined) return { address: caller, isCertain: false };
      caller = before;
    }
    return { address: caller, isCertain: true };
  };
}

/** Where log lines go; pino's asynchronous destination is one. */
export interface LogDestination {
  write(line: string): unknown;
}

/** One line per answered request; lines of one turn of the event loop are written together. */
export interface AccessLog {
  /** @param caller undefined when the request was refused before anybody knew */
  note(request: RequestInfo, caller: Caller | undefined, status: number, milliseconds: number): void;
}

/** The status, in the log, of a request whose client left before its answer. */
export const clientLeft = 499;

const harmless = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;
const traceForm = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/;
const maxPath = 200;

/**
 * Lines in pino's form, put together here because an object built to be serialised at once costs more than the whole line.
 * The query string is never part of it, and neither is a path that may hold a secret; a key that somebody put into another one is taken out.
 */
export function createAccessLog(destination: LogDestination): AccessLog {
  let lines = "";
  const flush = (): void => {
    destination.write(lines);
    lines = "";
  };
  return {
    note(request, caller, status, milliseconds) {
      if (lines === "") queueMicrotask(flush);
      lines += redact(toLine(request, caller, status, milliseconds));
    },
  };
}

function toLine(request: RequestInfo, asking: Caller | undefined, status: number, milliseconds: number): string {
  const { method, route, requestId, problem } = request;
  const keyId = asking?.client.keyId ?? "";
  const actorId = asking?.call.actor?.id ?? "";
  const level = status >= 500 && status !== 501 ? 50 : 30;
  const path = request.isPage ? "" : `,"path":${quote(shownPath(request))}`;
  const caller = `${keyId === "" ? "" : `,"key_id":${quote(keyId)}`}${actorId === "" ? "" : `,"actor_id":"${actorId}"`}`;
  const code = problem === "" ? "" : `,"code":"${problem}"`;
  const trace = traceId(request);
  const traced = trace === undefined ? "" : `,"trace_id":"${trace}"`;
  return (
    `{"level":${level},"time":${Date.now()},"msg":"request","request_id":"${requestId}","method":${quote(method)},"route":"${route}"${path}` +
    `,"status":${status},"ms":${milliseconds.toFixed(3)}${caller}${code}${traced}}\n`
  );
}

/** A mistyped address may still hold a token, so only the beginning of an unknown one is shown. */
function shownPath({ route, path }: RequestInfo): string {
  const end = route === "" ? path.indexOf("/", 1) : -1;
  return end === -1 ? path.slice(0, maxPath) : `${path.slice(0, Math.min(end, maxPath))}/…`;
}

function traceId({ headers }: RequestInfo): string | undefined {
  const given = headers["traceparent"];
  return typeof given === "string" ? traceForm.exec(given)?.[1] : undefined;
}

function quote(text: string): string {
  return harmless.test(text) ? `"${text}"` : JSON.stringify(text);
}
