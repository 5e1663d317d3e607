import type pg from "pg";
import type { Logger } from "pino";
import type { ReadClient } from "../database/models.ts";
import { pause } from "../kernel/pause.ts";
import { changesKeptSeconds, hinted, oneAtATime, topics, type Changes, type Topic } from "./changes.ts";
import { connectAlone, cut } from "./connection.ts";

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

export type ChangeReader = ReturnType<typeof createChangeReader>;

/**
 * Reads what any process has changed from the rows that triggers write, so that nothing is missed by who was not connected. A notification
 * of PostgreSQL only makes it look at once.
 */
export function createChangeReader({ url, name, read, changes, logger }: ReaderOptions) {
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
