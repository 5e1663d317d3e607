import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { isRest, tier } from "./test/support/size.ts";

type Dialect = "sqlite" | "postgres";

/**
 * Where a file of tests runs is said by tags at its top, such as `// @module-tag postgres`. Everything runs on both databases, except that
 * the quick tier runs it on one: on SQLite, unless a tag says otherwise.
 */
const tags = [
  { name: "sqlite", description: "What no database can change: on SQLite alone, in every tier." },
  { name: "postgres", description: "What two at once can spoil, or a network: in the quick tier on PostgreSQL." },
  { name: "both", description: "What is written for each database (files, raw SQL, searches, isolation): in the quick tier on both." },
  { name: "slow", description: "What takes many seconds, as it waits, breaks things or drives a browser: not in the quick tier." },
];

const files = readdirSync("test", { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".test.ts"))
  .map((file) => {
    const text = readFileSync(`test/${file}`, "utf8");
    const own = Array.from(text.slice(0, 200).matchAll(/^\/\/ @module-tag (\w+)$/gm), ([, tag]) => tag);
    return { path: `test/${file}`, tags: own, hasSizes: text.includes("/support/size.ts") };
  });
type TestFile = (typeof files)[number];

const runsInAll = (file: TestFile, on: Dialect): boolean => on === "sqlite" || !file.tags.includes("sqlite");

function runsInQuick(file: TestFile, on: Dialect): boolean {
  if (file.tags.includes("slow")) return false;
  if (file.tags.includes("both")) return true;
  return file.tags.includes("postgres") === (on === "postgres");
}

function runs(file: TestFile, on: Dialect): boolean {
  if (tier === "quick") return runsInQuick(file, on);
  const isRepeated = isRest && runsInQuick(file, on) && !file.hasSizes;
  return runsInAll(file, on) && !isRepeated;
}
const filesOn = (on: Dialect): string[] => files.filter((file) => runs(file, on)).map(({ path }) => path);

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
    testTimeout: tier === "long" ? 36_000_000 : 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 60_000 } },
    tags,
    projects: [
      // One after the other: a worker is kept for the files of its project.
      { extends: true, test: { name: "sqlite", include: filesOn("sqlite"), sequence: { groupOrder: 0 } } },
      { extends: true, test: { name: "postgres", include: filesOn("postgres"), sequence: { groupOrder: 1 } } },
    ],
  },
});
