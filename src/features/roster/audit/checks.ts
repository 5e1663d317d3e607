import { say, term } from "../../../kit/say.ts";
import type { PermissionKey } from "../../../kernel/permissions.ts";
import { nicknameFor } from "../../../kernel/nickname.ts";
import { roleRef } from "../../../kernel/ids.ts";
import type { AuditedPerson, AuditTime } from "./people.ts";
import type { AuditCode, FixAction, Severity } from "./audit.schema.ts";
import { isLive } from "../states.ts";
import { hasLostRoles, isWorking } from "../sync/diff.ts";

/** Something that is not as it should be. */
export interface Found {
  /** What of the person it is about, so that it is the same in every run; nothing where there is one at most. */
  part?: string;
  detail: string;
  /** Plain JSON. */
  facts?: Readonly<Record<string, unknown>>;
  /** What puts it right, where that is not what usually does. */
  fix?: Fix;
}

export interface Fix {
  action: FixAction;
  detail: string;
}

export interface AuditCheck {
  severity: Severity;
  description: string;
  /** What one has to hold besides to learn of these findings. */
  permission?: PermissionKey;
  /** Whether nobody is told of it about their own accounts. */
  hidesOwn?: true;
  /** Whether it rests on what the guilds are like now. */
  needsDiscord?: true;
  /** What usually puts it right. */
  fix?: Fix;
  /** What one has to hold besides to have it put right. */
  fixPermission?: PermissionKey;
  /** What it finds about one person; some kinds are found over all people at once. */
  find?(person: AuditedPerson, time: AuditTime): Found[];
}

const dayMs = 86_400_000;
const soonDays = 7;
/** Those of whom something is expected. */
const serving = new Set(["trial", "active", "probation"]);

const works = ({ entry }: AuditedPerson): boolean => entry !== null && isWorking(entry);
const isOn = ({ entry }: AuditedPerson): boolean => entry !== null && isLive(entry);
const when = (holds: boolean, found: Found): Found[] => (holds ? [found] : []);
const day = (at: Date): string => at.toISOString().slice(0, 10);

const resign: Fix = { action: "resign", detail: say("roster.the-entry-is-resigned-and-the-callsigns") };

const noRole: Found = {
  part: "any",
  detail: say("roster.holds-no-staff-role-any-more-and"),
  facts: { staff_role: null },
  fix: resign,
};

/** Every kind of finding. Those without `find` are found over all people at once. */
export const auditChecks: Readonly<Record<AuditCode, AuditCheck>> = {
  left_guild: {
    severity: "critical",
    description: "On the roster, and in none of the guilds any more",
    needsDiscord: true,
    fix: resign,
    // Of whom nothing is stored, nobody knows whether they were ever there.
    find: (person) => when(isOn(person) && hasLeft(person), { detail: say("roster.is-in-none-of-the-guilds-any") }),
  },
  missing_role: {
    severity: "warning",
    description: "In a guild without the Discord role of their staff role, or without any staff role after losing the last one",
    needsDiscord: true,
    fix: { action: "sync_roles", detail: say("roster.the-discord-roles-become-those-of-the") },
    find: (person) => {
      const { entry, access } = person;
      if (entry !== null && access.isInGuild && hasLostRoles(entry, access)) return [noRole];
      const missing = missingRoles(person);
      const key = person.role?.key ?? "";
      const found = { detail: say("roster.does-not-hold-the-discord-role-of", { role: key }), facts: { staff_role: key, missing } };
      return when(works(person) && missing.length > 0, found);
    },
  },
  extra_role: {
    severity: "warning",
    description: "Holds the Discord role of a staff role above their own, or any after leaving",
    needsDiscord: true,
    fix: { action: "sync_roles", detail: say("roster.the-discord-roles-become-those-of-the") },
    find: (person) =>
      extraRoles(person).map(({ role, refs }) => ({
        part: role.key,
        detail: isOn(person)
          ? say("roster.holds-the-discord-role-of-too", { role: role.key })
          : say("roster.still-holds-the-discord-role-of", { role: role.key }),
        facts: { staff_role: role.key, held: refs },
      })),
  },
  unmapped_staff_role: {
    severity: "warning",
    description: "Has a staff role that is unknown, or that no Discord role stands for",
    find: ({ entry, role, ...person }) => {
      const key = entry?.staffRole ?? null;
      const isUnmapped = key !== null && (role === undefined || role.discord.length === 0);
      const detail =
        role === undefined
          ? say("roster.there-is-no-staff-role", { role: key ?? "" })
          : say("roster.no-discord-role-stands-for", { role: key ?? "" });
      return when(isOn({ entry, role, ...person }) && isUnmapped, { part: key ?? "", detail, facts: { staff_role: key } });
    },
  },
  role_without_entry: {
    severity: "warning",
    description: "Holds the Discord role of a staff role, and is not on the roster",
    needsDiscord: true,
    fix: { action: "begin", detail: say("roster.they-come-on-the-roster-with-the") },
    find: ({ entry, access: { held } }) => {
      const keys = held.map(({ role }) => role.key);
      return when(entry === null && keys.length > 0, {
        detail: say("roster.holds", { roles: keys.join(", ") }),
        facts: { staff_roles: keys },
      });
    },
  },
  callsign_missing: {
    severity: "warning",
    description: "Has a staff role with callsigns, and none of its pool",
    fix: { action: "allocate_callsign", detail: say("roster.they-get-a-callsign-of-the-pool") },
    find: (person, { pools }) => {
      const pool = person.role?.callsignPool ?? null;
      const isMissing = pool !== null && pools.has(pool) && !person.callsigns.some((one) => one.pool === pool);
      return when(works(person) && isMissing, {
        part: pool ?? "",
        detail: say("roster.has-no-callsign-of", { pool: pool ?? "" }),
        facts: { pool },
      });
    },
  },
  callsign_duplicate: { severity: "critical", description: "A callsign that several people have" },
  nickname_mismatch: {
    severity: "info",
    description: "A name that does not show the callsign as its pool wants it",
    needsDiscord: true,
    fix: { action: "sync_nickname", detail: say("roster.the-name-in-the-guild-shows-the") },
    find: (person, time) => {
      const wrong = wrongNickname(person, time);
      return wrong === undefined || !works(person)
        ? []
        : [{ detail: say("roster.the-name-does-not-show", { callsign: wrong.callsign }), facts: wrong }];
    },
  },
  trial_overdue: {
    severity: "warning",
    description: "A trial past its end",
    fix: { action: "end_trial", detail: say("roster.the-trial-is-over-the-entry-is") },
    find: ({ entry }, { now }) => {
      const end = entry?.trialEndsAt ?? null;
      if (entry?.status !== "trial" || end === null || end > now) return [];
      return [{ detail: say("roster.the-trial-was-to-end-on", { day: day(end) }), facts: { trial_ends_at: end.toISOString() } }];
    },
  },
  loa_overdue: {
    severity: "warning",
    description: "On leave on the roster, and no leave runs",
    fix: { action: "end_leave", detail: say("roster.the-entry-is-active-again") },
    find: ({ entry, access: { leave } }, { now }) => {
      const runs = leave !== null && leave.from <= now && (leave.until === null || leave.until > now);
      const until = leave?.until?.toISOString() ?? null;
      return when(entry?.status === "loa" && !runs, { detail: say("roster.stands-on-leave-and-no-leave-runs"), facts: { until } });
    },
  },
  inactive_n_days: {
    severity: "info",
    description: "Nothing done, and nothing in their history, for as many days as the installation says",
    find: ({ entry, isActive }, { inactiveDays, now }) => {
      const isNew = (entry?.joinedAt ?? entry?.createdAt ?? now).getTime() > now.getTime() - inactiveDays * dayMs;
      const isQuiet = entry !== null && serving.has(entry.status) && !isNew && !isActive;
      return when(isQuiet, { detail: say("roster.nothing-for-days", { days: inactiveDays }), facts: { days: inactiveDays } });
    },
  },
  suspended_with_access: {
    severity: "critical",
    description: "Suspended or gone on the roster, and still with the permissions of staff",
    needsDiscord: true,
    fix: { action: "suspend", detail: say("roster.they-are-suspended-as-staff-for-as") },
    fixPermission: "staff.suspend",
    find: ({ entry, access: { isStaff, isBarred } }) => {
      const isOut = entry !== null && (entry.status === "suspended" || !isLive(entry));
      const detail = say("roster.the-entry-is-and-the-permissions-still", { status: term(entry?.status ?? "") });
      return when(isOut && isStaff && !isBarred, { detail, facts: { status: entry?.status } });
    },
  },
  blacklisted_staff: {
    severity: "critical",
    description: "On the roster, and listed",
    permission: "blacklist.read",
    hidesOwn: true,
    find: (person) =>
      person.records.flatMap(({ id, reference, severity }) =>
        when(isOn(person), { part: id, detail: say("roster.is-in-force", { reference }), facts: { record: reference, severity } }),
      ),
  },
  open_match_on_staff: {
    severity: "warning",
    description: "On the roster, with a match nobody has dealt with",
    permission: "users.matches.read",
    hidesOwn: true,
    find: (person) =>
      person.matches.flatMap(({ id, kind, severity }) =>
        when(isOn(person), { part: id, detail: say("roster.a-match-is-open"), facts: { match_id: id, kind, severity } }),
      ),
  },
  stale_authorization: {
    severity: "info",
    description: "A grant that has run out or has to be renewed",
    permission: "users.authorization.read",
    find: (person) =>
      when(isOn(person) && person.grant !== null, { detail: say("roster.the-grant-has-to-be-renewed"), facts: { status: person.grant } }),
  },
  rank_over_capacity: { severity: "warning", description: "A staff role with more people than it has places" },
  override_expiring: {
    severity: "info",
    description: "A permission of their own that ends within seven days",
    permission: "permissions.read",
    find: (person, { now }) => {
      const soon = now.getTime() + soonDays * dayMs;
      return person.access.overrides.flatMap(({ id, permission, effect, expiresAt }) => {
        const isEnding = effect === "allow" && expiresAt !== null && expiresAt > now && expiresAt.getTime() <= soon;
        if (!isEnding || !isOn(person)) return [];
        return [
          {
            part: id,
            detail: say("roster.ends-on", { permission, day: day(expiresAt) }),
            facts: { permission, expires_at: expiresAt.toISOString() },
          },
        ];
      });
    },
  },
  linked_alt_on_roster: {
    severity: "critical",
    description: "Several accounts of one person on the roster",
    permission: "users.links.read",
    hidesOwn: true,
  },
};

function hasLeft({ access: { members, isInGuild } }: AuditedPerson): boolean {
  return members.length > 0 && !isInGuild;
}

/** The Discord roles (`guildId:roleId`) of the staff role in the guilds they are in and hold none of them; one of a guild is enough. */
function missingRoles({ role, access: { members } }: AuditedPerson): string[] {
  return members.flatMap(({ guildId, roleIds, present }) => {
    const mapped = (role?.discord ?? []).filter((one) => one.guildId === guildId);
    if (!present || mapped.some(({ roleId }) => roleIds.includes(roleId))) return [];
    return mapped.map(({ roleId }) => roleRef(guildId, roleId));
  });
}

/** Staff roles above their own: many communities give those below it, too. After leaving, every one. */
function extraRoles(person: AuditedPerson): AuditedPerson["access"]["held"] {
  const { entry, role: own, access } = person;
  if (entry === null) return [];
  return access.held.filter(({ role }) => !isOn(person) || own === undefined || role.rank > own.rank);
}

/** Looks at the first guild whose name is not as it should be, of those in which their staff role is mapped: only there is it set. */
function wrongNickname({ role, callsigns, access: { members } }: AuditedPerson, { pools }: AuditTime) {
  const shown = callsigns.filter(({ pool }) => (pools.get(pool)?.nicknameTemplate ?? null) !== null);
  const own = shown.find(({ pool }) => pool === role?.callsignPool) ?? shown[0];
  const template = own === undefined ? null : (pools.get(own.pool)?.nicknameTemplate ?? null);
  if (own === undefined || template === null) return undefined;
  const mapped = new Set(role?.discord.map(({ guildId }) => guildId));
  const wrong = members.find((member) => {
    const name = member.nick ?? member.globalName ?? member.username;
    return member.present && mapped.has(member.guildId) && nicknameFor(template, own.callsign, name) !== name;
  });
  return wrong === undefined ? undefined : { ...own, template, guild_id: wrong.guildId };
}
