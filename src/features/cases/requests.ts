import { say } from "../../kit/say.ts";
import type { PermissionKey } from "../../kernel/permissions.ts";
import type { Tx } from "../../database/database.ts";
import type { Prisma } from "../../generated/sqlite/client.ts";
import type { LinkReach } from "../links/reach.ts";
import { byKey, wholeCase, type Ranks, type WholeCase, casesPolicy } from "./cases.policy.ts";
import { moves, isLegal } from "./states.ts";
import { z } from "zod";
import type { Undone, UndoNote } from "../../kernel/undo.ts";
import type { CaseRecords } from "./records.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import { newCase, type CaseDraft } from "./fields.ts";
import type { createCaseLinks, Target } from "./links.ts";
import type { createCaseNotes } from "./notes/notes.ts";
import { settingsOf } from "./presenter.ts";

interface WithinDeps {
  guildState: GuildState;
  records: CaseRecords;
  notes: Pick<ReturnType<typeof createCaseNotes>, "addNote">;
  links: Pick<ReturnType<typeof createCaseLinks>, "addLink">;
}

/** What is added to a case that is being worked on. */
interface Addition {
  body: string;
  authorId: string | null;
  /** What it comes from, linked as `related` unless it is linked so already. */
  from?: Target;
  /** The permission that adds it; that of cases themselves by default. */
  permission?: PermissionKey | undefined;
}

/** Cases inside another feature's transaction. The caller has checked rights, ranks and conflicts. */
export function createInTx({ guildState, records, notes, links }: WithinDeps) {
  return {
    /** Open a case. The number is taken here: whatever else the transaction locks, it locks before. */
    async openInTx(tx: Tx, draft: CaseDraft): Promise<WholeCase> {
      const row = await newCase(tx, guildState, draft);
      return await records.insert(tx, row, (made) => ({
        action: "case.open",
        permission: draft.permission ?? casesPolicy.create,
        after: settingsOf(made),
      }));
    },

    /**
     * Add a note, and what it comes from, to a case.
     * @returns undefined, with nothing done, when nothing is added to the case any more: open another one
     */
    async appendInTx(tx: Tx, caseId: string, { body, authorId, from, permission }: Addition): Promise<WholeCase | undefined> {
      await tx.lock(`case:${caseId}`);
      const row = await wholeCase(tx, await tx.db.case.findUnique({ where: { id: caseId } }));
      if (row === null || row.deletedAt !== null || !isLegal(row.status, "note")) return undefined;
      await notes.addNote(tx, row, body, authorId, permission);
      const isLinked = row.links.some(({ rel, kind, targetId }) => rel === "related" && kind === from?.kind && targetId === from.id);
      if (from !== undefined && !isLinked) await links.addLink(tx, row, "related", from, permission);
      return row;
    },
  };
}

export interface RequestsDeps extends Pick<WithinDeps, "notes" | "links"> {
  access: Ranks;
  reach: Pick<LinkReach, "linkedAccountsOf">;
  within: ReturnType<typeof createInTx>;
}

/** A case that an approved request leads to. */
export interface RequestedCase {
  type: string;
  title: string;
  subject: { kind: "user" | "server"; id: string };
  /** `normal` by default. */
  priority?: string | undefined;
  isConfidential?: boolean | undefined;
  /** Lead and team of a case that is opened; anyone who cannot be either is left out. */
  leadId?: string | null | undefined;
  team?: readonly string[] | undefined;
  dueAt?: Date | null | undefined;
  /** Id or number of the case it is to be added to, if it can be; the caller has checked who may know of that case. */
  caseReference?: string | undefined;
  originReference: string;
  originRequestId: string;
  /** The note that is written. */
  body: string;
  authorId: string | null;
  /** The permission that approved it; that of cases themselves by default. */
  permission?: PermissionKey | undefined;
}

const working = { deletedAt: null, status: { in: [...moves.note.from] } } satisfies Prisma.CaseWhereInput;

/** How requests come to cases, inside their transactions. They have checked rights, ranks and conflicts. */
export function createAppend({ notes, links, access, reach, within }: RequestsDeps) {
  /** Every account of the subject, itself first. */
  async function accountsOf(tx: Tx, { kind, id }: RequestedCase["subject"]): Promise<string[]> {
    return kind === "user" ? [id, ...(await reach.linkedAccountsOf(tx.db, id))] : [id];
  }

  /** Add to the case that is named, else to one of the kind about the subject, if either is worked on. */
  async function append(tx: Tx, draft: RequestedCase, accounts: readonly string[]): Promise<WholeCase | undefined> {
    const { body, authorId, permission } = draft;
    for (const where of placesFor(draft, accounts)) {
      const found = await tx.db.case.findFirst({ where, select: { id: true }, orderBy: [{ createdAt: "desc" }, { id: "desc" }] });
      if (found === null) continue;
      await tx.lock(`case:${found.id}`);
      // It may have been closed or made confidential while its lock was waited for.
      if ((await tx.db.case.count({ where: { AND: [where, { id: found.id }] } })) === 0) continue;
      return await within.appendInTx(tx, found.id, { body, authorId, from: originOf(draft), permission });
    }
    return undefined;
  }

  async function open(tx: Tx, draft: RequestedCase, accounts: readonly string[]): Promise<WholeCase> {
    const { leadId, subject, authorId, permission } = draft;
    const fits = (id: string): boolean => access.of(id).isStaff && !(subject.kind === "user" && accounts.includes(id));
    const lead = typeof leadId === "string" && !fits(leadId) ? undefined : leadId;
    const row = await within.openInTx(tx, {
      type: draft.type,
      title: draft.title,
      priority: draft.priority ?? "normal",
      subjects: [subject],
      lead,
      team: [...new Set(draft.team)].filter((id) => id !== lead && fits(id)).toSorted(),
      confidential: draft.isConfidential,
      dueAt: draft.dueAt,
      originReference: draft.originReference,
      openedBy: authorId,
      permission,
    });
    await notes.addNote(tx, row, draft.body, authorId, permission);
    await links.addLink(tx, row, "related", originOf(draft), permission);
    return row;
  }

  return {
    /**
     * Bring a request to a case: to the one it names, if that is about the subject and worked on; else to one of the same type about
     * the same subject; else to a new one. What is confidential always gets its own.
     */
    async appendOrOpenInTx(tx: Tx, draft: RequestedCase): Promise<{ row: WholeCase; isNew: boolean; undo: CaseUndo }> {
      const { type, subject, originReference: reference } = draft;
      // Two requests about the same subject come to the same case.
      await tx.lock(`case-about:${type}:${subject.kind}:${subject.id}`);
      const accounts = await accountsOf(tx, subject);
      const appended = draft.isConfidential === true ? undefined : await append(tx, draft, accounts);
      const row = appended ?? (await open(tx, draft, accounts));
      const isNew = appended === undefined;
      return { row, isNew, undo: { case_id: row.id, is_new: isNew, reference } };
    },
  };
}

/** Where a request belongs, the best place first. */
function placesFor({ type, subject, caseReference }: RequestedCase, accounts: readonly string[]): Prisma.CaseWhereInput[] {
  const { kind, id } = subject;
  const named = caseReference === undefined ? [] : [byKey(caseReference)];
  return [
    ...named.map((key) => ({ AND: [key, working, { subjects: { some: { kind, subjectId: { in: [...accounts] } } } }] })),
    { type, isConfidential: false, ...working, subjects: { some: { kind, subjectId: id } } },
  ];
}

function originOf({ originRequestId: id, originReference: reference }: RequestedCase) {
  return { kind: "request", id, reference } as const;
}

/** What is needed to take back that a request came to a case. */
export const CaseUndo = z.strictObject({ case_id: z.string(), is_new: z.boolean(), reference: z.string() });
export type CaseUndo = z.infer<typeof CaseUndo>;

export interface CaseUndoNote extends UndoNote {
  authorId: string | null;
}

/** How what requests did to cases is taken back, inside other features' transactions. */
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
     * @param undo as `appendOrOpenInTx` answered it
     */
    async undoCaseInTx(tx: Tx, undo: unknown, note: CaseUndoNote): Promise<Undone> {
      const parsed = CaseUndo.parse(undo);
      await tx.lock(`case:${parsed.case_id}`);
      const row = await wholeCase(tx, await tx.db.case.findUnique({ where: { id: parsed.case_id } }));
      if (row === null || row.deletedAt !== null) return { restored: false, detail: say("cases.the-case-was-deleted") };
      if (!isLegal(row.status, "close")) return { restored: false, detail: say("cases.the-case-was-closed-already") };
      const reversed = await reversedOf(tx, row, parsed);
      // Whichever of the requests that came to it is taken back last closes it.
      const isTheirs = row.originReference !== null && reversed.includes(row.originReference);
      if (isTheirs && !(await isWorkedOn(tx, row.id, reversed))) {
        await close(tx, row, note);
        return { restored: true, detail: say("cases.the-case-was-closed-as-reversed") };
      }
      const body = `${parsed.reference} was reversed: ${note.reason}`;
      const isTold = (await tx.db.caseNote.count({ where: { caseId: row.id, body } })) > 0;
      if (!isTold) await notes.addNote(tx, row, body, note.authorId, note.permission);
      if (!parsed.is_new) return { restored: true, detail: say("cases.a-note-in-the-case-says-so") };
      return { restored: false, detail: say("cases.others-have-worked-on-the-case-since") };
    },
  };
}
