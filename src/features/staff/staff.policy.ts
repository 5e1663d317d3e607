import { say } from "../../kit/say.ts";
import type { Freshness, MemberState } from "../../discord/guild-state.ts";
import { notStaff, requireAnswered, requireWrite, type Call } from "../../kernel/call.ts";
import { ProblemError, recordNotFound } from "../../kernel/errors.ts";
import { isoOrNull, type UserRef } from "../../kernel/fields.ts";
import type { PermissionsService } from "../permissions/permissions.service.ts";
import type { Access, AccessDirectory } from "../permissions/access/access-directory.ts";
import type { AccessView, StaffEntryView } from "./staff.schema.ts";

/** Who may call the service methods of this feature; access, profile and leave are open to the person they are about. */
export const staffPolicy = {
  access: "staff.access.read",
  profile: "staff.profile.read",
  list: "staff.read",
  roles: "staffroles.read",
  manageRoles: "staffroles.manage",
  manage: "staff.manage",
  suspend: "staff.suspend",
  stats: "staff.stats",
  discipline: "staff.discipline",
} as const;

/**
 * Somebody who is or was staff, asking Discord where memory does not tell.
 * @throws ProblemError record_not_found for somebody who never was, discord_unavailable
 */
export async function findColleague(access: Pick<AccessDirectory, "resolve">, userId: string): Promise<Access> {
  const found = await access.resolve(userId);
  requireAnswered(found);
  if (found.status === null) throw recordNotFound();
  return found;
}

/**
 * Staff manage those below them, and themselves as far as that is allowed: for this they need no permission, but access.
 * @param options.isOwnAllowed whether people may do this about themselves
 * @throws ProblemError acting_user_not_staff, permission_denied, hierarchy_violation
 */
export function requireMayManage(
  call: Call,
  target: Access,
  { requireRankAbove }: Pick<PermissionsService, "requireRankAbove">,
  { isOwnAllowed }: { isOwnAllowed: boolean },
): void {
  if (call.actor?.id !== target.id || !isOwnAllowed) {
    requireWrite(call, staffPolicy.manage);
    return requireRankAbove(call, target.rank);
  }
  if (!target.isStaff) throw notStaff(target);
  if (target.isBarred) throw withoutAccess();
}

/** What the audit says about why somebody may manage: about oneself no permission was needed. */
export function permissionUsed(call: Call, userId: string): { permission?: string } {
  return call.actor?.id === userId ? {} : { permission: staffPolicy.manage };
}

/** The refusal of a change that somebody's access does not allow. @param known what the caller is told besides */
export function illegal(from: string | null, action: string, allowed: string[], known: object = {}): ProblemError {
  return new ProblemError("invalid_transition", { extra: { from, action, allowed, ...known } });
}

/** The refusal of somebody whose every permission is taken away for now. */
export function withoutAccess(): ProblemError {
  return new ProblemError("permission_denied", {
    detail: say("staff.the-acting-user-has-no-access-at"),
    extra: { required: staffPolicy.manage, missing_in: "acting_user" },
  });
}

/** Everything of an access answer but the time and the asked decisions. */
export type AccessContent = Omit<AccessView, "evaluated_at" | "decisions">;

const maxAgeSeconds = 30;

/** @param guildId counts entries limited to this guild, too */
export function presentAccess(access: Access, known: ReadonlySet<string>, { stale, asOf }: Freshness, guildId?: string): AccessContent {
  return {
    user_id: access.id,
    ...(guildId !== undefined && { guild_id: guildId }),
    allowed: hasAccess(access),
    level: access.level,
    rank: access.rank,
    staff_roles: access.held.map(({ role }) => role.key),
    permissions: [...known].filter((key) => access.decide(key, guildId).allowed).toSorted(),
    denied: guildId === undefined ? [...access.explicitDenials] : denialsIn(access, guildId),
    status: access.status,
    reasons: [...access.reasons],
    expires_at: isoOrNull(access.expiresAt),
    ...(stale && { stale, as_of: isoOrNull(asOf) }),
    ...(access.isUnanswered && { stale: true, as_of: null }),
    max_age_seconds: access.isUnanswered ? 0 : maxAgeSeconds,
  };
}

/** What is denied in one guild: entries limited to it count, and may give back what a role denies. */
function denialsIn({ explicitDenials, overrides, isOwner, isBarred, decide }: Access, guildId: string): string[] {
  if (isOwner || isBarred) return [...explicitDenials];
  const local = overrides.filter((entry) => entry.guildId === guildId && entry.effect === "deny").map((entry) => entry.permission);
  return [...new Set([...explicitDenials, ...local])].filter((key) => !decide(key, guildId).allowed).toSorted();
}

/** Leave alone takes nobody's access away, unless this installation says so. */
export function hasAccess({ isStaff, status, isBarred }: Access): boolean {
  return isStaff && status !== "former" && !isBarred;
}

/** The person as known now; the name kept from the last time they were seen stands beside it. */
export function presentUser(access: Access): UserRef {
  const { id, members, isInGuild } = access;
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

/** @param parts what of a profile an entry of the list shows */
export function presentEntry(access: Access, parts: Pick<StaffEntryView, "department" | "timezone" | "available">): StaffEntryView {
  return {
    user: presentUser(access),
    level: access.level,
    rank: access.rank,
    status: access.status ?? "former",
    staff_roles: access.held.map(({ role }) => role.key),
    ...parts,
  };
}
