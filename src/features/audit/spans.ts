import type { ReadClient } from "../../database/database.ts";

/** Positions of one part of the chain. */
const size = 1000;

/** Positions, both included. */
export interface SeqRange {
  gte: number;
  lte: number;
}

/**
 * Where in the chain the entries of a time are. Their times grow with their positions, but for those that were committed in another order
 * or after the clock went back: so the first and last time of each part is kept. Entries never change, so a part that is full is read once.
 */
export function createSpans(db: Pick<ReadClient, "auditEntry">) {
  const full: { first: number; last: number }[] = [];

  async function spanOf(part: number) {
    const positions = { gte: part * size + 1, lte: (part + 1) * size };
    const found = await db.auditEntry.aggregate({ where: { seq: positions }, _min: { at: true }, _max: { at: true }, _count: true });
    const span = { first: found._min.at?.getTime() ?? Number.NaN, last: found._max.at?.getTime() ?? Number.NaN };
    if (found._count === size) full[part] = span;
    return span;
  }

  /** The positions between which all entries of a time are; undefined for none. @param end the last position of the chain */
  return async ({ from, to }: { from?: string | undefined; to?: string | undefined }, end: number): Promise<SeqRange | undefined> => {
    const [since, until] = [from === undefined ? -Infinity : Date.parse(from), to === undefined ? Infinity : Date.parse(to)];
    let range: SeqRange | undefined;
    for (let part = 0; part * size < end; part += 1) {
      const { first, last } = full[part] ?? (await spanOf(part));
      if (last < since || first >= until || Number.isNaN(first)) continue;
      range = { gte: range?.gte ?? part * size + 1, lte: (part + 1) * size };
    }
    return range;
  };
}
