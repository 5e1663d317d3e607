import { connect, type Socket } from "node:net";

/** Connections that are opened and kept. */
export interface CrowdOptions {
  port: number;
  connections: number;
  /** Whether what is answered is taken; `onBytes` sees it, in a buffer that is used again. */
  reads: boolean;
  /** Milliseconds after which a connection is dropped and opened again: whoever does not read does not see that it was cut. */
  lifeMs?: number;
  onOpen(socket: Socket): ((bytes: Buffer) => void) | void;
}

export interface Crowd {
  /** Those that are open. */
  sockets: ReadonlySet<Socket>;
  close(): void;
}

/** At most so many are opened at once, every time the clock ticks. */
const opensPerTick = 2;
const tickMs = 2;
/** How long after its end a connection is opened again. */
const pauseMs = 250;
const receiveBytes = 64 * 1024;

/** Opens at most 1000 connections a second, and each again that has ended, until it is closed. */
export function gather({ port, connections, reads, lifeMs, onOpen }: CrowdOptions): Crowd {
  const sockets = new Set<Socket>();
  const buffer = Buffer.alloc(receiveBytes);
  /** When each place that is free may be taken. */
  const places = Array.from({ length: connections }, () => 0);

  function open(): void {
    let onBytes: ((bytes: Buffer) => void) | void;
    const callback = (size: number): boolean => {
      onBytes?.(buffer.subarray(0, size));
      return true;
    };
    const socket = connect({ port, host: "127.0.0.1", noDelay: true, onread: { buffer, callback } }, () => {
      sockets.add(socket);
      onBytes = onOpen(socket);
    });
    if (!reads) socket.pause();
    socket.on("error", () => undefined);
    const life = lifeMs === undefined ? undefined : setTimeout(() => socket.destroy(), lifeMs);
    socket.once("close", () => {
      clearTimeout(life);
      sockets.delete(socket);
      places.push(performance.now() + (lifeMs === undefined ? pauseMs : 0));
    });
    all.add(socket);
    socket.once("close", () => all.delete(socket));
  }

  const all = new Set<Socket>();
  const timer = setInterval(() => {
    for (let opened = 0; opened < opensPerTick; opened += 1) {
      const free = places[0];
      if (free === undefined || free > performance.now()) return;
      places.shift();
      open();
    }
  }, tickMs);

  return {
    sockets,
    close() {
      clearInterval(timer);
      for (const socket of all) socket.destroy();
    },
  };
}
