import type { Freshness, GuildState, MemberState } from "../../discord/guild-state.ts";
import type { Call } from "../../kernel/call.ts";
import { can } from "../../kernel/call.ts";
import type { UserRef } from "../../kernel/fields.ts";
import { isoOrNull } from "../../kernel/fields.ts";
import type { Standing } from "../permissions/standing.ts";
import type { AccessView, ProfileView, StaffEntryView } from "./staff.schema.ts";

/** Who may call the verbs of this room; access and profile are open to the person they are about. */
export const staffPolicy = {
  access: "staff.access.read",
  profile: "staff.profile.read",
  list: "staff.read",
  roles: "staffroles.read",
  manageRoles: "staffroles.manage",
} as const;

/** What is kept about a colleague besides their roles. */
export interface ProfileRow {
  userId: string;
  department: string | null;
  timezone: string | null;
  revision: number;
}

/** Everything of an access answer but the time and the asked decisions. */
export type AccessContent = Omit<AccessView, "evaluated_at" | "decisions">;

const maxAgeSeconds = 30;

export function presentAccess(standing: Standing, known: ReadonlySet<string>, { stale, asOf }: Freshness): AccessContent {
  return {
    user_id: standing.id,
    allowed: hasAccess(standing),
    level: standing.level,
    rank: standing.rank,
    staff_roles: standing.held.map(({ role }) => role.key),
    permissions: [...known].filter((key) => standing.decide(key).allowed).toSorted(),
    denied: [...standing.explicitDenials],
    status: standing.status,
    reasons: [...standing.reasons],
    expires_at: isoOrNull(standing.expiresAt),
    ...(stale && { stale, as_of: isoOrNull(asOf) }),
    max_age_seconds: maxAgeSeconds,
  };
}

export function hasAccess({ isStaff, status }: Standing): boolean {
  return isStaff && status === "active";
}

/** The person as known now; the name kept from the last time they were seen stands beside it. */
export function presentUser(standing: Standing): UserRef {
  const { id, members, isInGuild } = standing;
  const [any] = members;
  const shown = members.find((member) => member.present) ?? any;
  return {
    id,
    ...(any !== undefined && { username_snapshot: any.username }),
    ...(shown !== undefined && { display_name: shown.nick ?? shown.globalName ?? shown.username }),
    ...(typeof shown?.avatar === "string" && { avatar_url: avatarUrl(shown) }),
    in_community: isInGuild,
  };
}

function avatarUrl({ userId, avatar }: MemberState): string {
  return `https://cdn.discordapp.com/avatars/${userId}/${avatar ?? ""}.png`;
}

export function presentProfile(
  call: Call,
  standing: Standing,
  row: ProfileRow | null,
  guilds: ReturnType<GuildState["guilds"]>,
): ProfileView {
  const names = new Map(guilds.map((guild) => [guild.id, guild.name]));
  return {
    user: presentUser(standing),
    level: standing.level,
    rank: standing.rank,
    status: standing.status ?? "former",
    staff_roles: standing.held.map(({ role: { key, name, rank, level } }) => ({ key, name, rank, level })),
    department: row?.department ?? null,
    timezone: row?.timezone ?? null,
    ...(can(call, staffPolicy.profile) && {
      guilds: standing.members.map(({ guildId, nick, joinedAt, present }) => ({
        guild_id: guildId,
        name: names.get(guildId) ?? null,
        nick,
        joined_at: isoOrNull(joinedAt),
        present,
      })),
    }),
    revision: row?.revision ?? 0,
  };
}

export function presentEntry(standing: Standing, row: ProfileRow | undefined): StaffEntryView {
  return {
    user: presentUser(standing),
    level: standing.level,
    rank: standing.rank,
    status: standing.status ?? "former",
    staff_roles: standing.held.map(({ role }) => role.key),
    department: row?.department ?? null,
    timezone: row?.timezone ?? null,
  };
}
