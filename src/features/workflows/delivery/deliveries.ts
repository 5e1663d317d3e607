import type { Deps } from "../../deps.ts";
import type { Logger } from "pino";
import { pause } from "../../../kernel/pause.ts";
import { Prisma, type WorkflowEffect } from "../../../generated/sqlite/client.ts";
import { requirePermission, systemCall, type Call } from "../../../kernel/call.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import { uuid7 } from "../../../kernel/ids.ts";
import { createEndedByHand } from "./by-hand.ts";
import { createInternalDelivery } from "./internal.ts";
import { createDiscordDelivery, type DiscordPort, type Tried } from "./discord.ts";
import { createEffectRecords, type EffectRecordDeps } from "./records.ts";
import { createEffectRetry } from "./retry.ts";
import { DiscordEffectInput } from "../effects/discord-effect.ts";
import type { Effects } from "../effects/effects.ts";

export type Deliveries = ReturnType<typeof createDeliveries>;

export interface DeliveryDeps extends EffectRecordDeps, Deps<"database" | "reach" | "clock"> {
  effects: Pick<Effects, "append" | "takenBack" | "onLeft" | "wake" | "dueOf">;
  /** What is left for the bot waits while there is no connection. */
  discord: DiscordPort;
  logger: Logger;
}

type Left = Pick<WorkflowEffect, "requestId" | "place" | "status" | "input"> & { dueAt: Date };

/** How far what approvals left to be done is behind. */
export interface DeliveriesState {
  due: number;
  /** Whether more is due than was counted. */
  isMore: boolean;
  oldest: Date | null;
}

/** What came of one look at everything that is due. */
interface Round {
  /** How many effects came to an end. */
  ended: number;
  /** Whether something was left that waits for nothing but Discord. */
  isLeft: boolean;
}

/** What is left for the bot or for a date, and what may have to be taken back. */
const leftStatuses = ["pending", "skipped"] as const;
const readAtOnce = 100;
/** After so many tries in a row that Discord did not take, the rest waits for the next round. */
const maxRetries = 3;
const pauses = { longest: 60_000, shortest: 250, discord: 2000, failed: 5000 };

/** Does what approvals left to be done: for the bot, and for a date. */
export function createDeliveries(parts: DeliveryDeps) {
  const { database, effects, discord, clock, logger } = parts;
  const records = createEffectRecords(parts);
  const discordDelivery = createDiscordDelivery({ database, records, discord, logger });
  const internalDelivery = createInternalDelivery({ database, records, effects, logger });
  const stopping = new AbortController();
  let last: Promise<unknown> = Promise.resolve();
  let alarm = new AbortController();
  let loop: Promise<void> | undefined;

  /**
   * What is due next, in the order in which an index holds that of each status. Left out are requests of which something waits to be tried
   * again, or is done by another instance now; the negation keeps SQLite from looking for that among all dates.
   */
  async function dueAfter(now: Date, from: Left | undefined): Promise<Left[]> {
    const behind =
      from === undefined
        ? Prisma.empty
        : Prisma.sql`AND (t.due_at, t.request_id, t.place) > (${from.dueAt}, ${from.requestId}, ${from.place})`;
    const found = await Promise.all(
      leftStatuses.map((status) =>
        database.read.$select(
          "WorkflowEffect",
          Prisma.sql`WHERE t.status = ${status} AND t.due_at <= ${now} ${behind} AND NOT EXISTS (
              SELECT 1 FROM workflow_effects AS w WHERE w.request_id = t.request_id
                AND NOT (w.status <> 'pending' OR w.attempts = 0 OR w.due_at <= ${now}))
            ORDER BY t.due_at, t.request_id, t.place LIMIT ${readAtOnce}`,
          ["requestId", "place", "status", "input", "dueAt"],
        ),
      ),
    );
    return (found.flat() as Left[]).toSorted(inOrder).slice(0, readAtOnce);
  }

  /** Everything that is due, in order, one at a time. */
  async function round(call: Call): Promise<Round> {
    const now = clock.now();
    let from: Left | undefined;
    let [ended, retries, isLeft] = [0, 0, false];
    for (;;) {
      const rows = await dueAfter(now, from);
      let isStale = false;
      for (const row of rows) {
        from = row;
        if (stopping.signal.aborted) return { ended, isLeft };
        const isForBot = row.status === "pending" && DiscordEffectInput.safeParse(row.input).success;
        if (isForBot && (discord.status().state !== "ready" || retries >= maxRetries)) {
          isLeft = true;
          continue;
        }
        const tried = await attempt(call, row, isForBot);
        if (tried === "ended") ended += 1;
        // Another instance is at it: what it has taken on is not looked at again.
        isStale = tried === "passed";
        if (isStale) break;
        if (isForBot) retries = tried === "retry" ? retries + 1 : 0;
      }
      if (!isStale && rows.length < readAtOnce) return { ended, isLeft };
    }
  }

  /** One that cannot even be looked at keeps none of the others waiting. @throws ProblemError when the storage takes nothing at the moment */
  async function attempt(call: Call, { requestId, place, status }: Left, isForBot: boolean): Promise<Tried> {
    const at = { requestId, place };
    try {
      if (status === "skipped") return await discordDelivery.retractAbandoned(call, at);
      return await (isForBot ? discordDelivery.deliver(call, at) : internalDelivery.deliver(call, at));
    } catch (error) {
      if (error instanceof ProblemError) throw error;
      logger.error({ err: error, ...at }, "an effect of a request could not be seen to");
      return "passed";
    }
  }

  /** Round after round, until one brings nothing to an end: what is done makes room for what waits behind it. */
  async function untilIdle(call: Call): Promise<Round> {
    for (let total = 0; ;) {
      const { ended, isLeft } = await round(call);
      total += ended;
      if (ended === 0 || stopping.signal.aborted) return { ended: total, isLeft };
    }
  }

  /** One after the other, no matter who asks. */
  function inTurn(call: Call): Promise<Round> {
    const next = last.then(() => untilIdle(call));
    last = next.catch(() => undefined);
    return next;
  }

  /** How long nothing is to be done, in milliseconds: a minute at most. */
  async function restAfter({ isLeft }: Round): Promise<number> {
    const now = clock.now();
    const next = await Promise.all(
      leftStatuses.map((status) =>
        database.read.$select("WorkflowEffect", Prisma.sql`WHERE t.status = ${status} AND t.due_at > ${now} ORDER BY t.due_at LIMIT 1`, [
          "dueAt",
        ]),
      ),
    );
    const untilNext = next.flat().flatMap(({ dueAt }) => (dueAt === null ? [] : dueAt.getTime() - now.getTime()));
    return Math.max(pauses.shortest, Math.min(...untilNext, isLeft ? pauses.discord : pauses.longest));
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      alarm = new AbortController();
      const { signal } = alarm;
      const ms = await inTurn(systemCall("job", uuid7()))
        .then(restAfter)
        .catch((error: unknown) => {
          if (!stopping.signal.aborted) logger.error({ err: error }, "what is left of decisions could not be looked at; trying again");
          return pauses.failed;
        });
      await pause(ms, signal);
    }
  }

  return {
    ...createEffectRetry(parts),
    /** For what lists that something was lifted by hand. */
    endedByHand: createEndedByHand(records),

    /** What is due and not done yet: since when the oldest is, and how much it is, as far as one look reaches. */
    async state(): Promise<DeliveriesState> {
      const rows = await dueAfter(clock.now(), undefined);
      return { due: rows.length, isMore: rows.length === readAtOnce, oldest: rows[0]?.dueAt ?? null };
    },

    /** Do everything that is due now; answers how many effects came to an end. */
    async deliverDue(call: Call): Promise<number> {
      requirePermission(call, "system.act");
      return (await inTurn(call)).ended;
    },

    /** How many effects are due and not done yet. */
    countDue: (): Promise<number> =>
      database.read.workflowEffect.count({ where: { status: { in: [...leftStatuses] }, dueAt: { lte: clock.now() } } }),

    /** How many have failed and were not tried again since. */
    countFailed: (): Promise<number> => database.read.workflowEffect.count({ where: { status: "failed" } }),

    /** From now on what is left is done at once, at its date, and at the latest a minute later when another instance left it. */
    start(): void {
      effects.onLeft(() => alarm.abort());
      loop ??= run();
    },

    /** Begin nothing more, and wait for what is under way. */
    async stop(): Promise<void> {
      stopping.abort();
      alarm.abort();
      await loop;
    },
  };
}

function inOrder(a: Left, b: Left): number {
  if (a.requestId === b.requestId && a.dueAt.getTime() === b.dueAt.getTime()) return a.place - b.place;
  return a.dueAt.getTime() - b.dueAt.getTime() || (a.requestId < b.requestId ? -1 : 1);
}
