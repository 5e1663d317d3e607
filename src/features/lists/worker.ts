import type { Logger } from "pino";
import type { Deps } from "../deps.ts";
import type { DiscordActions } from "../../discord-actions/discord-actions.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import { createTasks, type TaskKind } from "../../kit/task.ts";
import { createComparisons, type ComparisonsDeps } from "./comparisons.ts";
import { createListedActions, type ListedActionsDeps } from "./listed-actions.ts";
import type { Ledger } from "./ledger.ts";

export interface WorkerDeps extends Omit<ComparisonsDeps, "wake" | "onCompared" | "guildState">, Deps<"access" | "guildState"> {
  ledger: Ledger;
  causesInForce: ListedActionsDeps["causesInForce"];
  proposals: TaskKind;
  discordActions: Pick<DiscordActions, "tasksOf">;
  logger: Logger;
}

export type ListWorker = ReturnType<typeof createListWorker>;

/** Compares who joined and who was left to be compared, files what follows and has the bot do it: at once, and again after a restart. */
export function createListWorker({ proposals, discordActions, ...parts }: WorkerDeps) {
  const actions = discordActions.tasksOf(createListedActions(parts));
  const proposing = createTasks(proposals, parts);
  const wakeFollowing = (): void => {
    actions.wake();
    proposing.wake();
  };
  const comparing = createTasks(createComparisons({ ...parts, wake: () => comparing.wake(), onCompared: wakeFollowing }), parts);
  const all = [comparing, proposing, actions];

  return {
    /** Something is to be compared, filed or done. */
    wake(): void {
      for (const tasks of all) tasks.wake();
    },

    /** What the bot is to do about listed people that is due and not done yet. */
    state: actions.state,

    /** Do everything that is due now. */
    async catchUp(call: Call): Promise<void> {
      requirePermission(call, "system.act");
      let ended: number;
      do {
        ended = 0;
        for (const tasks of all) ended += await tasks.runDue(call);
      } while (ended > 0);
    },

    start(): void {
      for (const tasks of all) tasks.start();
    },

    /** Begin nothing more, and wait for what is under way. */
    async stop(): Promise<void> {
      await Promise.all(all.map((tasks) => tasks.stop()));
    },
  };
}
