import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import type { Database } from "../database/database.ts";
import { processCall, type Call } from "../kernel/call.ts";
import type { Clock } from "../kernel/clock.ts";
import { uuid7 } from "../kernel/ids.ts";
import { keyedHash } from "../kernel/secrets.ts";
import type { RateLimit, RateLimiter } from "../operations/rate-limit.ts";
import { createPoll, type Poll } from "./poll.ts";

interface AuthFailuresDeps {
  database: Pick<Database, "read" | "write">;
  clock: Clock;
  logger: Logger;
  nodeId: string;
  /** Of the hashes under which addresses are stored. */
  key: Buffer;
}

/** Failed attempts to identify that count at every process; without a start they count at this one alone. */
export interface AuthFailures extends RateLimiter, Poll {
  /** Delete what counts no longer; answers how many rows. A job calls it. */
  sweep(call: Call): Promise<number>;
}

/** Together an attempt is known to the others within a second. */
const [gatherMs, readMs] = [250, 500];
/** By how much the clocks of machines differ, and how long a transaction takes. */
const overlapMs = 10_000;

export function createAuthFailures(limiter: RateLimiter, { seconds }: RateLimit, deps: AuthFailuresDeps): AuthFailures {
  const { database, clock, logger, nodeId, key } = deps;
  const waiting = new Map<string, number>();
  const hashOf = (address: string): string => keyedHash(key, address);
  let writing: Promise<void> | undefined;
  let readUntil = clock.now().getTime() - seconds * 1000;
  let read: ReadonlySet<string> = new Set();

  async function write(): Promise<void> {
    await delay(gatherMs);
    const rows = [...waiting].map(([addressHash, count]) => ({ id: uuid7(), nodeId, addressHash, count, at: clock.now() }));
    waiting.clear();
    writing = undefined;
    await database
      .write(processCall(uuid7()), async (tx) => tx.insert([{ model: "AuthFailure", rows }]))
      .catch((error: unknown) =>
        logger.warn({ err: error }, "failed attempts to identify count at this process alone: they could not be stored"),
      );
  }

  async function takeOthers(): Promise<void> {
    const now = clock.now().getTime();
    const rows = await database.read.authFailure.findMany({
      where: { at: { gt: new Date(readUntil - overlapMs) }, nodeId: { not: nodeId } },
    });
    for (const { addressHash, count } of rows.filter(({ id }) => !read.has(id)))
      for (let left = count; left > 0 && limiter.wait(addressHash, now) === 0; left -= 1) limiter.take(addressHash, now);
    read = new Set(rows.map(({ id }) => id));
    readUntil = now;
  }

  return {
    ...limiter,
    ...createPoll(readMs, takeOthers, logger, "what failed to identify at other processes could not be read, and is not counted here"),
    wait: (address, now) => limiter.wait(hashOf(address), now),
    take(address, now) {
      const hash = hashOf(address);
      const left = limiter.take(hash, now);
      // Who has failed too often already is written down no more.
      if (left >= 0) {
        waiting.set(hash, (waiting.get(hash) ?? 0) + 1);
        writing ??= write();
      }
      return left;
    },
    async sweep(call) {
      const where = { at: { lt: new Date(clock.now().getTime() - seconds * 1000 - overlapMs) } };
      if ((await database.read.authFailure.findFirst({ where, select: { id: true } })) === null) return 0;
      return database.write(call, async ({ db }) => (await db.authFailure.deleteMany({ where })).count);
    },
  };
}
