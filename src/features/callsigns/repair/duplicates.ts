import { say } from "../../../kit/say.ts";
import { foundAt, type WhyNot, type Draft, type Found } from "./draft.ts";
import type { CallsignSlot } from "../../../generated/sqlite/client.ts";
import { liveKeyOf } from "../keys.ts";
import { isHolding } from "../records.ts";
import { end, move } from "./fixes.ts";
import { hasForeignKey, keysOf } from "./slot-keys.ts";
import { isWrittenRight } from "./text.ts";

/** Which of two slots stays, the first before the others. */
const standing = ["assigned", "retired", "blocked", "reserved", "held"];

/** Slots whose number another slot has as well. */
export async function* byNumber(draft: Draft): AsyncGenerator<Found> {
  for await (const slot of draft.everySlot()) {
    if (slot.state === "ended") continue;
    const [stays, ...others] = draft.ofNumber(slot.pool, slot.number).toSorted(inOrder("liveKey"));
    if (others.length === 0 || slot === stays) continue;
    draft.damaged.add(slot.id);
    yield foundAt(slot, say("callsigns.another-slot-has-the-same-number"));
  }
}

/** Slots whose holder has, or has reserved, another one of the pool. */
export async function* byPerson(draft: Draft): AsyncGenerator<Found> {
  for await (const slot of draft.everySlot()) {
    if (slot.userId === null || !isHolding(slot.state) || draft.damaged.has(slot.id)) continue;
    const own = draft.ofHolder(slot.pool, slot.userId).filter(({ id, state }) => isHolding(state) && !draft.damaged.has(id));
    const [stays, ...others] = own.toSorted(inOrder("holderKey"));
    if (others.length === 0 || slot === stays) continue;
    draft.damaged.add(slot.id);
    yield foundAt(slot, say("callsigns.its-holder-has-another-one-of-the"));
  }
}

/** Slots with the text of another number of their pool. Those that the pool writes otherwise give way. */
export async function* byText(draft: Draft): AsyncGenerator<Found> {
  const groups = new Map<string, CallsignSlot[]>();
  for await (const slot of draft.everySlot()) {
    if (slot.state === "ended") continue;
    const key = `${slot.pool}\n${slot.callsign}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [slot]);
    else group.push(slot);
  }
  for (const group of groups.values()) {
    if (new Set(group.map(({ pool, number }) => liveKeyOf(pool, number))).size < 2) continue;
    const wrong = group.filter((slot) => !isRight(draft, slot));
    for (const slot of wrong.length > 0 ? wrong : group.slice(1)) yield foundAt(slot, say("callsigns.another-number-of-the-pool-has-the"));
  }
}

/** Slots that take a number or a person that is not theirs, and so stand in the way of whose it is. */
export async function* byForeignKey(draft: Draft): AsyncGenerator<Found> {
  for await (const slot of draft.everySlot()) {
    if (!hasForeignKey(slot)) continue;
    yield foundAt(
      slot,
      slot.state === "ended" ? say("callsigns.it-is-over-but-still-takes-a") : say("callsigns.it-takes-a-number-or-a-person"),
    );
  }
}

/** Slots that the database does not keep to one holder. */
export async function* byMissingKey(draft: Draft): AsyncGenerator<Found> {
  for await (const slot of draft.everySlot()) {
    const { liveKey, holderKey } = keysOf(slot);
    if ((slot.liveKey === liveKey && slot.holderKey === holderKey) || hasForeignKey(slot) || draft.damaged.has(slot.id)) continue;
    yield foundAt(slot, say("callsigns.its-number-could-be-given-twice"));
  }
}

/** Take a number from whom it does not belong to; somebody who is left with none gets another. */
export function freeOrMove(draft: Draft, slot: CallsignSlot): WhyNot {
  const isNeeded = slot.state === "assigned" && slot.userId !== null && !draft.hasAnother(slot);
  return isNeeded
    ? move(draft, "duplicate", slot, "end")
    : end(draft, "duplicate", slot, say("callsigns.another-slot-has-the-same-number"));
}

function isRight({ pools, enlisted }: Draft, { pool: key, callsign, number, userId }: CallsignSlot): boolean {
  const pool = pools.get(key);
  return pool !== undefined && isWrittenRight(pool, callsign, number, userId === null ? undefined : enlisted.get(userId));
}

/** Who has the right key stays, else who has it longer. */
function inOrder(column: "liveKey" | "holderKey") {
  const rank = (slot: CallsignSlot): (string | number)[] => [
    standing.indexOf(slot.state),
    slot[column] === keysOf(slot)[column] ? 0 : 1,
    slot.since.getTime(),
    slot.id,
  ];
  return (one: CallsignSlot, other: CallsignSlot): number => {
    const [left, right] = [rank(one), rank(other)];
    const place = left.findIndex((value, index) => value !== right[index]);
    if (place === -1) return 0;
    return (left[place] ?? 0) < (right[place] ?? 0) ? -1 : 1;
  };
}
