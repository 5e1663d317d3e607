import type { HttpBindings } from "@hono/node-server";
import type { Socket } from "node:net";

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
export function createResponseQueue(onDropped: () => void) {
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
export function createUnreadWatch(sockets: ReadonlySet<Socket>, patienceMs: number) {
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
