import { constants, setPriority } from "node:os";
import { serveTasks } from "../tasks.ts";
import type { Attack, Cause } from "./cause.ts";
import { type KindName, kinds } from "./kinds.ts";

export interface HostileOrder extends Cause {
  kind: KindName;
}

/** Whatever the parent does: no attack lasts longer. */
const maxMs = 120_000;

let attack: Attack | undefined;
let limit: NodeJS.Timeout | undefined;

function close(): number {
  clearTimeout(limit);
  const requests = attack?.requests() ?? 0;
  attack?.close();
  attack = undefined;
  return requests;
}

// It takes what the innocent client and the server leave.
setPriority(constants.priority.PRIORITY_LOW);
process.once("disconnect", () => process.exit());
serveTasks({
  start({ kind, ...cause }: HostileOrder): void {
    attack = kinds[kind](cause);
    limit = setTimeout(close, maxMs);
  },
  /** How many requests it has begun. */
  stop: close,
});
