import type { IncomingHttpHeaders } from "node:http";
import { Readable } from "node:stream";
import type { AuditedCaller } from "../kernel/denied.ts";
import { limitedNetwork } from "../kernel/addresses.ts";
import { uuid7 } from "../kernel/ids.ts";

/** One request on its way through the pipeline, whatever carried it. */
export interface Exchange {
  readonly method: string;
  /** As sent: not decoded, without the query. */
  readonly path: string;
  /** What follows `?`, or an empty text. */
  readonly search: string;
  readonly headers: IncomingHttpHeaders;
  readonly remoteAddress: string;
  /** What limits by address count: the address, or its network. */
  readonly network: string;
  readonly requestId: string;
  /** Milliseconds since the epoch, of the clock that limits and expiry use. */
  readonly now: number;
  /** @throws ProblemError body_too_large beyond `limit` bytes */
  readBody(limit: number): Promise<Buffer>;
  /** The body as it arrives. It fails with ProblemError request_timeout when it stalls, malformed_request when it breaks off. */
  openBody(): Readable;
  /** Header names and values that whatever is answered will carry. */
  readonly replyHeaders: string[];
  /** What the log line says about the caller. */
  keyId: string;
  actorId: string;
  /** Who asks, once that is known, for the audit of refusals. */
  caller: AuditedCaller | undefined;
  route: string;
  /** The path may hold a secret and stays out of the log. */
  isPathSecret: boolean;
  problem: string;
}

/** What goes back; `headers` are flat names and values. `body` null sends no body and no content type. */
export interface Reply {
  status: number;
  type: string;
  body: string | Buffer | Readable | null;
  headers: readonly string[];
}

/** Let go of a body that is not sent. */
export function discard({ body }: Reply): void {
  if (body instanceof Readable) body.destroy();
}

const requestIdForm = /^[A-Za-z0-9._-]{8,64}$/;

interface Arrived {
  method: string;
  target: string;
  headers: IncomingHttpHeaders;
  remoteAddress: string;
  now: number;
  readBody: Exchange["readBody"];
  openBody: Exchange["openBody"];
}

/** Start an exchange. A request id of the caller is kept when it is harmless, otherwise a UUIDv7 is made. */
export function openExchange({ method, target, headers, remoteAddress, now, readBody, openBody }: Arrived): Exchange {
  const start = target.startsWith("/") ? 0 : originLength(target);
  const query = target.indexOf("?", start);
  const given = headers["x-request-id"];
  const requestId = typeof given === "string" && requestIdForm.test(given) ? given : uuid7();
  return {
    method,
    path: query === -1 ? target.slice(start) : target.slice(start, query),
    search: query === -1 ? "" : target.slice(query + 1),
    headers,
    remoteAddress,
    network: limitedNetwork(remoteAddress),
    requestId,
    now,
    readBody,
    openBody,
    replyHeaders: [],
    keyId: "",
    actorId: "",
    caller: undefined,
    route: "",
    isPathSecret: false,
    problem: "",
  };
}

/** A request target may be absolute (RFC 9112 §3.2.2); the part before its path says nothing about the route. */
function originLength(target: string): number {
  return /^https?:\/\/[^/?#]*/i.exec(target)?.[0].length ?? 0;
}

/** A header that must not repeat; Node joins repeated ones, which then fail their own rule. */
export function header(exchange: Exchange, name: string): string | undefined {
  const value = exchange.headers[name];
  return typeof value === "string" ? value : value?.[0];
}
