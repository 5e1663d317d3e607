import { resolve } from "node:path";
import { type Benchmark, median } from "./benchmark.ts";
import { ask, createProcesses, type Host, measure, type Sample } from "./processes.ts";
import { recordBody } from "./record.ts";

const connections = 16;
/** Another checkout of the service, with its dependencies, that is measured in turns with this one. */
const { BENCH_AGAINST: against } = process.env;
const databases = ["sqlite", "postgres"] as const;
const operations = {
  read: {},
  list: { paths: ["/blacklist?limit=50"] },
  create: { paths: ["/blacklist"], body: recordBody, status: 201 },
};
type Operation = keyof typeof operations;
const names = Object.keys(operations) as Operation[];
type Samples = Record<Operation, Sample[]>;

/** Read one record, list fifty, make one: each checkout and database in a process of its own, in turns. */
export const benchmark: Benchmark = {
  about: "records read, listed and made over HTTP on both databases; BENCH_AGAINST=<another checkout> compares with it in the same run",
  async run({ seconds, rounds, progress }) {
    const processes = createProcesses();
    try {
      const client = processes.startClient();
      const roots = [...(against === undefined ? [] : [resolve(against)]), undefined];
      const hosts: { name: string; host: Host; samples: Samples }[] = [];
      for (const database of databases)
        for (const root of roots) {
          const host = await processes.startHost("./targets/records.ts", database, undefined, root);
          hosts.push({ name: `${database}${root === undefined ? "" : ", before"}`, host, samples: { read: [], list: [], create: [] } });
          progress(`filled: ${hosts.at(-1)?.name ?? ""}`);
        }
      for (let round = 0; round <= rounds; round += 1)
        for (const { name, host, samples } of hosts) {
          const found: number[] = [];
          for (const operation of names) {
            const request = { ...host.request, ...operations[operation] };
            const sample = await measure(client, { ...host, request }, seconds, connections);
            // The first round only warms up.
            if (round > 0) samples[operation].push(sample);
            found.push(sample.perSecond);
          }
          progress(`round ${round.toString()}/${rounds.toString()}  ${name}: ${found.map((one) => one.toFixed(0)).join(" ")}`);
        }
      const rows: string[][] = [];
      for (const { name, host, samples } of hosts) {
        const of = (operation: Operation, key: keyof Sample, from = samples): number => median(from[operation].map((one) => one[key]));
        const base = hosts.find((other) => other.name === `${name}, before`)?.samples;
        const ratio = (operation: Operation): string =>
          base === undefined ? "" : ` (${(of(operation, "perSecond") / of(operation, "perSecond", base)).toFixed(2)}x)`;
        rows.push([
          name,
          ...names.map((operation) => `${of(operation, "perSecond").toFixed(0)}${ratio(operation)}`),
          ...names.map((operation) => of(operation, "cpu").toFixed(0)),
          (await ask<number>(host.child, "memory")).toString(),
        ]);
      }
      const columns = ["", "read/s", "list of 50/s", "create/s", "µs of CPU: read", "list", "create", "MB"];
      return { columns, rows, goals: [] };
    } finally {
      await processes.end();
    }
  },
};
