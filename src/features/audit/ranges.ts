/** Runs of positions, first and last, in order. */
export type Ranges = [number, number][];

/** Add a position that is greater than all there are. */
export function addPosition(ranges: Ranges, seq: number): void {
  const last = ranges.at(-1);
  if (last !== undefined && last[1] === seq - 1) last[1] = seq;
  else ranges.push([seq, seq]);
}

/** What the text of `erased` says, up to a position; nothing for a text of another form. */
export function readRanges(text: string, before: number): Ranges {
  try {
    const said: unknown = JSON.parse(text);
    if (!Array.isArray(said)) return [];
    return said.filter(isRange).map(([first, last]) => [first, Math.min(last, before - 1)]);
  } catch {
    return [];
  }
}

function isRange(value: unknown): value is [number, number] {
  return Array.isArray(value) && value.length === 2 && value.every((end) => Number.isSafeInteger(end));
}

/** The first position of `ranges` that none of `covers` holds. */
export function firstUncovered(ranges: Ranges, covers: Ranges): number | undefined {
  const sorted = covers.toSorted(([a], [b]) => a - b);
  let reached = 0;
  let at = 0;
  for (const [first, last] of ranges) {
    let wanted = first;
    while (wanted <= last) {
      for (let next = sorted[at]; next !== undefined && next[0] <= wanted; next = sorted[(at += 1)]) reached = Math.max(reached, next[1]);
      if (reached < wanted) return wanted;
      wanted = reached + 1;
    }
  }
  return undefined;
}
