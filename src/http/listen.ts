import { inJson } from "../kit/say.ts";
import { createAdaptorServer, type HttpBindings } from "@hono/node-server";
import { createServer, STATUS_CODES, type RequestListener, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Logger } from "pino";
import { type ProblemCode, ProblemError } from "../kernel/errors.ts";
import { uuid7 } from "../kernel/ids.ts";
import { OperatorError, systemCode } from "../kernel/operator-errors.ts";
import type { HttpApp } from "./http-app.ts";
import type { ServerBindings, Serving } from "./context.ts";
import { createCommonHeaders, type ResponseHeaders } from "./headers.ts";
import { problemDocument } from "./problem.ts";
import { createResponseQueue, createUnreadWatch } from "./pipelining.ts";

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
  /** Let another app answer from now on. */
  serve(app: HttpApp): void;
  /** Stop accepting, finish the requests in work, end. */
  close(): Promise<void>;
}

type CommonHeaders = (requestId: string) => ResponseHeaders;

interface ServerOptions {
  host: string;
  port: number;
  timeouts?: Partial<ServerTimeouts>;
  publicUrl?: string | undefined;
  logger: Logger;
}

/** Why nothing can listen at an address, in words for the operator. */
function listenRefusal(error: Error, host: string, port: number): Error {
  const others = "Set `HOST=127.0.0.1`, or `HOST=0.0.0.0` for every address.";
  const texts: Readonly<Record<string, string>> = {
    EADDRINUSE: `Port ${port.toString()} on ${host} is in use. Stop the program that has it, or set another \`PORT\`.`,
    EADDRNOTAVAIL: `\`HOST\` is ${host}, which is no address of this machine. ${others}`,
    ENOTFOUND: `\`HOST\` is ${host}, a name that leads to no address. ${others}`,
    EAI_AGAIN: `\`HOST\` is ${host}, a name that cannot be looked up now. ${others}`,
    EACCES: `Port ${port.toString()} is not open to this account. Set \`PORT\` to a number above 1023.`,
  };
  const text = texts[systemCode(error) ?? ""];
  return text === undefined ? error : new OperatorError(text, { cause: error });
}

/** Serve an app with limits that slow and broken clients cannot stretch. */
export async function listen(app: HttpApp, { host, port, timeouts = {}, publicUrl, logger }: ServerOptions): Promise<RunningServer> {
  let serves = app;
  const limits = { ...defaultTimeouts, ...timeouts };
  const commonHeaders = createCommonHeaders(publicUrl);
  const serving: Serving = { isClosing: false, bodyMs: limits.request };
  const noteDropped = createSparseLog(logger, "connections ended that sent too many requests at once");
  const queue = createResponseQueue(() => noteDropped({}));
  const server = createAdaptorServer({
    fetch: (request, bindings) => serves.fetch(request, Object.assign(bindings, { serving }) as ServerBindings),
    serverOptions: {
      headersTimeout: limits.headers,
      requestTimeout: limits.upload,
      keepAliveTimeout: limits.keepAlive,
      connectionsCheckingInterval: limits.check,
      maxHeaderSize: 16 * 1024,
      requireHostHeader: false,
    },
    createServer: ((options: object, serve: RequestListener) => {
      const listener = queue.take(readPlainly(serve, commonHeaders));
      // Otherwise Node invites every body by itself, before anything is checked.
      return createServer(options, listener).on("checkContinue", listener).on("checkExpectation", listener);
    }) as typeof createServer,
  }) as Server;
  server.on("clientError", createClientErrorHandler(commonHeaders, logger));
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    queue.open(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  const watch = setInterval(createUnreadWatch(sockets, limits.unread), limits.check).unref();
  server.once("close", () => clearInterval(watch));
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: Error) => reject(listenRefusal(error, host, port)));
    server.listen({ host, port }, resolve);
  });
  const close = (): Promise<void> => {
    serving.isClosing = true;
    return closeServer(server, sockets, limits.close);
  };
  return { port: (server.address() as AddressInfo).port, serve: (next) => void (serves = next), close };
}

/**
 * Hono makes a URL of `Host` and target, and refuses in plain text what makes none. Nothing here goes by `Host`, so every request is read
 * with the same one; an absolute target (RFC 9112 §3.2.2) means its path, and one that is no path is no address here.
 */
function readPlainly(serve: RequestListener, commonHeaders: CommonHeaders): RequestListener {
  return (request, response) => {
    const ambiguity = findAmbiguity(request);
    if (ambiguity !== undefined) {
      const { status, headers, body } = plainRefusal(new ProblemError("malformed_request", { detail: ambiguity }), commonHeaders);
      return void response.writeHead(status, headers).end(body);
    }
    const { url = "" } = request;
    request.headers.host = "localhost";
    if (!url.startsWith("/") || url.includes("\\")) {
      const path = url.replace(/^https?:\/\/[^/?#]*/i, "").replaceAll("\\", "%5C");
      request.url = path.startsWith("/") ? path : `/${path}`;
    }
    serve(request, response);
  };
}

/** What Node's parser lets through although two readers may understand it differently. */
function findAmbiguity({ rawHeaders, headers, httpVersion }: HttpBindings["incoming"]): string | undefined {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  if (hosts > 1) return "The request has more than one Host header.";
  if (httpVersion === "1.0") return headers["transfer-encoding"] === undefined ? undefined : "HTTP/1.0 knows no Transfer-Encoding.";
  return hosts === 0 ? "The request has no Host header." : undefined;
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

/** Requests the parser refuses get a problem document as well. */
function createClientErrorHandler(commonHeaders: CommonHeaders, logger: Logger) {
  const note = createSparseLog(logger, "requests that could not be parsed");

  return (error: NodeJS.ErrnoException, socket: Socket): void => {
    note({ code: error.code });
    if (!socket.writable || error.code === "ECONNRESET") return void socket.destroy();
    const { status, headers, body } = plainRefusal(new ProblemError(codesByError[error.code ?? ""] ?? "malformed_request"), commonHeaders);
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n${body}`);
    socket.destroySoon();
  };
}

/** A refusal of what never reached the app. */
function plainRefusal(problem: ProblemError, commonHeaders: CommonHeaders): { status: number; headers: ResponseHeaders; body: string } {
  const requestId = uuid7();
  const body = inJson(problemDocument(problem, problem.status, "", requestId));
  const headers = {
    ...commonHeaders(requestId),
    "cache-control": "no-store",
    connection: "close",
    "content-type": "application/problem+json",
    "content-length": String(Buffer.byteLength(body)),
  };
  return { status: problem.status, headers, body };
}

const quietMs = 10_000;

/** Of a flood one line every ten seconds, with how many there were. */
export function createSparseLog(logger: { info(details: object, text: string): void }, text: string) {
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
