import type { CallsignSlot } from "../../../generated/sqlite/client.ts";
import { holderKeyOf, liveKeyOf } from "../keys.ts";
import { isHolding } from "../records.ts";

type Keyed = Pick<CallsignSlot, "liveKey" | "holderKey">;
type Column = keyof Keyed;
const columns: readonly Column[] = ["liveKey", "holderKey"];

/** The keys that a slot should have. */
export function keysOf({ state, pool, number, userId }: Pick<CallsignSlot, "state" | "pool" | "number" | "userId">): Keyed {
  return {
    liveKey: state === "ended" ? null : liveKeyOf(pool, number),
    holderKey: isHolding(state) && userId !== null ? holderKeyOf(pool, userId) : null,
  };
}

/** Whether a slot has a key that belongs to another number or holder, or that it should have given up. */
export function hasForeignKey(slot: CallsignSlot): boolean {
  const wanted = keysOf(slot);
  return columns.some((column) => slot[column] !== null && slot[column] !== wanted[column]);
}

/** Who has which key: the database takes none twice. */
export function createKeys() {
  const owners: Readonly<Record<Column, Map<string, CallsignSlot>>> = { liveKey: new Map(), holderKey: new Map() };
  const note = (slot: CallsignSlot): void => {
    for (const column of columns) if (slot[column] !== null) owners[column].set(slot[column], slot);
  };

  const isOpen = (column: Column, key: string | null, slot: CallsignSlot): boolean =>
    key === null || (owners[column].get(key) ?? slot) === slot;

  return {
    /** A slot has the keys that it has. */
    note,

    /** Whether no slot stands in the way of a new one. */
    areFree: (wanted: Keyed): boolean => columns.every((column) => wanted[column] === null || !owners[column].has(wanted[column])),

    /** Whether somebody else's slot, or another one of theirs, has the key of the holder of this one. */
    isHolderElsewhere({ pool, userId, id }: Pick<CallsignSlot, "pool" | "userId" | "id">): boolean {
      const owner = userId === null ? undefined : owners.holderKey.get(holderKeyOf(pool, userId));
      return owner !== undefined && owner.id !== id;
    },

    /** Whether a slot could have every key that it should have. */
    canHave: (slot: CallsignSlot): boolean => columns.every((column) => isOpen(column, keysOf(slot)[column], slot)),

    /** Give a slot the keys that it should have; one that another slot has stays with that one. */
    claim(slot: CallsignSlot): void {
      const wanted = keysOf(slot);
      for (const column of columns) {
        if (slot[column] !== null) owners[column].delete(slot[column]);
        slot[column] = isOpen(column, wanted[column], slot) ? wanted[column] : null;
      }
      note(slot);
    },
  };
}
