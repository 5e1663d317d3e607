import { createServer, STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Logger } from "pino";
import { ProblemError, type ProblemCode } from "../kernel/errors.ts";
import { uuid7 } from "../kernel/ids.ts";
import { problemDocument } from "./problem.ts";
import { defaultPolicyHeaders } from "./reply-headers.ts";
import { createUnreadWatch, inTurns } from "./turns.ts";

/** Milliseconds. */
export interface ServerTimeouts {
  headers: number;
  /** For a body to arrive. */
  request: number;
  /** For a request with a file to arrive, as long as it moves. */
  upload: number;
  keepAlive: number;
  /** For a client to take something of an answer. */
  unread: number;
  /** How often slow connections are looked for. */
  check: number;
  /** How long a closing server waits for requests in work. */
  close: number;
}

export const defaultTimeouts: ServerTimeouts = {
  headers: 5000,
  request: 10_000,
  upload: 900_000,
  keepAlive: 10_000,
  unread: 30_000,
  check: 1000,
  close: 10_000,
};

export interface RunningServer {
  port: number;
  /** Stop accepting, finish the requests in work, end. */
  close(): Promise<void>;
}

interface ServerOptions {
  host: string;
  port: number;
  timeouts: Partial<ServerTimeouts>;
  listener: (request: IncomingMessage, response: ServerResponse) => void;
  common: readonly string[];
  logger: Logger;
}

/** Listen with limits that slow and broken clients cannot stretch. */
export async function listen({ host, port, timeouts, listener, common, logger }: ServerOptions): Promise<RunningServer> {
  const limits = { ...defaultTimeouts, ...timeouts };
  const noteDropped = createSparseLog(logger, "connections ended that sent too many requests at once");
  const turns = inTurns(listener, () => noteDropped({}));
  const server = createServer(
    {
      headersTimeout: limits.headers,
      requestTimeout: limits.upload,
      keepAliveTimeout: limits.keepAlive,
      connectionsCheckingInterval: limits.check,
      maxHeaderSize: 16 * 1024,
      requireHostHeader: false,
    },
    turns,
  );
  server.on("checkContinue", turns);
  server.on("checkExpectation", turns);
  server.on("clientError", createClientErrorHandler(common, logger));
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  const watch = setInterval(createUnreadWatch(sockets, limits.unread), limits.check).unref();
  server.once("close", () => clearInterval(watch));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, resolve);
  });
  return { port: (server.address() as AddressInfo).port, close: () => closeServer(server, sockets, limits.close) };
}

/** A client may open a connection ahead of its next request: one that has said nothing yet is as idle as one between two requests. */
async function closeServer(server: Server, sockets: ReadonlySet<Socket>, patience: number): Promise<void> {
  const lastCall = setTimeout(() => server.closeAllConnections(), patience);
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  });
  clearTimeout(lastCall);
}

const codesByError: Readonly<Record<string, ProblemCode>> = {
  HPE_HEADER_OVERFLOW: "headers_too_large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "body_too_large",
  ERR_HTTP_REQUEST_TIMEOUT: "request_timeout",
};
const quietMs = 10_000;

/** Of a flood one line every ten seconds, with how many there were. */
function createSparseLog(logger: Logger, text: string) {
  let unlogged = 0;
  let loggedAt = -quietMs;
  return (details: object): void => {
    unlogged += 1;
    if (performance.now() - loggedAt < quietMs) return;
    logger.info({ ...details, count: unlogged }, text);
    unlogged = 0;
    loggedAt = performance.now();
  };
}

/** Requests the parser refuses get a problem document as well. */
function createClientErrorHandler(common: readonly string[], logger: Logger) {
  const note = createSparseLog(logger, "requests that could not be parsed");

  return (error: NodeJS.ErrnoException, socket: Socket): void => {
    note({ code: error.code });
    if (!socket.writable || error.code === "ECONNRESET") return void socket.destroy();
    socket.end(minimalAnswer(codesByError[error.code ?? ""] ?? "malformed_request", common));
    socket.destroySoon();
  };
}

function minimalAnswer(code: ProblemCode, common: readonly string[]): string {
  const problem = new ProblemError(code);
  const requestId = uuid7();
  const body = JSON.stringify(problemDocument(problem, problem.status, "", requestId));
  const flat = [...common, ...defaultPolicyHeaders, "Cache-Control", "no-store", "X-Request-Id", requestId, "Connection", "close"];
  flat.push("Content-Type", "application/problem+json", "Content-Length", String(Buffer.byteLength(body)));
  const lines = flat.flatMap((text, index) => (index % 2 === 0 ? [`${text}: ${flat[index + 1] ?? ""}`] : []));
  return `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? ""}\r\n${lines.join("\r\n")}\r\n\r\n${body}`;
}
