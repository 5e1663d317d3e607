import type { CallsignSlot, RosterEntry, StaffProfile } from "../../generated/sqlite/client.ts";
import { can, type Call } from "../../kernel/call.ts";
import { isoOrNull, type UserRef } from "../../kernel/fields.ts";
import { createVisibility, noClearance, seesRedactions, type FieldClasses } from "../../kernel/visibility.ts";
import type { Access, AccessDirectory } from "../permissions/access/access-directory.ts";
import { factsOf } from "./facts.ts";
import type { driftCodes, EntryView } from "./roster.schema.ts";
import { isLive } from "./states.ts";
import { hasLostRoles } from "./sync/diff.ts";
import { statusesFrom } from "./patch.ts";

/** Who may call the service methods of the roster. */
export const rosterPolicy = { read: "roster.read", history: "roster.history", edit: "roster.edit", correct: "roster.apply_fixes" } as const;

/** The cause of what came from a request or case that the reader may not know of. */
export const hiddenCause = "confidential";

/** What an entry is shown with, by person. */
export interface EntrySurroundings {
  access: Pick<AccessDirectory, "of" | "role">;
  now: Date;
  profiles: ReadonlyMap<string, StaffProfile>;
  callsigns: ReadonlyMap<string, readonly CallsignSlot[]>;
  seen: ReadonlyMap<string, Date>;
}

/** The whole entry; what leaves goes through {@link visibleEntry}. */
export function presentEntry(row: RosterEntry, surroundings: EntrySurroundings): EntryView {
  const { access, now, profiles, callsigns, seen } = surroundings;
  const { staff_role, supervisor_id, ...facts } = factsOf(row);
  const person = access.of(row.userId);
  return {
    state: "present",
    id: row.id,
    user: userRef(person),
    ...facts,
    staff_role,
    rank: staff_role === null ? null : (access.role(staff_role)?.rank ?? null),
    callsigns: (callsigns.get(row.userId) ?? []).map(({ callsign, pool }) => ({ callsign, pool })),
    loa: leaveOf(profiles.get(row.userId), now),
    last_seen_at: dayOf(seen.get(row.userId)),
    supervisor: supervisor_id === null ? null : userRef(access.of(supervisor_id)),
    discord: shownBy(row, person),
    notes: row.notes,
    allowed_moves: [],
    revision: row.revision,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  };
}

/** A person as known now. */
export function userRef({ id, members, isInGuild }: Access): UserRef {
  const shown = members.find(({ present }) => present) ?? members[0];
  return {
    id,
    ...(shown !== undefined && { username_snapshot: shown.username, display_name: nameOf(shown) }),
    in_community: isInGuild,
  };
}

function nameOf({ nick, globalName, username }: Access["members"][number]): string {
  return nick ?? globalName ?? username;
}

function leaveOf(profile: StaffProfile | undefined, now: Date): EntryView["loa"] {
  if (profile === undefined || profile.leaveFrom === null) return null;
  const { leaveFrom, leaveUntil, leaveReason } = profile;
  if (leaveUntil !== null && leaveUntil <= now) return null;
  return { from: leaveFrom.toISOString(), until: isoOrNull(leaveUntil), reason: leaveReason };
}

/** A moment would tell who worked on what is kept from others. */
function dayOf(at: Date | undefined): string | null {
  return at === undefined ? null : `${at.toISOString().slice(0, 10)}T00:00:00.000Z`;
}

/** Who holds no mapped role is not followed: of them counts what was found when they were last looked at. */
function shownBy(row: RosterEntry, access: Access): EntryView["discord"] {
  const { held, members } = access;
  const isKnown = members.length > 0;
  const isInGuild = isKnown ? access.isInGuild : row.inGuild;
  const present = members.find((member) => member.present);
  const drift: (typeof driftCodes)[number][] = [];
  const keys = held.map(({ role }) => role.key);
  const isThere = isLive(row);
  if (isThere && !isInGuild && (isKnown || row.syncedAt !== null)) drift.push("left_guild");
  const isMissing = row.staffRole === null ? hasLostRoles(row, access) : !keys.includes(row.staffRole);
  if (isThere && !drift.includes("left_guild") && isMissing) drift.push("missing_role");
  if (keys.some((key) => !isThere || key !== row.staffRole)) drift.push("extra_role");
  return {
    in_guild: isInGuild,
    nickname: present === undefined ? row.nickname : nameOf(present),
    role_ids: [...new Set(held.flatMap(({ refs }) => refs.map((ref) => ref.slice(ref.indexOf(":") + 1))))],
    synced_at: isoOrNull(row.syncedAt),
    drift,
  };
}

export const entryClasses: FieldClasses<EntryView> = {
  state: "public",
  id: "public",
  user: "public",
  status: "public",
  status_before: "public",
  staff_role: "public",
  rank: "public",
  department: "public",
  callsigns: "public",
  joined_at: "public",
  trial_ends_at: "public",
  suspended_until: "public",
  ended_at: "public",
  loa: { from: "public", until: "public", reason: "staff" },
  last_seen_at: "public",
  supervisor: "public",
  discord: "public",
  notes: "confidential",
  origin_reference: "public",
  allowed_moves: "public",
  revision: "public",
  created_at: "public",
  updated_at: "public",
};
const visible = createVisibility(entryClasses);

/** What of an entry a caller may see, and where they may move it. @param hidden references they may not know of */
export function visibleEntry(
  call: Call,
  view: EntryView,
  { access, hidden }: { access: Pick<AccessDirectory, "of">; hidden: ReadonlySet<string> },
): EntryView {
  const isOwn = call.actor?.id === view.user.id;
  const isEditor = can(call, rosterPolicy.edit);
  const clearance = { ...noClearance, staff: isEditor || isOwn, confidential: isEditor && !isOwn };
  const rank = Math.max(access.of(view.user.id).rank, view.rank ?? 0);
  const mayMove = isEditor && (call.actor === null || call.actor.isOwner || call.actor.rank > rank);
  const moves = mayMove ? statusesFrom(view, can(call, rosterPolicy.correct)) : [];
  const origin_reference = view.origin_reference !== null && hidden.has(view.origin_reference) ? hiddenCause : view.origin_reference;
  return visible({ ...view, origin_reference, allowed_moves: moves }, clearance, seesRedactions(call));
}
