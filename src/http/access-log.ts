import { redact } from "../kernel/redact.ts";
import type { Exchange } from "./exchange.ts";

/** Where log lines go; pino's asynchronous destination is one. */
export interface LogDestination {
  write(line: string): unknown;
}

/** One line per answered request; lines noted together are written together. */
export interface AccessLog {
  note(exchange: Exchange, status: number, milliseconds: number): void;
  flush(): void;
}

const harmless = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;
const traceForm = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/;
const maxPath = 200;

/**
 * Lines in pino's form, put together here because an object built to be serialised at once costs more than the whole line.
 * The query string is never part of it, and neither is a path that may hold a secret; a key that somebody put into another one is taken out.
 */
export function createAccessLog(destination: LogDestination): AccessLog {
  let lines = "";
  return {
    note(exchange, status, milliseconds) {
      lines += redact(toLine(exchange, status, milliseconds));
    },
    flush() {
      destination.write(lines);
      lines = "";
    },
  };
}

function toLine(exchange: Exchange, status: number, milliseconds: number): string {
  const { method, route, requestId, keyId, actorId, problem } = exchange;
  const level = status >= 500 && status !== 501 ? 50 : 30;
  const path = exchange.isPathSecret ? "" : `,"path":${quote(shownPath(exchange))}`;
  const caller = `${keyId === "" ? "" : `,"key_id":${quote(keyId)}`}${actorId === "" ? "" : `,"actor_id":"${actorId}"`}`;
  const code = problem === "" ? "" : `,"code":"${problem}"`;
  const trace = traceId(exchange);
  const traced = trace === undefined ? "" : `,"trace_id":"${trace}"`;
  return (
    `{"level":${level},"time":${Date.now()},"msg":"request","request_id":"${requestId}","method":${quote(method)},"route":"${route}"${path}` +
    `,"status":${status},"ms":${milliseconds.toFixed(3)}${caller}${code}${traced}}\n`
  );
}

/** A mistyped address may still hold a token, so only the beginning of an unknown one is shown. */
function shownPath({ route, path }: Exchange): string {
  const end = route === "" ? path.indexOf("/", 1) : -1;
  return end === -1 ? path.slice(0, maxPath) : `${path.slice(0, Math.min(end, maxPath))}/…`;
}

function traceId({ headers }: Exchange): string | undefined {
  const given = headers["traceparent"];
  return typeof given === "string" ? traceForm.exec(given)?.[1] : undefined;
}

function quote(text: string): string {
  return harmless.test(text) ? `"${text}"` : JSON.stringify(text);
}
