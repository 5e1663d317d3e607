import { say } from "../../kit/say.ts";
import type { Case, CaseLabel, CaseLink, CaseMember, CaseSubject, Prisma } from "../../generated/sqlite/client.ts";
import type { Where } from "../../database/where.ts";
import { part, withParts, withPartsOf, type Source } from "../../database/parts.ts";
import { can, type Call } from "../../kernel/call.ts";
import { ProblemError } from "../../kernel/errors.ts";

/** What each service method of cases needs. */
export const casesPolicy = {
  read: "cases.read",
  readAll: "cases.read_all",
  confidential: "cases.confidential",
  create: "cases.create",
  update: "cases.update",
  note: "cases.note",
  close: "cases.close",
  reopen: "cases.reopen",
  delete: "cases.delete",
  templates: "system.settings.manage",
  alts: "users.links.read",
} as const;

/** A case with what belongs to it and is needed wherever it is. */
export type WholeCase = Case & { subjects: CaseSubject[]; members: CaseMember[]; labels: CaseLabel[]; links: CaseLink[] };
const parts = {
  subjects: part({ model: "CaseSubject", of: "caseId", orderBy: ["kind", "subjectId"] }),
  members: part({ model: "CaseMember", of: "caseId", orderBy: ["userId"] }),
  labels: part({ model: "CaseLabel", of: "caseId", orderBy: ["label"] }),
  links: part({ model: "CaseLink", of: "caseId", orderBy: ["id"] }),
};

/** Cases with what belongs to them. */
export const wholeCases = (source: Source, rows: readonly Case[]): Promise<WholeCase[]> => withParts(source, rows, parts);
/** A case with what belongs to it; null for none. */
export const wholeCase = (source: Source, row: Case | null): Promise<WholeCase | null> => withPartsOf(source, row, parts);

/** How staff stand towards each other, known without I/O. */
export interface Ranks {
  of(userId: string): { isStaff: boolean; rank: number };
}

/** Who asks, with the further accounts of the person, as confirmed links have them. */
export interface Viewer {
  call: Call;
  accounts: readonly string[];
}

export type CaseWhere = Where<"Case">;

/** The same condition, which has no SQL of its own, for the client of the models. */
export const clientWhere = (where: CaseWhere): Prisma.CaseWhereInput => where as Prisma.CaseWhereInput;

type Seen = Pick<Case, "isConfidential" | "openedBy" | "leadId"> & {
  subjects: readonly Pick<CaseSubject, "kind" | "subjectId">[];
  members: readonly Pick<CaseMember, "userId">[];
};

/**
 * Whether a viewer may know of a case. Their own cases are those they opened, lead or are in the team of; the rest needs
 * `cases.read_all`. A confidential one is for its lead, its team and holders of `cases.confidential`, never for those it is about.
 */
export function canSee(viewer: Viewer, row: Seen): boolean {
  const { call } = viewer;
  const actor = call.actor?.id;
  const isAssigned = actor !== undefined && (row.leadId === actor || row.members.some(({ userId }) => userId === actor));
  if (row.isConfidential) return !isAbout(viewer, row) && (isAssigned || can(call, casesPolicy.confidential));
  return isAssigned || (actor !== undefined && row.openedBy === actor) || can(call, casesPolicy.readAll);
}

/** {@link canSee} in the words of the database. */
export function visibleWhere(viewer: Viewer): CaseWhere {
  const { call } = viewer;
  const actor = call.actor?.id;
  // An empty list of choices would let everything pass, so without a person there is one that nothing meets.
  const assigned = actor === undefined ? [{ id: { in: [] } }] : [{ leadId: actor }, { members: { some: { userId: actor } } }];
  const own = actor === undefined ? assigned : [...assigned, { openedBy: actor }];
  return {
    OR: [
      { isConfidential: false, ...(!can(call, casesPolicy.readAll) && { OR: own }) },
      { isConfidential: true, subjects: { none: themselves(viewer) }, ...(!can(call, casesPolicy.confidential) && { OR: assigned }) },
    ],
  };
}

/** The confidential cases that {@link canSee} keeps from a viewer, told without a negation that an empty column would turn around. */
export function hiddenWhere(viewer: Viewer): CaseWhere {
  const isAboutThem = { subjects: { some: themselves(viewer) } };
  if (can(viewer.call, casesPolicy.confidential)) return { isConfidential: true, ...isAboutThem };
  const actor = viewer.call.actor?.id;
  if (actor === undefined) return { isConfidential: true };
  const isOthers = { members: { none: { userId: actor } }, OR: [{ leadId: null }, { leadId: { not: actor } }] };
  return { isConfidential: true, OR: [isAboutThem, isOthers] };
}

function themselves({ call, accounts }: Viewer): Where<"CaseSubject"> {
  return { kind: "user", subjectId: { in: call.actor === null ? [] : [call.actor.id, ...accounts] } };
}

/** Whether a case is about the viewer, by any account of theirs. */
function isAbout({ call, accounts }: Viewer, row: Pick<Seen, "subjects">): boolean {
  if (call.actor === null) return false;
  const own = new Set([call.actor.id, ...accounts]);
  return row.subjects.some(({ kind, subjectId }) => kind === "user" && own.has(subjectId));
}

/** Nobody works on a case about themselves. @throws ProblemError conflict_of_interest */
export function requireImpartial(viewer: Viewer, row: Pick<Seen, "subjects">): void {
  if (isAbout(viewer, row)) throw partial();
}

/** The rule is named, never the person it speaks of. */
export function partial(): ProblemError {
  return new ProblemError("conflict_of_interest", { detail: say("cases.nobody-works-on-a-case-about-themselves") });
}

/** Nobody works on a case about someone of equal or higher rank. @throws ProblemError hierarchy_violation */
export function requireOutranks({ actor }: Call, ranks: Ranks, row: Pick<Seen, "subjects">): void {
  if (actor === null || actor.isOwner) return;
  const outranks = row.subjects.every(({ kind, subjectId }) => {
    const subject = ranks.of(subjectId);
    return kind !== "user" || !subject.isStaff || subject.rank < actor.rank;
  });
  if (!outranks) throw new ProblemError("hierarchy_violation");
}

/** The one person a case is about, if it is one. */
export function soleUserOf({ subjects }: Pick<Seen, "subjects">): string | null {
  const users = subjects.filter(({ kind }) => kind === "user");
  return users.length === 1 ? (users[0]?.subjectId ?? null) : null;
}

/** Who is told of events about a case; undefined: anyone the type of the event names. */
export function eventPermission({ isConfidential }: Pick<Case, "isConfidential">): typeof casesPolicy.confidential | undefined {
  return isConfidential ? casesPolicy.confidential : undefined;
}

/** @param key id, or number such as `CASE-000123` in any case */
export function byKey(key: string): Prisma.CaseWhereInput {
  const number = /^case-(\d{6,9})$/i.exec(key)?.[1];
  return number === undefined ? { id: key.toLowerCase() } : { number: Number(number) };
}
