import type { IncomingMessage, ServerResponse } from "node:http";
import { type Readable, Transform } from "node:stream";
import { ProblemError } from "../kernel/errors.ts";
import { bodyTooLarge } from "./json-body.ts";

/** What Node's parser lets through although two readers may understand it differently. */
export function findAmbiguity({ rawHeaders, headers, httpVersion }: IncomingMessage): string | undefined {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  if (hosts > 1) return "The request has more than one Host header.";
  if (httpVersion === "1.0") return headers["transfer-encoding"] === undefined ? undefined : "HTTP/1.0 knows no Transfer-Encoding.";
  return hosts === 0 ? "The request has no Host header." : undefined;
}

/**
 * The body of a request, counted while it arrives. Rejects with ProblemError body_too_large beyond `limit` bytes, request_timeout when
 * it has not come after `ms`, or malformed_request when it breaks off.
 */
export function readNodeBody(
  request: IncomingMessage,
  response: ServerResponse,
  { limit, ms }: { limit: number; ms: number },
): Promise<Buffer> {
  invite(request, response);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const late = setTimeout(() => giveUp(new ProblemError("request_timeout")), ms);
    const giveUp = (problem: ProblemError): void => {
      clearTimeout(late);
      request.off("data", onData).pause();
      reject(problem);
    };
    const onData = (chunk: Buffer): void => {
      length += chunk.length;
      if (length <= limit) chunks.push(chunk);
      else giveUp(bodyTooLarge(limit));
    };
    request.on("data", onData);
    request.on("end", () => {
      clearTimeout(late);
      resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks));
    });
    const onBroken = (): void => giveUp(brokenOff());
    request.on("error", onBroken);
    request.on("close", onBroken);
  });
}

/** A body may take long as long as it moves: fewer bytes than this in one window are as good as none. */
const leastBytes = 4096;

/**
 * The body of a request as a stream of its own: whoever destroys it can still answer the request. It fails with ProblemError
 * request_timeout when hardly anything comes for `ms`, or malformed_request when it breaks off.
 */
export function openNodeBody(request: IncomingMessage, response: ServerResponse, ms: number): Readable {
  invite(request, response);
  let bytes = 0;
  const body = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      done(null, chunk);
    },
  });
  const watch = setInterval(() => {
    // While the reader is behind, nothing is expected of the sender.
    const isStalled = bytes < leastBytes && !body.writableNeedDrain && !request.complete;
    bytes = 0;
    if (isStalled) body.destroy(new ProblemError("request_timeout"));
  }, ms);
  const onBroken = (): void => {
    if (!request.complete) body.destroy(brokenOff());
  };
  request.once("error", onBroken).once("close", onBroken);
  body.once("close", () => {
    clearInterval(watch);
    request.unpipe(body).pause();
  });
  return request.pipe(body);
}

/** How long the rest of a refused body is dropped before the connection is cut: at once, and its sender would miss the answer. */
const dropping = { idleMs: 250, mostMs: 3000 } as const;

/** Drop what still comes of a body, until it ends, pauses or takes too long. */
export function dropRest(request: IncomingMessage, done: () => void): void {
  const idle = setTimeout(() => finish(), dropping.idleMs);
  const late = setTimeout(() => finish(), dropping.mostMs);
  const onData = (): void => void idle.refresh();
  const finish = (): void => {
    clearTimeout(idle);
    clearTimeout(late);
    request.off("data", onData).off("end", finish).off("close", finish);
    done();
  };
  request.on("data", onData).on("end", finish).on("close", finish).resume();
}

/** A connection that is kept waits no longer than `ms` for the rest of a body nobody reads. */
export function boundRest(request: IncomingMessage, ms: number): void {
  const late = setTimeout(() => request.destroy(), ms);
  const settle = (): void => clearTimeout(late);
  request.once("end", settle).once("close", settle);
}

function invite(request: IncomingMessage, response: ServerResponse): void {
  if (request.headers.expect?.toLowerCase() === "100-continue") response.writeContinue();
}

function brokenOff(): ProblemError {
  return new ProblemError("malformed_request", { detail: "The body did not arrive completely." });
}
