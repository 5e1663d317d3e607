import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { serveTasks } from "../tasks.ts";
import { createAnswerReader } from "./answers.ts";

export interface InnocentOrder {
  port: number;
  key: string;
  /** Asked in turn, each for a person: so nobody asks more often than the limit for one person allows. */
  asked: readonly { path: string; actor: string }[];
  /** Milliseconds between two requests. */
  everyMs: number;
  seconds: number;
}

export interface InnocentResult {
  /** Milliseconds from when each request was due until its answer was there, the wait for a free connection included. */
  latencies: number[];
  /** Answers that were not 200. */
  refused: number;
}

const connections = 2;
const settleMs = 5;
/** How long after it was cut a connection is opened again. */
const reopenMs = 20;
/** How long the last answers are waited for. */
const patienceMs = 20_000;

/**
 * A client as a website has one: it keeps its connections and asks at a steady pace, however slow the answers are. A connection that is cut is
 * opened again, and what was asked on it is asked again; the wait counts from when it was due.
 */
async function measure({ port, key, asked: wanted, everyMs, seconds }: InnocentOrder): Promise<InnocentResult> {
  const requests = wanted.map(({ path, actor }) =>
    Buffer.from(`GET ${path} HTTP/1.1\r\nHost: provost\r\nAuthorization: Bearer ${key}\r\nX-Acting-User: ${actor}\r\n\r\n`),
  );
  const result: InnocentResult = { latencies: [], refused: 0 };
  const lines = await Promise.all(Array.from({ length: connections }, () => openLine(port)));
  const due: number[] = [];
  let asked = 0;
  const proceed = (): void => {
    for (const line of lines) {
      const since = due[0];
      const request = requests[asked % requests.length];
      if (since === undefined || line.isBusy() || request === undefined) continue;
      due.shift();
      asked += 1;
      line.ask(request, (status) => {
        result.latencies.push(performance.now() - since);
        if (status !== 200) result.refused += 1;
        proceed();
      });
    }
  };
  const timer = setInterval(() => {
    due.push(performance.now());
    proceed();
  }, everyMs);
  await delay(seconds * 1000);
  clearInterval(timer);
  await settle(lines, () => due.length === 0 && lines.every((line) => !line.isBusy()));
  for (const line of lines) line.close();
  return result;
}

/** @throws Error when it takes too long */
async function settle(lines: readonly Line[], isSo: () => boolean): Promise<void> {
  const end = performance.now() + patienceMs;
  while (!isSo()) {
    const states = lines.map((line) => (line.isCut() ? "cut off" : line.isBusy() ? "kept waiting" : "free"));
    if (performance.now() > end) throw new Error(`the innocent client was not answered; its connections: ${states.join(", ")}`);
    await delay(settleMs);
  }
}

interface Line {
  isBusy(): boolean;
  isCut(): boolean;
  ask(request: Buffer, onAnswer: (status: number) => void): void;
  close(): void;
}

/** One connection with at most one request at a time. */
async function openLine(port: number): Promise<Line> {
  let waiting: { request: Buffer; onAnswer: (status: number) => void } | undefined;
  let isOver = false;

  function open(): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const read = createAnswerReader((status) => {
        const answered = waiting;
        waiting = undefined;
        answered?.onAnswer(status);
      });
      const opened = connect(port, "127.0.0.1", () => resolve(opened))
        .setNoDelay(true)
        .on("data", read)
        .on("error", reject)
        .on("close", () => void reopen().catch(() => undefined));
    });
  }
  async function reopen(): Promise<void> {
    if (isOver) return;
    await delay(reopenMs);
    socket = await open();
    if (waiting !== undefined) socket.write(waiting.request);
  }

  let socket = await open();
  return {
    isBusy: () => waiting !== undefined,
    isCut: () => socket.destroyed,
    ask(request, onAnswer) {
      waiting = { request, onAnswer };
      if (!socket.destroyed) socket.write(request);
    },
    close() {
      isOver = true;
      socket.destroy();
    },
  };
}

serveTasks({ measure });
