import type { Tx } from "../../database/database.ts";

/** Whose details go: those of entries about one person. */
export interface ErasedEntries {
  subjectUserId: string;
  /** Only entries whose action begins so. */
  actionPrefix?: string;
  /** Only entries that are not younger. */
  before?: Date;
}

export interface ErasedDetails {
  /** How many entries lost their details. */
  count: number;
  /** Their positions in the chain: first and last of each run. */
  ranges: [number, number][];
}

const slice = 500;

/** Delete reason, before and after of entries, and the salts that bind them; the entries stay, and the chain with them. */
export async function eraseDetails(tx: Tx, { subjectUserId, actionPrefix, before }: ErasedEntries): Promise<ErasedDetails> {
  const entries = await tx.db.auditEntry.findMany({
    where: {
      subjectUserId,
      ...(actionPrefix !== undefined && { action: { startsWith: actionPrefix } }),
      ...(before !== undefined && { at: { lte: before } }),
    },
    select: { seq: true },
    orderBy: { seq: "asc" },
  });
  const erased: number[] = [];
  for (let from = 0; from < entries.length; from += slice) {
    const where = { seq: { in: entries.slice(from, from + slice).map(({ seq }) => seq) } };
    const there = await tx.db.auditPayload.findMany({ where, select: { seq: true }, orderBy: { seq: "asc" } });
    await tx.db.auditPayload.deleteMany({ where });
    erased.push(...there.map(({ seq }) => seq));
  }
  return { count: erased.length, ranges: rangesOf(erased) };
}

function rangesOf(seqs: readonly number[]): [number, number][] {
  const ranges: [number, number][] = [];
  for (const seq of seqs) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === seq - 1) last[1] = seq;
    else ranges.push([seq, seq]);
  }
  return ranges;
}
