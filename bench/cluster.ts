import { type ChildProcess, execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import { createSandbox } from "../sandbox/index.ts";
import { installation } from "../test/cli/installation.ts";
import { startPostgresServer } from "../test/support/postgres-server.ts";
import { type Benchmark, type BenchmarkOptions, median, type Table } from "./benchmark.ts";
import { createDatabase, query, type Running, startServer } from "./peers/peer.ts";
import { cpuOf, createProcesses, load, shippedFlags, shippedVariables } from "./processes.ts";
import type { Target } from "./target.ts";
import { unlimited } from "./targets/app.ts";

const run = promisify(execFile);
const connections = 16;
/** How many of the processes are asked at the same time. */
const spreads = [1, 2, 4] as const;
const warmingSeconds = 5;
const oneAlone = "1, `CLUSTER=off`";
const most = Math.max(...spreads);
/** As many processes on the same cores, that have nothing to do with each other. */
const allAlone = `${most.toString()}, \`CLUSTER=off\`, a database each`;
const operations = ["read", "write"] as const;
type Operation = (typeof operations)[number];

interface Server {
  host: Running;
  requests: Readonly<Record<Operation, Target["request"]>>;
}

interface Sample {
  perSecond: number;
  /** Microseconds of processor time for each answer: of all servers that were asked, and of PostgreSQL. */
  server: number;
  postgres: number;
  /** For which share of the time somebody waited for a lock. */
  waiting: number;
}

/**
 * The built service as one process, as four that have a database each, and as one, two and four of those that serve one database together,
 * in turns. All of it shares the cores of one machine, so what counts is what an answer costs whom, and for how long writes wait for one
 * another.
 */
export const benchmark: Benchmark = {
  about: "reads and audited writes through 1, 2 and 4 processes on one PostgreSQL",
  async run(options) {
    const folder = await mkdtemp(join(tmpdir(), "provost-cluster-run-"));
    const processes = createProcesses();
    const ends: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
    try {
      const sandbox = await createSandbox({ seed: "small", record: false });
      ends.unshift(() => sandbox.stop());
      const postgres = await startPostgresServer();
      ends.unshift(() => postgres.stop());
      const program = join(dirname((await installation()).program), "..");
      const shared = {
        ...sandbox.env(),
        ...unlimited,
        ...shippedVariables(),
        GUILD_IDS: [...sandbox.inside.world.guilds.keys()].join(),
        OWNER_IDS: sandbox.seeded.users.olivia.id,
      };
      const startAll = async (name: string, count: number, settings: Record<string, string>): Promise<Server[]> => {
        const env = { ...shared, ...settings, ...freshKeys(), DATABASE_URL: await createDatabase({ postgres }, name) };
        const servers: Running[] = [];
        for (let index = 0; index < count; index += 1) {
          const own = { DATA_DIR: join(folder, `${name}${index.toString()}`) };
          const start = {
            name: `${name}${index.toString()}`,
            file: join(program, "dist/main.js"),
            flags: shippedFlags(),
            cwd: folder,
            env: (port: number) => ({ ...env, ...own, PORT: port.toString() }),
            readyPath: "/readyz",
          };
          servers.push(await startServer({ processes, installed: { node: process.execPath }, folder }, start));
        }
        const asked = ["keys", "create", "--name", "bench", "--scopes", "*,system.act", "--delegation", "trusted"];
        const { stdout } = await run(process.execPath, [join(program, "dist/cli.js"), ...asked], {
          cwd: folder,
          env: { ...process.env, ...env, DATA_DIR: join(folder, `${name}0`) },
        });
        return servers.map((host) => ({ host, requests: requestsWith(stdout.trim(), env.OWNER_IDS) }));
      };
      const alone: Server[] = [];
      for (let index = 0; index < most; index += 1) alone.push(...(await startAll(`alone${index.toString()}`, 1, {})));
      const together = await startAll("together", most, { CLUSTER: "on", EVIDENCE_STORE: "database" });
      options.progress("started");
      const variants = [
        { name: oneAlone, servers: alone.slice(0, 1) },
        { name: allAlone, servers: alone },
        ...spreads.map((count) => ({ name: count.toString(), servers: together.slice(0, count) })),
      ];
      const clients = Array.from({ length: most }, () => processes.startClient());
      const samples = await measureAll(variants, clients, postgres.url("postgres"), options);
      const [row] = await query(postgres.url("postgres"), "SHOW server_version");
      return {
        ...toTable(samples),
        note: [
          `Node ${process.versions.node}, PostgreSQL ${String(row?.["server_version"])} without \`fsync\``,
          `${availableParallelism().toString()} cores for servers, PostgreSQL and clients together, load ${(loadavg()[1] ?? Number.NaN).toFixed(1)}, ${connections.toString()} connections`,
          `medians of ${options.rounds.toString()} rounds of ${options.seconds.toString()} s; ${new Date().toISOString().slice(0, 10)}.`,
        ].join("; "),
      };
    } finally {
      await processes.end();
      for (const end of ends) await end();
    }
  },
};

const freshKeys = (): Record<string, string> => ({
  SECRET_KEY: randomBytes(32).toString("base64"),
  ENCRYPTION_KEYS: `bench:${randomBytes(32).toString("base64")}`,
});

/** One case of those that there are, and a new one with its audit entry. */
function requestsWith(key: string, actor: string): Server["requests"] {
  const headers = { Authorization: `Bearer ${key}`, "X-Acting-User": actor };
  const body = JSON.stringify({ title: "Quarrel {number}", subjects: [{ kind: "user", id: "123456789012345678" }] });
  return { read: { paths: ["/cases/CASE-000001"], headers }, write: { paths: ["/cases"], headers, body, status: 201 } };
}

type Variant = { name: string; servers: readonly Server[] };
type Samples = { name: string; of: Record<Operation, Sample[]> }[];

async function measureAll(
  variants: readonly Variant[],
  clients: readonly ChildProcess[],
  url: string,
  { seconds, rounds, progress }: BenchmarkOptions,
): Promise<Samples> {
  const samples: Samples = variants.map(({ name }) => ({ name, of: { read: [], write: [] } }));
  // Each process by itself first, as code that has not run often enough costs several times as much. Writes come first: they make what is read.
  for (const server of new Set(variants.flatMap(({ servers }) => servers)))
    for (const operation of operations.toReversed()) await measure([server], clients, { operation, seconds: warmingSeconds, url });
  progress("warm");
  for (let round = 1; round <= rounds; round += 1)
    for (const operation of operations)
      for (const [index, { servers }] of round % 2 === 0 ? [...variants.entries()] : [...variants.entries()].toReversed()) {
        const sample = await measure(servers, clients, { operation, seconds, url });
        samples[index]?.of[operation].push(sample);
        progress(
          `round ${round.toString()}/${rounds.toString()}  ${operation}, ${variants[index]?.name ?? ""}: ${sample.perSecond.toFixed(0)}/s`,
        );
      }
  return samples;
}

async function measure(
  servers: readonly Server[],
  clients: readonly ChildProcess[],
  { operation, seconds, url }: { operation: Operation; seconds: number; url: string },
): Promise<Sample> {
  const cost = async (): Promise<number> =>
    (await Promise.all(servers.map(({ host }) => cpuOf(host.child)))).reduce((sum, one) => sum + one, 0);
  const [before, postgresBefore] = [await cost(), await cpuOfPostgres(url)];
  const watching = new AbortController();
  const waiting = shareWaiting(url, watching.signal);
  const results = await Promise.all(
    servers.map(({ host, requests }, index) => {
      const client = clients[index];
      if (client === undefined) throw new Error("there are not enough clients");
      return load(client, { port: host.port, request: requests[operation] }, { seconds, connections: connections / servers.length });
    }),
  );
  watching.abort();
  const answers = results.reduce((sum, one) => sum + one.answers, 0);
  return {
    perSecond: results.reduce((sum, one) => sum + one.perSecond, 0),
    server: ((await cost()) - before) / answers,
    postgres: ((await cpuOfPostgres(url)) - postgresBefore) / answers,
    waiting: await waiting,
  };
}

/** Looks every few milliseconds whether any session waits for a lock that another holds. @returns for which share of the looks one did */
async function shareWaiting(url: string, signal: AbortSignal): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  let [looks, found] = [0, 0];
  while (!signal.aborted) {
    const { rows } = await client.query<{ waits: boolean }>(
      "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock') AS waits",
    );
    looks += 1;
    if (rows[0]?.waits === true) found += 1;
    await delay(20);
  }
  await client.end();
  return found / looks;
}

/** Microseconds of processor time of every process of the server that is there, as Linux counts it in hundredths of a second; elsewhere nothing. */
async function cpuOfPostgres(url: string): Promise<number> {
  const [row] = await query(url, "SELECT pg_read_file('postmaster.pid') AS text");
  const postmaster = Number(String(row?.["text"]).split("\n")[0]);
  const ticks = (pid: string): number => {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
      return Number(fields[1]) === postmaster ? Number(fields[11]) + Number(fields[12]) : 0;
    } catch {
      return 0;
    }
  };
  try {
    return (
      readdirSync("/proc")
        .filter((name) => /^\d+$/.test(name))
        .reduce((sum, pid) => sum + ticks(pid), 0) * 10_000
    );
  } catch {
    return Number.NaN;
  }
}

function toTable(samples: Samples): Pick<Table, "columns" | "rows" | "goals"> {
  const of = (name: string, operation: Operation, key: keyof Sample): number =>
    median((samples.find((one) => one.name === name)?.of[operation] ?? []).map((one) => one[key]));
  /** Of measurements that follow each other. */
  const ratio = (name: string, operation: Operation): number => {
    const base = samples.find((one) => one.name === "1")?.of[operation] ?? [];
    const own = samples.find((one) => one.name === name)?.of[operation] ?? [];
    return median(own.map((one, round) => one.perSecond / (base[round]?.perSecond ?? Number.NaN)));
  };
  const cells = (name: string, operation: Operation): string[] => [
    of(name, operation, "perSecond").toFixed(0),
    ratio(name, operation).toFixed(2),
    of(name, operation, "server").toFixed(0),
    of(name, operation, "postgres").toFixed(0),
  ];
  const cost = (name: string, operation: Operation): number => of(name, operation, "server");
  return {
    columns: [
      "processes",
      "reads/s",
      "to one",
      "server µs",
      "PostgreSQL µs",
      "writes/s",
      "to one",
      "server µs",
      "PostgreSQL µs",
      "writes wait %",
    ],
    rows: samples.map(({ name }) => [
      name,
      ...cells(name, "read"),
      ...cells(name, "write"),
      (of(name, "write", "waiting") * 100).toFixed(0),
    ]),
    goals: [
      {
        text: "µs of a server for a read where four share a database, to four that have one each",
        wanted: 1.25,
        measured: cost(most.toString(), "read") / cost(allAlone, "read"),
        bound: "most",
      },
      {
        text: "µs of a server for a write where others share its database, to one alone",
        wanted: 1.25,
        measured: cost("1", "write") / cost(oneAlone, "write"),
        bound: "most",
      },
    ],
  };
}
