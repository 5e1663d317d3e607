import { oneAtATime } from "./changes.ts";

/** Rows of the database held in memory by their keys: read again as a whole, and set by commits of this process in between. */
export function createHeldRows<Value extends { revision: number }>(read: () => Promise<ReadonlyMap<string, Value>>) {
  let held = new Map<string, Value>();
  /** How often this process has changed something by itself. */
  let told = 0;

  return {
    get: (key: string): Value | undefined => held.get(key),
    count: (): number => held.size,
    /** To be called after the commit; an older revision changes nothing, as commits may be heard of in another order than they happened. */
    set(key: string, value: Value): void {
      if ((held.get(key)?.revision ?? 0) > value.revision) return;
      told += 1;
      held.set(key, value);
    },
    remove(key: string): void {
      told += 1;
      held.delete(key);
    },
    /** Take over what the database says. */
    load: oneAtATime(async () => {
      for (;;) {
        const before = told;
        const found = await read();
        // What was read may be older than what this process has changed meanwhile.
        if (told !== before) continue;
        held = new Map(found);
        return;
      }
    }),
  };
}
