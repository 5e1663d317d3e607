import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { rmSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { bundle, program } from "../../scripts/bundle.ts";
import { createFastFolder } from "../support/fast-folder.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const builds = join(root, "node_modules", ".cache", "provost-tests");
/** Processes of the tests themselves, which are built together with the program. */
const children = {
  acting: fileURLToPath(new URL("../faults/acting.child.ts", import.meta.url)),
  decisionKill: fileURLToPath(new URL("../faults/decision-kill.child.ts", import.meta.url)),
  webhooksKill: fileURLToPath(new URL("../faults/webhooks-kill.child.ts", import.meta.url)),
  discordLink: fileURLToPath(new URL("../discord/process.ts", import.meta.url)),
};

/** The program as a user installs it: built, without its sources. */
interface Installation {
  /** The script that an operator runs. */
  program: string;
  /** The processes of the tests, built. */
  children: Readonly<Record<keyof typeof children, string>>;
}

let installed: Promise<Installation> | undefined;

/**
 * A process that runs the built program costs a third of one that compiles the sources. It is the same code: a build is named after
 * the content of all that goes into it. It is kept for the next run of the tests.
 */
export function installation(): Promise<Installation> {
  installed ??= install();
  return installed;
}

let opened: Promise<string> | undefined;

/** @returns the script that an operator runs, where every account can reach it: a clone may be in a folder that only its owner may enter */
export function openProgram(): Promise<string> {
  opened ??= copyForAll();
  return opened;
}

/** What an image has of the program, and nothing else. */
async function copyForAll(): Promise<string> {
  const place = dirname(dirname((await installation()).program));
  const copy = await createFastFolder("provost-for-all");
  process.once("exit", () => rmSync(copy, { recursive: true, force: true }));
  for (const name of ["dist", "bin", "prisma", "package.json"]) await cp(join(place, name), join(copy, name), { recursive: true });
  const packages = ["better-sqlite3", "bindings", "file-uri-to-path"].map((name) => join("node_modules", name));
  for (const path of packages) await cp(join(root, path), join(copy, path), { recursive: true });
  await promisify(execFile)("chmod", ["-R", "a+rX", copy]);
  return join(copy, "bin", "provost.js");
}

async function install(): Promise<Installation> {
  const place = join(builds, await contentHash());
  await mkdir(builds, { recursive: true });
  if (!(await isThere(place))) await buildOnce(place);
  await utimes(place, new Date(), new Date());
  const built = (path: string): string => join(place, "dist", basename(path).replace(/\.ts$/, ".js"));
  return {
    program: join(place, "bin", "provost.js"),
    children: Object.fromEntries(Object.entries(children).map(([name, path]) => [name, built(path)])) as Installation["children"],
  };
}

async function contentHash(): Promise<string> {
  const folders = ["bin", "prisma", "src", "test/faults", "test/discord"];
  const listed = await Promise.all(folders.map((folder) => readdir(join(root, folder), { recursive: true, withFileTypes: true })));
  const files = listed.flat().flatMap((entry) => (entry.isFile() ? [join(entry.parentPath, entry.name)] : []));
  const single = ["package.json", "package-lock.json", "tsconfig.json", "scripts/bundle.ts", "test/cli/installation.ts"];
  const hash = createHash("sha256");
  for (const file of [...files.toSorted(), ...single.map((name) => join(root, name))])
    hash
      .update(`${relative(root, file)}\0`)
      .update(await readFile(file))
      .update("\0");
  return hash.digest("hex").slice(0, 32);
}

/** Of the workers of a run the first one builds, and the others wait for it. */
async function buildOnce(place: string): Promise<void> {
  const lock = `${place}.lock`;
  const isOurs = await mkdir(lock).then(
    () => true,
    () => false,
  );
  try {
    // Whoever holds the lock may have been ended; a build of one's own does no harm then.
    if (!isOurs) for (let waited = 0; waited < 20_000 && !(await isThere(place)); waited += 100) await sleep(100);
    if (!(await isThere(place))) await build(place);
  } finally {
    await rm(lock, { recursive: true, force: true });
  }
}

async function build(place: string): Promise<void> {
  await removeOld();
  const made = await mkdtemp(`${place}-`);
  await bundle(join(made, "dist"), [...program, ...Object.values(children)]);
  for (const name of ["bin", "prisma", "package.json"]) await cp(join(root, name), join(made, name), { recursive: true });
  // Somebody else may have been faster.
  await rename(made, place).catch(() => rm(made, { recursive: true, force: true }));
}

/** What was not run for a day is a build of sources that have changed. */
async function removeOld(): Promise<void> {
  for (const name of await readdir(builds)) {
    const { mtimeMs } = await stat(join(builds, name)).catch(() => ({ mtimeMs: Infinity }));
    if (Date.now() - mtimeMs > 86_400_000) await rm(join(builds, name), { recursive: true, force: true });
  }
}

/** The program in a checkout whose build is older than its sources; removed at the end of `await using`. */
export async function createCheckout() {
  const directory = await mkdtemp(join(tmpdir(), "provost-checkout-"));
  for (const name of ["bin", "package.json", "tsconfig.json"]) await cp(join(root, name), join(directory, name), { recursive: true });
  for (const name of ["src", "node_modules"]) await symlink(join(root, name), join(directory, name));
  await mkdir(join(directory, "dist"));
  await writeFile(join(directory, "dist", "cli.js"), 'process.stderr.write("This build is older than the sources.");\n');
  await utimes(join(directory, "dist", "cli.js"), 0, 0);
  return {
    program: join(directory, "bin", "provost.js"),
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
