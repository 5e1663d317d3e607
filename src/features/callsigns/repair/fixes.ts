import { say } from "../../../kit/say.ts";
import { phases, type WhyNot, type Draft, type Phase, hasForeignKey } from "./draft.ts";
import type { CallsignPool, CallsignSlot } from "../../../generated/sqlite/client.ts";
import type { RepairAction, RepairCode } from "./repair.schema.ts";
import { isWrittenRight, writtenWays } from "./text.ts";

const notYours = say("callsigns.its-holder-stands-at-or-above-you");
const another = say("callsigns.another-slot-of-theirs-stands-in-the");
const isFull = say("callsigns.the-pool-has-no-free-number-widen");

interface Told {
  action: RepairAction;
  phase: Phase;
  from: string | null;
  to: string | null;
  detail: string;
}

/** Free the number of a slot. */
export function end(draft: Draft, code: RepairCode, slot: CallsignSlot, detail: string): WhyNot {
  return leave(draft, code, slot, { action: "end", state: "ended", detail });
}

/** Let a slot rest. */
export function hold(draft: Draft, code: RepairCode, slot: CallsignSlot, detail: string): WhyNot {
  return leave(draft, code, slot, { action: "hold", state: "held", detail });
}

/** Give a slot the keys that keep its number to one holder. One that has the keys of others gives these up at any rate. */
export function protect(draft: Draft, code: RepairCode, slot: CallsignSlot): WhyNot {
  if (!hasForeignKey(slot) && !draft.canHaveKeys(slot)) return say("callsigns.another-slot-has-the-number-or-the");
  draft.change(slot, {});
  addStep(draft, code, slot, {
    action: "protect",
    phase: phases.write,
    from: null,
    to: null,
    detail: say("callsigns.the-database-keeps-it-to-one-holder"),
  });
  return undefined;
}

/** Write a callsign as its pool writes it. */
export function rename(draft: Draft, code: RepairCode, slot: CallsignSlot): WhyNot {
  const pool = draft.pools.get(slot.pool);
  if (pool === undefined) return say("callsigns.there-is-no-such-pool");
  const holder = slot.userId === null ? undefined : draft.enlisted.get(slot.userId);
  if (isWrittenRight(pool, slot.callsign, slot.number, holder)) return say("callsigns.it-is-written-as-its-pool-writes");
  if (!mayTake(draft, slot)) return notYours;
  const [to] = writtenWays(pool, slot.number, holder);
  const from = slot.callsign;
  addStep(draft, code, slot, { action: "rename", phase: phases.write, from, to, detail: say("callsigns.written-as-its-pool-writes-it") });
  draft.change(slot, { callsign: to });
  return undefined;
}

/** Give somebody what is reserved for or rests after them, else a free number. */
export function give(draft: Draft, code: RepairCode, pool: CallsignPool, userId: string): WhyNot {
  const holder = draft.enlisted.get(userId);
  const own = draft.ofHolder(pool.key, userId).filter((slot) => slot.state === "reserved" || slot.state === "held");
  const ready = own.find((slot) => draft.isInRange(pool, slot.number, holder) && isAlone(draft, slot));
  if (ready !== undefined) {
    addStep(draft, code, ready, {
      action: "assign",
      phase: phases.give,
      from: ready.state,
      to: "assigned",
      detail: say("callsigns.theirs-already"),
    });
    draft.change(ready, { state: "assigned" });
    return undefined;
  }
  const number = draft.takeFree(pool, holder?.staffRole);
  if (number === undefined) return isFull;
  const slot = draft.add(pool, number, writtenWays(pool, number, holder)[0], userId);
  if (slot === undefined) return another;
  addStep(draft, code, slot, {
    action: "allocate",
    phase: phases.give,
    from: null,
    to: slot.callsign,
    detail: say("callsigns.the-lowest-free-number"),
  });
  return undefined;
}

/** Take a number away, and give its holder another one. Nothing is taken from whom nothing can be given. */
export function move(draft: Draft, code: RepairCode, slot: CallsignSlot, how: "end" | "hold"): WhyNot {
  const pool = draft.pools.get(slot.pool);
  if (pool === undefined) return say("callsigns.there-is-no-such-pool");
  const { userId, number: former } = slot;
  if (!mayTake(draft, slot)) return notYours;
  if (draft.hasAnother(slot)) return another;
  const holder = userId === null ? undefined : draft.enlisted.get(userId);
  const number = userId === null ? undefined : draft.takeFree(pool, holder?.staffRole);
  if (userId === null || number === undefined) return isFull;
  const leaves = how === "end" ? end : hold;
  leaves(draft, code, slot, say("callsigns.in-place-of-its-holder-gets-another", { former }));
  const given = draft.add(pool, number, writtenWays(pool, number, holder)[0], userId);
  if (given === undefined) return another;
  const detail = say("callsigns.in-place-of-the-lowest-free-number", { former });
  addStep(draft, code, given, { action: "allocate", phase: phases.give, from: null, to: given.callsign, detail });
  return undefined;
}

/** Whether nobody else's slot has its number. */
export function isAlone(draft: Draft, slot: CallsignSlot): boolean {
  return draft.ofNumber(slot.pool, slot.number).every((other) => other === slot);
}

/** Whether who asks may take a slot from its holder: somebody's own callsign is not taken by those who stand no higher. */
export function mayTake(draft: Draft, { state, userId }: CallsignSlot): boolean {
  return state !== "assigned" || userId === null || draft.mayChange(userId);
}

interface Leaving {
  action: "end" | "hold";
  state: "ended" | "held";
  detail: string;
}

function leave(draft: Draft, code: RepairCode, slot: CallsignSlot, { action, state, detail }: Leaving): WhyNot {
  if (!mayTake(draft, slot)) return notYours;
  addStep(draft, code, slot, { action, phase: phases.free, from: slot.state, to: state, detail });
  draft.change(slot, { state });
  return undefined;
}

function addStep({ steps }: Draft, code: RepairCode, slot: CallsignSlot, told: Told): void {
  const { id, pool, number, callsign, userId } = slot;
  steps.push({ code, pool, number, callsign, user_id: userId, slotId: id, ...told });
}
