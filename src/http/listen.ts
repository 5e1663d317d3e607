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

type IncomingMessage = HttpBindings["incoming"];
type ServerResponse = HttpBindings["outgoing"];
type Listener = (request: IncomingMessage, response: ServerResponse) => void;

/** The status of an answer after which a connection that sends on without waiting is ended. */
const limitReached = 429;
/** Requests of all connections that wait for their turn: the parser has made them, and they take a few kilobytes each. */
const maxWaiting = 4096;
/** Bytes that the parser takes at once: it makes every request in them before anybody is asked. */
const pieceBytes = 1024;
/** The same while a body arrives. */
const bodyPieceBytes = 8192;
const noBytes = Buffer.alloc(0);

interface Connection {
  /** One request is in work, until the last byte of its answer has left. */
  isBusy: boolean;
  waiting: (() => void)[];
  /** The request that came last. */
  last: IncomingMessage | undefined;
  /** What was read and waits for its turn to be parsed. */
  unparsed: Buffer;
}

/**
 * Serves the requests of one connection one after the other. A client may send on without waiting for answers (RFC 9112 §9.3.2); what it
 * sends beyond its turn is not begun before it has taken earlier answers, and meanwhile nothing more is read or parsed of it. Beyond its
 * limit it is told once: what it has sent besides is dropped, and the connection is ended.
 * @param onDropped called when a connection is ended, also when too many wait: then that of the request that is one too many
 */
function createResponseQueue(onDropped: () => void) {
  const connections = new WeakMap<Socket, Connection>();
  let waiting = 0;

  function forget(connection: Connection): void {
    waiting -= connection.waiting.length;
    connection.waiting = [];
    connection.unparsed = noBytes;
  }

  function feed(socket: Socket, connection: Connection, parse: (bytes: Buffer) => void): void {
    while (connection.unparsed.length > 0 && connection.waiting.length === 0 && !socket.isPaused()) {
      // After the last answer of a connection nothing more is done for it (RFC 9112 §9.6). Node has given its parser away by then.
      if (!socket.writable) return void (connection.unparsed = noBytes);
      const size = connection.last?.complete === false ? bodyPieceBytes : pieceBytes;
      const piece = connection.unparsed.subarray(0, size);
      connection.unparsed = connection.unparsed.subarray(size);
      parse.call(socket, piece);
    }
  }

  function serve(listener: Listener, connection: Connection, request: IncomingMessage, response: ServerResponse): void {
    connection.isBusy = true;
    response.once("close", () => {
      connection.isBusy = false;
      if (!request.socket.writable) return forget(connection);
      const next = connection.waiting.shift();
      if (next === undefined) return;
      waiting -= 1;
      if (response.statusCode === limitReached) {
        forget(connection);
        onDropped();
        return request.socket.destroySoon();
      }
      next();
      if (connection.waiting.length === 0) request.socket.resume();
    });
    listener(request, response);
  }

  return {
    /** Stands between what a new connection reads and Node's parser, which makes all requests of one read before anybody is asked. */
    open(socket: Socket): void {
      const connection: Connection = { isBusy: false, waiting: [], last: undefined, unparsed: noBytes };
      connections.set(socket, connection);
      const [parse] = socket.listeners("data") as ((bytes: Buffer) => void)[];
      if (parse === undefined) throw new Error("no parser listens to the connection");
      socket.on("data", (bytes: Buffer) => {
        connection.unparsed = connection.unparsed.length === 0 ? bytes : Buffer.concat([connection.unparsed, bytes]);
        feed(socket, connection, parse);
      });
      socket.removeListener("data", parse);
      // Node reads on by itself whenever a body is read; of what waits, every body but the last has come.
      socket.on("resume", () => {
        if (connection.waiting.length > 0) socket.pause();
        else feed(socket, connection, parse);
      });
      forgoStacks(socket);
      socket.once("close", () => forget(connection));
    },

    take(listener: Listener): Listener {
      return (request, response) => {
        const { socket } = request;
        const connection = connections.get(socket);
        if (connection === undefined) return listener(request, response);
        connection.last = request;
        // Its body is parsed once somebody reads it; without one Node reads on by itself.
        socket.pause();
        if (!connection.isBusy) return serve(listener, connection, request, response);
        if (waiting >= maxWaiting) {
          onDropped();
          return void socket.destroy();
        }
        waiting += 1;
        connection.waiting.push(() => serve(listener, connection, request, response));
      };
    },
  };
}

/** Node makes an error for every request that a closing connection leaves behind. Nobody reads them, and their stacks are what they cost. */
function forgoStacks(socket: Socket): void {
  const { stackTraceLimit } = Error;
  socket.prependOnceListener("close", () => (Error.stackTraceLimit = 0));
  socket.once("close", () => (Error.stackTraceLimit = stackTraceLimit));
}

/** Ends connections that take nothing of what is sent to them. */
function createUnreadWatch(sockets: ReadonlySet<Socket>, patienceMs: number) {
  const seen = new WeakMap<Socket, { taken: number; at: number }>();
  return function look(): void {
    const now = performance.now();
    for (const socket of sockets) {
      if (socket.writableLength === 0) {
        seen.delete(socket);
        continue;
      }
      const taken = socket.bytesWritten - socket.writableLength;
      const last = seen.get(socket);
      if (last?.taken !== taken) seen.set(socket, { taken, at: now });
      else if (now - last.at >= patienceMs) socket.destroy();
    }
  };
}

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
