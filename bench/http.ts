import type { ChildProcess } from "node:child_process";
import { type Benchmark, type BenchmarkOptions, median, type Table } from "./benchmark.ts";
import { createProcesses, type Host, measure, type Sample } from "./processes.ts";

/** Module and export of every measured target; the first is the baseline. */
const targets = {
  "node:http": ["./targets/bare.ts", "bare"],
  "Hono, stock middlewares": ["./targets/stock.ts", "stock"],
  "pipeline, no database": ["./targets/pipeline.ts", "pipeline"],
  "node:http, bytes of an access answer": ["./targets/bare.ts", "bareAccess"],
  "GET /staff/{id}/access, whole service": ["./targets/app.ts", "staffAccess"],
} as const;
type Name = keyof typeof targets;
const names = Object.keys(targets) as Name[];

const accessName = "GET /staff/{id}/access, whole service" satisfies Name;
const accessBaseline = "node:http, bytes of an access answer" satisfies Name;

/** Which bare server answers the same bytes. */
const baselineOf = (name: Name): Name => (name === accessName || name === accessBaseline ? accessBaseline : "node:http");

/** Every server and the client in a process of its own; a round measures each server once. */
export const benchmark: Benchmark = {
  about: "the request pipeline against bare node:http and against stock Hono middlewares",
  async run(options) {
    const processes = createProcesses();
    try {
      const client = processes.startClient();
      const hosts = new Map<Name, Host>();
      for (const name of names) {
        const [module, target] = targets[name];
        hosts.set(name, await processes.startHost(module, target));
      }
      const samples = new Map<Name, Sample[]>(names.map((name) => [name, []]));
      for (const [name, host] of hosts)
        await measure(client, host, Math.min(1, options.seconds)).then(() => options.progress(`warm: ${name}`));
      for (let round = 1; round <= options.rounds; round += 1) await runRound(round, client, hosts, samples, options);
      return toTable(samples);
    } finally {
      await processes.end();
    }
  },
};

async function runRound(
  round: number,
  client: ChildProcess,
  hosts: ReadonlyMap<Name, Host>,
  samples: ReadonlyMap<Name, Sample[]>,
  { seconds, rounds, progress }: BenchmarkOptions,
): Promise<void> {
  for (const [name, host] of hosts) {
    const sample = await measure(client, host, seconds);
    samples.get(name)?.push(sample);
    progress(`round ${round}/${rounds}  ${name}: ${Math.round(sample.perSecond)}/s, ${sample.cpu.toFixed(1)} µs`);
  }
}

function toTable(samples: ReadonlyMap<Name, readonly Sample[]>): Table {
  const of = (name: Name, key: keyof Sample): number => median((samples.get(name) ?? []).map((sample) => sample[key]));
  const ratio = (name: Name, base: Name): number => {
    const bases = samples.get(base) ?? [];
    return median((samples.get(name) ?? []).map((sample, round) => sample.perSecond / (bases[round]?.perSecond ?? Number.NaN)));
  };
  return {
    columns: ["target", "ratio to its node:http", "answers/s", "server µs/answer", "p50 ms", "p99 ms"],
    rows: names.map((name) => [
      name,
      ratio(name, baselineOf(name)).toFixed(3),
      of(name, "perSecond").toFixed(0),
      of(name, "cpu").toFixed(1),
      of(name, "p50").toFixed(2),
      of(name, "p99").toFixed(2),
    ]),
    goals: [
      { text: "the pipeline against node:http", wanted: 0.4, measured: ratio("pipeline, no database", "node:http") },
      { text: "the pipeline against stock middlewares", wanted: 4, measured: ratio("pipeline, no database", "Hono, stock middlewares") },
      { text: "the access answer against node:http", wanted: 0.33, measured: ratio(accessName, baselineOf(accessName)) },
    ],
  };
}
