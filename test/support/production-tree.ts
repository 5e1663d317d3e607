import { execFile } from "node:child_process";
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { bundle, program } from "../../scripts/bundle.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));
/** What an installation holds beside the build, as it is here. */
export const shipped = ["package.json", "package-lock.json", ".npmrc", "bin", "prisma", "scripts"];

/** Put what an operator gets into a folder: this checkout, built. What was there of an earlier build goes. */
export async function placeBuild(tree: string): Promise<void> {
  await bundle(join(tree, "dist"), program);
  for (const name of shipped) {
    await rm(join(tree, name), { recursive: true, force: true });
    await cp(join(root, name), join(tree, name), { recursive: true });
  }
}

/** Install the packages that the build needs to run, and no others; compiles SQLite's addon where none is found for this Node. */
export async function installPackages(tree: string, env: NodeJS.ProcessEnv = process.env): Promise<void> {
  const install = ["ci", "--omit=dev", "--omit=optional", "--omit=peer", "--prefer-offline", "--no-audit", "--no-fund"];
  await run("npm", install, { cwd: tree, env, timeout: 1_200_000 });
}
