import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import type { Database, Tx } from "../database/database.ts";
import { Prisma } from "../generated/sqlite/client.ts";
import { processCall, type Call } from "../kernel/call.ts";
import { addSeconds, type Clock } from "../kernel/clock.ts";
import { ProblemError } from "../kernel/errors.ts";
import { uuid7 } from "../kernel/ids.ts";
import type { Cluster } from "./cluster.ts";
import { createPoll, type Poll } from "./poll.ts";

/** What only the process that is connected to Discord knows. */
export interface Leader {
  /**
   * Say how something is answered there.
   * @param kind of the question, the same at every process
   * @returns asks it: directly where this process is the one, else as a row. What is asked and answered is JSON.
   * @throws ProblemError discord_unavailable, of what is returned, when nobody answers in five seconds
   */
  answering<Input, Answer>(kind: string, answer: (input: Input) => Answer | Promise<Answer>): (input: Input) => Promise<Answer>;
}

/** With what keeps its rows. */
export interface SharedLeader extends Leader, Poll {
  /** Delete questions that nobody waits for; answers how many. A job calls it. */
  sweep(call: Call): Promise<number>;
}

interface LeaderDeps {
  database: Pick<Database, "read" | "write">;
  cluster: Cluster;
  clock: Clock;
  logger: Logger;
}

const [lookMs, waitMs, askedMs] = [250, 5000, 100];
/** Longer than anybody waits, as the clocks of machines differ. */
const keptSeconds = 60;

export function createLeader({ database, cluster, clock, logger }: LeaderDeps): SharedLeader {
  const answers = new Map<string, (input: never) => unknown>();
  const taken = new Set<string>();
  const change = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => database.write(processCall(uuid7()), work);

  async function look(): Promise<void> {
    if (!cluster.isLeader()) return;
    const asked = Prisma.sql`WHERE t.answer IS NULL AND t.expires_at > ${clock.now()}`;
    for (const { id, kind, input } of await database.read.$select("LeaderRequest", asked)) {
      const answer = answers.get(kind);
      if (answer === undefined || taken.has(id)) continue;
      taken.add(id);
      reply(id, answer, input)
        .catch((error: unknown) => logger.warn({ err: error, kind }, "a question of another process could not be answered"))
        .finally(() => setTimeout(() => taken.delete(id), keptSeconds * 1000).unref());
    }
  }

  async function reply(id: string, answer: (input: never) => unknown, input: unknown): Promise<void> {
    const value = (await answer(input as never)) as object;
    await change(({ db }) => db.leaderRequest.updateMany({ where: { id }, data: { answer: { value } } }));
  }

  async function ask(kind: string, input: unknown): Promise<unknown> {
    const id = uuid7();
    await change(({ db, now }) =>
      db.leaderRequest.create({ data: { id, kind, input: input as object, expiresAt: addSeconds(now, keptSeconds) } }),
    );
    try {
      for (const end = performance.now() + waitMs; performance.now() < end;) {
        await delay(askedMs);
        const row = await database.read.leaderRequest.findUnique({ where: { id }, select: { answer: true } });
        if (row !== null && row.answer !== null) return (row.answer as { value: unknown }).value;
      }
    } finally {
      await change(({ db }) => db.leaderRequest.deleteMany({ where: { id } }));
    }
    throw new ProblemError("discord_unavailable", { detail: "The process that is connected to Discord does not answer.", retryAfter: 5 });
  }

  return {
    ...createPoll(lookMs, look, logger, "questions of other processes could not be read; it is tried again"),
    answering(kind, answer) {
      answers.set(kind, answer);
      return async (input) => (cluster.isLeader() ? await answer(input) : ((await ask(kind, input)) as Awaited<ReturnType<typeof answer>>));
    },
    async sweep(call) {
      const where = { expiresAt: { lte: clock.now() } };
      if ((await database.read.leaderRequest.findFirst({ where, select: { id: true } })) === null) return 0;
      return database.write(call, async ({ db }) => (await db.leaderRequest.deleteMany({ where })).count);
    },
  };
}
