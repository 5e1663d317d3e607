import type { Tx } from "../../database/database.ts";
import { addPosition, type Ranges } from "./verify.ts";

/** Whose details go: those of entries about one person or about one record, which is named as entries name their target. */
export type ErasedEntries = ({ subjectUserId: string; targetId?: never } | { targetId: string; subjectUserId?: never }) & {
  /** Only entries whose action begins so. */
  actionPrefix?: string;
  /** Only entries that are not younger. */
  before?: Date;
};

export interface ErasedDetails {
  /** How many entries lost their details. */
  count: number;
  /** Their positions in the chain: first and last of each run. */
  ranges: Ranges;
}

const slice = 500;

/** Delete reason, before and after of entries, and the salts that bind them; the entries stay, and the chain with them. */
export async function eraseDetails(tx: Tx, { subjectUserId, targetId, actionPrefix, before }: ErasedEntries): Promise<ErasedDetails> {
  const entries = await tx.db.auditEntry.findMany({
    where: {
      ...(subjectUserId === undefined ? { targetId } : { subjectUserId }),
      ...(actionPrefix !== undefined && { action: { startsWith: actionPrefix } }),
      ...(before !== undefined && { at: { lte: before } }),
    },
    select: { seq: true },
    orderBy: { seq: "asc" },
  });
  return eraseDetailsAt(
    tx,
    entries.map(({ seq }) => seq),
  );
}

/** Delete the details at some positions of the chain, which rise. */
export async function eraseDetailsAt(tx: Tx, seqs: readonly number[]): Promise<ErasedDetails> {
  const erased: number[] = [];
  for (let from = 0; from < seqs.length; from += slice) {
    const where = { seq: { in: seqs.slice(from, from + slice) } };
    const there = await tx.db.auditPayload.findMany({ where, select: { seq: true }, orderBy: { seq: "asc" } });
    await tx.db.auditPayload.deleteMany({ where });
    erased.push(...there.map(({ seq }) => seq));
  }
  return { count: erased.length, ranges: rangesOf(erased) };
}

function rangesOf(seqs: readonly number[]): Ranges {
  const ranges: Ranges = [];
  for (const seq of seqs) addPosition(ranges, seq);
  return ranges;
}
