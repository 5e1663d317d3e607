import { connect } from "node:net";

/** What one measurement asks for. */
export interface LoadOrder {
  port: number;
  /** Asked one after the other by whichever connection is free, round and round. */
  paths: readonly string[];
  headers: Readonly<Record<string, string>>;
  /** Sent by POST: in each request `{number}` is ten digits that no other request of this process had. Without it everything is a GET. */
  body?: string;
  /** Of the answers that are wanted; 200 by default. */
  status?: number;
  connections: number;
  seconds: number;
  /** Go on after the time until so many answers are there. */
  answers?: number;
}

export interface LoadResult {
  answers: number;
  /** Answers of another status than the one that is wanted. */
  refused: number;
  perSecond: number;
  p50: number;
  p99: number;
}

interface Run {
  port: number;
  begin: string;
  next(): Buffer;
  isOver(now: number): boolean;
  onAnswer(latency: number, isOk: boolean): void;
}

/** A plain keep-alive client that costs less than the servers it measures; runs in a process of its own. */
async function load(order: LoadOrder): Promise<LoadResult> {
  const latencies: number[] = [];
  let refused = 0;
  const startedAt = performance.now();
  const endsAt = startedAt + order.seconds * 1000;
  const run: Run = {
    port: order.port,
    begin: `HTTP/1.1 ${(order.status ?? 200).toString()} `,
    next: createRotation(order),
    isOver: (now) => now >= endsAt && latencies.length >= (order.answers ?? 0),
    onAnswer(latency, isOk) {
      latencies.push(latency);
      if (!isOk) refused += 1;
    },
  };
  await Promise.all(Array.from({ length: order.connections }, () => converse(run)));
  const seconds = (performance.now() - startedAt) / 1000;
  latencies.sort((a, b) => a - b);
  const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? Number.NaN;
  return { answers: latencies.length, refused, perSecond: latencies.length / seconds, p50: at(0.5), p99: at(0.99) };
}

/** Of the bodies made so far, from a million on: records that were there before have smaller numbers. */
let number = 1_000_000;

function createRotation({ port, paths, headers, body }: LoadOrder): () => Buffer {
  const type = body === undefined ? {} : { "Content-Type": "application/json" };
  const head = Object.entries({ Host: `127.0.0.1:${port}`, ...type, ...headers })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");
  const gets = body === undefined ? paths.map((path) => Buffer.from(`GET ${path} HTTP/1.1\r\n${head}\r\n`)) : [];
  let at = 0;
  return () => {
    const path = paths[at];
    if (path === undefined) throw new Error("nothing to ask");
    const request = gets[at] ?? post(path, head, body ?? "");
    at = (at + 1) % paths.length;
    return request;
  };
}

function post(path: string, head: string, body: string): Buffer {
  number += 1;
  const sent = body.replaceAll("{number}", number.toString().padStart(10, "0"));
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${head}Content-Length: ${Buffer.byteLength(sent)}\r\n\r\n${sent}`);
}

function converse({ port, begin, next, isOver, onAnswer }: Run): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => send());
    let sentAt = 0;
    let pending = "";
    const send = (): void => {
      sentAt = performance.now();
      socket.write(next());
    };
    socket.setNoDelay(true);
    socket.on("data", (chunk) => {
      pending += chunk.toString("latin1");
      if (!isWhole(pending)) return;
      const now = performance.now();
      onAnswer(now - sentAt, pending.startsWith(begin));
      pending = "";
      if (isOver(now)) socket.end();
      else send();
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
    (result) => process.send?.({ answer: result }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
