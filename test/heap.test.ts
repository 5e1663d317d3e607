// @module-tag sqlite
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

test("V8 computes the limit of garbage anew soon after it is bounded, as the one from before stays until it collects", async () => {
  const program = `
    import { constants, PerformanceObserver } from "node:perf_hooks";
    import { boundHeap } from "./src/heap.ts";
    const collected = [];
    new PerformanceObserver((list) => collected.push(...list.getEntries())).observe({ entryTypes: ["gc"] });
    boundHeap();
    setTimeout(() => {
      const whole = collected.filter(({ detail }) => detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR);
      process.stdout.write(JSON.stringify({ whole: whole.length, isExposed: "gc" in globalThis }));
    }, 1500);
  `;
  const cwd = fileURLToPath(new URL("..", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", "--input-type=module", "--eval", program], { cwd });
  expect(JSON.parse(stdout)).toEqual({ whole: 1, isExposed: false });
});
