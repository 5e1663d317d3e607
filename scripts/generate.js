import { createHash } from "node:crypto";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Makes both Prisma clients (`src/generated/sqlite`, `src/generated/postgres`) from the one schema, without the network.
 * Does nothing when neither the schema, Prisma nor this script has changed since the last run.
 */
const root = fileURLToPath(new URL("..", import.meta.url));
const require = createRequire(import.meta.url);
const sourceFile = join(root, "prisma/schema.prisma");
const generated = join(root, "src/generated");
const derivedFile = join(generated, "postgres.prisma");
const stampFile = join(generated, "stamp");

/** @returns {{ command: string, version: string } | undefined} undefined when only the production packages are installed */
function findPrisma() {
  try {
    const manifest = require.resolve("prisma/package.json");
    return { command: join(manifest, "../build/index.js"), version: JSON.parse(readFileSync(manifest, "utf8")).version };
  } catch {
    return undefined;
  }
}

/**
 * @param {string} text
 * @param {string} from
 * @param {string} to
 */
function replaceOnce(text, from, to) {
  if (text.split(from).length !== 2) throw new Error(`prisma/schema.prisma must hold ${from} exactly once`);
  return text.replace(from, to);
}

/**
 * @param {string} command
 * @param {string} schema
 */
function generate(command, schema) {
  const result = spawnSync(process.execPath, [command, "generate", "--schema", schema, "--no-hints"], {
    cwd: root,
    encoding: "utf8",
    timeout: 120_000,
    env: {
      ...process.env,
      // Generating never runs the schema engine, but Prisma downloads one unless a file is named here.
      PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
      CHECKPOINT_DISABLE: "1",
      PRISMA_HIDE_UPDATE_MESSAGE: "1",
    },
  });
  if (result.status !== 0) throw new Error(`${result.error?.message ?? ""}${result.stdout}${result.stderr}`.trim());
}

function main() {
  const prisma = findPrisma();
  if (prisma === undefined) {
    console.log("generate: prisma is not installed here, the database clients are kept as they are");
    return;
  }
  const source = readFileSync(sourceFile, "utf8");
  const stamp = createHash("sha256")
    .update(`${prisma.version}\n${source}\n${readFileSync(fileURLToPath(import.meta.url), "utf8")}`)
    .digest("hex");
  const isCurrent = existsSync(stampFile) && readFileSync(stampFile, "utf8") === stamp;
  if (isCurrent && existsSync(join(generated, "sqlite/client.ts")) && existsSync(join(generated, "postgres/client.ts"))) return;

  const derived = replaceOnce(
    replaceOnce(source, '"../src/generated/sqlite"', '"./postgres"'),
    'provider = "sqlite"',
    'provider = "postgresql"',
  );
  mkdirSync(generated, { recursive: true });
  writeFileSync(derivedFile, derived);
  generate(prisma.command, sourceFile);
  generate(prisma.command, derivedFile);
  writeFileSync(stampFile, stamp);
  console.log("generate: wrote the database clients for SQLite and PostgreSQL");
}

try {
  main();
} catch (error) {
  console.error(`generate: the database clients could not be made\n${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
