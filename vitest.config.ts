import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { tier } from "./test/support/size.ts";

/**
 * Where a file of tests runs is said by a tag at its top, such as `// @module-tag postgres`. Everything runs on both databases, except that
 * the quick tier runs it on one: on SQLite, unless a tag says otherwise.
 */
const tags = [
  { name: "sqlite", description: "What no database can change: on SQLite alone, in every tier." },
  { name: "postgres", description: "What two at once can spoil, or a network: in the quick tier on PostgreSQL." },
  { name: "both", description: "What is written for each database (files, raw SQL, searches, isolation): in the quick tier on both." },
];

const files = readdirSync("test", { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".test.ts"))
  .map((file) => `test/${file}`);
const tagOf = (file: string): string | undefined => /^\/\/ @module-tag (\w+)$/m.exec(readFileSync(file, "utf8").slice(0, 200))?.[1];
/** The files that do not run on a database, by their tag. */
const left = {
  sqlite: tier === "quick" ? ["postgres"] : [],
  postgres: tier === "quick" ? ["sqlite", undefined] : ["sqlite"],
};
const filesOn = (dialect: keyof typeof left): string[] => files.filter((file) => !(left[dialect] as unknown[]).includes(tagOf(file)));

export default defineConfig({
  test: {
    environment: "node",
    globalSetup: ["test/support/global-setup.ts"],
    setupFiles: ["test/support/setup.ts"],
    // What was transformed once is kept beside the dependencies: one file of tests begins in half the time.
    experimental: { fsModuleCache: true },
    pool: "forks",
    // Every test makes a world of its own, so that files can share what is loaded: a third of the time.
    isolate: false,
    // One more than there are cores, as some tests wait for a browser, a process or a second; each takes one to two gigabytes.
    maxWorkers: Math.min(availableParallelism() + 1, 6),
    execArgv: ["--max-semi-space-size=64", "--v8-pool-size=1"],
    // No test measures time: a limit only ends what hangs, also on a machine that does much else.
    testTimeout: tier === "long" ? 36_000_000 : 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    tags,
    projects: [
      // One after the other: a worker is kept for the files of its project.
      { extends: true, test: { name: "sqlite", include: filesOn("sqlite"), sequence: { groupOrder: 0 } } },
      { extends: true, test: { name: "postgres", include: filesOn("postgres"), sequence: { groupOrder: 1 } } },
    ],
  },
});
