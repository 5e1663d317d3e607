import { say, term, serverId } from "../../../kit/say.ts";
import type {
  AccountLink,
  BlacklistVersion,
  Match,
  WorkflowRequest,
  WorkflowSubject,
  Case,
  CaseSubject,
  NativeAction,
  AuditEntry,
} from "../../../generated/sqlite/client.ts";
import { byId, sourceOf, type Asked, type Source, type SourceSpec } from "../source.ts";
import { caseReference } from "../../../kernel/parsing.ts";
import { isoOrNull } from "../../../kernel/fields.ts";
import type { NativeActionKind } from "../../../kernel/vocabulary.ts";

type AuditedKind = "authorization" | "match" | "staff";
type Wording = Readonly<Record<string, readonly [event: string, summary: string]>>;

/** What audited actions mean for the person they were done to: the event, and the same in plain words. */
const audited: Readonly<Record<AuditedKind, Wording>> = {
  authorization: {
    "authorization_session.create": ["requested", say("timeline.was-asked-for-access")],
    "authorization_session.decline": ["declined", say("timeline.said-no-when-asked-for-access")],
    "authorization_session.expire": ["unanswered", say("timeline.did-not-answer-in-time-when-asked")],
    "authorization_session.cancel": ["called_off", say("timeline.being-asked-for-access-was-called-off")],
    "authorization_session.fail": ["failed", say("timeline.being-asked-for-access-ended-in-a")],
    "authorization.grant": ["granted", say("timeline.granted-access")],
    "authorization.revoke": ["revoked", say("timeline.access-or-being-asked-for-it-was")],
    "authorization.lose": ["lost", say("timeline.discord-no-longer-accepts-the-grant")],
    "authorization.expire": ["expired", say("timeline.the-grant-ran-out")],
    "user.erase": ["erased", say("timeline.what-they-had-shared-was-deleted-as")],
    "user.erase_again": ["erased", say("timeline.what-they-had-shared-was-deleted-again")],
    "user.redact": ["erased", say("timeline.what-they-had-shared-was-deleted-by")],
  },
  match: { "match.resolve": ["resolved", say("timeline.a-match-was-looked-at-and-decided")] },
  staff: {
    "staff.suspend": ["suspended", say("timeline.was-suspended-from-staff")],
    "staff.reinstate": ["reinstated", say("timeline.was-reinstated-as-staff")],
    "staff.loa_start": ["leave_started", say("timeline.took-leave-or-planned-it")],
    "staff.loa_end": ["leave_ended", say("timeline.came-back-from-leave-or-called-it")],
    "user_permissions.update": ["permissions_changed", say("timeline.personal-permissions-were-changed")],
    "user_permissions.expire": ["permissions_expired", say("timeline.personal-permissions-ran-out")],
    "owner.create": ["owner_added", say("timeline.became-an-owner")],
    "owner.remove": ["owner_removed", say("timeline.is-no-longer-an-owner")],
  },
};

/** What was done to a person of one kind, from the audit: what was decided, never the details of it. */
function auditSource(kind: AuditedKind): Source {
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

const tellings: Readonly<Record<NativeActionKind, (guild: string, until: string | null) => string>> = {
  ban: (guild) => say("timeline.was-banned-by-hand-on-the-server", { guild: serverId(guild) }),
  unban: (guild) => say("timeline.was-unbanned-by-hand-on-the-server", { guild: serverId(guild) }),
  kick: (guild) => say("timeline.was-kicked-by-hand-from-the-server", { guild: serverId(guild) }),
  timeout: (guild, until) => say("timeline.was-timed-out-by-hand-on-the", { guild: serverId(guild), at: until ?? "–" }),
  timeout_lift: (guild) => say("timeline.a-timeout-was-lifted-by-hand-on", { guild: serverId(guild) }),
};

function summaryOf({ kind, guildId, until, reason, rule }: NativeAction): string {
  if (rule !== null) return say("timeline.automod-timed-them-out-on-the-server", { guild: serverId(guildId), rule });
  const told = tellings[kind as NativeActionKind](guildId, isoOrNull(until));
  return reason === null ? told : say("timeline.reason-given", { told, reason });
}

/** What others did in Discord, with the reason they gave there. */
const nativeActionSource = sourceOf<NativeAction & { userId: string }>({
  name: "native_action",
  kind: "native_action",
  async find(db, query) {
    const rows = await db.nativeAction.findMany(query);
    return rows.flatMap(({ userId, ...row }) => (userId === null ? [] : [{ ...row, userId }]));
  },
  total: (db, query) => db.nativeAction.count(query),
  time: "at",
  key: byId,
  about: ({ userIds }) => ({ userId: { in: [...userIds] } }),
  tell: (row) => ({ event: row.kind, summary: summaryOf(row), userId: row.userId, recordId: row.id, actorId: row.actorId }),
});

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
    summary: say("timeline.matches-a-record", { kind: term(row.kind), severity: term(row.severity) }),
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
    summary: say("timeline.no-longer-matches-a-record", { kind: term(row.kind), status: term(row.status) }),
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
    summary: say("timeline.a-request-was-filed", { kind: term(row.type) }),
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
    summary: say("timeline.a-request-was-decided", { kind: term(row.type), status: term(row.status) }),
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
    summary: say("timeline.a-case-was-opened", { kind: term(row.type) }),
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
    summary: say("timeline.a-case-was-closed", { kind: term(row.type), outcome: term(row.outcome ?? row.status) }),
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
