import type { ChildProcess } from "node:child_process";
import type { BenchmarkOptions, Goal } from "../benchmark.ts";
import type { Host } from "../processes.ts";

/** Who takes part. */
export interface Setting {
  client: ChildProcess;
  service: Host;
  bare: Host;
  options: BenchmarkOptions;
}

/** What one part of the benchmark found. */
export interface Findings {
  rows: string[][];
  goals: Goal[];
}
