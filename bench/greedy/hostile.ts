import { constants, setPriority } from "node:os";
import { serveTasks } from "../tasks.ts";
import type { Attack, Cause } from "./cause.ts";
import { type KindName, kinds } from "./kinds.ts";
import { type WorkName, works } from "./works.ts";

export interface HostileOrder extends Cause {
  kind: KindName | WorkName;
}

/** Whatever the parent does: no attack lasts longer. */
const maxMs = 120_000;

let attack: Attack | undefined;
let limit: NodeJS.Timeout | undefined;

async function close(): Promise<number> {
  clearTimeout(limit);
  const ending = attack;
  attack = undefined;
  await ending?.close();
  return ending?.requests() ?? 0;
}

// It takes what the innocent client and the server leave.
setPriority(constants.priority.PRIORITY_LOW);
process.once("disconnect", () => process.exit());
serveTasks({
  start({ kind, ...cause }: HostileOrder): void {
    attack = { ...kinds, ...works }[kind](cause);
    limit = setTimeout(() => void close(), maxMs);
  },
  /** How many requests it has begun. */
  stop: close,
});
