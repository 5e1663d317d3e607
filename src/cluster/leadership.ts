import type pg from "pg";
import type { Logger } from "pino";
import { pause } from "../kernel/pause.ts";
import { connectAlone, cut } from "./connection.ts";

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

export type Leadership = ReturnType<typeof createLeadership>;

/**
 * One process leads: it holds a lock of PostgreSQL that ends with its connection, however that ends. Each leader raises the epoch, and what only
 * the leader may write is written only while the epoch is still its own.
 */
export function createLeadership({ url, nodeId, name, logger, onWon, onLost }: LeadershipOptions) {
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
