import type { Logger } from "pino";
import type { FollowingMemory } from "../database/write.ts";
import { backOff, pause, waitAtMost } from "../kernel/pause.ts";
import type { Changes } from "./changes.ts";

/** How long an answer that a repeated request is given again waits for memory. */
const patienceMs = 2000;

interface MemoryDeps {
  changes: Pick<Changes, "compare">;
  logger: Logger;
  stopping: AbortSignal;
}

/**
 * Memory is a view of the database: after a commit whose answer was lost it is compared as soon as the database has decided, again and again
 * until that has worked once.
 */
export function createMemory({ changes, logger, stopping }: MemoryDeps): FollowingMemory {
  const looking = new Set<Promise<void>>();

  async function look(decided: () => Promise<void>): Promise<void> {
    for (let tries = 1; !stopping.aborted; tries += 1) {
      try {
        await decided();
        await changes.compare();
        return;
      } catch (error) {
        if (tries === 1) logger.warn({ err: error }, "memory could not be compared with the database; it is tried again until it can");
      }
      await pause(backOff(tries, { firstMs: 100, mostMs: 2000 }), stopping);
    }
  }

  return {
    follow(decided) {
      const looked = look(decided).finally(() => looking.delete(looked));
      looking.add(looked);
    },
    caughtUp: () => waitAtMost(patienceMs, Promise.all(looking)),
  };
}
