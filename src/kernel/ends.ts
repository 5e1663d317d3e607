import { waitAtMost } from "./pause.ts";

/** How some things are ended, by name. */
export type Ends = Readonly<Record<string, () => unknown>>;

interface Logger {
  warn(details: object, message: string): void;
}

/**
 * End things side by side and wait for them, for so many milliseconds at most. What fails or takes longer is named in the log, and does not
 * keep the caller from going on.
 */
export async function endWithin(ms: number, ends: Ends, logger: Logger): Promise<void> {
  await Promise.all(
    Object.entries(ends).map(async ([name, end]) => {
      try {
        if (await waitAtMost(ms, Promise.resolve(end()))) return;
        logger.warn({ part: name, ms }, "a part of the service did not end in time; the end goes on without it");
      } catch (error) {
        logger.warn({ part: name, err: error }, "a part of the service could not be ended in order; the end goes on without it");
      }
    }),
  );
}
