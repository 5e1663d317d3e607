import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { serveTasks } from "../tasks.ts";

/** When each message came: the path, the number of its event, and milliseconds of the machine. */
let received: [path: string, n: number, at: number][] = [];

/** Answers under `/good/`, and never under `/hang/`. */
const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
  const at = performance.timeOrigin + performance.now();
  let text = "";
  request.setEncoding("utf8").on("data", (part: string) => (text += part));
  request.on("end", () => {
    const path = request.url ?? "";
    if (path.startsWith("/hang/")) return;
    received.push([path, (JSON.parse(text) as { data: { data: { n: number } } }).data.data.n, at]);
    response.writeHead(204).end();
  });
});

serveTasks({
  listen: async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return (server.address() as AddressInfo).port;
  },
  count: () => received.length,
  take: () => {
    const taken = received;
    received = [];
    return taken;
  },
});
process.once("disconnect", () => process.exit());
