import { say } from "../../kit/say.ts";
import type { Database, ReadClient } from "../../database/database.ts";
import type { Call } from "../../kernel/call.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { UserServersService } from "../intelligence/user-servers/user-servers.service.ts";
import type { AccessDirectory, Access } from "../permissions/access/access-directory.ts";
import { caseReference, blacklistReference, jsonObject, textsOf } from "../../kernel/parsing.ts";
import { callOfPerson } from "./privacy.policy.ts";
import { exportLimit, type DataExportView } from "./privacy.schema.ts";
import type {
  EvidenceItem,
  Prisma,
  AccountLink,
  Authorization,
  AuthorizationSession,
  BlacklistRecord,
  CallsignSlot,
  Case,
  CaseSubject,
  GuildMember,
  Match,
  NativeAction,
  RosterEntry,
  RosterEvent,
  StaffProfile,
  UserPermission,
  UserServer,
  WorkflowComment,
  WorkflowRequest,
  WorkflowStep,
} from "../../generated/sqlite/client.ts";
import { isoOrNull } from "../../kernel/fields.ts";
import { onWire } from "../../kernel/wire.ts";
import { ownWordsOf } from "../../kernel/message-text.ts";
import type { StoredMessage } from "../evidence/rows.ts";
import type { CheckView } from "../workflows/requests/workflows.schema.ts";

type EntryOf<Section extends { entries: readonly unknown[] }> = Section["entries"][number];
type RequestPart = EntryOf<DataExportView["requests"]>;
type RequestRow = WorkflowRequest & { comments: WorkflowComment[]; steps: WorkflowStep[] };
type Staff = NonNullable<DataExportView["staff"]>;

/** What is stored of somebody who works or worked here. */
interface StaffRows {
  profile: StaffProfile | null;
  entries: readonly UserPermission[];
  roster: (RosterEntry & { events: RosterEvent[] }) | null;
  callsigns: readonly CallsignSlot[];
}

/** How each row is told to the person it is about: by name, field by field, so that a new column is told only on purpose. */
const parts = {
  authorization: (row: Authorization): DataExportView["authorization"] => ({
    status: row.status,
    scopes: textsOf(row.scopes),
    detail: row.detail,
    purposes: textsOf(row.purposes),
    ...onWire(row, "consentVersion", "grantedAt"),
    last_refreshed_at: isoOrNull(row.refreshedAt),
    ...onWire(row, "expiresAt", "endedAt"),
  }),

  session: (row: AuthorizationSession): EntryOf<DataExportView["sessions"]> => ({
    ...onWire(row, "id", "purpose", "status", "failure"),
    scopes: textsOf(row.scopes),
    ...onWire(row, "detail", "createdAt", "openedAt", "endedAt", "expiresAt"),
  }),

  server: (row: UserServer, { id, name }: { id: string; name: string }): EntryOf<DataExportView["servers"]> => ({
    id,
    name,
    ...onWire(row, "relation", "firstSeenAt", "lastSeenAt", "leftAt"),
  }),

  match: (row: Match): EntryOf<DataExportView["matches"]> => ({
    ...onWire(row, "kind", "status", "severity"),
    rules: rulesOf(row.why),
    ...onWire(row, "firstSeenAt", "lastSeenAt", "graceUntil", "closedAt"),
  }),

  link: (row: AccountLink): EntryOf<DataExportView["linked_accounts"]> => ({
    kind: row.kind === "declared_alt" ? "declared" : "confirmed",
    since: row.createdAt.toISOString(),
    ended_at: isoOrNull(row.endedAt),
  }),

  request: (row: RequestRow, userId: string): EntryOf<DataExportView["requests"]> => ({
    ...onWire(row, "reference", "type"),
    role: row.requesterId === userId ? "requester" : "subject",
    ...onWire(row, "status", "createdAt", "decidedAt"),
    ...ownWords(row, userId),
    comments: row.comments.map(({ createdAt, body }) => ({ at: createdAt.toISOString(), body })),
    checks: consentedChecks(row.checks, userId),
  }),

  blacklist: (row: BlacklistRecord): EntryOf<DataExportView["blacklist"]> => ({
    number: blacklistReference(row.number),
    ...onWire(row, "subjectName", "status", "category", "severity", "reasonPublic", "startsAt", "expiresAt", "createdAt", "revokedAt"),
    appeal: appealWords[row.status] ?? "It is over; there is nothing to appeal.",
  }),

  case: (row: Case & { subjects: readonly CaseSubject[] }): EntryOf<DataExportView["cases"]> => ({
    number: caseReference(row.number),
    subject_name: row.subjects[0]?.name ?? null,
    ...onWire(row, "type", "status", "outcome", "createdAt", "closedAt"),
  }),

  /** What a captured message has of a person: what they wrote, and what they wrote that somebody replied to. */
  messages({ message, capturedAt }: EvidenceItem, userId: string): EntryOf<DataExportView["messages"]>[] {
    const { guild_id, channel_id, message_id, author_id, sent_at, content, parts = {} } = message as unknown as StoredMessage;
    const captured_at = capturedAt.toISOString();
    const own = { guild_id, channel_id, message_id, sent_at, content, text: ownWordsOf({ content: content ?? "", parts }), captured_at };
    const reply = parts.reply_to;
    const replied = {
      guild_id,
      channel_id: reply?.channel_id ?? channel_id,
      message_id: reply?.message_id ?? message_id,
      sent_at: reply?.sent_at ?? sent_at,
      content: reply?.content ?? "",
      text: ownWordsOf({ content: reply?.content ?? "", parts: reply ?? {} }),
      captured_at,
    };
    return [...(author_id === userId ? [own] : []), ...(reply?.author_id === userId ? [replied] : [])];
  },

  member: (row: GuildMember): EntryOf<DataExportView["memberships"]> => ({
    ...onWire(row, "guildId", "username"),
    display_name: row.globalName,
    nickname: row.nick,
    role_ids: textsOf(row.roleIds),
    ...onWire(row, "present", "joinedAt"),
  }),

  nativeAction: ({ kind, ...row }: NativeAction): EntryOf<DataExportView["native_actions"]> => ({
    action: kind,
    ...onWire(row, "guildId", "at", "until"),
  }),

  staff: ({ held }: Access, { profile, entries, roster, callsigns }: StaffRows): Staff => ({
    roles: held.map(({ role }) => onWire(role, "key", "name", "level")),
    department: profile?.department ?? null,
    timezone: profile?.timezone ?? null,
    availability: profile?.availability ?? null,
    quiet_hours: profile?.quietHours ?? null,
    leave:
      profile === null || profile.leaveFrom === null
        ? null
        : { from: profile.leaveFrom.toISOString(), until: isoOrNull(profile.leaveUntil), reason: profile.leaveReason },
    permissions: entries.map((entry) => onWire(entry, "permission", "effect", "guildId", "reason", "createdAt", "expiresAt")),
    roster: roster === null ? null : rosterPart(roster),
    callsigns: callsigns.map((slot) => onWire(slot, "callsign", "state", "since", "until")),
  }),
} as const;

/** Who did it and why is the staff's own matter. */
function rosterPart(row: RosterEntry & { events: RosterEvent[] }): Staff["roster"] {
  return {
    ...onWire(row, "status", "staffRole", "department", "nickname", "joinedAt", "trialEndsAt", "suspendedUntil", "endedAt"),
    history: row.events.map(({ event, effectiveAt }) => ({ event, at: effectiveAt.toISOString() })),
  };
}

/** What a person filed, in their words, and what they were told about it. An interview is the staff's own. */
function ownWords(row: RequestRow, userId: string): Pick<RequestPart, "answers" | "payload" | "requester_name" | "summary"> {
  if (row.requesterId !== userId) return { requester_name: null, summary: null, payload: null, answers: [] };
  const { interview: _interview, ...payload } = jsonObject(row.payload);
  const answers = row.steps.flatMap(({ at, notePublic }) => (notePublic === null ? [] : [{ at: at.toISOString(), text: notePublic }]));
  return { requester_name: row.requesterName, summary: row.summary, payload, answers };
}

/** What counts matches through other accounts could tell that staff suspect one: the matches themselves are told apart from those. */
function consentedChecks(stored: unknown, userId: string): RequestPart["checks"] {
  const own = ((stored ?? []) as CheckView[]).filter(({ consent_of: of, through_accounts: others }) => of === userId && others !== true);
  return own.map(({ key, result, detail, at }) => ({ key, result, detail, at }));
}

const appealable = "Appeal at the page /appeal of this service, or ask the staff of the community to file an appeal for you.";
const appealWords: Readonly<Record<string, string>> = { active: appealable, scheduled: appealable, suspended: appealable };

/** The names of the rules alone: their details may speak of others. */
function rulesOf(why: unknown): string[] {
  if (!Array.isArray(why)) return [];
  return why.flatMap((one: unknown) => {
    const rule = typeof one === "object" && one !== null && "rule" in one ? one.rule : undefined;
    return typeof rule === "string" ? [rule] : [];
  });
}

export interface ExportDeps {
  read: ReadClient;
  dialect: Database["dialect"];
  servers: Pick<UserServersService, "detailsOf">;
  access: Pick<AccessDirectory, "of">;
  /** Ids of the requests a caller may not know of. */
  hiddenRequests: (call: Call) => Promise<readonly string[]>;
  clock: Clock;
}

const take = exportLimit + 1;
const newest = { createdAt: "desc" } as const;

/** @returns makes the export of one person; the same one no matter who asks */
export function createExporter(deps: ExportDeps) {
  const { read, hiddenRequests, clock } = deps;
  return async (call: Call, userId: string): Promise<DataExportView> => {
    const secret = new Set(await hiddenRequests(callOfPerson(call, userId)));
    const about = { OR: [{ requesterId: userId }, { subjects: { some: { kind: "user", subjectId: userId } } }] };
    const theirs = secret.size === 0 ? [] : await read.workflowRequest.findMany({ where: about, select: { id: true } });
    const hidden = theirs.flatMap(({ id }) => (secret.has(id) ? [id] : []));
    const [grant, sessions, requests, records, cases, members, nativeActions] = await Promise.all([
      read.authorization.findUnique({ where: { userId } }),
      read.authorizationSession.findMany({ where: { userId }, orderBy: newest, take }),
      read.workflowRequest.findMany({
        where: { AND: [about, { id: { notIn: hidden } }] },
        // What staff write among themselves is theirs, also where the person is one of them.
        include: {
          comments: { where: { authorId: userId, visibility: "requester" }, orderBy: { createdAt: "asc" }, take },
          steps: { where: { notePublic: { not: null } }, orderBy: { revision: "asc" }, take },
        },
        orderBy: newest,
        take,
      }),
      read.blacklistRecord.findMany({ where: { kind: "user", subjectId: userId }, orderBy: newest, take }),
      read.case.findMany({
        where: casesAbout(userId),
        include: { subjects: { where: casesAbout(userId).subjects.some } },
        orderBy: newest,
        take,
      }),
      read.guildMember.findMany({ where: { userId }, orderBy: { guildId: "asc" }, take }),
      read.nativeAction.findMany({ where: { userId }, orderBy: { at: "desc" }, take }),
    ]);
    return {
      discord_user_id: userId,
      made_at: clock.now().toISOString(),
      authorization: grant === null ? null : parts.authorization(grant),
      sessions: section(sessions, parts.session),
      servers: await serversOf(deps, userId),
      ...(await linksAndMatches(deps, userId)),
      requests: section(requests, (row) => parts.request(row, userId)),
      blacklist: section(records, parts.blacklist),
      cases: section(cases, parts.case),
      messages: section(
        (await messagesBy(deps, userId, { hiddenRequests: hidden, take })).flatMap((row) => parts.messages(row, userId)),
        (entry) => entry,
      ),
      staff: await staffOf(deps, userId),
      memberships: section(members, parts.member),
      native_actions: section(nativeActions, parts.nativeAction),
      reads: await readsOf(deps, userId),
      audit: await auditOf(read, userId, [...hidden, ...(await confidentialMatters(read, userId))]),
    };
  };
}

function section<Row, Entry>(rows: readonly Row[], present: (row: Row) => Entry): { entries: Entry[]; truncated?: true } {
  return { entries: rows.slice(0, exportLimit).map(present), ...(rows.length > exportLimit && { truncated: true }) };
}

/** What a confidential case is about is not for the person to learn, and one in the bin is over. */
function casesAbout(userId: string) {
  return { isConfidential: false, deletedAt: null, subjects: { some: { kind: "user", subjectId: userId } } };
}

/** Confidential cases about a person or with something done about them, and what these led somebody to suggest. */
async function confidentialMatters(read: ReadClient, userId: string): Promise<string[]> {
  const { subjects } = casesAbout(userId);
  const where = { isConfidential: true, OR: [{ subjects }, { actions: { some: { userId } } }] };
  const cases = await read.case.findMany({ where, select: { id: true, number: true } });
  const causeReference = { in: cases.map(({ number }) => caseReference(number)) };
  const drafts = await read.requestDraft.findMany({ where: { subjectId: userId, causeReference }, select: { id: true } });
  return [...cases, ...drafts].map(({ id }) => id);
}

async function serversOf({ read, servers }: ExportDeps, userId: string): Promise<DataExportView["servers"]> {
  const where = { userId, details: { not: null } };
  const [rows, listed] = await Promise.all([
    read.userServer.findMany({ where, orderBy: { lastSeenAt: "desc" }, take }),
    read.userServer.count({ where: { userId, details: null } }),
  ]);
  const details = await servers.detailsOf(
    userId,
    rows.map((row) => row.serverHash),
  );
  const readable = rows.flatMap((row) => {
    const found = details.get(row.serverHash);
    return found === undefined ? [] : [parts.server(row, found)];
  });
  // One that cannot be opened is known by its hash alone, like those of which no more is kept.
  return { ...section(readable, (entry) => entry), listed: listed + rows.length - readable.length };
}

/** What came of an account that only staff connect with the person says nothing of it. */
async function linksAndMatches({ read }: ExportDeps, userId: string): Promise<Pick<DataExportView, "linked_accounts" | "matches">> {
  const links = await read.accountLink.findMany({
    where: {
      AND: [{ OR: [{ userA: userId }, { userB: userId }] }, { OR: [{ confidence: "confirmed" }, { kind: "declared_alt" }] }],
    },
    orderBy: newest,
    take,
  });
  const known = links.filter(({ status }) => status === "active").map(({ userA, userB }) => (userA === userId ? userB : userA));
  const matches = await read.match.findMany({
    where: { userId, OR: [{ viaUserId: null }, { viaUserId: { in: known } }] },
    orderBy: { firstSeenAt: "desc" },
    take,
  });
  return { linked_accounts: section(links, parts.link), matches: section(matches, parts.match) };
}

async function staffOf({ read, access }: ExportDeps, userId: string): Promise<DataExportView["staff"]> {
  const person = access.of(userId);
  const [profile, entries, roster, callsigns] = await Promise.all([
    read.staffProfile.findUnique({ where: { userId } }),
    read.userPermission.findMany({ where: { userId }, orderBy: newest, take: exportLimit }),
    read.rosterEntry.findUnique({ where: { userId }, include: { events: { orderBy: { effectiveAt: "desc" }, take: exportLimit } } }),
    read.callsignSlot.findMany({ where: { userId }, orderBy: newest, take: exportLimit }),
  ]);
  if (!person.isStaff && profile === null && roster === null && entries.length + callsigns.length === 0) return null;
  return parts.staff(person, { profile, entries, roster, callsigns });
}

async function readsOf({ read, access }: ExportDeps, userId: string): Promise<DataExportView["reads"]> {
  const rows = await read.dataRead.findMany({ where: { userId }, orderBy: [{ hour: "desc" }, { at: "desc" }], take });
  const clientIds = [...new Set(rows.map((row) => row.clientId))];
  const keys = await read.apiKey.findMany({ where: { id: { in: clientIds } }, select: { id: true, name: true } });
  const programs = new Map(keys.map(({ id, name }) => [id, name]));
  const nameOf = (readerId: string, clientId: string): string => {
    if (readerId === "") {
      const name = programs.get(clientId);
      return name === undefined ? say("privacy.gone-client") : say("privacy.a-moderation-client", { name });
    }
    const [member] = access.of(readerId).members;
    return member?.nick ?? member?.globalName ?? member?.username ?? say("privacy.a-staff-member");
  };
  return section(rows, ({ readerId, clientId, what, hour }) => ({ reader: nameOf(readerId, clientId), what, hour: hour.toISOString() }));
}

/** Links are left out: that staff suspect one is not for the person to learn from the audit. */
async function auditOf(read: ReadClient, userId: string, hidden: readonly string[]): Promise<DataExportView["audit"]> {
  const isTold = { OR: [{ targetKind: null }, { NOT: { OR: [{ targetKind: "account_link" }, { targetId: { in: [...hidden] } }] } }] };
  const rows = await read.auditEntry.findMany({
    where: { AND: [{ subjectUserId: userId }, isTold] },
    select: { at: true, action: true },
    orderBy: { seq: "desc" },
    take,
  });
  return section(rows, ({ at, action }) => ({ at: at.toISOString(), action }));
}

/** Rows that are looked through together. */
const slice = 500;

/**
 * Captured messages a person wrote, or that reply to one of theirs, newest first: those the service fetched itself, that were not redacted and are not kept
 * confidential, nor on a record the person may not know of.
 * @param hiddenRequests ids of requests the person may not know of
 */
export async function messagesBy(
  { read, dialect }: Pick<Database, "dialect" | "read">,
  userId: string,
  { hiddenRequests, take }: { hiddenRequests: readonly string[]; take: number },
): Promise<EvidenceItem[]> {
  const isHidden = new Set(hiddenRequests);
  const found: EvidenceItem[] = [];
  for (let before: string | undefined; found.length < take;) {
    const rows = await read.evidenceItem.findMany({
      where: {
        kind: "message",
        isVerified: true,
        isConfidential: false,
        redactedAt: null,
        OR: authorPaths.map((path) => ({ message: writtenBy(dialect, path, userId) })),
        ...(before !== undefined && { id: { lt: before } }),
      },
      orderBy: { id: "desc" },
      take: slice,
    });
    const secret = await confidentialCases(read, rows);
    found.push(...rows.filter((row) => !secret.has(row.recordId) && !isHidden.has(row.recordId)));
    if (rows.length < slice) break;
    before = rows.at(-1)?.id;
  }
  return found.slice(0, take);
}

/** Where a captured message has who wrote it, and who wrote what it replies to. */
const authorPaths = [["author_id"], ["parts", "reply_to", "author_id"]] as const;

/** Each database has its own way to name a part of JSON. */
function writtenBy(dialect: Database["dialect"], path: readonly string[], userId: string): Prisma.JsonNullableFilter {
  return { path: dialect === "sqlite" ? ["$", ...path].join(".") : [...path], equals: userId } as Prisma.JsonNullableFilter;
}

async function confidentialCases(read: Database["read"], rows: readonly EvidenceItem[]): Promise<Set<string>> {
  const ids = rows.flatMap(({ recordKind, recordId }) => (recordKind === "case" ? [recordId] : []));
  const cases = await read.case.findMany({ where: { id: { in: [...new Set(ids)] }, isConfidential: true }, select: { id: true } });
  return new Set(cases.map(({ id }) => id));
}
