import { setImmediate as nextTurn } from "node:timers/promises";
import type { CallsignPool, CallsignSlot } from "../../../generated/sqlite/client.ts";
import { holderKeyOf, liveKeyOf } from "../keys.ts";
import { inParts, numbersOf, type Numbers } from "../numbers.ts";
import { isHolding } from "../records.ts";
import type { Enlisted, Registry } from "./registry.ts";
import type { Finding, RepairStep } from "./repair.schema.ts";

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
function createKeys() {
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

/** A nickname that the bot sets, and what stood there. Plain JSON. */
export interface NicknameChange {
  user_id: string;
  guild_id: string;
  from: string | null;
  to: string | null;
}

/** Why something cannot be put right; undefined when its steps are planned. */
export type WhyNot = string | undefined;

/** What is known of somebody in the guilds. */
export interface Presence {
  /** Whether it can be told at all who has left. */
  isComplete: boolean;
  hasLeft(userId: string): boolean;
  /** Where their nickname counts; null where they are nowhere. */
  shown(userId: string): { guildId: string; nickname: string | null; name: string } | null;
}

/** A step before it has its place. */
export type DraftStep = Omit<RepairStep, "position"> & { phase: Phase; slotId: string | null };
export const phases = { free: 0, write: 1, give: 2, discord: 3 } as const;
export type Phase = (typeof phases)[keyof typeof phases];

/** Something that is wrong, as a check finds it. */
export type Found = Omit<Finding, "code" | "severity"> & { slot: CallsignSlot | null };

export interface DraftDeps {
  registry: Registry;
  presence: Presence;
  now: Date;
  /** Whether who asks may take something from a person. */
  mayChange(userId: string): boolean;
  /** Whether who asks may do this in a server. */
  mayActIn(guildId: string): boolean;
  /** The pool of a staff role. */
  poolOf(staffRole: string): string | null;
}

export type Draft = Awaited<ReturnType<typeof createDraft>>;

/** How many slots are looked at before others have their turn. */
const slice = 500;

/** The registry as it stands after the steps so far: what a later check finds is what is left to be done. */
export async function createDraft(parts: DraftDeps) {
  const { registry } = parts;
  const slots: CallsignSlot[] = [];
  const byNumber = new Map<string, Set<CallsignSlot>>();
  const byHolder = new Map<string, Set<CallsignSlot>>();
  const keys = createKeys();
  const free = new Map<string, Iterator<number, void>>();
  const numbers = new Map<string, Numbers>();
  const damaged = new Set<string>();
  const steps: DraftStep[] = [];
  const nicknames: NicknameChange[] = [];

  function index(slot: CallsignSlot): void {
    if (slot.state === "ended") return;
    put(byNumber, liveKeyOf(slot.pool, slot.number), slot);
    if (slot.userId !== null) put(byHolder, holderKeyOf(slot.pool, slot.userId), slot);
  }

  function unindex(slot: CallsignSlot): void {
    byNumber.get(liveKeyOf(slot.pool, slot.number))?.delete(slot);
    if (slot.userId !== null) byHolder.get(holderKeyOf(slot.pool, slot.userId))?.delete(slot);
  }
  for await (const row of inSlices(registry.slots)) {
    const slot = { ...row };
    slots.push(slot);
    keys.note(slot);
    index(slot);
  }

  const ofNumber = (pool: string, number: number): CallsignSlot[] => [...(byNumber.get(liveKeyOf(pool, number)) ?? [])];

  const ofHolder = (pool: string, userId: string | null): CallsignSlot[] =>
    userId === null ? [] : [...(byHolder.get(holderKeyOf(pool, userId)) ?? [])];

  function numbersFor(pool: CallsignPool, staffRole: string | null | undefined): Numbers {
    const key = `${pool.key}\n${staffRole ?? ""}`;
    const known = numbers.get(key) ?? numbersOf(pool, staffRole);
    numbers.set(key, known);
    return known;
  }

  return {
    ...parts,
    pools: registry.pools,
    enlisted: registry.enlisted,
    steps,
    nicknames,
    slots: slots as readonly CallsignSlot[],
    /** Slots that were found damaged, by id. */
    damaged,
    ofNumber,
    /** What somebody has, had or reserved in a pool. */
    ofHolder,

    /** Every slot, those that are over, too, as long as they stand in the way. */
    everySlot: () => inSlices(slots),
    /** Everybody on the roster. */
    everyone: () => inSlices([...registry.enlisted.values()]),

    /** Bring a slot into another state or give it another text; its keys follow. */
    change(slot: CallsignSlot, to: Partial<Pick<CallsignSlot, "state" | "callsign">>): void {
      unindex(slot);
      Object.assign(slot, to);
      keys.claim(slot);
      index(slot);
    },
    canHaveKeys: keys.canHave,

    /** Whether the holder of a slot has, or has reserved, another one of its pool. */
    hasAnother: (slot: CallsignSlot): boolean =>
      keys.isHolderElsewhere(slot) || ofHolder(slot.pool, slot.userId).some((other) => other !== slot && isHolding(other.state)),

    /** A new slot; undefined where another one stands in the way of it. */
    add(pool: CallsignPool, number: number, callsign: string, userId: string): CallsignSlot | undefined {
      const row = { id: `new:${slots.length.toString()}`, pool: pool.key, number, callsign, userId, state: "assigned" };
      if (!keys.areFree(keysOf(row))) return undefined;
      const rest = { since: parts.now, until: null, reservedBy: null, originReference: null, endedAt: null };
      const slot: CallsignSlot = { ...row, ...rest, createdAt: parts.now, revision: 0, liveKey: null, holderKey: null };
      keys.claim(slot);
      slots.push(slot);
      index(slot);
      return slot;
    },

    /** Whether a number lies where the pool gives numbers of this staff role. Those that are kept back may be given by hand. */
    isInRange: (pool: CallsignPool, number: number, holder: Enlisted | undefined): boolean =>
      numbersFor(pool, holder?.staffRole).spans.some(([first, last]) => number >= first && number <= last),

    /** The lowest number that is free for a staff role. Numbers are freed before any is given, so none is looked at twice. */
    takeFree(pool: CallsignPool, staffRole: string | null | undefined): number | undefined {
      const key = `${pool.key}\n${staffRole ?? ""}`;
      let left = free.get(key);
      if (left === undefined) free.set(key, (left = eachNumber(numbersFor(pool, staffRole))));
      for (;;) {
        const next = left.next();
        if (next.done === true) return undefined;
        const keyOfNumber = { liveKey: liveKeyOf(pool.key, next.value), holderKey: null };
        if (ofNumber(pool.key, next.value).length === 0 && keys.areFree(keyOfNumber)) return next.value;
      }
    },
  };
}

/** What is said of a slot in a finding. */
export function foundAt(slot: CallsignSlot, detail: string): Found {
  const { pool, number, callsign, userId } = slot;
  return { slot, pool, number, callsign, user_id: userId, detail };
}

async function* inSlices<Row>(rows: readonly Row[]): AsyncGenerator<Row> {
  for (const [place, row] of rows.entries()) {
    if (place % slice === slice - 1) await nextTurn();
    yield row;
  }
}

function put(index: Map<string, Set<CallsignSlot>>, key: string, slot: CallsignSlot): void {
  const known = index.get(key);
  if (known === undefined) index.set(key, new Set([slot]));
  else known.add(slot);
}

function* eachNumber(numbers: Numbers): Generator<number, void> {
  for (const part of inParts(numbers)) yield* part;
}
