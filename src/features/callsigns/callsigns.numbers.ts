import { z } from "zod";
import type { CallsignPool } from "../../generated/sqlite/client.ts";

/** From the first to the last number, both included. */
export type Span = readonly [first: number, last: number];

const Count = z.int().min(0);
const StoredSpan = z.tuple([Count, Count]);
const StoredSpans = z.array(StoredSpan).catch([]);
const StoredNumbers = z.array(Count).catch([]);
const StoredBands = z.record(z.string(), StoredSpan).catch({});

/** The numbers that a pool gives away by itself. */
export interface Numbers {
  /** In order, none touching another. */
  spans: readonly Span[];
  /** Those within the spans that are kept back. */
  kept: ReadonlySet<number>;
  capacity: number;
}

/** @param roleKey a staff role; where the pool has a band for it, only numbers of the band are given */
export function numbersOf(pool: Pick<CallsignPool, "ranges" | "reserved" | "skip" | "rankBands">, roleKey?: string | null): Numbers {
  const ranges = merged(StoredSpans.parse(pool.ranges));
  const bands = StoredBands.parse(pool.rankBands);
  const band = roleKey !== undefined && roleKey !== null && Object.hasOwn(bands, roleKey) ? bands[roleKey] : undefined;
  const spans = band === undefined ? ranges : ranges.flatMap((span) => overlap(span, band));
  const back = [...StoredNumbers.parse(pool.reserved), ...StoredNumbers.parse(pool.skip)];
  const kept = new Set(back.filter((number) => isWithin(spans, number)));
  const size = spans.reduce((sum, [first, last]) => sum + last - first + 1, 0);
  return { spans, kept, capacity: size - kept.size };
}

/** Whether a pool gives a number away at all. */
export function isGiven({ spans, kept }: Numbers, number: number): boolean {
  return isWithin(spans, number) && !kept.has(number);
}

/** Every number a pool gives away, from the lowest, in parts that grow: the next one is made when it is asked for. */
export function* inParts({ spans, kept }: Numbers, smallest = 64, largest = 4096): Generator<number[], void, undefined> {
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

function isWithin(spans: readonly Span[], number: number): boolean {
  return spans.some(([first, last]) => number >= first && number <= last);
}
