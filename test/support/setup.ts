import fc from "fast-check";
import { keepLocks } from "./keep-locks.ts";
import { seedOf } from "./size.ts";
import { judgeAnswers } from "./unworded.ts";

keepLocks();
judgeAnswers();

/** Properties try the same cases in each run of the quick tier and of all, so that a change alone turns a test red; the long tier looks for new ones. */
fc.configureGlobal({ seed: seedOf(20_261_122) });

interface Compilers {
  QueryCompiler: { prototype: { compile(request: string): unknown } };
}

/**
 * Each world has a client of its own, and each client compiles its queries anew. What a query becomes depends on its text alone, so the
 * worlds of one worker share it: a tenth of what a world costs.
 */
for (const dialect of ["sqlite", "postgresql"]) {
  const path = `@prisma/client/runtime/query_compiler_small_bg.${dialect}.mjs`;
  const { prototype } = ((await import(path)) as Compilers).QueryCompiler;
  const { compile } = prototype;
  // This file runs before each file of tests, in the same worker.
  if (compile.name === "shared") continue;
  const plans = new Map<string, unknown>();
  prototype.compile = function shared(request) {
    const known = plans.get(request) ?? compile.call(this, request);
    plans.set(request, known);
    return known;
  };
}
