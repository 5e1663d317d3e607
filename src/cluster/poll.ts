import type { Logger } from "pino";

/** Looks again and again, one look after the other. */
export interface Poll {
  start(): void;
  /** Look now, or again when the present look is over. */
  wake(): void;
  /** Resolves when no look is under way. */
  stop(): Promise<void>;
}

/** @param what that fails, for the log: it is tried again each time, and told once */
export function createPoll(everyMs: number, look: () => Promise<unknown>, logger: Logger, what: string): Poll {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let [isOn, isWoken, hasFailed] = [false, false, false];

  async function run(): Promise<void> {
    clearTimeout(timer);
    isWoken = false;
    try {
      await look();
      hasFailed = false;
    } catch (error) {
      if (!hasFailed) logger.warn({ err: error }, what);
      hasFailed = true;
    }
    running = undefined;
    if (isOn) timer = setTimeout(wake, isWoken ? 0 : everyMs).unref();
  }

  function wake(): void {
    isWoken = true;
    if (isOn) running ??= run();
  }

  return {
    start() {
      isOn = true;
      wake();
    },
    wake,
    async stop() {
      isOn = false;
      clearTimeout(timer);
      await running;
    },
  };
}
