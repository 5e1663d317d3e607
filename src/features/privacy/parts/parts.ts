import type {
  AccountLink,
  Authorization,
  AuthorizationSession,
  BlacklistRecord,
  CallsignSlot,
  Case,
  EvidenceItem,
  GuildMember,
  Match,
  RosterEntry,
  RosterEvent,
  StaffProfile,
  UserPermission,
  UserServer,
  WorkflowComment,
  WorkflowRequest,
} from "../../../generated/sqlite/client.ts";
import { isoOrNull } from "../../../kernel/fields.ts";
import { blacklistReference, caseReference, textsOf } from "../../../kernel/parsing.ts";
import type { StoredMessage } from "../../evidence/rows.ts";
import type { Standing } from "../../permissions/standing/standing.ts";
import type { DataExportView } from "../privacy.schema.ts";

type EntryOf<Section extends { entries: readonly unknown[] }> = Section["entries"][number];
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
    consent_version: row.consentVersion,
    granted_at: row.grantedAt.toISOString(),
    last_refreshed_at: isoOrNull(row.refreshedAt),
    expires_at: isoOrNull(row.expiresAt),
    ended_at: isoOrNull(row.endedAt),
  }),

  session: (row: AuthorizationSession): EntryOf<DataExportView["sessions"]> => ({
    id: row.id,
    purpose: row.purpose,
    status: row.status,
    failure: row.failure,
    scopes: textsOf(row.scopes),
    detail: row.detail,
    created_at: row.createdAt.toISOString(),
    opened_at: isoOrNull(row.openedAt),
    ended_at: isoOrNull(row.endedAt),
    expires_at: row.expiresAt.toISOString(),
  }),

  server: (row: UserServer, { id, name }: { id: string; name: string }): EntryOf<DataExportView["servers"]> => ({
    id,
    name,
    relation: row.relation,
    first_seen_at: row.firstSeenAt.toISOString(),
    last_seen_at: row.lastSeenAt.toISOString(),
    left_at: isoOrNull(row.leftAt),
  }),

  match: (row: Match): EntryOf<DataExportView["matches"]> => ({
    kind: row.kind,
    status: row.status,
    severity: row.severity,
    rules: rulesOf(row.why),
    first_seen_at: row.firstSeenAt.toISOString(),
    last_seen_at: row.lastSeenAt.toISOString(),
    grace_until: isoOrNull(row.graceUntil),
    closed_at: isoOrNull(row.closedAt),
  }),

  link: (row: AccountLink): EntryOf<DataExportView["linked_accounts"]> => ({
    kind: row.kind === "declared_alt" ? "declared" : "confirmed",
    since: row.createdAt.toISOString(),
    ended_at: isoOrNull(row.endedAt),
  }),

  request: (row: WorkflowRequest & { comments: WorkflowComment[] }, userId: string): EntryOf<DataExportView["requests"]> => ({
    reference: row.reference,
    type: row.type,
    role: row.requesterId === userId ? "requester" : "subject",
    status: row.status,
    created_at: row.createdAt.toISOString(),
    decided_at: isoOrNull(row.decidedAt),
    comments: row.comments.map(({ createdAt, body }) => ({ at: createdAt.toISOString(), body })),
  }),

  blacklist: (row: BlacklistRecord): EntryOf<DataExportView["blacklist"]> => ({
    number: blacklistReference(row.number),
    status: row.status,
    category: row.category,
    severity: row.severity,
    reason_public: row.reasonPublic,
    starts_at: row.startsAt.toISOString(),
    expires_at: isoOrNull(row.expiresAt),
    created_at: row.createdAt.toISOString(),
    revoked_at: isoOrNull(row.revokedAt),
    appeal: appealWords[row.status] ?? "It is over; there is nothing to appeal.",
  }),

  case: (row: Case): EntryOf<DataExportView["cases"]> => ({
    number: caseReference(row.number),
    type: row.type,
    status: row.status,
    outcome: row.outcome,
    created_at: row.createdAt.toISOString(),
    closed_at: isoOrNull(row.closedAt),
  }),

  message: ({ message, capturedAt }: EvidenceItem): EntryOf<DataExportView["messages"]> => {
    const { guild_id, channel_id, message_id, sent_at, content } = message as unknown as StoredMessage;
    return { guild_id, channel_id, message_id, sent_at, content, captured_at: capturedAt.toISOString() };
  },

  member: (row: GuildMember): EntryOf<DataExportView["memberships"]> => ({
    guild_id: row.guildId,
    username: row.username,
    display_name: row.globalName,
    nickname: row.nick,
    role_ids: textsOf(row.roleIds),
    present: row.present,
    joined_at: isoOrNull(row.joinedAt),
  }),

  staff: ({ held }: Standing, { profile, entries, roster, callsigns }: StaffRows): Staff => ({
    roles: held.map(({ role: { key, name, level } }) => ({ key, name, level })),
    department: profile?.department ?? null,
    timezone: profile?.timezone ?? null,
    availability: profile?.availability ?? null,
    quiet_hours: profile?.quietHours ?? null,
    leave:
      profile === null || profile.leaveFrom === null
        ? null
        : { from: profile.leaveFrom.toISOString(), until: isoOrNull(profile.leaveUntil), reason: profile.leaveReason },
    permissions: entries.map(({ permission, effect, guildId, createdAt, expiresAt }) => ({
      permission,
      effect,
      guild_id: guildId,
      created_at: createdAt.toISOString(),
      expires_at: isoOrNull(expiresAt),
    })),
    roster: roster === null ? null : rosterPart(roster),
    callsigns: callsigns.map((slot) => ({
      callsign: slot.callsign,
      state: slot.state,
      since: slot.since.toISOString(),
      until: isoOrNull(slot.until),
    })),
  }),
} as const;

/** Who did it and why is the staff's own matter. */
function rosterPart(row: RosterEntry & { events: RosterEvent[] }): Staff["roster"] {
  return {
    status: row.status,
    staff_role: row.staffRole,
    department: row.department,
    joined_at: isoOrNull(row.joinedAt),
    trial_ends_at: isoOrNull(row.trialEndsAt),
    suspended_until: isoOrNull(row.suspendedUntil),
    ended_at: isoOrNull(row.endedAt),
    history: row.events.map(({ event, effectiveAt }) => ({ event, at: effectiveAt.toISOString() })),
  };
}

const appealWords: Readonly<Record<string, string>> = {
  active: "Ask the staff of the community to file an appeal for you, and name this number.",
  scheduled: "Ask the staff of the community to file an appeal for you, and name this number.",
};

/** The names of the rules alone: their details may speak of others. */
function rulesOf(why: unknown): string[] {
  if (!Array.isArray(why)) return [];
  return why.flatMap((one: unknown) => {
    const rule = typeof one === "object" && one !== null && "rule" in one ? one.rule : undefined;
    return typeof rule === "string" ? [rule] : [];
  });
}
