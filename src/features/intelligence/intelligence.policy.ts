import { z } from "zod";
import type { MemberState } from "../../discord/guild-state.ts";
import type { Match, UserServer } from "../../generated/sqlite/client.ts";
import type { Call } from "../../kernel/call.ts";
import { can } from "../../kernel/call.ts";
import type { UserRef } from "../../kernel/fields.ts";
import { isoOrNull } from "../../kernel/fields.ts";
import type { Clearance, FieldClasses } from "../../kernel/visibility.ts";
import { createVisibility, noClearance, seesRedactions } from "../../kernel/visibility.ts";
import type { MatchView, ServerRef, UserServerView } from "./intelligence.schema.ts";
import { matchKinds, matchStatuses } from "./intelligence.schema.ts";
import { severities } from "./match-record.ts";

/** Permissions of this room. */
export const intelligencePermissions = {
  servers: "users.servers.read",
  matches: "users.matches.read",
  /** Who may know which record stands behind a match or a server. */
  records: "blacklist.read",
} as const;

/** What is kept, encrypted, about a server of a person's list. */
export const ServerDetails = z.object({ id: z.string(), name: z.string(), icon: z.string().nullable() });
export type ServerDetails = z.infer<typeof ServerDetails>;

const refFields: FieldClasses<ServerRef> = {
  id: "public",
  name_snapshot: "public",
  icon: "public",
  status: "staff",
  merged_into: "public",
};

/** What of a server of a person's list is for whom. */
const serverFields: FieldClasses<UserServerView> = {
  server: refFields,
  relation: "public",
  tags: "public",
  agreements: "public",
  blacklist_id: "staff",
};
const visibleServer = createVisibility(serverFields);

/** What of a match is for whom. */
const matchFields: FieldClasses<MatchView> = {
  id: "public",
  user: "public",
  kind: "public",
  record_ref: "staff",
  server: refFields,
  severity: "public",
  confidence: "public",
  status: "public",
  why: "public",
  suggested_action: "public",
  first_seen_at: "public",
  last_seen_at: "public",
  closed_at: "public",
  grace_until: "public",
  resolution: "public",
  revision: "public",
};
const visibleMatch = createVisibility(matchFields);

/** @param userId the person it is about */
function clearanceFor(call: Call, userId: string): Clearance {
  return { ...noClearance, requester: call.actor?.id === userId, staff: can(call, intelligencePermissions.records) };
}

/** @param blacklistId the record in force about the server, or null */
export function presentUserServer(call: Call, row: UserServer, details: ServerDetails, blacklistId: string | null): UserServerView {
  return visibleServer(serverView(row, details, blacklistId), clearanceFor(call, row.userId), seesRedactions(call));
}

function serverView(row: UserServer, details: ServerDetails, blacklistId: string | null): UserServerView {
  return {
    server: {
      id: details.id,
      name_snapshot: details.name,
      icon: details.icon,
      status: blacklistId === null ? "known" : "blacklisted",
    },
    relation: {
      is_owner: row.relation === "owner",
      can_manage: row.relation !== "member",
      is_member: row.leftAt === null,
      joined_seen_first_at: row.firstSeenAt.toISOString(),
      last_seen_at: row.lastSeenAt.toISOString(),
      ...(row.leftAt !== null && { left_at: row.leftAt.toISOString() }),
    },
    tags: [],
    agreements: [],
    blacklist_id: blacklistId,
  };
}

const StoredWhy = z.array(z.object({ rule: z.string(), detail: z.string() }));
const StoredResolution = z.object({ by: z.string(), at: z.string(), reason: z.string() });
const resolved = new Set<string>(["acknowledged", "confirmed", "dismissed", "exempt"]);

/** @param details the matched server as the person's list names it, where the match has one */
export function presentMatch(call: Call, row: Match, user: UserRef, details: ServerDetails | undefined, now: Date): MatchView {
  return visibleMatch(matchView(row, user, details, now), clearanceFor(call, row.userId), seesRedactions(call));
}

function matchView(row: Match, user: UserRef, details: ServerDetails | undefined, now: Date): MatchView {
  const status = z.enum(matchStatuses).parse(statusAt(row, now));
  const resolution = StoredResolution.safeParse(row.resolution);
  return {
    id: row.id,
    user,
    kind: z.enum(matchKinds).parse(row.kind),
    record_ref: row.recordReference,
    ...(row.serverId !== null && { server: presentMatchedServer(row.serverId, details) }),
    severity: z.enum(severities).parse(row.severity),
    confidence: row.confidence,
    status,
    why: StoredWhy.parse(row.why),
    suggested_action: row.suggestedAction,
    first_seen_at: row.firstSeenAt.toISOString(),
    last_seen_at: row.lastSeenAt.toISOString(),
    closed_at: isoOrNull(row.closedAt),
    grace_until: isoOrNull(row.graceUntil),
    resolution: resolution.success && resolved.has(status) ? resolution.data : null,
    revision: row.revision,
  };
}

/** A grace period that is over reads as open; the row follows at the next recomputation. */
export function statusAt(row: Pick<Match, "status" | "graceUntil">, now: Date): string {
  return row.status === "grace" && row.graceUntil !== null && row.graceUntil <= now ? "open" : row.status;
}

function presentMatchedServer(id: string, details: ServerDetails | undefined): ServerRef {
  return { id, ...(details !== undefined && { name_snapshot: details.name, icon: details.icon }) };
}

/** A person as the guild state knows them now. */
export function presentUser(id: string, memberships: readonly MemberState[]): UserRef {
  const shown = memberships.find((membership) => membership.present) ?? memberships[0];
  return {
    id,
    ...(shown !== undefined && {
      username_snapshot: shown.username,
      display_name: shown.nick ?? shown.globalName ?? shown.username,
      ...(shown.avatar !== null && { avatar_url: `https://cdn.discordapp.com/avatars/${id}/${shown.avatar}.png` }),
    }),
    in_community: memberships.some((membership) => membership.present),
  };
}
