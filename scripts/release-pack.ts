import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundleClient } from "./bundle-client.ts";
import { bundle, program } from "./bundle.ts";
import { writeClientTypes } from "./client-types.ts";

/**
 * Makes `provost-<version>.tgz`, which npm installs without this repository: the build, the client, and as its only package the addon of SQLite, with
 * everything that installs it in the versions of the lock file. The archive goes into the folder that is named, or into this one.
 */
const root = fileURLToPath(new URL("..", import.meta.url));
const shipped = [
  "bin",
  "prisma/migrations",
  "docs",
  "examples",
  "deploy",
  "scripts/addon.js",
  ".env.example",
  "README.md",
  "CHANGELOG.md",
  "SECURITY.md",
  "LICENSE",
];
const addon = "better-sqlite3";

interface LockedPackage {
  version: string;
  dependencies?: Record<string, string>;
}

interface Lock {
  packages: Record<string, LockedPackage>;
}

const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Record<string, unknown> & {
  dependencies: Record<string, string>;
};
const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as Lock;

/** Where the lock file has a package that another one asks for: the nearest one above it. */
function placeOf(name: string, asker: string): string {
  for (let above = asker; ; above = above.slice(0, Math.max(0, above.lastIndexOf("node_modules/") - 1))) {
    const place = `${above === "" ? "" : `${above}/`}node_modules/${name}`;
    if (place in lock.packages) return place;
    if (above === "") throw new Error(`package-lock.json has no ${name} for ${asker}; run npm install`);
  }
}

/** The packages of the lock file that one needs to be installed, itself among them. */
function needed(place: string, found: Record<string, LockedPackage> = {}): Record<string, LockedPackage> {
  const locked = lock.packages[place];
  if (locked === undefined || place in found) return found;
  const { dev: _, devOptional: __, ...kept } = locked as LockedPackage & { dev?: boolean; devOptional?: boolean };
  found[place] = kept;
  for (const name of Object.keys(locked.dependencies ?? {})) needed(placeOf(name, place), found);
  return found;
}

const { name, version, description, license, type, bin, exports, engines } = manifest;
const released = {
  name,
  version,
  description,
  license,
  type,
  bin,
  exports,
  engines,
  scripts: { postinstall: "node scripts/addon.js" },
  dependencies: { [addon]: manifest.dependencies[addon] },
};
const shrinkwrap = { name, version, lockfileVersion: 3, requires: true, packages: { "": released, ...needed(`node_modules/${addon}`) } };

const folder = mkdtempSync(join(tmpdir(), "provost-release-"));
try {
  await writeClientTypes();
  await bundle(join(folder, "dist"), program);
  await bundleClient(join(folder, "dist/client"));
  for (const path of shipped) cpSync(join(root, path), join(folder, path), { recursive: true });
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(released, null, 2)}\n`);
  writeFileSync(join(folder, "npm-shrinkwrap.json"), `${JSON.stringify(shrinkwrap, null, 2)}\n`);
  const packed = execFileSync("npm", ["pack", "--silent", "--pack-destination", process.argv[2] ?? root], {
    cwd: folder,
    encoding: "utf8",
  });
  process.stdout.write(packed);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
