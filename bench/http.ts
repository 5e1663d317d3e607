import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type Benchmark, type BenchmarkOptions, median, type Table } from "./benchmark.ts";
import type { LoadOrder, LoadResult } from "./load.ts";
import type { Target } from "./target.ts";

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

const connections = 32;

interface Sample {
  perSecond: number;
  /** CPU microseconds of the server per answer. */
  cpu: number;
  p50: number;
  p99: number;
}

/** Every server and the client in a process of its own; a round measures each server once. */
export const benchmark: Benchmark = {
  about: "the request pipeline against bare node:http and against stock Hono middlewares",
  async run(options) {
    const hosts = new Map<Name, Awaited<ReturnType<typeof startHost>>>();
    const client = fork(fileURLToPath(new URL("./load.ts", import.meta.url)));
    try {
      for (const name of names) {
        const [module, target] = targets[name];
        hosts.set(name, await startHost(module, target));
      }
      const samples = new Map<Name, Sample[]>(names.map((name) => [name, []]));
      for (const [name, host] of hosts)
        await measure(client, host, Math.min(1, options.seconds)).then(() => options.progress(`warm: ${name}`));
      for (let round = 1; round <= options.rounds; round += 1) await runRound(round, client, hosts, samples, options);
      return toTable(samples);
    } finally {
      client.kill();
      for (const { child } of hosts.values()) child.kill();
    }
  },
};

async function runRound(
  round: number,
  client: ChildProcess,
  hosts: ReadonlyMap<Name, Awaited<ReturnType<typeof startHost>>>,
  samples: ReadonlyMap<Name, Sample[]>,
  { seconds, rounds, progress }: BenchmarkOptions,
): Promise<void> {
  for (const [name, host] of hosts) {
    const sample = await measure(client, host, seconds);
    samples.get(name)?.push(sample);
    progress(`round ${round}/${rounds}  ${name}: ${Math.round(sample.perSecond)}/s, ${sample.cpu.toFixed(1)} µs`);
  }
}

async function startHost(module: string, name: string) {
  const child = fork(fileURLToPath(new URL("./host.ts", import.meta.url)), [module, name]);
  const [{ port, request }] = (await once(child, "message")) as [{ port: number; request: Target["request"] }];
  return { child, port, request };
}

async function measure(
  client: ChildProcess,
  host: { child: ChildProcess; port: number; request: Target["request"] },
  seconds: number,
): Promise<Sample> {
  const order: LoadOrder = { port: host.port, ...host.request, connections, seconds };
  const before = await cpuOf(host.child);
  client.send(order);
  const [result] = (await once(client, "message")) as [LoadResult];
  const used = (await cpuOf(host.child)) - before;
  if (result.refused > 0) throw new Error(`${result.refused} answers were not 200`);
  return { perSecond: result.perSecond, cpu: used / result.answers, p50: result.p50, p99: result.p99 };
}

async function cpuOf(child: ChildProcess): Promise<number> {
  child.send("cpu");
  const [{ cpu }] = (await once(child, "message")) as [{ cpu: NodeJS.CpuUsage }];
  return cpu.user + cpu.system;
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
      { text: "the pipeline against node:http", wanted: 0.35, measured: ratio("pipeline, no database", "node:http") },
      { text: "the pipeline against stock middlewares", wanted: 4, measured: ratio("pipeline, no database", "Hono, stock middlewares") },
      { text: "the access answer against node:http", wanted: 0.3, measured: ratio(accessName, baselineOf(accessName)) },
    ],
  };
}
