import { type Benchmark, type BenchmarkOptions, type Goal, median, quantile, type Table } from "./benchmark.ts";
import { kinds } from "./greedy/kinds.ts";
import { type Asked, type Beside, heapMb, measure, type Sample, type Setting, startSetting } from "./greedy/measure.ts";
import { works } from "./greedy/works.ts";
import { createProcesses } from "./processes.ts";

/** What the innocent client asks for, and beside whom. */
interface Part {
  target: Parameters<typeof startSetting>[1];
  asked: Asked;
  names: readonly Beside[];
}
const parts: Readonly<Record<string, Part>> = {
  clients: { target: "greedy", asked: "access", names: Object.keys(kinds) as Beside[] },
  works: { target: "working", asked: "health", names: Object.keys(works) as Beside[] },
};
/** How much longer the innocent client may wait than alone. */
const maxRatio = 2;

/** By what is beside the innocent client; `undefined` for nothing. */
type Samples = ReadonlyMap<Beside | undefined, Sample[]>;
interface Measured {
  part: string;
  samples: Samples;
  isAlive: boolean;
}

/**
 * The whole service with a small heap; beside one innocent client one hostile client of each kind in turn (`clients`, with the limits that
 * ship), or large work that somebody may ask for (`works`, without limits), and before each of them none. All three are processes of their own.
 * The hostile one is held down so that it does not count against the service: it sends at most 3000 requests a second and has the lowest
 * priority, so it takes what the others leave of the cores. The service is not bound to one core: its garbage collection works on another
 * one, too.
 */
export const benchmark: Benchmark = {
  about: "how long one innocent client waits beside hostile clients and large work, against the same client alone",
  parts: Object.keys(parts),
  async run(options) {
    const wanted = options.only.length === 0 ? Object.keys(parts) : options.only;
    const measured: Measured[] = [];
    for (const name of wanted) measured.push(await runPart(name, options));
    return toTable(measured);
  },
};

async function runPart(name: string, options: BenchmarkOptions): Promise<Measured> {
  const part = parts[name];
  if (part === undefined) throw new Error(`no part ${name}`);
  const names = part.names.filter((one) => one.includes(options.match));
  const processes = createProcesses();
  try {
    const setting = await startSetting(processes, part.target);
    const samples: Samples = new Map([undefined, ...names].map((one) => [one, []]));
    for (const one of [...names, undefined]) await measure(setting, Math.min(1, options.seconds), part.asked, one);
    options.progress("warm");
    for (let round = 1; round <= options.rounds; round += 1) await runRound(round, { setting, samples, part, names }, options);
    const { exitCode, signalCode } = setting.service.child;
    return { part: name, samples, isAlive: exitCode === null && signalCode === null };
  } finally {
    await processes.end();
  }
}

interface Round {
  setting: Setting;
  samples: Samples;
  part: Part;
  names: readonly Beside[];
}

async function runRound(round: number, { setting, samples, part, names }: Round, options: BenchmarkOptions): Promise<void> {
  const { seconds, rounds, progress } = options;
  for (const name of names) {
    for (const beside of [undefined, name]) {
      const sample = await measure(setting, seconds, part.asked, beside);
      samples.get(beside)?.push(sample);
      progress(`round ${round}/${rounds}  ${titleOf(beside)}: ${quantile(sample.latencies, 0.99).toFixed(2)} ms`);
    }
  }
}

function titleOf(name: Beside | undefined): string {
  return name ?? "none";
}

function toTable(measured: readonly Measured[]): Table {
  const tables = measured.map(({ part, samples }) => tableOf(part, samples));
  const refused = measured.flatMap(({ samples }) => [...samples.values()].flat()).reduce((sum, sample) => sum + sample.refused, 0);
  const alive = measured.filter(({ isAlive }) => isAlive).length;
  return {
    columns: ["beside", "p50 ms", "p99 ms", "p50 to none", "p99 to none", "hostile requests/s", "server MB", "other programs, cores"],
    rows: tables.flatMap(({ rows }) => rows),
    goals: [
      ...tables.flatMap(({ goals }) => goals),
      { text: "answers the innocent client was refused", wanted: 0, measured: refused, bound: "most" },
      { text: `services alive at the end, with a heap of ${heapMb.toString()} MB`, wanted: measured.length, measured: alive },
    ],
  };
}

/** A quantile of each measurement, and of those the median: the machine itself stops now and then, whoever is served. */
function tableOf(part: string, samples: Samples): Pick<Table, "rows" | "goals"> {
  const at = (name: Beside | undefined, share: number): number =>
    median((samples.get(name) ?? []).map(({ latencies }) => quantile(latencies, share)));
  const ratio = (name: Beside | undefined, share: number): number => at(name, share) / at(undefined, share);
  const of = (name: Beside | undefined, key: "hostile" | "resident" | "others"): number =>
    median((samples.get(name) ?? []).map((sample) => sample[key]));
  return {
    rows: [...samples.keys()].map((name) => [
      `${part}: ${titleOf(name)}`,
      at(name, 0.5).toFixed(2),
      at(name, 0.99).toFixed(2),
      ratio(name, 0.5).toFixed(2),
      ratio(name, 0.99).toFixed(2),
      of(name, "hostile").toFixed(0),
      of(name, "resident").toFixed(0),
      of(name, "others").toFixed(2),
    ]),
    goals: [...samples.keys()].flatMap((name): Goal[] =>
      name === undefined
        ? []
        : [
            { text: `p50 beside ${name}`, wanted: maxRatio, measured: ratio(name, 0.5), bound: "most" },
            { text: `p99 beside ${name}`, wanted: maxRatio, measured: ratio(name, 0.99), bound: "most" },
          ],
    ),
  };
}
