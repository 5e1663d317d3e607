import type { ChildProcess } from "node:child_process";
import { type Benchmark, median, quantile } from "./benchmark.ts";
import type { InnocentOrder, InnocentResult } from "./greedy/innocent.ts";
import { ask, cpuOf, createProcesses } from "./processes.ts";
import type { Callers } from "./targets/greedy.ts";
import type { WriterOrder } from "./writers/writer.ts";

const writers = 6;
/** The longest that one in a hundred reads may take beside the writers, in milliseconds. */
const maxMs = 100;

interface Sample {
  reads: InnocentResult;
  health: InnocentResult;
  /** Cases opened in a second. */
  written: number;
  /** CPU time of the service, as a share of one core. */
  cores: number;
}

/** The whole service on SQLite: one client lists cases twenty times a second, another asks `/health` as often, alone and beside six that open cases as fast as they can. */
export const benchmark: Benchmark = {
  about: "how long a reader and the health check wait beside six writers on SQLite, against alone",
  async run({ seconds, rounds, progress }) {
    const processes = createProcesses();
    try {
      const service = await processes.startHost("./targets/greedy.ts", "busy");
      const callers = await ask<Callers>(service.child, "callers");
      const [reader, prober, writer] = ["./greedy/innocent.ts", "./greedy/innocent.ts", "./writers/writer.ts"].map((file) =>
        processes.startClient(file),
      );
      if (reader === undefined || prober === undefined || writer === undefined) throw new Error("a client did not start");
      const { staff, keys } = callers;
      const pathOrder = (path: string): InnocentOrder => ({
        port: service.port,
        key: keys.innocent,
        asked: staff.map((actor) => ({ path, actor })),
        everyMs: 50,
        seconds,
      });
      const measure = async (isBusy: boolean): Promise<Sample> => {
        const [before, since] = [await cpuOf(service.child), performance.now()];
        if (isBusy) await ask(writer, "start", { port: service.port, key: keys.hostile, staff, writers } satisfies WriterOrder);
        const [reads, health] = await Promise.all([measureOf(reader, pathOrder("/cases")), measureOf(prober, pathOrder("/health"))]);
        const written = isBusy ? await ask<number>(writer, "stop") : 0;
        const ms = performance.now() - since;
        return { reads, health, written: (written / ms) * 1000, cores: ((await cpuOf(service.child)) - before) / 1000 / ms };
      };
      const samples: Record<"alone" | "busy", Sample[]> = { alone: [], busy: [] };
      await measure(true);
      progress("warm");
      for (let round = 1; round <= rounds; round += 1) {
        samples.alone.push(await measure(false));
        samples.busy.push(await measure(true));
        progress(`round ${round.toString()}/${rounds.toString()}`);
      }
      return toTable(samples);
    } finally {
      await processes.end();
    }
  },
};

function measureOf(client: ChildProcess, order: InnocentOrder): Promise<InnocentResult> {
  return ask<InnocentResult>(client, "measure", order);
}

function toTable(samples: Record<"alone" | "busy", Sample[]>): Awaited<ReturnType<Benchmark["run"]>> {
  const at = (which: keyof typeof samples, what: "reads" | "health", share: number): number =>
    median(samples[which].map((sample) => quantile(sample[what].latencies, share)));
  const refused = samples.busy.reduce((sum, { reads, health }) => sum + reads.refused + health.refused, 0);
  const row = (which: keyof typeof samples, title: string): string[] => [
    title,
    ...(["reads", "health"] as const).flatMap((what) => [0.5, 0.99].map((share) => at(which, what, share).toFixed(1))),
    median(samples[which].map(({ written }) => written)).toFixed(0),
    median(samples[which].map(({ cores }) => cores)).toFixed(2),
  ];
  return {
    columns: ["beside", "GET /cases p50 ms", "p99 ms", "GET /health p50 ms", "p99 ms", "writes/s", "server, cores"],
    rows: [
      row("alone", "nobody"),
      row("busy", "six writers"),
      [
        "ratio",
        ...(["reads", "health"] as const).flatMap((what) =>
          [0.5, 0.99].map((share) => (at("busy", what, share) / at("alone", what, share)).toFixed(1)),
        ),
        "",
        "",
      ],
    ],
    goals: [
      { text: "p99 of GET /cases beside six writers, ms", wanted: maxMs, measured: at("busy", "reads", 0.99), bound: "most" },
      { text: "answers that were not 200, of /cases and /health", wanted: 0, measured: refused, bound: "most" },
    ],
  };
}
