import { readdirSync, readFileSync } from "node:fs";
import { defineConfig } from "vitest/config";
import { tier } from "./test/support/size.ts";

/**
 * Where a file of tests runs is said by a tag at its top, such as `// @module-tag both`. Without one it runs on SQLite in the quick tier,
 * and on both databases in the other tiers.
 */
const tags = [
  { name: "sqlite", description: "What no database can change: on SQLite alone, in every tier." },
  { name: "both", description: "What can differ between the databases (locks, races, isolation, raw SQL): on both, in every tier." },
];

const files = readdirSync("test", { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".test.ts"))
  .map((file) => `test/${file}`);
const tagOf = (file: string): string | undefined => /^\/\/ @module-tag (\w+)$/m.exec(readFileSync(file, "utf8").slice(0, 200))?.[1];
const onPostgres = files.filter((file) => (tier === "quick" ? tagOf(file) === "both" : tagOf(file) !== "sqlite"));

export default defineConfig({
  test: {
    environment: "node",
    globalSetup: ["test/support/global-setup.ts"],
    pool: "forks",
    // Every test makes a world of its own, so that files can share what is loaded: a third of the time.
    isolate: false,
    maxWorkers: 2,
    execArgv: ["--max-semi-space-size=64"],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    tags,
    projects: [
      // One after the other: a worker is kept for the files of its project.
      { extends: true, test: { name: "sqlite", include: files, sequence: { groupOrder: 0 } } },
      { extends: true, test: { name: "postgres", include: onPostgres, sequence: { groupOrder: 1 } } },
    ],
  },
});
