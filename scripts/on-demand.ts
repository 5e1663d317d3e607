import { execFile } from "node:child_process";
import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/**
 * Packages that one kind of test or benchmark needs, and that bring many others, are no packages of the project: `scripts/on-demand` pins them, and
 * who needs them first installs them. Run by itself this installs all of them.
 */
const pinned = fileURLToPath(new URL("on-demand", import.meta.url));
const installed = fileURLToPath(new URL("../node_modules/.cache/on-demand", import.meta.url));

/** @returns `require` as it is beside packages of `scripts/on-demand` */
export async function requireOnDemand(name: string): Promise<NodeJS.Require> {
  const lock = await readFile(join(pinned, name, "package-lock.json"));
  const folder = join(installed, `${name}-${hash("sha256", lock).slice(0, 12)}`);
  if (!existsSync(folder)) await install(name, folder);
  return createRequire(join(folder, "package.json"));
}

async function install(name: string, folder: string): Promise<void> {
  await mkdir(installed, { recursive: true });
  const fresh = await mkdtemp(join(installed, "new-"));
  try {
    await cp(join(pinned, name), fresh, { recursive: true });
    const argv = ["ci", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund"];
    await promisify(execFile)("npm", argv, { cwd: fresh, timeout: 300_000 }).catch((cause: unknown) => {
      throw new Error(`The packages of scripts/on-demand/${name} could not be installed: is npm's registry within reach?`, { cause });
    });
    await rename(fresh, folder).catch((error: unknown) => {
      // Another process may have been faster.
      if (!existsSync(folder)) throw error;
    });
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

if (process.argv[1] === import.meta.filename) for (const name of await readdir(pinned)) await requireOnDemand(name);
