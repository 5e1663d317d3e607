import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { trim } from "./trim.js";

/** What is left to do after packages were installed. Where those of development are not among them, nothing is generated: the build has it. */
const root = fileURLToPath(new URL("..", import.meta.url));

/** @param {string} name */
function find(name) {
  try {
    return createRequire(import.meta.url).resolve(name);
  } catch {
    return undefined;
  }
}

// `npm ci --omit=dev` installs `prisma` by itself, as `@prisma/client` would like it beside it.
const prisma = find("tsx/esm/api") && find("prisma/build/index.js");
if (prisma !== undefined) {
  const { status } = spawnSync(process.execPath, [prisma, "generate", "--no-hints"], { cwd: root, stdio: "inherit" });
  if (status !== 0) process.exit(1);
}
await import("./addon.js");
trim();
if (prisma !== undefined) {
  const { tsImport } = await import("tsx/esm/api");
  const { writeApiReference } = await tsImport("./api-reference.ts", import.meta.url);
  await writeApiReference();
  // An image has its sources later.
  if (existsSync(new URL("../src/app/document.ts", import.meta.url))) {
    const { writeTextTypes } = await tsImport("./text-types.ts", import.meta.url);
    writeTextTypes();
    const { writeClientTypes } = await tsImport("./client-types.ts", import.meta.url);
    await writeClientTypes();
  }
}
