import { spawnSync } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { type Benchmark, type BenchmarkOptions, type Goal, median, quantile, type Table } from "./benchmark.ts";
import type { HostileOrder } from "./greedy/hostile.ts";
import type { InnocentOrder, InnocentResult } from "./greedy/innocent.ts";
import { type KindName, kinds } from "./greedy/kinds.ts";
import { ask, createProcesses, type Host } from "./processes.ts";
import type { Callers } from "./targets/greedy.ts";
import type { ChildProcess } from "node:child_process";

const names = Object.keys(kinds) as KindName[];
const heapMb = 256;
const mostRatio = 2;
/** Between two measurements, so that the one does not pay for the other. */
const restMs = 500;

/** What the innocent client met in one measurement. */
interface Sample {
  p50: number;
  p99: number;
  refused: number;
  /** Requests the hostile client began, in a second. */
  hostile: number;
  /** Resident megabytes of the server at the end. */
  resident: number;
}
type Samples = ReadonlyMap<KindName, { alone: Sample[]; beside: Sample[] }>;

interface Setting {
  service: Host;
  callers: Callers;
  innocent: ChildProcess;
  hostile: ChildProcess;
}

export const benchmark: Benchmark = {
  about: "an innocent client beside seven kinds of hostile ones, against the same client alone",
  async run(options) {
    const processes = createProcesses();
    const [first, second] = coresOf();
    options.progress(first === undefined ? "server and clients share the cores" : "the server has a core of its own");
    try {
      const service = await processes.startHost("./targets/greedy.ts", "greedy", { heapMb, core: first });
      const innocent = processes.startClient("./greedy/innocent.ts", { core: second });
      const hostile = processes.startClient("./greedy/hostile.ts", { core: second });
      const setting = { service, callers: await ask<Callers>(service.child, "callers"), innocent, hostile };
      const samples: Samples = new Map(names.map((name) => [name, { alone: [], beside: [] }]));
      await measure(setting, options.seconds);
      for (let round = 1; round <= options.rounds; round += 1) await runRound(round, setting, samples, options);
      return toTable(samples);
    } finally {
      await processes.end();
    }
  },
};

/** A core for the server and one for both clients, so that what the hostile one computes is not counted against the server; none without `taskset`. */
function coresOf(): readonly number[] {
  const isThere = spawnSync("taskset", ["-c", "0,1", "true"]).status === 0;
  return isThere ? [0, 1] : [];
}

async function runRound(round: number, setting: Setting, samples: Samples, { seconds, rounds, progress }: BenchmarkOptions): Promise<void> {
  for (const [name, { alone, beside }] of samples) {
    alone.push(await measure(setting, seconds));
    beside.push(await measure(setting, seconds, name));
    const shown = (key: "p50" | "p99"): string => `${alone.at(-1)?.[key].toFixed(2) ?? ""} → ${beside.at(-1)?.[key].toFixed(2) ?? ""}`;
    progress(`round ${round}/${rounds}  ${name}: p50 ${shown("p50")}, p99 ${shown("p99")} ms`);
  }
}

let measured = 0;

/** @param kind of the hostile client; without one the innocent client is alone. Each comes from an address of its own, whose limits are full. */
async function measure({ service, callers, innocent, hostile }: Setting, seconds: number, kind?: KindName): Promise<Sample> {
  const { port } = service;
  measured += 1;
  if (kind !== undefined) {
    const order: HostileOrder = {
      kind,
      port,
      key: callers.keys.hostile,
      address: `198.18.${(measured >> 8).toString()}.${(measured & 255).toString()}`,
      actor: callers.staff[measured % callers.staff.length] ?? "",
    };
    await ask(hostile, "start", order);
  }
  const order: InnocentOrder = { port, key: callers.keys.innocent, staff: callers.staff, seconds };
  const { latencies, refused } = await ask<InnocentResult>(innocent, "measure", order);
  const resident = await ask<number>(service.child, "resident");
  const requests = kind === undefined ? 0 : await ask<number>(hostile, "stop");
  await delay(restMs);
  return { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99), refused, hostile: requests / seconds, resident };
}

function toTable(samples: Samples): Table {
  const ratioOf = (name: KindName, key: "p50" | "p99"): number => {
    const { alone = [], beside = [] } = samples.get(name) ?? {};
    return median(beside.map((sample, round) => sample[key] / (alone[round]?.[key] ?? Number.NaN)));
  };
  const rows = [...samples].map(([name, { beside }]) => {
    const of = (key: keyof Sample): number => median(beside.map((sample) => sample[key]));
    const ratio = (key: "p50" | "p99"): number => ratioOf(name, key);
    return [
      name,
      of("p50").toFixed(2),
      of("p99").toFixed(2),
      ratio("p50").toFixed(2),
      ratio("p99").toFixed(2),
      of("hostile").toFixed(0),
      of("resident").toFixed(0),
    ];
  });
  const goals = names.flatMap((name) =>
    (["p50", "p99"] as const).map((key): Goal => ({
      text: `${key} beside ${name}`,
      wanted: mostRatio,
      measured: ratioOf(name, key),
      bound: "most",
    })),
  );
  return { columns: ["beside", "p50 ms", "p99 ms", "p50 ratio", "p99 ratio", "hostile/s", "server MB"], rows, goals };
}
