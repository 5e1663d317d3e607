import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** What becomes of a request: it goes on, its answer is lost on the way back, or it is answered here. */
type Fate = "pass" | "lose the answer" | { status: number; headers?: Record<string, string>; body?: string };

export interface Proxy {
  url: string;
  /** Every request, in the order they came. */
  asked: { method: string; path: string; headers: IncomingMessage["headers"] }[];
  /** What becomes of the next requests, one after the other; those after them pass. */
  fates: Fate[];
  /** Every connection is lost. */
  cut(): void;
}

/** A proxy before a service, whose address may change. What it gets while the service is away is cut off. */
export async function createProxy(service: { readonly url: string }): Promise<Proxy> {
  const proxy: Proxy = { url: "", asked: [], fates: [], cut: () => server.closeAllConnections() };
  const server = createServer((incoming, outgoing) => {
    const { method = "", url = "", headers } = incoming;
    proxy.asked.push({ method, path: url, headers });
    const fate = proxy.fates.shift() ?? "pass";
    if (typeof fate === "object") {
      incoming.resume();
      outgoing.writeHead(fate.status, fate.headers).end(fate.body);
    } else pass(service.url, incoming, outgoing, fate);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  proxy.url = `http://127.0.0.1:${(server.address() as AddressInfo).port.toString()}`;
  return proxy;
}

function pass(service: string, incoming: IncomingMessage, outgoing: ServerResponse, fate: "pass" | "lose the answer"): void {
  const { method, url = "", headers } = incoming;
  const asked = request(service + url, { method, headers, agent: false }, (answer) => {
    if (fate === "lose the answer") {
      answer.resume().on("end", () => outgoing.destroy());
      return;
    }
    outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.on("error", () => outgoing.destroy());
    answer.pipe(outgoing);
  });
  asked.on("error", () => outgoing.destroy());
  outgoing.on("close", () => asked.destroy());
  incoming.pipe(asked);
}
