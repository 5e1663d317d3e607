import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { installPackages, placeBuild } from "../../test/support/production-tree.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));

/** What is measured, and the Node that all of it runs on. */
export const versions = { node: "24.18.0", parse: "9.10.0", directus: "12.3.1" } as const;

const manifests = {
  node: { dependencies: { node: versions.node } },
  /** Parse Server 9.10 reads what its router sets until 2.2: with a newer one no trigger can save. */
  parse: { dependencies: { "parse-server": versions.parse }, overrides: { router: "2.2.0" } },
  /** isolated-vm runs sandboxed extensions, of which there are none here; it does not compile everywhere. An empty package is in its place. */
  directus: { dependencies: { directus: versions.directus }, overrides: { "isolated-vm": "file:./empty" } },
};

/** Folders of what is installed, and the path of Node. */
export interface Installed {
  node: string;
  provost: string;
  parse: string;
  directus: string;
}

/** Install what is not there yet, and build this checkout. What is installed stays for later runs, each version in a folder of its own. */
export async function prepareScratch(progress: (line: string) => void): Promise<Installed> {
  const base = await ownFolder(join(tmpdir(), "provost-peers"));
  const install = async (name: string, version: string, fill: (folder: string) => Promise<void>): Promise<string> => {
    const folder = join(base, `${name}-${version}`);
    const mark = join(folder, "installed");
    if (existsSync(mark)) return folder;
    progress(`installing ${name} ${version}`);
    await mkdir(folder, { recursive: true });
    await fill(folder);
    await writeFile(mark, "");
    return folder;
  };
  const npmInstall = async (folder: string, manifest: object, env?: NodeJS.ProcessEnv): Promise<void> => {
    await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, ...manifest }));
    // What the scripts of Parse Server and Directus would do is print advice, or download and compile what is not used here.
    const scripts = env === undefined ? [] : ["--ignore-scripts"];
    await run("npm", ["install", "--no-audit", "--no-fund", ...scripts], { cwd: folder, env: env ?? process.env, timeout: 1_200_000 });
  };
  const home = await install("node", versions.node, (folder) => npmInstall(folder, manifests.node));
  const bin = await folderOfNode(join(home, "node_modules"));
  const env = { ...process.env, PATH: `${bin}:${process.env["PATH"] ?? ""}`, npm_config_nodedir: dirname(bin) };
  const parse = await install("parse-server", versions.parse, (folder) => npmInstall(folder, manifests.parse, env));
  const directus = await install("directus", versions.directus, async (folder) => {
    await mkdir(join(folder, "empty"), { recursive: true });
    await writeFile(join(folder, "empty/package.json"), JSON.stringify({ name: "isolated-vm", version: "0.0.0", main: "index.js" }));
    await writeFile(join(folder, "empty/index.js"), "");
    await npmInstall(folder, manifests.directus, env);
  });
  const packages = await fingerprint();
  progress("building this checkout");
  await placeBuild(join(base, `provost-${packages}`));
  const provost = await install("provost", packages, (folder) => installPackages(folder, env));
  return { node: join(bin, "node"), provost, parse, directus };
}

/** What runs from there must have been put there by the same user. @throws Error when the folder is somebody else's */
async function ownFolder(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { uid } = await stat(folder);
  if (uid !== (process.getuid?.() ?? uid))
    throw new Error(`${folder} belongs to another user: remove it, or set TMPDIR to a folder of your own.`);
  return folder;
}

/** The package brings another one for each platform, which holds the program. */
async function folderOfNode(modules: string): Promise<string> {
  const found = (await readdir(modules, { recursive: true })).find((path) => /node-[\w-]+\/bin\/node$/.test(path));
  if (found === undefined) throw new Error(`the package node ${versions.node} brought no program for this platform`);
  return dirname(join(modules, found));
}

/** Of what decides which packages the service gets to run, and for which Node. */
async function fingerprint(): Promise<string> {
  const lock = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) as { packages: Record<string, { dev?: boolean }> };
  const needed = Object.entries(lock.packages).filter(([path, { dev }]) => path !== "" && dev !== true);
  const scripts = await Promise.all(["postinstall.js", "addon.js", "trim.js"].map((name) => readFile(join(root, "scripts", name), "utf8")));
  return createHash("sha256")
    .update(JSON.stringify([versions.node, needed, scripts]))
    .digest("hex")
    .slice(0, 12);
}
