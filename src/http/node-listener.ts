import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Clock } from "../kernel/clock.ts";
import { ProblemError, problems } from "../kernel/errors.ts";
import type { AccessLog } from "./access-log.ts";
import type { DoorFinder } from "./doors.ts";
import { discard, type Exchange, openExchange, type Reply } from "./exchange.ts";
import { boundRest, dropRest, findAmbiguity, openNodeBody, readNodeBody } from "./node-request.ts";
import type { Refusals } from "./problem.ts";
import type { AddressReader } from "./remote-address.ts";
import { replyHeaders } from "./reply-headers.ts";

export interface ListenerOptions {
  find: DoorFinder["find"];
  /** The answer for an unknown address. */
  missing: (exchange: Exchange) => Reply;
  refuse: Refusals;
  clock: Clock;
  log: AccessLog | undefined;
  common: readonly string[];
  addressOf: AddressReader;
  isShuttingDown: () => boolean;
  /** Milliseconds in which a body has to arrive; one that is received as a stream may take that long for each part of it. */
  bodyMs: () => number;
  onUnexpected: (error: unknown, requestId: string) => void;
}

/** A reply on its way back. */
interface Outgoing {
  exchange: Exchange;
  request: IncomingMessage;
  response: ServerResponse;
  reply: Reply;
  startedAt: number;
}

/** A client that left before its answer, as the log says it. */
const clientLeft = 499;
/** An unread body this large is not worth receiving to keep the connection. */
const worthReceiving = 64 * 1024;

/**
 * Serves Node requests straight from the doors: building web-standard requests and responses around them, only to unpack
 * them again, would cost more than the whole pipeline.
 */
export function createNodeListener({
  find,
  missing,
  refuse,
  clock,
  log,
  common,
  addressOf,
  isShuttingDown,
  bodyMs,
  onUnexpected,
}: ListenerOptions) {
  let ready: Outgoing[] = [];

  /** Replies of one turn of the event loop leave together: each write into an idle connection wakes its reader, at the price of the whole pipeline. */
  function send(outgoing: Outgoing): void {
    if (ready.push(outgoing) === 1) setImmediate(sendReady);
  }

  function sendReady(): void {
    const sending = ready;
    ready = [];
    for (const outgoing of sending) {
      try {
        write(outgoing);
      } catch (error) {
        onUnexpected(error, outgoing.exchange.requestId);
        outgoing.response.destroy();
      }
    }
    log?.flush();
  }

  function write({ exchange, request, response, reply, startedAt }: Outgoing): void {
    if (response.destroyed) {
      discard(reply);
      return log?.note(exchange, clientLeft, performance.now() - startedAt);
    }
    const headers = replyHeaders(common, exchange, reply);
    const isCut = leavesMuchUnread(request, reply.status);
    if (isShuttingDown() || isCut) headers.push("Connection", "close");
    if (!request.complete && !isCut) boundRest(request, bodyMs());
    response.writeHead(reply.status, headers);
    if (request.method === "HEAD" || reply.body === null) {
      discard(reply);
      response.end();
    } else if (reply.body instanceof Readable) pipeline(reply.body, response).catch(() => response.destroy());
    else if (isCut) {
      response.write(reply.body);
      dropRest(request, () => response.end());
    } else response.end(reply.body);
    log?.note(exchange, reply.status, performance.now() - startedAt);
  }

  function serve(exchange: Exchange, request: IncomingMessage): Reply | Promise<Reply> {
    try {
      const ambiguity = findAmbiguity(request);
      if (ambiguity !== undefined) {
        exchange.replyHeaders.push("Connection", "close");
        throw new ProblemError("malformed_request", { detail: ambiguity });
      }
      const located = find(exchange.method, exchange.path);
      if (located === undefined) return missing(exchange);
      exchange.route = located.door.path;
      return located.door.serve(exchange, located.params);
    } catch (error) {
      return refuse(exchange, error);
    }
  }

  return (request: IncomingMessage, response: ServerResponse): void => {
    const startedAt = performance.now();
    const exchange = openExchange({
      method: request.method ?? "",
      target: request.url ?? "",
      headers: request.headers,
      remoteAddress: addressOf(request),
      now: clock.now().getTime(),
      readBody: (limit) => readNodeBody(request, response, { limit, ms: bodyMs() }),
      openBody: () => openNodeBody(request, response, bodyMs()),
    });
    const reply = serve(exchange, request);
    if (reply instanceof Promise) void reply.then((answered) => send({ exchange, request, response, reply: answered, startedAt }));
    else send({ exchange, request, response, reply, startedAt });
  };
}

/** Nor is one that has been waited for long enough. */
function leavesMuchUnread({ complete, headers }: IncomingMessage, status: number): boolean {
  if (complete) return false;
  if (status === problems.request_timeout.status) return true;
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > worthReceiving;
}
