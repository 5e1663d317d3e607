import type { Logger } from "pino";
import type { Committed } from "./guild-record.ts";

/** More people than this changing at once are told as "anything may have changed". */
const manyUsers = 200;

/** Tells listeners who has changed; a failing listener stops nobody else. */
export function createChanges(logger: Logger) {
  const listeners = new Set<(userId: string | null) => void>();

  const tellOne = (userId: string | null): void => {
    for (const listener of listeners) {
      try {
        listener(userId);
      } catch (error) {
        logger.error({ err: error }, "guild state: a listener failed");
      }
    }
  };

  return {
    listen(listener: (userId: string | null) => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    tell({ users, everything }: Committed): void {
      if (everything || users.length > manyUsers) return tellOne(null);
      for (const userId of users) tellOne(userId);
    },
  };
}
