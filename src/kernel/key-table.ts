/** A 64-bit key in two halves, each an unsigned 32-bit integer. */
export interface Key {
  high: number;
  low: number;
}

/** Numbers by 64-bit keys, several per key, in flat arrays: 12 bytes a slot, 16 for times. A number is at least 1, and below 2^32 unless it is a time. */
export interface KeyTable {
  readonly size: number;
  /** Whether the number was not there yet. */
  put(key: Key, value: number): boolean;
  has(key: Key, value: number): boolean;
  remove(key: Key, value: number): void;
  /** Add the numbers of a key to a set. */
  collect(key: Key, into: Set<number>): void;
  /** Make room for this many entries at once. */
  reserve(entries: number): void;
  /** The keys, in no order; a key comes once for each of its numbers. */
  keys(): Iterable<Key>;
}

const fewestSlots = 1024;
/** Linear probing stays short as long as a quarter of the slots is free. */
const fullest = 0.75;

type Values = Uint32Array | Float64Array;

interface Slots {
  high: Uint32Array;
  low: Uint32Array;
  /** 0 marks a free slot. */
  values: Values;
  mask: number;
}

/** Open addressing with linear probing; removal moves later entries up, so that no slot is lost. */
export function createKeyTable(holds: "numbers" | "times" = "numbers"): KeyTable {
  const createSlots = (count: number): Slots => ({
    high: new Uint32Array(count),
    low: new Uint32Array(count),
    values: holds === "times" ? new Float64Array(count) : new Uint32Array(count),
    mask: count - 1,
  });
  let slots = createSlots(fewestSlots);
  let size = 0;

  function grow(entries: number): void {
    let wanted = slots.values.length;
    while (entries > wanted * fullest) wanted *= 2;
    if (wanted === slots.values.length) return;
    const old = slots;
    slots = createSlots(wanted);
    for (let slot = 0; slot < old.values.length; slot += 1) {
      if (at(old.values, slot) !== 0) place(slots, at(old.high, slot), at(old.low, slot), at(old.values, slot));
    }
  }

  return {
    get size() {
      return size;
    },
    put(key, value) {
      if (find(slots, key, value) !== undefined) return false;
      grow(size + 1);
      place(slots, key.high, key.low, value);
      size += 1;
      return true;
    },
    has: (key, value) => find(slots, key, value) !== undefined,
    remove(key, value) {
      const slot = find(slots, key, value);
      if (slot === undefined) return;
      free(slots, slot);
      size -= 1;
    },
    collect({ high, low }, into) {
      const { values, mask } = slots;
      for (let slot = homeOf(high, low, mask); at(values, slot) !== 0; slot = (slot + 1) & mask) {
        if (at(slots.low, slot) === low && at(slots.high, slot) === high) into.add(at(values, slot));
      }
    },
    reserve: grow,
    *keys() {
      const { high, low, values } = slots;
      for (let slot = 0; slot < values.length; slot += 1) if (at(values, slot) !== 0) yield { high: at(high, slot), low: at(low, slot) };
    },
  };
}

function at(array: Values, slot: number): number {
  return array[slot] ?? 0;
}

/** Where a key belongs: both halves mixed, so that ids counted upwards do not lie in one row. */
function homeOf(high: number, low: number, mask: number): number {
  let mixed = Math.imul(high ^ (low >>> 15), 0x85ebca6b) ^ Math.imul(low, 0xc2b2ae35);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x7feb352d);
  return (mixed ^ (mixed >>> 15)) & mask;
}

function place(slots: Slots, high: number, low: number, value: number): void {
  const { values, mask } = slots;
  let slot = homeOf(high, low, mask);
  while (at(values, slot) !== 0) slot = (slot + 1) & mask;
  write(slots, slot, high, low, value);
}

function write(slots: Slots, slot: number, high: number, low: number, value: number): void {
  slots.high[slot] = high;
  slots.low[slot] = low;
  slots.values[slot] = value;
}

function find(slots: Slots, { high, low }: Key, value: number): number | undefined {
  const { values, mask } = slots;
  for (let slot = homeOf(high, low, mask); at(values, slot) !== 0; slot = (slot + 1) & mask) {
    if (at(values, slot) === value && at(slots.low, slot) === low && at(slots.high, slot) === high) return slot;
  }
  return undefined;
}

/** Free a slot, and move up what would no longer be found behind the gap. */
function free(slots: Slots, freed: number): void {
  const { high, low, values, mask } = slots;
  let gap = freed;
  for (let slot = (gap + 1) & mask; at(values, slot) !== 0; slot = (slot + 1) & mask) {
    const home = homeOf(at(high, slot), at(low, slot), mask);
    const isReachable = ((slot - home) & mask) < ((slot - gap) & mask);
    if (isReachable) continue;
    write(slots, gap, at(high, slot), at(low, slot), at(values, slot));
    gap = slot;
  }
  values[gap] = 0;
}

const half = 32n;
const low = 0xffff_ffffn;

/** The two halves of an id of Discord, which lose nothing of it. */
export function keyOfId(id: string): Key {
  const number = BigInt(id);
  return { high: Number((number >> half) & low), low: Number(number & low) };
}

/** The id that {@link keyOfId} made a key of. */
export function idOfKey(key: Key): string {
  return ((BigInt(key.high) << half) | BigInt(key.low)).toString();
}
