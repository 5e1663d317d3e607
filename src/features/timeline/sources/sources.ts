import { say, term } from "../../../kit/say.ts";
import type {
  AccountLink,
  BlacklistVersion,
  Match,
  WorkflowRequest,
  WorkflowSubject,
  Case,
  CaseSubject,
} from "../../../generated/sqlite/client.ts";
import { byId, sourceOf, type Asked, type Source, type SourceSpec } from "../source.ts";
import { auditSource } from "./audit.ts";
import { nativeActionSource } from "./native.ts";
import { caseReference } from "../../../kernel/parsing.ts";

/** What both sources of matches have in common. */
const matches = {
  kind: "match",
  find: (db, query) => db.match.findMany(query),
  total: (db, query) => db.match.count(query),
  key: byId,
  about: ({ userIds }) => ({ userId: { in: [...userIds] } }),
} satisfies Partial<SourceSpec<Match>>;

/** A record about a linked account leads to that account. */
function behind({ recordReference: reference, viaUserId }: Match, { namesRecords, namesAccounts }: Asked): { reference?: string } {
  return namesRecords && (viaUserId === null || namesAccounts) ? { reference } : {};
}

const matchOpened = sourceOf<Match>({
  name: "match.opened",
  ...matches,
  time: "firstSeenAt",
  tell: (row, asked) => ({
    event: "opened",
    summary: say("timeline.matches-a-record", { kind: row.kind, severity: row.severity }),
    userId: row.userId,
    recordId: row.id,
    ...behind(row, asked),
  }),
});

const matchClosed = sourceOf<Match>({
  name: "match.closed",
  ...matches,
  time: "closedAt",
  tell: (row, asked) => ({
    event: "closed",
    summary: say("timeline.no-longer-matches-a-record", { kind: row.kind, status: row.status }),
    userId: row.userId,
    recordId: row.id,
    ...behind(row, asked),
  }),
});

/** What of a record's version may be told: never its internal reason. */
interface Snapshot {
  number: string;
  subject_id: string;
  category: string;
  severity: string;
  status: string;
  reason_public: string | null;
}
const endings: ReadonlySet<string> = new Set(["revoked", "expired"]);
const keyDigits = 9;

const blacklisted = sourceOf<BlacklistVersion>({
  name: "blacklist.version",
  kind: "blacklist",
  find: (db, query) => db.blacklistVersion.findMany(query),
  total: (db, query) => db.blacklistVersion.count(query),
  time: "changedAt",
  about: ({ userIds }) => ({ record: { kind: "user", subjectId: { in: [...userIds] } } }),
  key: {
    of: ({ recordId, revision }) => `${recordId}/${revision.toString().padStart(keyDigits, "0")}`,
    below(row) {
      const [recordId = "", revision] = row.split("/");
      return { OR: [{ recordId: { lt: recordId } }, { recordId, revision: { lt: Number(revision) } }] };
    },
    order: [{ recordId: "desc" }, { revision: "desc" }],
  },
  tell(row) {
    const { number, subject_id, category, severity, status, reason_public } = row.snapshot as unknown as Snapshot;
    const event = endings.has(status) ? status : row.revision === 1 ? "created" : "changed";
    const reason = event === "created" && reason_public !== null ? ` ${reason_public}` : "";
    return {
      event,
      summary: `${say("timeline.record", { event: term(event), category: term(category), severity: term(severity) })}${reason}`,
      userId: subject_id,
      reference: number,
      recordId: row.recordId,
      actorId: row.changedBy,
    };
  },
});

type Request = WorkflowRequest & { subjects: WorkflowSubject[] };

const aboutThem = ({ userIds, hidden, requestIds }: Asked): object =>
  requestIds === undefined ? { AND: [namingThem(userIds), { id: { notIn: [...hidden] } }] } : { id: { in: [...requestIds] } };

const namingThem = (userIds: readonly string[]): object => ({ subjects: { some: { kind: "user", subjectId: { in: [...userIds] } } } });

/** Of several subjects, the account that was asked about first. */
function subjectOf(row: Request, { userIds }: Asked): string {
  const subjects = new Set(row.subjects.filter(({ kind }) => kind === "user").map(({ subjectId }) => subjectId));
  return userIds.find((id) => subjects.has(id)) ?? "";
}

const requestFiled = sourceOf<Request>({
  name: "request.filed",
  kind: "request",
  find: (db, query) => db.workflowRequest.findMany({ ...query, include: { subjects: true } }),
  total: (db, query) => db.workflowRequest.count(query),
  time: "createdAt",
  key: byId,
  about: aboutThem,
  tell: (row, asked) => ({
    event: "filed",
    summary: say("timeline.a-request-was-filed", { kind: row.type }),
    userId: subjectOf(row, asked),
    reference: row.reference,
    recordId: row.id,
    actorId: row.requesterId,
  }),
});

const requestDecided = sourceOf<Request>({
  name: "request.decided",
  kind: "request",
  find: (db, query) => db.workflowRequest.findMany({ ...query, include: { subjects: true } }),
  total: (db, query) => db.workflowRequest.count(query),
  time: "decidedAt",
  key: byId,
  about: aboutThem,
  tell: (row, asked) => ({
    event: "decided",
    summary: say("timeline.a-request-was-decided", { kind: row.type, status: row.status }),
    userId: subjectOf(row, asked),
    reference: row.reference,
    recordId: row.id,
    actorId: deciderOf(row.decision),
  }),
});

function deciderOf(decision: unknown): string | null {
  return typeof decision === "object" && decision !== null && "by" in decision && typeof decision.by === "string" ? decision.by : null;
}

const ownLinks = ({ userIds }: Asked): object => ({ OR: [{ userA: { in: [...userIds] } }, { userB: { in: [...userIds] } }] });

function endsOf({ userA, userB }: AccountLink, { userIds }: Asked): { userId: string; other: string } {
  const userId = userIds.find((id) => id === userA || id === userB) ?? userA;
  return { userId, other: userId === userA ? userB : userA };
}

const linkMade = sourceOf<AccountLink>({
  name: "link.created",
  kind: "link",
  find: (db, query) => db.accountLink.findMany(query),
  total: (db, query) => db.accountLink.count(query),
  time: "createdAt",
  key: byId,
  about: ownLinks,
  tell(row, asked) {
    const { userId, other } = endsOf(row, asked);
    return {
      event: "created",
      summary: say("timeline.linked-with-the-account", { id: other }),
      userId,
      recordId: row.id,
      actorId: row.createdBy,
    };
  },
});

const linkEnded = sourceOf<AccountLink>({
  name: "link.ended",
  kind: "link",
  find: (db, query) => db.accountLink.findMany(query),
  total: (db, query) => db.accountLink.count(query),
  time: "endedAt",
  key: byId,
  about: ownLinks,
  tell(row, asked) {
    const { userId, other } = endsOf(row, asked);
    return {
      event: "ended",
      summary: say("timeline.no-longer-linked-with-the-account", { id: other }),
      userId,
      recordId: row.id,
      actorId: row.endedBy,
    };
  },
});

type Row = Case & { subjects: CaseSubject[] };

/** What both sources of cases have in common: their titles are for anyone who reads the case. */
const cases = {
  kind: "case",
  find: (db, query) => db.case.findMany({ ...query, include: { subjects: true } }),
  total: (db, query) => db.case.count(query),
  key: byId,
  about: ({ userIds, visibleCases, caseIds }) => ({
    AND: [caseIds === undefined ? namingThem(userIds) : { id: { in: [...caseIds] } }, visibleCases],
  }),
} satisfies Partial<SourceSpec<Row>>;

/** Of several subjects, the account that was asked about first. */
function caseSubject({ subjects }: Row, { userIds }: Asked): string {
  const users = new Set(subjects.filter(({ kind }) => kind === "user").map(({ subjectId }) => subjectId));
  return userIds.find((id) => users.has(id)) ?? "";
}

export const caseOpened = sourceOf<Row>({
  name: "case.opened",
  ...cases,
  time: "createdAt",
  tell: (row, asked) => ({
    event: "opened",
    summary: say("timeline.a-case-was-opened", { kind: row.type }),
    userId: caseSubject(row, asked),
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
    summary: say("timeline.a-case-was-closed", { kind: row.type, outcome: row.outcome ?? row.status }),
    userId: caseSubject(row, asked),
    reference: caseReference(row.number),
    recordId: row.id,
    actorId: row.closedBy,
  }),
});

/** Every source there is. A further feature with a history adds its own. */
export const sources: readonly Source[] = [
  auditSource("authorization"),
  matchOpened,
  matchClosed,
  auditSource("match"),
  blacklisted,
  requestFiled,
  requestDecided,
  caseOpened,
  caseClosed,
  auditSource("staff"),
  linkMade,
  linkEnded,
  nativeActionSource,
];
