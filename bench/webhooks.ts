import type { ChildProcess } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { type Benchmark, median, quantile, type Table } from "./benchmark.ts";
import { ask, createProcesses, type Host } from "./processes.ts";

const [good, hanging] = [80, 20];
/** Between two commits. */
const everyMs = 50;
const filled = 3000;
const patienceMs = 120_000;
const variants = ["alone", "beside"] as const;
type Variant = (typeof variants)[number];
type Received = readonly (readonly [path: string, n: number, at: number])[];

interface Setting {
  service: Host;
  receiver: ChildProcess;
  ids: { good: readonly string[]; hanging: readonly string[]; solo: readonly string[] };
}

/**
 * The whole service, and one process that receives. Events are committed at a steady pace while 80 receivers answer, with and without 20
 * others that never do, in turn. Then one receiver is told of what it has missed, as fast as it answers.
 */
export const benchmark: Benchmark = {
  about: "from the commit of an event to its receivers, with and without others that hang, and how many a second one receiver is told",
  async run({ seconds, rounds, progress }) {
    const processes = createProcesses();
    try {
      const setting = await startSetting(processes);
      const latencies: Record<Variant, number[]> = { alone: [], beside: [] };
      const p50: Record<Variant, number[]> = { alone: [], beside: [] };
      const perSecond: number[] = [];
      for (let round = 0; round <= rounds; round += 1) {
        for (const variant of round % 2 === 0 ? variants : variants.toReversed()) {
          const found = await measure(setting, variant, Math.max(1, Math.round((seconds * 1000) / everyMs)));
          // The first round only warms up.
          if (round === 0) continue;
          progress(`round ${round.toString()}/${rounds.toString()}  ${variant}: p99 ${quantile(found, 0.99).toFixed(1)} ms`);
          latencies[variant].push(quantile(found, 0.99));
          p50[variant].push(quantile(found, 0.5));
        }
        const drained = await drain(setting);
        if (round > 0) perSecond.push(drained);
      }
      return toTable(latencies, p50, perSecond);
    } finally {
      await processes.end();
    }
  },
};

async function startSetting({ startHost, startClient }: ReturnType<typeof createProcesses>): Promise<Setting> {
  const service = await startHost("./targets/webhooks.ts", "webhooks");
  const receiver = startClient("./webhooks/receiver.ts");
  const port = await ask<number>(receiver, "listen");
  const hook = (path: string, type: string) =>
    ask<string>(service.child, "hook", { url: `http://127.0.0.1:${port.toString()}/${path}`, type });
  const make = async (kind: "good" | "hang", count: number): Promise<string[]> => {
    const ids: string[] = [];
    for (let one = 0; one < count; one += 1) ids.push(await hook(`${kind}/${one.toString()}`, "owner.changed"));
    return ids;
  };
  return {
    service,
    receiver,
    ids: { good: await make("good", good), hanging: await make("hang", hanging), solo: [await hook("good/solo", "roster.drift")] },
  };
}

const set = (setting: Setting, ids: readonly string[], state: "active" | "paused") => ask(setting.service.child, "set", { ids, state });

async function untilReceived({ receiver }: Setting, count: number): Promise<void> {
  const end = performance.now() + patienceMs;
  while ((await ask<number>(receiver, "count")) < count) {
    if (performance.now() > end) throw new Error("the receivers were not told of everything");
    await delay(20);
  }
}

/** Milliseconds from each commit to each receiver that answers. */
async function measure(setting: Setting, variant: Variant, count: number): Promise<number[]> {
  const { service, receiver, ids } = setting;
  await set(setting, ids.good, "active");
  if (variant === "beside") await set(setting, ids.hanging, "active");
  // What was committed meanwhile is not measured.
  await delay(1000);
  await ask(receiver, "take");
  const committed = await ask<number[]>(service.child, "emit", { count, everyMs });
  await untilReceived(setting, count * good);
  const received = await ask<Received>(receiver, "take");
  await set(setting, [...ids.good, ...(variant === "beside" ? ids.hanging : [])], "paused");
  return received.map(([, n, at]) => at - (committed[n] ?? Number.NaN));
}

/** Events a second that one receiver is told of, which has missed them. */
async function drain(setting: Setting): Promise<number> {
  const { service, receiver, ids } = setting;
  await ask(service.child, "fill", filled);
  await ask(receiver, "take");
  await set(setting, ids.solo, "active");
  await untilReceived(setting, filled);
  const times = (await ask<Received>(receiver, "take")).map(([, , at]) => at);
  await set(setting, ids.solo, "paused");
  return (filled / (Math.max(...times) - Math.min(...times))) * 1000;
}

function toTable(p99: Record<Variant, number[]>, p50: Record<Variant, number[]>, perSecond: readonly number[]): Table {
  const titles: Readonly<Record<Variant, string>> = {
    alone: `${good.toString()} that answer`,
    beside: `the same, beside ${hanging.toString()} that hang`,
  };
  const ratio = median(p99.beside.map((found, round) => found / (p99.alone[round] ?? Number.NaN)));
  return {
    columns: ["receivers", "p50 ms", "p99 ms"],
    rows: variants.map((variant) => [titles[variant], median(p50[variant]).toFixed(2), median(p99[variant]).toFixed(2)]),
    goals: [
      { text: "p99 from commit to receiver, beside 20 that hang to without", wanted: 1.5, measured: ratio, bound: "most" },
      { text: "events a second to one receiver that answers", wanted: 1000, measured: median(perSecond) },
    ],
  };
}
