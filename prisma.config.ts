import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { defineConfig } from "prisma/config";

if (existsSync(".env")) process.loadEnvFile();
// `prisma generate` looks for the schema engine, which it does not use, and would download it. Any file that is there satisfies it.
process.env["PRISMA_SCHEMA_ENGINE_BINARY"] ??= process.execPath;

/** What `prisma studio` shows: the database that the service would open from here. */
const url = process.env["DATABASE_URL"] ?? `file:${process.env["DATA_DIR"] ?? "./data"}/provost.db`;

export default defineConfig({
  schema: "prisma/schema.prisma",
  // The studio takes files only as addresses with two slashes.
  datasource: { url: url.replace(/^file:(?!\/\/)(.+)$/, (_whole, path: string) => `file://${resolve(path)}`) },
});
