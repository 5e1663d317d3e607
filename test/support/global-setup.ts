import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import type { Dialect } from "../../src/database/dialect.ts";
import { migrate } from "../../src/database/database.ts";
import { createFastFolder } from "./fast-folder.ts";
import { startPostgresServer, type PostgresServer } from "./postgres-server.ts";

declare module "vitest" {
  export interface ProvidedContext {
    dialect: Dialect;
    /** A folder of this run; deleted at its end. */
    directory: string;
    /** A migrated database that fresh ones are copied from. */
    template: string;
  }
}

/** Makes one migrated database for the tests of a project, which is named after the database it runs on. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dialect = project.name === "postgres" ? "postgres" : "sqlite";
  const directory = await createFastFolder("provost-test");
  const server = dialect === "postgres" ? await startPostgresServer() : undefined;
  const template = server?.url("template1") ?? `file:${join(directory, "template.db")}`;
  const teardown = () => end(directory, server);
  try {
    await migrate(template);
  } catch (error) {
    await teardown();
    throw error;
  }
  project.provide("dialect", dialect);
  project.provide("directory", directory);
  project.provide("template", template);
  return teardown;
}

async function end(directory: string, server: PostgresServer | undefined): Promise<void> {
  await server?.stop();
  await rm(directory, { recursive: true, force: true });
}
