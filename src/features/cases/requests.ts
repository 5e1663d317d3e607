import type { PermissionKey } from "../../kernel/permissions.ts";
import type { Tx } from "../../database/database.ts";
import type { Prisma } from "../../generated/sqlite/client.ts";
import type { LinkReach } from "../links/reach.ts";
import { byKey, type Ranks, type WholeCase } from "./cases.policy.ts";
import { moves } from "./states.ts";
import type { CaseUndo } from "./undo.ts";
import type { createWithin, WithinDeps } from "./within.ts";

export interface RequestsDeps extends Pick<WithinDeps, "notes" | "links"> {
  standing: Ranks;
  reach: Pick<LinkReach, "groupOf">;
  within: ReturnType<typeof createWithin>;
}

/** A case that an approved request leads to. */
export interface RequestedCase {
  type: string;
  title: string;
  subject: { kind: "user" | "server"; id: string };
  /** `normal` unless told. */
  priority?: string | undefined;
  isConfidential?: boolean | undefined;
  /** Lead and team of a case that is opened; whoever cannot be either is left out. */
  leadId?: string | null | undefined;
  team?: readonly string[] | undefined;
  dueAt?: Date | null | undefined;
  /** Id or number of the case it is to be added to, if it can be; whoever asks has checked who may know of that case. */
  caseReference?: string | undefined;
  originReference: string;
  originRequestId: string;
  /** The note that is written. */
  body: string;
  authorId: string | null;
  /** The permission that approved it; that of cases themselves unless told. */
  permission?: PermissionKey | undefined;
}

const working = { deletedAt: null, status: { in: [...moves.note.from] } } satisfies Prisma.CaseWhereInput;

/** How requests come to cases, inside their transactions. They have checked rights, ranks and conflicts. */
export function createAppend({ notes, links, standing, reach, within }: RequestsDeps) {
  /** Every account of the subject, itself first. */
  async function accountsOf(tx: Tx, { kind, id }: RequestedCase["subject"]): Promise<string[]> {
    return kind === "user" ? [id, ...(await reach.groupOf(tx.db, id))] : [id];
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
      return await within.appendWithin(tx, found.id, { body, authorId, from: originOf(draft), permission });
    }
    return undefined;
  }

  async function open(tx: Tx, draft: RequestedCase, accounts: readonly string[]): Promise<WholeCase> {
    const { leadId, subject, authorId, permission } = draft;
    const fits = (id: string): boolean => standing.of(id).isStaff && !(subject.kind === "user" && accounts.includes(id));
    const lead = typeof leadId === "string" && !fits(leadId) ? undefined : leadId;
    const row = await within.openWithin(tx, {
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
    async appendOrOpenWithin(tx: Tx, draft: RequestedCase): Promise<{ row: WholeCase; isNew: boolean; undo: CaseUndo }> {
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
