import type { Call } from "./call.ts";

/** Answers the ids of records that a caller may not know of. */
export type HiddenIds = (call: Call) => Promise<readonly string[]>;

/** What several rooms hide from a caller, each telling its own once, at start. */
export function createWithheld() {
  const sources: HiddenIds[] = [];
  return {
    add: (source: HiddenIds): void => void sources.push(source),
    hiddenFrom: async (call: Call): Promise<string[]> => (await Promise.all(sources.map((source) => source(call)))).flat(),
  };
}
