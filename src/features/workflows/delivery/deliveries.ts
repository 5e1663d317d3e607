import type { Deps } from "../../deps.ts";
import type { Logger } from "pino";
import type { DiscordActions } from "../../../discord-actions/discord-actions.ts";
import type { CausesInForce } from "../../../discord-actions/in-force.ts";
import { joinFailures, type Failures } from "../../../discord-actions/failures.ts";
import { Prisma } from "../../../generated/sqlite/client.ts";
import { requirePermission, type Call } from "../../../kernel/call.ts";
import { createTasks, type TaskState } from "../../../kit/task.ts";
import { createApprovedActions } from "./approved.ts";
import { createEndedByHand } from "./by-hand.ts";
import { createDatedEffects } from "./dated.ts";
import { createEffectRecords, type EffectRecordDeps } from "./records.ts";
import { createEffectRetry, type EffectRetryDeps } from "./retry.ts";
import { DiscordEffectInput } from "../effects/discord-effect.ts";
import type { Effects } from "../effects/effects.ts";

export type Deliveries = ReturnType<typeof createDeliveries>;

export interface DeliveryDeps extends EffectRecordDeps, Deps<"database" | "reach" | "clock"> {
  access: EffectRetryDeps["access"];
  effects: Pick<Effects, "append" | "takenBack" | "onLeft" | "wake" | "dueOf" | "whyNotGiven">;
  discordActions: Pick<DiscordActions, "tasksOf">;
  causesInForce: Pick<CausesInForce, "afterWaiting" | "lock">;
  logger: Logger;
}

/** Does what approvals left to be done: in Discord, and at a date. */
export function createDeliveries(parts: DeliveryDeps) {
  const { database, effects, clock, logger, discordActions, causesInForce } = parts;
  const records = createEffectRecords(parts);
  const approved = discordActions.tasksOf(createApprovedActions({ database, records, effects, causesInForce }));
  const dated = createTasks(createDatedEffects({ database, records, effects, logger }), { clock, logger });
  const both = [approved, dated];
  const wake = (): void => {
    for (const tasks of both) tasks.wake();
  };

  return {
    ...createEffectRetry(parts),
    /** For what lists that something was lifted by hand. */
    endedByHand: createEndedByHand(records),

    /** What is due and not done yet: since when the oldest is, and how much it is, as far as one look reaches. */
    async state(): Promise<TaskState> {
      const states = await Promise.all(both.map((tasks) => tasks.state()));
      const oldest = states.flatMap((state) => state.oldest ?? []).toSorted((one, other) => one.getTime() - other.getTime());
      return {
        due: states.reduce((sum, { due }) => sum + due, 0),
        isMore: states.some(({ isMore }) => isMore),
        oldest: oldest[0] ?? null,
      };
    },

    /** Do everything that is due now; answers how many effects came to an end. */
    async deliverDue(call: Call): Promise<number> {
      requirePermission(call, "system.act");
      // What comes to its date may leave something for the bot, and the other way round.
      for (let total = 0; ;) {
        const ended = (await dated.runDue(call)) + (await approved.runDue(call));
        total += ended;
        if (ended === 0) return total;
      }
    },

    /** How many effects are due and not done yet. */
    countDue: (): Promise<number> =>
      database.read.workflowEffect.count({ where: { status: { in: ["pending", "skipped"] }, dueAt: { lte: clock.now() } } }),

    /** How many have failed and were not tried again since. */
    countFailed: (): Promise<number> => database.read.workflowEffect.count({ where: { status: "failed" } }),

    /** What the bot could not do to people since a moment, and nobody has tried again or taken back. */
    async failuresSince(since: Date): Promise<Failures> {
      const rows = await database.read.workflowEffect.findMany({
        where: { status: "failed", updatedAt: { gte: since }, input: { not: Prisma.DbNull } },
        select: { input: true, lastError: true, updatedAt: true },
      });
      const failed = rows.flatMap(({ input, lastError, updatedAt }) => (isAct(input) ? { at: updatedAt, why: lastError ?? "" } : []));
      return joinFailures(failed.map((newest) => ({ count: 1, newest })));
    },

    /** From now on what is left is done at once, at its date, and at the latest a minute later when another instance left it. */
    start(): void {
      effects.onLeft(wake);
      for (const tasks of both) tasks.start();
    },

    /** Begin nothing more, and wait for what is under way. */
    async stop(): Promise<void> {
      await Promise.all(both.map((tasks) => tasks.stop()));
    },
  };
}

/** Whether something is done to a person in a server; a message is not. */
function isAct(input: unknown): boolean {
  const action = DiscordEffectInput.safeParse(input).data?.discord;
  return action !== undefined && "guildId" in action;
}
