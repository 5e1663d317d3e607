import { hostname } from "node:os";
import type { Logger } from "pino";
import type { Database } from "../database/database.ts";
import { systemClock } from "../kernel/clock.ts";
import { uuid7 } from "../kernel/ids.ts";
import { version } from "../version.ts";
import { type Changes, changesKeptSeconds, hinted, oneAtATime, topics, type Topic } from "./changes.ts";
import type { Cluster, LeaderView } from "./cluster.ts";
import { createNodes, type OwnNode } from "./nodes.ts";
import type pg from "pg";
import { pause } from "../kernel/pause.ts";
import { connectAlone, cut } from "./connection.ts";
import type { ReadClient } from "../database/models.ts";

interface ReaderOptions {
  url: string;
  name: string;
  read: Pick<ReadClient, "$queryRaw">;
  changes: Changes;
  logger: Logger;
}

interface Row {
  horizon: bigint;
  id: string | null;
  topic: string | null;
  keys: string | null;
}

/** How often it is looked for changes of which PostgreSQL has not told, and whether it could. */
const [pollMs, probeMs] = [500, 2000];

/**
 * Reads what any process has changed from the rows that triggers write, so that nothing is missed by who was not connected. A notification
 * of PostgreSQL only makes it look at once.
 */
function createChangeReader({ url, name, read, changes, logger }: ReaderOptions) {
  const stopping = new AbortController();
  let loop: Promise<unknown> | undefined;
  let isBlind = false;
  /** Every transaction below it has ended, and was seen. */
  let horizon: bigint | undefined;
  let seen = new Set<string>();
  let lookedAt = 0;

  async function find(since: bigint): Promise<Row[]> {
    return read.$queryRaw<Row[]>`
      SELECT s.horizon, c.id, c.topic, c.keys::text AS keys
      FROM (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS horizon) s LEFT JOIN changes c ON c.xid >= ${since}`;
  }

  const look = oneAtATime(async () => {
    const since = horizon;
    if (since === undefined) return;
    const began = performance.now();
    const rows = await find(since);
    const now = BigInt(rows[0]?.horizon ?? since);
    // Another database may have been put in its place, whose transactions are counted anew; or what has changed is forgotten by now.
    if (now < since || began - lookedAt > changesKeptSeconds * 1000) for (const topic of topics) changes.tell(topic, { isOwn: false });
    lookedAt = began;
    const fresh = rows.filter(({ id }) => id !== null && !seen.has(id));
    seen = new Set(rows.flatMap(({ id }) => id ?? []));
    horizon = now;
    for (const [topic, keys] of gather(fresh)) changes.tell(topic, { keys, isOwn: false });
  });

  const hint = (): void => {
    for (const topic of hinted) changes.tell(topic, { isOwn: false });
  };

  async function listen(): Promise<void> {
    const client = await connectAlone(url, `provost listen ${name}`);
    const ended = new AbortController();
    try {
      client.on("end", () => ended.abort());
      stopping.signal.addEventListener("abort", () => ended.abort(), { once: true });
      client.on("notification", ({ payload }) => {
        const topic = hinted.find((one) => one === payload);
        if (topic !== undefined) changes.tell(topic, { isOwn: false });
        else void look().catch(() => undefined);
      });
      await listenTo(client);
      hint();
      isBlind = false;
      while (!ended.signal.aborted) {
        await pause(probeMs, ended.signal);
        if (!ended.signal.aborted) await client.query("SELECT 1");
      }
    } finally {
      cut(client);
    }
  }

  async function listenAgain(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await listen();
      } catch (error) {
        if (!isBlind) logger.warn({ err: error }, "PostgreSQL does not tell of changes; they are looked for until it does");
      }
      isBlind = true;
      await pause(pollMs, stopping.signal);
    }
  }

  async function poll(): Promise<void> {
    while (!stopping.signal.aborted) {
      await pause(pollMs, stopping.signal);
      if (isBlind) hint();
      await look().catch(() => undefined);
    }
  }

  return {
    /** From here on nothing is missed: to be called before anything is read into memory. */
    async begin(): Promise<void> {
      // No transaction is so late.
      lookedAt = performance.now();
      horizon = (await find(2n ** 62n))[0]?.horizon;
      if (horizon !== undefined) horizon = BigInt(horizon);
    },
    start(): void {
      loop = Promise.all([listenAgain(), poll()]);
    },
    async stop(): Promise<void> {
      stopping.abort();
      await loop;
    },
  };
}

async function listenTo(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ channel: string }>("SELECT 'provost ' || current_schema() AS channel");
  await client.query(`LISTEN ${client.escapeIdentifier(rows[0]?.channel ?? "")}`);
}

/** What is changed of each topic: everything, where one change names no keys. */
function gather(rows: readonly Row[]): Map<Topic, readonly string[] | undefined> {
  const found = new Map<Topic, readonly string[] | undefined>();
  for (const { topic: name, keys } of rows) {
    const topic = topics.find((one) => one === name);
    if (topic === undefined) continue;
    const before = found.has(topic) ? found.get(topic) : [];
    found.set(topic, before === undefined || keys === null ? undefined : [...new Set([...before, ...(JSON.parse(keys) as string[])])]);
  }
  return found;
}

interface LeadershipOptions {
  url: string;
  nodeId: string;
  name: string;
  logger: Logger;
  /** This process leads from now on. */
  onWon(): void;
  /** The connection that held the lock is gone, so another process may lead. */
  onLost(): void;
}

/** How often the lock is asked for, and looked at. */
const [seekMs, beatMs] = [400, 1000];
/** So long a leader that is cut off may not know yet that it leads no more: a beat, and the time for its answer. */
const overlapMs = 4000;
/** One for each schema, as several installations can share a database. */
const lockKey = "hashtextextended('provost leader ' || current_schema(), 0)";

/**
 * One process leads: it holds a lock of PostgreSQL that ends with its connection, however that ends. Each leader raises the epoch, and what only
 * the leader may write is written only while the epoch is still its own.
 */
function createLeadership({ url, nodeId, name, logger, onWon, onLost }: LeadershipOptions) {
  const stopping = new AbortController();
  let loop: Promise<void> | undefined;
  let epoch: number | undefined;
  let isLeading = false;

  async function take(client: pg.Client): Promise<boolean> {
    const { rows } = await client.query<{ taken: boolean }>(`SELECT pg_try_advisory_lock(${lockKey}) AS taken`);
    if (rows[0]?.taken !== true) return false;
    // It waits for transactions of the leader before, which hold the row.
    const raised = await client.query<{ epoch: number }>(
      `INSERT INTO leadership (id, epoch, node_id, since) VALUES (1, 1, $1, now() AT TIME ZONE 'UTC')
       ON CONFLICT (id) DO UPDATE SET epoch = leadership.epoch + 1, node_id = EXCLUDED.node_id, since = EXCLUDED.since RETURNING epoch`,
      [nodeId],
    );
    epoch = raised.rows[0]?.epoch;
    return true;
  }

  /** Whether the leader before has ended without a word: what it does in Discord is not fenced. */
  async function mayAnotherBeAtWork(client: pg.Client): Promise<boolean> {
    const text = `SELECT 1 FROM nodes WHERE leads IS NOT NULL AND id <> $1 AND heartbeat_at > (now() AT TIME ZONE 'UTC') - interval '15 seconds'`;
    return (await client.query(text, [nodeId])).rows.length > 0;
  }

  async function hold(client: pg.Client): Promise<void> {
    const ended = new AbortController();
    client.on("end", () => ended.abort());
    stopping.signal.addEventListener("abort", () => ended.abort(), { once: true });
    while (!ended.signal.aborted) {
      await client.query("SELECT 1");
      await pause(beatMs, ended.signal);
    }
  }

  async function seek(): Promise<void> {
    const client = await connectAlone(url, `provost lock ${name}`);
    try {
      while (!(await take(client))) {
        await pause(seekMs, stopping.signal);
        if (stopping.signal.aborted) return;
      }
      if (await mayAnotherBeAtWork(client)) await pause(overlapMs, stopping.signal);
      if (stopping.signal.aborted) return;
      isLeading = true;
      logger.info({ epoch }, "this process leads");
      onWon();
      await hold(client);
    } finally {
      isLeading = false;
      cut(client);
      // Even where it was lost before it was told.
      if (epoch !== undefined && !stopping.signal.aborted) onLost();
    }
  }

  async function run(): Promise<void> {
    let isTold = false;
    while (!stopping.signal.aborted) {
      try {
        await seek();
        if (epoch !== undefined) return;
      } catch (error) {
        if (epoch !== undefined) return;
        if (!isTold) logger.warn({ err: error }, "the lock of the leader cannot be asked for; it is tried again");
        isTold = true;
        await pause(seekMs, stopping.signal);
      }
    }
  }

  return {
    isLeading: () => isLeading,
    /** The epoch that this process has led in, even if that is over; undefined while it never did. */
    epoch: () => epoch,
    /** Ask for the lock until it is won. Who has lost it does not lead again: it is replaced. */
    start(): void {
      loop = run();
    },
    /** Let another process lead. */
    async stop(): Promise<void> {
      stopping.abort();
      await loop;
    },
  };
}

/** This process among those that serve an installation. */
export const ownNode: OwnNode = { id: uuid7(), host: hostname(), pid: process.pid, version, startedAt: systemClock.now() };

export interface ClusterOptions {
  url: string;
  database: Pick<Database, "read" | "write">;
  changes: Changes;
  logger: Logger;
  /** What this process tells the others while it leads. */
  view(): LeaderView;
}

/** What the service does with the cluster, beside what features see of it. */
export interface ClusterMember extends Cluster {
  /** Before anything is read into memory. @throws OperatorError when this process cannot serve beside the others */
  join(): Promise<void>;
  /** Hear of changes, and lead when no other process does. */
  start(hooks: { onWon(): void; onLost(): void }): void;
  /** Let another process lead: this one does nothing more that only the leader may do. */
  handOver(): Promise<void>;
  /** @param isLeaving whether the process ends */
  stop(isLeaving: boolean): Promise<void>;
  /** The epoch this process has led in; undefined while it never did. */
  epoch(): number | undefined;
}

/** Several processes on one PostgreSQL. */
export function createCluster({ url, database, changes, logger, view }: ClusterOptions): ClusterMember {
  const own = ownNode;
  const name = `${own.pid.toString()} ${own.host.slice(0, 32)}`;
  let hooks = { onWon: (): void => undefined, onLost: (): void => undefined };
  const leadership = createLeadership({
    url,
    nodeId: own.id,
    name,
    logger,
    onWon: () => hooks.onWon(),
    onLost: () => hooks.onLost(),
  });
  let isResigning = false;
  const nodes = createNodes({ own, database, logger, tellOthers: () => (leadership.isLeading() && !isResigning ? view() : undefined) });
  const reader = createChangeReader({ url, name, read: database.read, changes, logger });

  return {
    isOn: true,
    nodeId: own.id,
    liveNodes: () => Math.max(1, nodes.live().length),
    nodes: nodes.live,
    isLeader: leadership.isLeading,
    leader: () => (leadership.isLeading() ? undefined : nodes.leader()),
    epoch: leadership.epoch,
    async join() {
      await nodes.join();
      await reader.begin();
    },
    start(given) {
      hooks = given;
      reader.start();
      nodes.start();
      leadership.start();
    },
    async handOver() {
      isResigning = true;
      if (leadership.isLeading()) await nodes.resign().catch(() => undefined);
      await leadership.stop();
    },
    async stop(isLeaving) {
      await leadership.stop();
      await reader.stop();
      await nodes.stop();
      if (isLeaving) await nodes.leave().catch(() => undefined);
    },
  };
}
