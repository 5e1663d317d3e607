import { redact } from "../../kernel/redact.ts";
import type { Caller } from "../../operations/caller.ts";
import type { RequestInfo } from "../context.ts";

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
