import { parseArgs } from "node:util";
import { type Benchmark, formatTable } from "./benchmark.ts";
import { writeTable } from "./document.ts";

/** Every benchmark by name; loaded only when run. */
const benchmarks: Readonly<Record<string, () => Promise<{ benchmark: Benchmark }>>> = {
  access: () => import("./access.ts"),
  cluster: () => import("./cluster.ts"),
  greedy: () => import("./greedy.ts"),
  http: () => import("./http.ts"),
  memory: () => import("./memory.ts"),
  metrics: () => import("./metrics.ts"),
  matches: () => import("./matches.ts"),
  growth: () => import("./growth.ts"),
  peers: () => import("./peers.ts"),
  records: () => import("./records.ts"),
  start: () => import("./start.ts"),
  statements: () => import("./statements.ts"),
  webhooks: () => import("./webhooks.ts"),
  writers: () => import("./writers.ts"),
};

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      seconds: { type: "string", default: "2" },
      rounds: { type: "string", default: "5" },
      only: { type: "string", multiple: true, default: [] },
      match: { type: "string", default: "" },
      write: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const [name = ""] = positionals;
  const load = benchmarks[name];
  if (load === undefined || values.help) {
    process.stdout.write("npm run bench -- <name> [--seconds n] [--rounds n] [--only part]... [--match text] [--write]\n\n");
    for (const [name, find] of Object.entries(benchmarks)) {
      const { about, parts = [] } = (await find()).benchmark;
      process.stdout.write(`${name}  ${about}${parts.length === 0 ? "" : `; --only takes ${parts.join(", ")}`}\n`);
    }
    process.exitCode = positionals.length === 0 || values.help ? 0 : 64;
    return;
  }
  const { benchmark } = await load();
  const unknown = values.only.find((part) => benchmark.parts?.includes(part) !== true);
  if (unknown !== undefined) {
    process.stderr.write(`${name} has no part ${unknown}; --only takes ${benchmark.parts?.join(", ") ?? "nothing here"}\n`);
    process.exitCode = 64;
    return;
  }
  const progress = (line: string): void => void process.stderr.write(`${line}\n`);
  const { seconds, rounds, only, match } = values;
  const table = await benchmark.run({ seconds: Number(seconds), rounds: Number(rounds), only, match, progress });
  process.stdout.write(`${formatTable(table)}\n`);
  if (values.write) await writeTable(name, table);
}

await main();
