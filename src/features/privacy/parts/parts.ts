import type {
  AccountLink,
  Authorization,
  AuthorizationSession,
  BlacklistRecord,
  CallsignSlot,
  Case,
  CaseSubject,
  EvidenceItem,
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
} from "../../../generated/sqlite/client.ts";
import { isoOrNull } from "../../../kernel/fields.ts";
import { blacklistReference, caseReference, jsonObject, textsOf } from "../../../kernel/parsing.ts";
import { onWire } from "../../../kernel/wire.ts";
import { ownWordsOf } from "../../../kernel/message-text.ts";
import type { StoredMessage } from "../../evidence/rows.ts";
import type { Access } from "../../permissions/access/access-directory.ts";
import type { CheckView } from "../../workflows/requests/workflows.schema.ts";
import type { DataExportView } from "../privacy.schema.ts";

type EntryOf<Section extends { entries: readonly unknown[] }> = Section["entries"][number];
type RequestPart = EntryOf<DataExportView["requests"]>;
type RequestRow = WorkflowRequest & { comments: WorkflowComment[]; steps: WorkflowStep[] };
type Staff = NonNullable<DataExportView["staff"]>;

/** What is stored of somebody who works or worked here. */
export interface StaffRows {
  profile: StaffProfile | null;
  entries: readonly UserPermission[];
  roster: (RosterEntry & { events: RosterEvent[] }) | null;
  callsigns: readonly CallsignSlot[];
}

/** How each row is told to the person it is about: by name, field by field, so that a new column is told only on purpose. */
export const parts = {
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
