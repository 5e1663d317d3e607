import { severities } from "../../kernel/vocabulary.ts";
import { z } from "zod";
import type { MemberState } from "../../discord/guild-state.ts";
import type { Match } from "../../generated/sqlite/client.ts";
import { can, type Call } from "../../kernel/call.ts";
import { isoOrNull, type UserRef } from "../../kernel/fields.ts";
import { createVisibility, noClearance, seesRedactions, type Clearance, type FieldClasses } from "../../kernel/visibility.ts";
import { matchKinds, MatchResolution, matchStatuses, type MatchView, type ServerRef } from "./intelligence.schema.ts";

/** Permissions of this feature. */
export const intelligencePermissions = {
  servers: "users.servers.read",
  unlistedCount: "users.servers.read_unlisted_count",
  matches: "users.matches.read",
  resolve: "users.matches.resolve",
  /** Who may know through which account a record concerns somebody. */
  links: "users.links.read",
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

/** What of a match is for whom. */
const matchFields: FieldClasses<MatchView> = {
  id: "public",
  user: "public",
  kind: "public",
  record_ref: "staff",
  server: refFields,
  via_user_id: "decider",
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
const visible = createVisibility(matchFields);

/** @param userId the person it is about */
function clearanceFor(call: Call, userId: string): Clearance {
  return { ...noClearance, requester: call.actor?.id === userId, staff: can(call, intelligencePermissions.records) };
}

const StoredWhy = z.array(z.object({ rule: z.string(), detail: z.string() }));
const resolved = new Set<string>(["acknowledged", "confirmed", "dismissed", "exempt"]);

/** The match without what this viewer may not see. @param userId the person it is about */
export function visibleMatch(call: Call, view: MatchView, userId: string): MatchView {
  const [base, namesAccounts] = [clearanceFor(call, userId), can(call, intelligencePermissions.links)];
  // The record names the linked account: anyone who may not know the account is not led to it by the record.
  const staff = base.staff && (view.via_user_id === undefined || namesAccounts);
  return visible(view, { ...base, staff, decider: namesAccounts }, seesRedactions(call));
}

/**
 * The whole match. What leaves goes through {@link visibleMatch}.
 * @param details the matched server as the person's list names it, where the match has one
 */
export function matchView(row: Match, user: UserRef, details: ServerDetails | undefined, now: Date): MatchView {
  const status = z.enum(matchStatuses).parse(statusAt(row, now));
  const resolution = MatchResolution.safeParse(row.resolution);
  return {
    id: row.id,
    user,
    kind: z.enum(matchKinds).parse(row.kind),
    record_ref: row.recordReference,
    ...(row.serverId !== null && { server: presentMatchedServer(row.serverId, details) }),
    ...(row.viaUserId !== null && { via_user_id: row.viaUserId }),
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
