import { connect, type Socket } from "node:net";

interface CrowdOptions {
  port: number;
  connections: number;
  /** Whether what is answered is taken. Whoever does not read does not see that it was cut either, and gives up after its life. */
  reads: boolean;
  /** Milliseconds after which a connection is dropped. */
  lifeMs?: number;
  /** @returns takes what is answered, in a buffer that is used again */
  onOpen(socket: Socket): ((bytes: Buffer) => void) | void;
}

export interface Crowd {
  /** Those that are open. */
  sockets: ReadonlySet<Socket>;
  close(): void;
}

const tickMs = 2;
const opensPerTick = 2;
/** How long after it was cut a connection is opened again. */
const pauseMs = 250;
const receiveBytes = 64 * 1024;

/** Opens at most 1000 connections a second, and again each that has ended. */
export function gather({ port, connections, reads, lifeMs, onOpen }: CrowdOptions): Crowd {
  const all = new Set<Socket>();
  const sockets = new Set<Socket>();
  const buffer = Buffer.alloc(receiveBytes);
  /** Of each connection that is to be opened: not before when. */
  const missing = Array.from({ length: connections }, () => 0);

  function open(): void {
    let take: ((bytes: Buffer) => void) | void;
    const callback = (size: number): boolean => {
      take?.(buffer.subarray(0, size));
      return true;
    };
    const socket = connect({ port, host: "127.0.0.1", noDelay: true, onread: { buffer, callback } }, () => {
      sockets.add(socket);
      take = onOpen(socket);
    });
    all.add(socket);
    if (!reads) socket.pause();
    let isOver = false;
    const life = setTimeout(
      () => {
        isOver = true;
        socket.destroy();
      },
      lifeMs ?? 2 ** 31 - 1,
    );
    socket.on("error", () => undefined);
    socket.once("close", () => {
      clearTimeout(life);
      all.delete(socket);
      sockets.delete(socket);
      missing.push(isOver ? 0 : performance.now() + pauseMs);
    });
  }

  const timer = setInterval(() => {
    for (let opened = 0; opened < opensPerTick; opened += 1) {
      const [notBefore] = missing;
      if (notBefore === undefined || notBefore > performance.now()) return;
      missing.shift();
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
