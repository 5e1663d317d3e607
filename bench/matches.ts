import { loadavg } from "node:os";
import type { Benchmark, BenchmarkOptions } from "./benchmark.ts";
import type { Findings } from "./matches/part.ts";
import { measureMemory } from "./matches/part-memory.ts";
import { measureNewRecords } from "./matches/part-records.ts";
import { measureScans } from "./matches/part-scans.ts";

const parts: readonly ((options: BenchmarkOptions) => Findings | Promise<Findings>)[] = [measureMemory, measureScans, measureNewRecords];

/** Everything in this process: the index in memory, and two stored communities in files of their own. */
export const benchmark: Benchmark = {
  about: "matching: a person's servers against a million records, and whom a new record concerns",
  async run(options) {
    const found: Findings[] = [];
    for (const part of parts) found.push(await part(options));
    const load = ["load of the machine, last minute", "processes", loadavg()[0]?.toFixed(2) ?? "", "", ""];
    return {
      columns: ["measured", "unit", "median", "most", ""],
      rows: [...found.flatMap(({ rows }) => rows), load],
      goals: found.flatMap(({ goals }) => goals),
    };
  },
};
