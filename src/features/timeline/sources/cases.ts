import type { Case, CaseSubject } from "../../../generated/sqlite/client.ts";
import { caseReference } from "../../../kernel/stored.ts";
import { byId, sourceOf, type Asked, type SourceSpec } from "../source.ts";

type Row = Case & { subjects: CaseSubject[] };

/** What both sources of cases have in common: their titles are for whoever reads the case. */
const cases = {
  kind: "case",
  find: (db, query) => db.case.findMany({ ...query, include: { subjects: true } }),
  total: (db, query) => db.case.count(query),
  key: byId,
  about: ({ userIds, visibleCases }) => ({
    AND: [visibleCases, { subjects: { some: { kind: "user", subjectId: { in: [...userIds] } } } }],
  }),
} satisfies Partial<SourceSpec<Row>>;

/** Of several subjects, the account that was asked about first. */
function subjectOf({ subjects }: Row, { userIds }: Asked): string {
  const users = new Set(subjects.filter(({ kind }) => kind === "user").map(({ subjectId }) => subjectId));
  return userIds.find((id) => users.has(id)) ?? "";
}

export const caseOpened = sourceOf<Row>({
  name: "case.opened",
  ...cases,
  time: "createdAt",
  tell: (row, asked) => ({
    event: "opened",
    summary: `A case was opened: ${row.type}.`,
    userId: subjectOf(row, asked),
    reference: caseReference(row.number),
    recordId: row.id,
    actorId: row.openedBy,
  }),
});

export const caseClosed = sourceOf<Row>({
  name: "case.closed",
  ...cases,
  time: "closedAt",
  tell: (row, asked) => ({
    event: "closed",
    summary: `A case was closed: ${row.type}, ${row.outcome ?? row.status}.`,
    userId: subjectOf(row, asked),
    reference: caseReference(row.number),
    recordId: row.id,
    actorId: row.closedBy,
  }),
});
