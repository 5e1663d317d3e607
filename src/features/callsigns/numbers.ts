import { z } from "zod";
import type { CallsignPool } from "../../generated/sqlite/client.ts";

/** From the first to the last number, both included. */
export type Span = readonly [first: number, last: number];

const Count = z.int().min(0);
const StoredSpan = z.tuple([Count, Count]);
const StoredSpans = z.array(StoredSpan).catch([]);
const StoredNumbers = z.array(Count).catch([]);
const StoredBands = z.record(z.string(), StoredSpan).catch({});

export type Kept = "reserved" | "skipped";

/** What a pool says of its numbers. Lists as they are stored. */
export type NumberRules = Pick<CallsignPool, "ranges" | "reserved" | "skip" | "rankBands">;

/** The numbers that a pool gives away by itself. */
export interface Numbers {
  /** In order, none touching another. */
  spans: readonly Span[];
  /** Those within the spans that are kept back: for some other use, or because nobody wants them. */
  kept: ReadonlyMap<number, Kept>;
  capacity: number;
}

/** @param roleKey a staff role; where the pool has a band for it, only numbers of the band are given */
export function numbersOf(pool: NumberRules, roleKey?: string | null): Numbers {
  const ranges = merged(StoredSpans.parse(pool.ranges));
  const bands = StoredBands.parse(pool.rankBands);
  const band = roleKey !== undefined && roleKey !== null && Object.hasOwn(bands, roleKey) ? bands[roleKey] : undefined;
  const spans = band === undefined ? ranges : ranges.flatMap((span) => overlap(span, band));
  const keptAs = (numbers: unknown, why: Kept) => StoredNumbers.parse(numbers).map((number) => [number, why] as const);
  const back = [...keptAs(pool.skip, "skipped"), ...keptAs(pool.reserved, "reserved")];
  const kept = new Map(back.filter(([number]) => isWithin(spans, number)));
  return { spans, kept, capacity: sizeOf(spans) - kept.size };
}

/** How many numbers there are from the first to the last of each. */
export function sizeOf(spans: readonly Span[]): number {
  return spans.reduce((sum, [first, last]) => sum + last - first + 1, 0);
}

/** The same numbers, beginning with the one after `number` and ending with it. */
export function turnedAfter(spans: readonly Span[], number: number): Span[] {
  const after = spans.flatMap((span) => overlap(span, [number + 1, Number.MAX_SAFE_INTEGER]));
  return [...after, ...spans.flatMap((span) => overlap(span, [0, number]))];
}

/** The number at a place of all those of some spans, counted from 0; undefined beyond them. */
export function numberAt(spans: readonly Span[], place: number): number | undefined {
  let left = place;
  for (const [first, last] of spans) {
    if (left <= last - first) return first + left;
    left -= last - first + 1;
  }
  return undefined;
}

/** Whether a pool gives a number away at all. */
export function isGiven({ spans, kept }: Numbers, number: number): boolean {
  return isWithin(spans, number) && !kept.has(number);
}

/** Every number a pool gives away, in the order of its spans, in parts that grow: the next one is made when it is asked for. */
export function* inParts(
  { spans, kept }: Pick<Numbers, "spans" | "kept">,
  smallest = 64,
  largest = 4096,
): Generator<number[], void, undefined> {
  let size = smallest;
  let part: number[] = [];
  for (const [first, last] of spans) {
    for (let number = first; number <= last; number += 1) {
      if (kept.has(number)) continue;
      part.push(number);
      if (part.length < size) continue;
      yield part;
      part = [];
      size = Math.min(largest, size * 2);
    }
  }
  if (part.length > 0) yield part;
}

function merged(spans: readonly Span[]): Span[] {
  const result: Span[] = [];
  for (const [first, last] of spans.filter(([first, last]) => first <= last).toSorted(([one], [other]) => one - other)) {
    const previous = result.at(-1);
    if (previous === undefined || first > previous[1] + 1) result.push([first, last]);
    else result[result.length - 1] = [previous[0], Math.max(previous[1], last)];
  }
  return result;
}

function overlap([first, last]: Span, [bandFirst, bandLast]: Span): Span[] {
  const both: Span = [Math.max(first, bandFirst), Math.min(last, bandLast)];
  return both[0] <= both[1] ? [both] : [];
}

export function isWithin(spans: readonly Span[], number: number): boolean {
  return spans.some(([first, last]) => number >= first && number <= last);
}
