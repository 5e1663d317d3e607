import { olderThan, type Position } from "../../kernel/page.ts";
import type { Prisma } from "../../generated/sqlite/client.ts";
import { beginningWith, searchedWords } from "../../kernel/words.ts";
import { visibleWhere, type Viewer } from "./cases.policy.ts";
import type { ListCasesQuery } from "./cases.schema.ts";

type Where = Prisma.CaseWhereInput;
export type CaseFilters = Omit<ReturnType<typeof ListCasesQuery.parse>, "limit" | "cursor" | "count">;

interface Asked {
  viewer: Viewer;
  filters: CaseFilters;
  /** With a subject: it, and the accounts of the same person where those are wanted. */
  subjectIds: readonly string[];
  now: Date;
  position: Position | undefined;
}

/** The database's words for the filters of the list, what the caller may see included. */
export function conditions({ viewer, filters, subjectIds, now, position }: Asked): Where {
  const { status, type, priority, label, subject, lead, opened_by: openedBy, member, confidential, overdue, q, from, to } = filters;
  const all: Where[] = [visibleWhere(viewer), { deletedAt: filters.deleted === "true" ? { not: null } : null }];
  const equal = { status, type, priority, leadId: lead, openedBy, originReference: filters.origin_reference };
  all.push(Object.fromEntries(Object.entries(equal).filter(([, value]) => value !== undefined)));
  if (label !== undefined) all.push({ labels: { some: { label } } });
  if (subject !== undefined) all.push({ subjects: { some: { subjectId: { in: [...subjectIds] } } } });
  if (member !== undefined) all.push({ OR: [{ leadId: member }, { members: { some: { userId: member } } }] });
  if (confidential !== undefined) all.push({ isConfidential: confidential === "true" });
  if (overdue === "true") all.push({ closedAt: null, dueAt: { lte: now } });
  if (overdue === "false") all.push({ OR: [{ closedAt: { not: null } }, { dueAt: null }, { dueAt: { gt: now } }] });
  if (q !== undefined) all.push(...wordConditions(q));
  if (from !== undefined) all.push({ createdAt: { gte: new Date(from) } });
  if (to !== undefined) all.push({ createdAt: { lt: new Date(to) } });
  if (position !== undefined) all.push(beyond(filters.sort, position));
  return { AND: all };
}

/** Every searched word begins a word of the title or of a note; a question without any word finds nothing. */
function wordConditions(q: string): Where[] {
  const words = searchedWords(q);
  if (words.length === 0) return [{ id: { in: [] } }];
  return words.map((word) => ({ words: { some: { word: beginningWith(word) } } }));
}

/** Newest first, or what is due first and at the end what never is. */
export const orders = {
  "-created_at": [{ createdAt: "desc" }, { id: "desc" }],
  due_at: [{ dueAt: { sort: "asc", nulls: "last" } }, { id: "asc" }],
} as const satisfies Record<CaseFilters["sort"], Prisma.CaseOrderByWithRelationInput[]>;

/** Where a row stands in the order of the list. */
export function positionOf(sort: CaseFilters["sort"], row: { id: string; createdAt: Date; dueAt: Date | null }): Position {
  return [(sort === "due_at" ? row.dueAt?.toISOString() : row.createdAt.toISOString()) ?? "", row.id];
}

function beyond(sort: CaseFilters["sort"], [value, id]: Position): Where {
  if (sort === "-created_at") return olderThan([value, id]);
  if (value === "") return { dueAt: null, id: { gt: id } };
  const dueAt = new Date(value);
  return { OR: [{ dueAt: { gt: dueAt } }, { dueAt, id: { gt: id } }, { dueAt: null }] };
}
