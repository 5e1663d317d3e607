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
  about: "records read, listed and made over HTTP on both databases; BENCH_AGAINST=<another checkout> compares with it round by round",
  parts: databases,
  async run({ seconds, rounds, only, progress }) {
    const processes = createProcesses();
    try {
      const client = processes.startClient();
      const roots = [...(against === undefined ? [] : [resolve(against)]), undefined];
      const hosts: { name: string; host: Host; samples: Samples }[] = [];
      for (const database of databases.filter((one) => only.length === 0 || only.includes(one)))
        for (const root of roots) {
          const host = await processes.startHost("./targets/records.ts", database, undefined, root);
          hosts.push({ name: `${database}${root === undefined ? "" : ", before"}`, host, samples: { read: [], list: [], create: [] } });
          progress(`filled: ${hosts.at(-1)?.name ?? ""}`);
        }
      // What is compared is measured directly one after the other, in the other order by turns, as a shared machine slows down for seconds.
      for (let round = 0; round <= rounds; round += 1)
        for (const operation of names) {
          const found: string[] = [];
          for (const { name, host, samples } of round % 2 === 0 ? hosts : hosts.toReversed()) {
            const sample = await measure(client, { ...host, request: { ...host.request, ...operations[operation] } }, seconds, connections);
            // The first round only warms up.
            if (round > 0) samples[operation].push(sample);
            found.push(`${name} ${sample.perSecond.toFixed(0)}`);
          }
          progress(`round ${round.toString()}/${rounds.toString()}  ${operation}: ${found.join("; ")}`);
        }
      const rows: string[][] = [];
      for (const { name, host, samples } of hosts) {
        const base = hosts.find((other) => other.name === `${name}, before`)?.samples;
        const cell = (operation: Operation, key: "perSecond" | "cpu"): string => {
          const own = samples[operation].map((one) => one[key]);
          const ratios = base?.[operation].map((one, round) => (own[round] ?? 0) / one[key]);
          return `${median(own).toFixed(0)}${ratios === undefined ? "" : ` (${median(ratios).toFixed(2)}x)`}`;
        };
        rows.push([
          name,
          ...names.map((operation) => cell(operation, "perSecond")),
          ...names.map((operation) => cell(operation, "cpu")),
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
