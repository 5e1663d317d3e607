import type {
  AccountLink,
  BlacklistVersion,
  Match,
  WorkflowRequest,
  WorkflowSubject,
  AuditEntry,
} from "../../../generated/sqlite/client.ts";
import { byId, sourceOf, type Asked, type Source, type SourceSpec } from "../source.ts";
import { caseClosed, caseOpened } from "./cases.ts";

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
    summary: `Matches a record: ${row.kind}, ${row.severity}.`,
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
    summary: `No longer matches a record: ${row.kind}, ${row.status}.`,
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
      summary: `Blacklist record ${event}: ${category}, ${severity}.${reason}`,
      userId: subject_id,
      reference: number,
      recordId: row.recordId,
      actorId: row.changedBy,
    };
  },
});

type Request = WorkflowRequest & { subjects: WorkflowSubject[] };

const aboutThem = ({ userIds, hidden }: Asked): object => ({
  subjects: { some: { kind: "user", subjectId: { in: [...userIds] } } },
  id: { notIn: [...hidden] },
});

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
    summary: `A request was filed: ${row.type}.`,
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
    summary: `A request was decided: ${row.type}, ${row.status}.`,
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
    return { event: "created", summary: `Linked with the account ${other}.`, userId, recordId: row.id, actorId: row.createdBy };
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
    return { event: "ended", summary: `No longer linked with the account ${other}.`, userId, recordId: row.id, actorId: row.endedBy };
  },
});

/** Every source there is. A further room with a history adds its own. */
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
];

type AuditedKind = "authorization" | "match" | "staff";
type Wording = Readonly<Record<string, readonly [event: string, summary: string]>>;

/** What audited actions mean for the person they were done to: the event, and the same in plain words. */
const audited: Readonly<Record<AuditedKind, Wording>> = {
  authorization: {
    "authorization_session.create": ["requested", "Was asked for access."],
    "authorization_session.decline": ["declined", "Said no when asked for access."],
    "authorization_session.expire": ["unanswered", "Did not answer in time when asked for access."],
    "authorization_session.cancel": ["called_off", "Being asked for access was called off."],
    "authorization_session.fail": ["failed", "Being asked for access ended in a failure."],
    "authorization.grant": ["granted", "Granted access."],
    "authorization.revoke": ["revoked", "Access, or being asked for it, was taken back."],
    "authorization.lose": ["lost", "Discord no longer accepts the grant."],
    "authorization.expire": ["expired", "The grant ran out."],
    "user.erase": ["erased", "What they had shared was deleted, as they wished."],
    "user.erase_again": ["erased", "What they had shared was deleted again: an older backup had brought it back."],
    "user.redact": ["erased", "What they had shared was deleted by staff."],
  },
  match: { "match.resolve": ["resolved", "A match was looked at and decided about."] },
  staff: {
    "staff.suspend": ["suspended", "Was suspended from staff."],
    "staff.reinstate": ["reinstated", "Was reinstated as staff."],
    "staff.loa_start": ["leave_started", "Took leave, or planned it."],
    "staff.loa_end": ["leave_ended", "Came back from leave, or called it off."],
    "user_permissions.update": ["permissions_changed", "Personal permissions were changed."],
    "user_permissions.expire": ["permissions_expired", "Personal permissions ran out."],
    "owner.create": ["owner_added", "Became an owner."],
    "owner.remove": ["owner_removed", "Is no longer an owner."],
  },
};

/** What was done to a person of one kind, from the audit: what was decided, never the details of it. */
export function auditSource(kind: AuditedKind): Source {
  const actions = audited[kind];
  return sourceOf<AuditEntry>({
    name: `${kind}.audit`,
    kind,
    find: (db, query) => db.auditEntry.findMany(query),
    total: (db, query) => db.auditEntry.count(query),
    time: "at",
    key: byId,
    about: ({ userIds }) => ({ subjectUserId: { in: [...userIds] }, action: { in: Object.keys(actions) } }),
    tell(row) {
      const [event, summary] = actions[row.action] ?? [row.action, row.action];
      return {
        event,
        summary,
        userId: row.subjectUserId ?? "",
        actorId: row.actorId,
        ...(row.targetKind === "match" && { recordId: row.targetId }),
      };
    },
  });
}
