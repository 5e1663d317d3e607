import type { HttpBindings } from "@hono/node-server";
import { Readable, Transform } from "node:stream";
import { type FieldError, ProblemError } from "../../kernel/errors.ts";
import { bindingsOf, header, type HttpContext } from "../context.ts";
import { bodyTooLarge } from "./media.ts";
import type { UploadedFile } from "../../operations/route.ts";

/** A body as it arrived, before its content is checked. */
export interface Body {
  /** Base64url SHA-256 of the bytes as sent: what a signed assertion is bound to. */
  digest(): string;
  /** Hexadecimal SHA-256: what an idempotency key stands for. */
  fingerprint(): string;
  /** Read what takes a while, so that others have their turn; to be awaited before `parse`, where there is one. @throws ProblemError as `parse` */
  prepare?(): Promise<void>;
  /**
   * What is to be checked against the schema of the body; undefined when it cannot be, and `errors` has why.
   * @throws ProblemError malformed_request
   */
  parse(errors: FieldError[]): unknown;
  file?: UploadedFile;
  /** Delete what was kept on the disk. */
  discard?(): Promise<void>;
}

type IncomingMessage = HttpBindings["incoming"];

/** Milliseconds a body may take where no server says. */
const defaultMs = 10_000;

/** The bytes of a body as they come. A client that waits to be invited (`Expect: 100-continue`) is. */
function openBody(c: HttpContext): Readable {
  const { incoming, outgoing } = bindingsOf(c);
  if (incoming === undefined) return Readable.from(c.req.raw.body ?? []);
  if (header(c.get("request"), "expect")?.toLowerCase() === "100-continue") outgoing?.writeContinue();
  return incoming;
}

/**
 * The body of a request, counted while it arrives.
 * @throws ProblemError body_too_large beyond `limit` bytes, request_timeout when it has not come in time, malformed_request when it breaks off
 */
export function readBody(c: HttpContext, limit: number): Promise<Buffer> {
  const body = openBody(c);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const giveUp = (problem: ProblemError): void => {
      clearTimeout(late);
      body.off("data", onData).pause();
      reject(problem);
    };
    const late = setTimeout(() => giveUp(new ProblemError("request_timeout")), bindingsOf(c).serving?.bodyMs ?? defaultMs);
    const onData = (chunk: Buffer): void => {
      length += chunk.length;
      if (length <= limit) chunks.push(chunk);
      else giveUp(bodyTooLarge(limit));
    };
    const onBroken = (): void => giveUp(brokenOff());
    body
      .on("data", onData)
      .on("error", onBroken)
      .on("close", onBroken)
      .on("end", () => {
        clearTimeout(late);
        body.off("close", onBroken);
        resolve(Buffer.concat(chunks));
      });
  });
}

/** A body may take long as long as it moves: fewer bytes than this in one window are as good as none. */
const leastBytes = 4096;

/**
 * The body as a stream of its own: anyone who destroys it can still answer the request. It fails with ProblemError request_timeout when
 * hardly anything comes in the time a body has, or malformed_request when it breaks off.
 */
export function streamBody(c: HttpContext): Readable {
  const source = openBody(c);
  let bytes = 0;
  const body = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      done(null, chunk);
    },
  });
  const watch = setInterval(
    () => {
      // While the reader is behind, nothing is expected of the sender.
      const isStalled = bytes < leastBytes && !body.writableNeedDrain && !source.readableEnded;
      bytes = 0;
      if (isStalled) body.destroy(new ProblemError("request_timeout"));
    },
    bindingsOf(c).serving?.bodyMs ?? defaultMs,
  );
  const onBroken = (): void => {
    if (!source.readableEnded) body.destroy(brokenOff());
  };
  source.once("error", onBroken).once("close", onBroken);
  body.once("close", () => {
    clearInterval(watch);
    source.unpipe(body).pause();
  });
  return source.pipe(body);
}

/** How long the rest of a refused body is dropped: until nothing comes, and at most. */
const dropping = { idleMs: 250, maxMs: 3000 } as const;

/**
 * Let the connection of a request end after its answer, but not at once: bytes nobody took would reset it, and their sender would miss
 * the answer. It is told that nothing more follows, and what it still sends is dropped until it ends, pauses or takes too long.
 */
export function endSlowly(request: IncomingMessage): void {
  const { socket } = request;
  let isEnding = false;
  // What Node calls after the last answer of a connection.
  socket.destroySoon = () => {
    if (isEnding) return;
    isEnding = true;
    const cut = (): void => void socket.destroy();
    const idle = setTimeout(cut, dropping.idleMs);
    const last = setTimeout(cut, dropping.maxMs);
    socket
      .on("data", () => void idle.refresh())
      .once("end", cut)
      .once("close", () => {
        clearTimeout(idle);
        clearTimeout(last);
      })
      .resume()
      .end();
  };
}

function brokenOff(): ProblemError {
  return new ProblemError("malformed_request", { detail: "The body did not arrive completely." });
}
