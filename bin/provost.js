#!/usr/bin/env -S MALLOC_ARENA_MAX=1 node --max-semi-space-size=16
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const sources = join(root, "src");
const built = join(root, "dist", "cli.js");

/** A build older than the sources would run yesterday's code. */
function isCurrentBuild() {
  if (!existsSync(built)) return false;
  if (!existsSync(join(sources, "cli.ts"))) return true;
  const builtAt = statSync(built).mtimeMs;
  return readdirSync(sources, { recursive: true }).every((file) => statSync(join(sources, file.toString())).mtimeMs <= builtAt);
}

/** A plain checkout runs its sources; the compiler options are the project's own from any working directory. */
async function runSources() {
  const tsx = await import("tsx/esm/api").catch(() => null);
  if (tsx !== null) {
    tsx.register({ tsconfig: join(root, "tsconfig.json") });
    await import(pathToFileURL(join(sources, "cli.ts")).href);
  } else if (existsSync(built)) {
    await runBuild();
  } else {
    process.stderr.write("provost is neither built nor installed for development: run npm install, or npm run build.\n");
    process.exitCode = 1;
  }
}

async function runBuild() {
  await import(pathToFileURL(built).href);
}

await (isCurrentBuild() ? runBuild() : runSources());
