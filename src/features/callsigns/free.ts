import type { Choice } from "./choice.ts";
import { within } from "./fill.ts";
import { lasting, liveKeyOf, type CallsignReader } from "./keys.ts";
import { isWithin, type Numbers } from "./numbers.ts";

export const passedReasons = ["reserved", "skipped", "taken", "held", "retired", "blocked"] as const;
type PassedReason = (typeof passedReasons)[number];

/** A number that was passed over. */
export interface Passed {
  number: number;
  reason: PassedReason;
}

/** So many of those passed over are told. */
const maxListed = 20;

const reasons: Readonly<Record<string, PassedReason>> = { reserved: "reserved", held: "held", retired: "retired", blocked: "blocked" };

/** How many numbers are left. */
export async function countFree(db: CallsignReader, pool: string, { spans, kept, capacity }: Numbers, now: Date): Promise<number> {
  if (capacity === 0) return 0;
  const live = { pool, liveKey: { not: null }, number: { notIn: [...kept.keys()] } };
  return capacity - (await db.callsignSlot.count({ where: { ...live, AND: [lasting(now), { OR: within(spans) }] } }));
}

/** The first numbers that were passed over on the way to a choice, the preferred one before all others. */
export async function passedOver(db: CallsignReader, choice: Choice, preferred: number | undefined, now: Date): Promise<Passed[]> {
  const { pool, numbers } = choice;
  const passed = numbersBefore(choice, preferred);
  const liveKey = { in: passed.map((number) => liveKeyOf(pool.key, number)) };
  const rows = await db.callsignSlot.findMany({ where: { liveKey, ...lasting(now) }, select: { number: true, state: true } });
  const states = new Map(rows.map(({ number, state }) => [number, state]));
  return passed.map((number) => ({ number, reason: numbers.kept.get(number) ?? reasons[states.get(number) ?? ""] ?? "taken" }));
}

function numbersBefore({ numbers, number: chosen, own, walk }: Choice, preferred: number | undefined): number[] {
  const isMissed = own === null && preferred !== undefined && preferred !== chosen && isWithin(numbers.spans, preferred);
  const passed = new Set(isMissed ? [preferred] : []);
  for (const [first, last] of walk) {
    for (let number = first; number <= last; number += 1) {
      if (number === chosen || passed.size >= maxListed) return [...passed];
      passed.add(number);
    }
  }
  return [...passed];
}
