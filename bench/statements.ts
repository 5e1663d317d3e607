import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPostgresServer } from "../test/support/postgres-server.ts";
import { countStatements } from "../test/support/statement-counts.ts";
import { createWorld } from "../test/support/world.ts";
import type { Benchmark } from "./benchmark.ts";

const dialects = ["postgres", "sqlite"] as const;
type Counts = Readonly<Record<(typeof dialects)[number], Readonly<Record<string, number>>>>;

/** The same count that a test holds, on both databases, beside what the test wants. */
export const benchmark: Benchmark = {
  about: "statements that each operation takes on both databases, BEGIN and COMMIT among them, beside bench/statements.json",
  async run() {
    const kept = JSON.parse(await readFile(new URL("./statements.json", import.meta.url), "utf8")) as Counts;
    const folder = await mkdtemp(join(tmpdir(), "provost-statements-"));
    const server = await startPostgresServer();
    try {
      const found: Counts = {
        postgres: await countOn(folder, server.url("postgres")),
        sqlite: await countOn(folder, `file:${join(folder, "provost.db")}`),
      };
      const names = [...new Set(dialects.flatMap((dialect) => [...Object.keys(found[dialect]), ...Object.keys(kept[dialect])]))];
      const cell = (counts: Readonly<Record<string, number>>, name: string): string => counts[name]?.toString() ?? "none";
      return {
        columns: ["", "PostgreSQL", "kept", "SQLite", "kept"],
        rows: names.map((name) => [name, ...dialects.flatMap((dialect) => [cell(found[dialect], name), cell(kept[dialect], name)])]),
        goals: dialects.map((dialect) => ({
          text: `operations on ${dialect} that take another number than the one that is kept`,
          wanted: 0,
          measured: names.filter((name) => found[dialect][name] !== kept[dialect][name]).length,
          bound: "most",
        })),
      };
    } finally {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    }
  },
};

async function countOn(directory: string, url: string): Promise<Readonly<Record<string, number>>> {
  let end = async (): Promise<void> => undefined;
  const world = await createWorld({ directory, database: { url, remove: async () => undefined }, onEnd: (given) => (end = given) });
  try {
    return (await countStatements(world)).counts;
  } finally {
    await end();
  }
}
