import { setImmediate as nextTurn } from "node:timers/promises";
import { z } from "zod";
import type { TransactionClient } from "../../../database/database.ts";
import type { CallsignSlot } from "../../../generated/sqlite/client.ts";
import { isoOrNull } from "../../../kernel/fields.ts";

const Text = z.string().nullable();

/** All of a slot that a repair can change. Times are RFC 3339. */
export const SlotImage = z.object({
  callsign: z.string(),
  state: z.string(),
  live_key: Text,
  holder_key: Text,
  user_id: Text,
  since: z.string(),
  until: Text,
  reserved_by: Text,
  origin_reference: Text,
  ended_at: Text,
  revision: z.int(),
});
export type SlotImage = z.infer<typeof SlotImage>;

/** What takes a repair back. Plain JSON; null once that is no longer possible. */
export const RepairUndo = z.object({
  slots: z.array(z.object({ id: z.string(), before: SlotImage.nullable(), after: SlotImage })),
  nicknames: z.array(z.object({ user_id: z.string(), guild_id: z.string(), from: Text, to: Text })),
});
export type RepairUndo = z.infer<typeof RepairUndo>;

export function imageOf(slot: CallsignSlot): SlotImage {
  return {
    callsign: slot.callsign,
    state: slot.state,
    live_key: slot.liveKey,
    holder_key: slot.holderKey,
    user_id: slot.userId,
    since: slot.since.toISOString(),
    until: isoOrNull(slot.until),
    reserved_by: slot.reservedBy,
    origin_reference: slot.originReference,
    ended_at: isoOrNull(slot.endedAt),
    revision: slot.revision,
  };
}

/** The columns of a slot that stands so. */
export function columnsOf(image: SlotImage) {
  return {
    callsign: image.callsign,
    state: image.state,
    liveKey: image.live_key,
    holderKey: image.holder_key,
    userId: image.user_id,
    since: new Date(image.since),
    until: dateOf(image.until),
    reservedBy: image.reserved_by,
    originReference: image.origin_reference,
    endedAt: dateOf(image.ended_at),
    revision: image.revision,
  };
}

/** Before slots change places: no key is in the way of another. */
export async function clearKeys({ callsignSlot }: Pick<TransactionClient, "callsignSlot">, ids: readonly string[]): Promise<void> {
  for (const part of partsOf(ids)) {
    await callsignSlot.updateMany({ where: { id: { in: part } }, data: { liveKey: null, holderKey: null } });
  }
}

/** Parts that fit into one statement. */
export function partsOf<Item>(items: readonly Item[], size = 200): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, part) => items.slice(part * size, (part + 1) * size));
}

/** Work on many rows one after the other; others have their turn now and then, also where the database lets nobody in between. */
export async function oneByOne<Item>(items: readonly Item[], work: (item: Item) => Promise<unknown>): Promise<void> {
  for (const part of partsOf(items, 50)) {
    for (const item of part) await work(item);
    await nextTurn();
  }
}

function dateOf(at: string | null): Date | null {
  return at === null ? null : new Date(at);
}
