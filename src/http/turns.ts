import type { HttpBindings } from "@hono/node-server";
import type { Socket } from "node:net";

type IncomingMessage = HttpBindings["incoming"];
type ServerResponse = HttpBindings["outgoing"];
type Listener = (request: IncomingMessage, response: ServerResponse) => void;

/** Requests of one connection in work at once, counted until the last byte of the answer has left. */
const mostInWork = 8;
/** The status of an answer after which a connection that sends on without waiting is ended. */
const limitReached = 429;
/** Requests of all connections that wait for their turn: the parser has made them, and they take a few kilobytes each. */
const mostWaiting = 4096;

interface Connection {
  inWork: number;
  waiting: (() => void)[];
}

/**
 * Serves the requests of one connection a few at a time. A client may send on without waiting for answers (RFC 9112 §9.3.2); what it
 * sends beyond its turn is not begun before it has taken earlier answers, and meanwhile nothing more is read of it. Beyond its limit it
 * is told once: what it has sent besides is dropped, and the connection is ended.
 * @param onDropped called when a connection is ended, also when too many wait: then that of the request that is one too many
 */
export function inTurns(listener: Listener, onDropped: () => void): Listener {
  const connections = new WeakMap<Socket, Connection>();
  let waiting = 0;

  function open(socket: Socket): Connection {
    const connection: Connection = { inWork: 0, waiting: [] };
    connections.set(socket, connection);
    // Node reads on by itself whenever a body is read; of what waits, every body but the last has come.
    socket.on("resume", () => {
      if (connection.waiting.length > 0) socket.pause();
    });
    socket.once("close", () => forget(connection));
    return connection;
  }

  function forget(connection: Connection): void {
    waiting -= connection.waiting.length;
    connection.waiting = [];
  }

  function serve(connection: Connection, request: IncomingMessage, response: ServerResponse): void {
    connection.inWork += 1;
    response.once("close", () => {
      connection.inWork -= 1;
      if (response.statusCode === limitReached && connection.waiting.length > 0) {
        forget(connection);
        onDropped();
        return request.socket.destroySoon();
      }
      const next = connection.waiting.shift();
      if (next === undefined) return;
      waiting -= 1;
      next();
      if (connection.waiting.length === 0) request.socket.resume();
    });
    listener(request, response);
  }

  return (request, response) => {
    const { socket } = request;
    const connection = connections.get(socket) ?? open(socket);
    if (connection.inWork < mostInWork && connection.waiting.length === 0) return serve(connection, request, response);
    if (waiting >= mostWaiting) {
      onDropped();
      return void socket.destroy();
    }
    waiting += 1;
    connection.waiting.push(() => serve(connection, request, response));
    socket.pause();
  };
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
