import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Takes out of `node_modules` what an installation leaves there and nothing reads, 77 MB: Prisma's query compilers for databases and builds
 * other than those the generated clients name, and what the compiler of SQLite left beside the finished addon.
 */
const root = fileURLToPath(new URL("..", import.meta.url));
const runtime = join(root, "node_modules/@prisma/client/runtime");
const addon = join(root, "node_modules/better-sqlite3/build/Release");

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

const named = namedCompilers();
if (named.size > 0)
  remove(runtime, (name) => {
    const [compiler] = name.match(/^query_compiler_\w+\.\w+/) ?? [];
    // The code is imported by the name of its module; its text in the other module format is never read.
    return compiler !== undefined && (!named.has(compiler) || name.endsWith(".wasm-base64.js"));
  });
if (existsSync(join(addon, "better_sqlite3.node"))) remove(addon, (name) => name !== "better_sqlite3.node");
