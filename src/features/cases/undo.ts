import { z } from "zod";
import type { Undone, UndoNote } from "../../kernel/undo.ts";
import type { Tx } from "../../database/database.ts";
import { whole, type WholeCase } from "./cases.policy.ts";
import type { CaseRecords } from "./records.ts";
import { isLegal } from "./states.ts";
import type { WithinDeps } from "./within.ts";

/** What is needed to take back that a request came to a case. */
export const CaseUndo = z.strictObject({ case_id: z.string(), is_new: z.boolean(), reference: z.string() });
export type CaseUndo = z.infer<typeof CaseUndo>;

export interface CaseUndoNote extends UndoNote {
  authorId: string | null;
}

/** How what requests did to cases is taken back, inside other rooms' transactions. */
export function createUndo({ records, notes }: Pick<WithinDeps, "notes"> & { records: CaseRecords }) {
  /** The requests that came to a case and whose approval is taken back, this one included. */
  async function reversedOf({ db }: Tx, row: WholeCase, { reference }: CaseUndo): Promise<string[]> {
    const linked = row.links.filter(({ kind }) => kind === "request").map((link) => link.reference);
    const where = { reference: { in: linked }, status: "reversed" };
    const reversed = await db.workflowRequest.findMany({ where, select: { reference: true } });
    return [reference, ...reversed.map((request) => request.reference)];
  }

  /** Whether anything was added to a case but by requests that are taken back. */
  async function isWorkedOn({ db }: Tx, caseId: string, reversed: readonly string[]): Promise<boolean> {
    // The request that opened it wrote the first note; the others begin with what became of theirs.
    const first = await db.caseNote.findFirst({ where: { caseId }, orderBy: [{ createdAt: "asc" }, { id: "asc" }], select: { id: true } });
    const told = reversed.map((reference) => ({ body: { startsWith: `${reference} was ` } }));
    if ((await db.caseNote.count({ where: { caseId, id: { not: first?.id ?? "" }, NOT: { OR: told } } })) > 0) return true;
    const others = { caseId, OR: [{ originReference: null }, { originReference: { notIn: [...reversed] } }] };
    if ((await db.caseAction.count({ where: others })) > 0) return true;
    return (await db.evidenceItem.count({ where: { recordKind: "case", recordId: caseId } })) > 0;
  }

  async function close(tx: Tx, row: WholeCase, { reason, permission, authorId }: CaseUndoNote): Promise<void> {
    const ended = { status: "closed", outcome: "reversed", outcomeReason: reason, closedBy: authorId, closedAt: tx.now };
    const change = { before: { status: row.status }, after: { status: "closed", outcome: "reversed" } };
    const told = row.isConfidential ? {} : { reason };
    await records.change(tx, row, ended, { action: "case.close", event: "case.closed", permission, ...told, ...change });
  }

  return {
    /**
     * Take back that a request came to a case: one that only requests came to that are all taken back is closed as reversed; to the
     * others a note is added.
     * @param undo as `appendOrOpenWithin` answered it
     */
    async undoCaseWithin(tx: Tx, undo: unknown, note: CaseUndoNote): Promise<Undone> {
      const parsed = CaseUndo.parse(undo);
      await tx.lock(`case:${parsed.case_id}`);
      const row = await tx.db.case.findUnique({ where: { id: parsed.case_id }, include: whole });
      if (row === null || row.deletedAt !== null) return { restored: false, detail: "The case was deleted." };
      if (!isLegal(row.status, "close")) return { restored: false, detail: "The case was closed already." };
      const reversed = await reversedOf(tx, row, parsed);
      // Whichever of the requests that came to it is taken back last closes it.
      const isTheirs = row.originReference !== null && reversed.includes(row.originReference);
      if (isTheirs && !(await isWorkedOn(tx, row.id, reversed))) {
        await close(tx, row, note);
        return { restored: true, detail: "The case was closed as reversed." };
      }
      const body = `${parsed.reference} was reversed: ${note.reason}`;
      const isTold = (await tx.db.caseNote.count({ where: { caseId: row.id, body } })) > 0;
      if (!isTold) await notes.addNote(tx, row, body, note.authorId, note.permission);
      if (!parsed.is_new) return { restored: true, detail: "A note in the case says so." };
      return { restored: false, detail: "Others have worked on the case since: it stays open, and a note says so." };
    },
  };
}
