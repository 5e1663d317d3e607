import { type Benchmark, type BenchmarkOptions, type Goal, median, quantile, type Table } from "./benchmark.ts";
import { type KindName, kinds } from "./greedy/kinds.ts";
import { heapMb, measure, type Sample, type Setting, startSetting } from "./greedy/measure.ts";
import { createProcesses } from "./processes.ts";

const names = Object.keys(kinds) as KindName[];
/** How much longer the innocent client may wait than alone. */
const maxRatio = 2;

/** By the kind of hostile client beside the innocent one; `undefined` for none. */
type Samples = ReadonlyMap<KindName | undefined, Sample[]>;

/**
 * The whole service with the limits that ship and a small heap; beside one innocent client one hostile client of each kind in turn, and
 * before each of them none. All three are processes of their own. The hostile one is held down so that it does not count against the
 * service: it sends at most 3000 requests a second and has the lowest priority, so it takes what the others leave of the cores. The service
 * is not bound to one core: its garbage collection works on another one, too.
 */
export const benchmark: Benchmark = {
  about: "how long one innocent client waits beside seven kinds of hostile ones, against the same client alone",
  async run(options) {
    const processes = createProcesses();
    try {
      const setting = await startSetting(processes);
      const samples: Samples = new Map([undefined, ...names].map((name) => [name, []]));
      for (const name of [...names, undefined]) await measure(setting, Math.min(1, options.seconds), name);
      options.progress("warm");
      for (let round = 1; round <= options.rounds; round += 1) await runRound(round, setting, samples, options);
      const { exitCode, signalCode } = setting.service.child;
      return toTable(samples, exitCode === null && signalCode === null);
    } finally {
      await processes.end();
    }
  },
};

async function runRound(round: number, setting: Setting, samples: Samples, { seconds, rounds, progress }: BenchmarkOptions): Promise<void> {
  for (const name of names) {
    for (const beside of [undefined, name]) {
      const sample = await measure(setting, seconds, beside);
      samples.get(beside)?.push(sample);
      progress(`round ${round}/${rounds}  ${titleOf(beside)}: ${quantile(sample.latencies, 0.99).toFixed(2)} ms`);
    }
  }
}

function titleOf(name: KindName | undefined): string {
  return name ?? "none";
}

/** A quantile of each measurement, and of those the median: the machine itself stops now and then, whoever is served. */
function toTable(samples: Samples, isAlive: boolean): Table {
  const at = (name: KindName | undefined, share: number): number =>
    median((samples.get(name) ?? []).map(({ latencies }) => quantile(latencies, share)));
  const ratio = (name: KindName | undefined, share: number): number => at(name, share) / at(undefined, share);
  const of = (name: KindName | undefined, key: "hostile" | "resident" | "others"): number =>
    median((samples.get(name) ?? []).map((sample) => sample[key]));
  const refused = [...samples.values()].flat().reduce((sum, sample) => sum + sample.refused, 0);
  const goals = names.flatMap((name): Goal[] => [
    { text: `p50 beside ${name}`, wanted: maxRatio, measured: ratio(name, 0.5), bound: "most" },
    { text: `p99 beside ${name}`, wanted: maxRatio, measured: ratio(name, 0.99), bound: "most" },
  ]);
  return {
    columns: ["beside", "p50 ms", "p99 ms", "p50 to none", "p99 to none", "hostile requests/s", "server MB", "other programs, cores"],
    rows: [...samples.keys()].map((name) => [
      titleOf(name),
      at(name, 0.5).toFixed(2),
      at(name, 0.99).toFixed(2),
      ratio(name, 0.5).toFixed(2),
      ratio(name, 0.99).toFixed(2),
      of(name, "hostile").toFixed(0),
      of(name, "resident").toFixed(0),
      of(name, "others").toFixed(2),
    ]),
    goals: [
      ...goals,
      { text: "answers the innocent client was refused", wanted: 0, measured: refused, bound: "most" },
      { text: `services alive at the end, with a heap of ${heapMb.toString()} MB`, wanted: 1, measured: isAlive ? 1 : 0 },
    ],
  };
}
