import { loadavg } from "node:os";
import type { Benchmark } from "./benchmark.ts";
import { countWarmAnswers, measureThroughput } from "./access/part-answers.ts";
import { measureMemberChanges, measureNextAnswers, measureRoleChanges } from "./access/part-changes.ts";
import { measureDecisions } from "./access/part-decisions.ts";
import type { Findings, Setting } from "./access/part.ts";
import { ask, createProcesses } from "./processes.ts";

/** In this order: what watches the driver is put in place after the throughput is measured. */
const parts: readonly ((setting: Setting) => Promise<Findings>)[] = [
  measureThroughput,
  countWarmAnswers,
  measureDecisions,
  measureRoleChanges,
  measureNextAnswers,
  measureMemberChanges,
];

/** A service with ten thousand staff, a bare server and the client in a process each. */
export const benchmark: Benchmark = {
  about: "the access answer of ten thousand staff: what it costs, what it asks for, and how soon a change is in it",
  async run(options) {
    const processes = createProcesses();
    try {
      const client = processes.startClient();
      const service = await processes.startHost("./targets/access.ts", "access");
      const answers = await ask<Record<string, object>>(service.child, "collectAnswers");
      options.progress(`ten thousand staff are known; ${Object.keys(answers).length} of their answers are right`);
      const bare = await processes.startHost("./targets/bare.ts", "bareAnswers");
      await ask(bare.child, "take", answers);
      const setting = { client, service, bare: { ...bare, request: service.request }, options };
      const found: Findings[] = [];
      for (const part of parts) found.push(await part(setting));
      const rows = [
        ...found.flatMap(({ rows }) => rows),
        ["load of the machine, last minute", "processes", loadavg()[0]?.toFixed(2) ?? "", "", ""],
      ];
      return { columns: ["measured", "unit", "median", "p99", "most"], rows, goals: found.flatMap(({ goals }) => goals) };
    } finally {
      await processes.end();
    }
  },
};
