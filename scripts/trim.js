import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Takes out of `node_modules` what an installation leaves there and nothing reads, 170 MB: Prisma's query compilers for databases and builds
 * other than those the generated clients name; of what its command line needs, the parts that it does not read; and what the compiler of SQLite
 * left beside the finished addon.
 */
const root = fileURLToPath(new URL("..", import.meta.url));
const modules = join(root, "node_modules");
/** Of the packages of Prisma's command line: the pages of its studio, which it has in itself, and modules in the format that it does not load. */
const unread = ["@prisma/studio-core/dist/ui", "elkjs/lib", "react-dom/cjs", "effect/dist/dts", "effect/dist/esm", "effect/src"];
const addon = join(modules, "better-sqlite3/build/Release");

/** @returns {Set<string>} such as `query_compiler_small_bg.sqlite`; empty when there is no client yet */
function namedCompilers() {
  const clients = ["sqlite", "postgres"].map((dialect) => join(root, "src/generated", dialect, "internal/class.ts"));
  const texts = clients.filter((file) => existsSync(file)).map((file) => readFileSync(file, "utf8"));
  // A build without its sources has the compilers as files of its own.
  const built = existsSync(join(root, "dist")) ? readdirSync(join(root, "dist")) : [];
  return new Set([...texts, ...built].flatMap((text) => text.match(/query_compiler_\w+\.\w+/g) ?? []));
}

/**
 * @param {string} folder
 * @param {(name: string) => boolean} isUnused
 */
function remove(folder, isUnused) {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder).filter(isUnused)) rmSync(join(folder, name), { recursive: true, force: true });
}

export function trim() {
  const named = namedCompilers();
  if (named.size > 0)
    remove(join(modules, "@prisma/client/runtime"), (name) => {
      const [compiler] = name.match(/^query_compiler_\w+\.\w+/) ?? [];
      // The code is imported by the name of its module; its text in the other module format is never read.
      return compiler !== undefined && (!named.has(compiler) || name.endsWith(".wasm-base64.js"));
    });
  // For clients of the kind before, which hold a copy.
  remove(join(modules, "prisma/build"), (name) => name.startsWith("query_compiler_"));
  for (const folder of unread) rmSync(join(modules, folder), { recursive: true, force: true });
  if (existsSync(join(addon, "better_sqlite3.node"))) remove(addon, (name) => name !== "better_sqlite3.node");
}
