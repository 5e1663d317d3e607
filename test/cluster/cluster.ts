import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { expect } from "vitest";
import { installation } from "../cli/installation.ts";
import { operatorEnv } from "../cli/run.ts";
import { answerOf, createClient, type Answer } from "../support/client.ts";
import type { ClosedDatabase } from "../support/database.ts";
import { freePort } from "../support/free-port.ts";
import { createWorld, type World } from "../support/world.ts";
import { createPostgresProxy } from "./postgres-proxy.ts";

export interface Asking {
  actor?: { id: string };
  key?: string;
  headers?: Record<string, string>;
}

interface ClusterOptions<Prepared> {
  nodes?: number;
  /** What is set up before the nodes start, through a service in this process. */
  prepare: (world: World) => Promise<Prepared>;
  /** Its database; a fresh one of this test run unless told. */
  database?: ClosedDatabase;
  env?: Record<string, string>;
  onEnd: (end: () => Promise<void>) => void;
}

/**
 * Several real processes of the built server for one real PostgreSQL, each with a data folder of its own and a proxy between it and the
 * database, and one Discord for all.
 */
export async function createCluster<Prepared>({ nodes: count = 3, prepare, database, env = {}, onEnd }: ClusterOptions<Prepared>) {
  const ends: (() => Promise<unknown>)[] = [];
  onEnd(async () => {
    for (const end of ends.toReversed()) await end();
  });
  const keys = { SECRET_KEY: randomBytes(32).toString("base64"), ENCRYPTION_KEYS: `a:${randomBytes(32).toString("base64")}` };
  const world = await createWorld({ env: keys, onEnd: (end) => ends.push(end), ...(database !== undefined && { database }) });
  const prepared = await prepare(world);
  await world.app.stop();
  const main = join(dirname((await installation()).program), "..", "dist", "main.js");
  const shared = {
    ...world.sandbox.env(),
    ...keys,
    GUILD_IDS: world.guild.id,
    CLUSTER: "on",
    EVIDENCE_STORE: "database",
    ROSTER_FOLLOWS_DISCORD: "false",
    ROSTER_AUDIT_HOUR: "off",
    RATE_LIMITS: "read=1000000/1,write=1000000/1,authorize=1000000/1,export=1000000/1,failed_auth=1000000/1",
    LOG_LEVEL: "warn",
    ...env,
  };
  const client = createClient();
  ends.push(async () => client.close());

  /** @returns how to ask whoever listens at an address, with the key of the world unless told */
  const askerOf =
    (url: string) =>
    async (method: string, path: string, body?: unknown, { actor, key = world.key, headers }: Asking = {}): Promise<Answer> => {
      const sent = body === undefined ? undefined : JSON.stringify(body);
      const answered = await client.send(url + path, {
        method,
        headers: {
          accept: "*/*",
          authorization: `Bearer ${key}`,
          ...(actor !== undefined && { "x-acting-user": actor.id }),
          ...(sent !== undefined && { "content-type": "application/json", "content-length": Buffer.byteLength(sent).toString() }),
          ...headers,
        },
        body: sent,
      });
      return answerOf(answered);
    };

  async function createNode(name: string) {
    const proxy = await createPostgresProxy(world.databaseUrl);
    const port = await freePort();
    const url = `http://127.0.0.1:${port.toString()}`;
    let child: ChildProcess | undefined;
    let ended: Promise<unknown> = Promise.resolve();
    let printed = "";
    const isRunning = (): boolean => child !== undefined && child.exitCode === null && child.signalCode === null;

    async function stop(signal: NodeJS.Signals): Promise<number | null> {
      child?.kill(signal);
      await ended;
      return child?.exitCode ?? null;
    }
    ends.push(async () => {
      await stop("SIGKILL");
      await proxy.close();
    });

    return {
      name,
      url,
      proxy,
      isRunning,
      /** What it has written to its two outputs. */
      printed: () => printed,
      isReady: (): Promise<boolean> =>
        client.send(`${url}/readyz`, { method: "GET", headers: {}, body: undefined }).then(
          ({ status }) => status === 200,
          () => false,
        ),
      async start(): Promise<void> {
        const folder = join(dirname(world.dataDir), name);
        const own = { DATABASE_URL: proxy.url(), DATA_DIR: folder, PORT: port.toString() };
        child = spawn(process.execPath, [main], {
          cwd: dirname(world.dataDir),
          env: operatorEnv({ ...shared, ...own }),
          stdio: ["ignore", "pipe", "pipe"],
        });
        for (const stream of [child.stdout, child.stderr]) stream?.on("data", (part: Buffer) => (printed += part.toString()));
        ended = once(child, "exit");
        const end = performance.now() + 60_000;
        while (isRunning() && performance.now() < end && !(await this.isReady())) await delay(20);
        expect(await this.isReady(), `${name} is not ready: ${printed}`).toBe(true);
      },
      /** @returns its exit code */
      stop,
      ask: askerOf(url),
    };
  }
  type Node = Awaited<ReturnType<typeof createNode>>;

  const nodes: Node[] = [];
  for (let index = 0; index < count; index += 1) nodes.push(await createNode(`node${index.toString()}`));
  await Promise.all(nodes.map((node) => node.start()));

  /** Asks PostgreSQL itself, past every proxy. */
  let direct = new URL(world.databaseUrl);
  async function query<Row extends pg.QueryResultRow>(sql: string, values: readonly unknown[] = []): Promise<Row[]> {
    const asking = new pg.Client({ connectionString: direct.href });
    asking.on("error", () => undefined);
    await asking.connect();
    return (await asking.query<Row>(sql, [...values]).finally(() => asking.end())).rows;
  }

  /** The node whose session holds the lock of the leader, as PostgreSQL sees it; undefined while nobody does. */
  async function holder(): Promise<Node | undefined> {
    const rows = await query<{ port: number }>(
      `SELECT DISTINCT a.client_port AS port FROM pg_locks l JOIN pg_stat_activity a USING (pid)
       WHERE l.locktype = 'advisory' AND l.granted AND l.mode = 'ExclusiveLock'
         AND a.datname = current_database() AND a.application_name LIKE 'provost lock%'`,
    );
    return nodes.find(({ proxy }) => rows.some(({ port }) => proxy.ports.has(port)));
  }

  return {
    world,
    prepared,
    nodes,
    askerOf,
    query,
    holder,
    /** The node that leads, once there is one. @param but one that does not count */
    async leader(but?: Node): Promise<Node> {
      return await eventually(async () => {
        const found = await holder().catch(() => undefined);
        return found === but ? undefined : found;
      });
    },
    /** Whoever connects from now on reaches another PostgreSQL. */
    pointTo(url: string): void {
      direct = new URL(url);
      for (const { proxy } of nodes) proxy.pointTo(url);
    },
  };
}
export type Cluster<Prepared> = Awaited<ReturnType<typeof createCluster<Prepared>>>;
export type Node = Cluster<unknown>["nodes"][number];

/** @returns the first answer that is neither false nor undefined. @throws Error when there is none in time */
export async function eventually<Found>(look: () => Promise<Found>, ms = 30_000, pauseMs = 20): Promise<Exclude<Found, false | undefined>> {
  for (const began = performance.now(); ; await delay(pauseMs)) {
    const found = await look();
    if (found !== false && found !== undefined) return found as Exclude<Found, false | undefined>;
    if (performance.now() - began > ms) throw new Error(`not within ${ms.toString()} ms: ${look.toString()}`);
  }
}
