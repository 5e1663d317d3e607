import { resolve } from "node:path";
import { type Benchmark, median } from "./benchmark.ts";
import { ask, cpuOf, createProcesses, type Host, measure } from "./processes.ts";

const connections = 16;
/** Another checkout of the service, with its dependencies, that is measured in turns with this one. */
const { BENCH_AGAINST: against } = process.env;
const databases = ["sqlite", "postgres"] as const;
type Sample = Record<"read" | "list" | "create" | "readCpu" | "listCpu" | "createCpu", number>;

/** Read one record, list fifty, make one: each checkout and database in a process of its own, in turns. */
export const benchmark: Benchmark = {
  about: "records read, listed and made over HTTP on both databases; BENCH_AGAINST=<another checkout> compares with it in the same run",
  async run({ seconds, rounds, progress }) {
    const processes = createProcesses();
    try {
      const client = processes.startClient();
      const roots = [...(against === undefined ? [] : [resolve(against)]), undefined];
      const hosts: { name: string; host: Host; samples: Sample[] }[] = [];
      for (const database of databases)
        for (const root of roots) {
          const host = await processes.startHost("./targets/records.ts", database, undefined, root);
          hosts.push({ name: `${database}${root === undefined ? "" : ", before"}`, host, samples: [] });
          progress(`filled: ${hosts.at(-1)?.name ?? ""}`);
        }
      for (let round = 0; round <= rounds; round += 1)
        for (const { name, host, samples } of hosts) {
          const list = { ...host, request: { ...host.request, paths: ["/blacklist?limit=50"] } };
          const [read, page] = [await measure(client, host, seconds, connections), await measure(client, list, seconds, connections)];
          const before = await cpuOf(host.child);
          const create = await ask<number>(host.child, "create", { connections, seconds });
          const createCpu = ((await cpuOf(host.child)) - before) / (create * seconds);
          // The first round only warms up.
          if (round > 0)
            samples.push({ read: read.perSecond, readCpu: read.cpu, list: page.perSecond, listCpu: page.cpu, create, createCpu });
          progress(
            `round ${round.toString()}/${rounds.toString()}  ${name}: ${[read.perSecond, page.perSecond, create].map((one) => one.toFixed(0)).join(" ")}`,
          );
        }
      const rows: string[][] = [];
      for (const { name, host, samples } of hosts) {
        const of = (key: keyof Sample): number => median(samples.map((sample) => sample[key]));
        const base = hosts.find((other) => other.name === `${name}, before`);
        const ratio = (key: keyof Sample): string =>
          base === undefined ? "" : ` (${(of(key) / median(base.samples.map((sample) => sample[key]))).toFixed(2)}x)`;
        const memory = await ask<number>(host.child, "memory");
        rows.push([
          name,
          ...(["read", "list", "create"] as const).map((key) => `${of(key).toFixed(0)}${ratio(key)}`),
          ...(["readCpu", "listCpu", "createCpu"] as const).map((key) => of(key).toFixed(0)),
          memory.toString(),
        ]);
      }
      const columns = ["", "read/s", "list of 50/s", "create/s", "µs of CPU: read", "list", "create, client in it", "MB"];
      return { columns, rows, goals: [] };
    } finally {
      await processes.end();
    }
  },
};
