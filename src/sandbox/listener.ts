import type { AddressInfo, Socket } from "node:net";
import type { Server } from "node:http";

const host = "127.0.0.1";

export type Listener = Awaited<ReturnType<typeof listen>>;

/**
 * Listens on loopback only, and can go away and come back on the same port.
 * @param wanted port, or 0 for any free one
 */
export async function listen(server: Server, wanted: number) {
  const sockets = new Set<Socket>();
  let outage: { timer: NodeJS.Timeout | undefined; end: () => void } | undefined;
  let isStopped = false;
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });

  const open = (port: number) =>
    new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, host, () => {
        server.off("error", reject);
        resolve();
      });
    });

  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });

  await open(wanted);
  const { port } = server.address() as AddressInfo;

  return {
    port,
    async down(ms: number): Promise<void> {
      await close();
      await new Promise<void>((resolve) => {
        outage = { timer: ms === Infinity ? undefined : setTimeout(resolve, ms), end: resolve };
      });
      if (!isStopped) await open(port);
    },
    up(): void {
      clearTimeout(outage?.timer);
      outage?.end();
    },
    async stop(): Promise<void> {
      isStopped = true;
      clearTimeout(outage?.timer);
      if (server.listening) await close();
    },
  };
}
