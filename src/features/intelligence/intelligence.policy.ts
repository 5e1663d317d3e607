import { z } from "zod";
import type { MemberState } from "../../discord/guild-state.ts";
import type { Match, UserServer } from "../../generated/sqlite/client.ts";
import type { Call } from "../../kernel/call.ts";
import { can } from "../../kernel/call.ts";
import type { UserRef } from "../../kernel/fields.ts";
import { isoOrNull } from "../../kernel/fields.ts";
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

/** @param blacklistId the record in force about the server, or null */
export function presentUserServer(call: Call, row: UserServer, details: ServerDetails, blacklistId: string | null): UserServerView {
  const mayKnow = can(call, intelligencePermissions.records);
  return {
    server: {
      id: details.id,
      name_snapshot: details.name,
      icon: details.icon,
      ...(mayKnow && { status: blacklistId === null ? ("known" as const) : ("blacklisted" as const) }),
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
    ...(mayKnow && { blacklist_id: blacklistId }),
  };
}

const StoredWhy = z.array(z.object({ rule: z.string(), detail: z.string() }));
const StoredResolution = z.object({ by: z.string(), at: z.string(), reason: z.string() });
const resolved = new Set<string>(["acknowledged", "confirmed", "dismissed", "exempt"]);

/** @param details the matched server as the person's list names it, where the match has one */
export function presentMatch(call: Call, row: Match, user: UserRef, details: ServerDetails | undefined, now: Date): MatchView {
  const status = z.enum(matchStatuses).parse(statusAt(row, now));
  const resolution = StoredResolution.safeParse(row.resolution);
  return {
    id: row.id,
    user,
    kind: z.enum(matchKinds).parse(row.kind),
    ...(can(call, intelligencePermissions.records) && { record_ref: row.recordReference }),
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
