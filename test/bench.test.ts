// @module-tag sqlite
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { tier } from "./support/size.ts";

const run = promisify(execFile);
const short = { http: "the access answer against", writers: "answers that were not 200", greedy: "services alive at the end" } as const;

/** For what a benchmark measures nothing is asserted here: only that it starts, measures and prints its table. */
test.runIf(tier !== "quick").each(Object.entries(short))("the benchmark %s runs to its end", async (name, lastLine) => {
  const { stdout } = await run("npx", ["tsx", "bench/run.ts", name, "--seconds", "0.2", "--rounds", "1"], { timeout: 150_000 });
  expect(stdout).toContain(lastLine);
});
