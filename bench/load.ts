import { connect } from "node:net";

/** What one measurement asks for. */
export interface LoadOrder {
  port: number;
  path: string;
  headers: Readonly<Record<string, string>>;
  connections: number;
  seconds: number;
}

export interface LoadResult {
  answers: number;
  /** Answers whose status was not 200. */
  refused: number;
  perSecond: number;
  p50: number;
  p99: number;
}

/** A plain keep-alive client that costs less than the servers it measures; runs in a process of its own. */
async function load(order: LoadOrder): Promise<LoadResult> {
  const head = Object.entries({ Host: `127.0.0.1:${order.port}`, ...order.headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  const request = Buffer.from(`GET ${order.path} HTTP/1.1\r\n${head.join("")}\r\n`);
  const latencies: number[] = [];
  let refused = 0;
  const startedAt = performance.now();
  const endsAt = startedAt + order.seconds * 1000;
  await Promise.all(
    Array.from({ length: order.connections }, () =>
      converse(order.port, request, endsAt, (latency, isOk) => {
        latencies.push(latency);
        if (!isOk) refused += 1;
      }),
    ),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  latencies.sort((a, b) => a - b);
  const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? Number.NaN;
  return { answers: latencies.length, refused, perSecond: latencies.length / seconds, p50: at(0.5), p99: at(0.99) };
}

function converse(port: number, request: Buffer, endsAt: number, onAnswer: (latency: number, isOk: boolean) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => send());
    let sentAt = 0;
    let pending = "";
    const send = (): void => {
      sentAt = performance.now();
      socket.write(request);
    };
    socket.setNoDelay(true);
    socket.on("data", (chunk) => {
      pending += chunk.toString("latin1");
      if (!isWhole(pending)) return;
      const now = performance.now();
      onAnswer(now - sentAt, pending.startsWith("HTTP/1.1 200"));
      pending = "";
      if (now < endsAt) send();
      else socket.end();
    });
    socket.on("close", () => resolve());
    socket.on("error", reject);
  });
}

const lengthHeader = /\r\ncontent-length: (\d+)\r\n/i;

function isWhole(text: string): boolean {
  const bodyAt = text.indexOf("\r\n\r\n");
  if (bodyAt === -1) return false;
  const length = lengthHeader.exec(text)?.[1];
  if (length === undefined) return text.endsWith("0\r\n\r\n");
  return text.length >= bodyAt + 4 + Number(length);
}

process.on("message", (order: LoadOrder) => {
  load(order).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`);
      process.exit(1);
    },
  );
});
