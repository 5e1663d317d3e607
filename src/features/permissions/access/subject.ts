import type { StaffRole, UserPermission } from "../../../generated/sqlite/client.ts";
import type { Level } from "../../../kernel/permissions.ts";
import { notGranted, notNamed, notStaff, notTold, resolve, rule, type RoleRules, type Rule, type Subject } from "../resolve.ts";

/** A staff role as it stands in memory. */
export interface StaffRoleRecord extends Omit<StaffRole, "level" | "createdAt" | "updatedAt"> {
  level: Level;
  discord: readonly { guildId: string; roleId: string }[];
  rules: RoleRules;
}

/** An allow or deny entry of one person; `*` denied is a suspension. */
export interface Override extends Omit<UserPermission, "userId"> {
  effect: "allow" | "deny";
  /** Where it counts: one guild, or everywhere. */
  guildId: string | null;
}

/** A leave of absence; without an end it runs until it is ended. */
export interface Leave {
  from: Date;
  until: Date | null;
}

/** The severe blacklist record about somebody. */
export interface Listing {
  recordId: string;
  startsAt: Date;
  expiresAt: Date | null;
}

/** A staff role somebody holds, and the Discord roles (`guildId:roleId`) that give it. */
export interface HeldRole {
  role: StaffRoleRecord;
  refs: readonly string[];
}

/** What can take everything away from somebody. */
export interface BarFacts {
  now: Date;
  listing: Listing | null;
  /** Whether leave takes access away. */
  leaveBars: boolean;
}

/** What takes everything away now, the gravest first. */
export function barsOf({ listing, now, leaveBars }: BarFacts, overrides: readonly Override[], isOnLeave: boolean): Rule[] {
  const bars: Rule[] = [];
  const suspension = overrides.find(isSuspension);
  if (suspension !== undefined) bars.push(rule(false, { code: "suspension", source: "user", ref: suspension.id }));
  const isListed = listing !== null && listing.startsAt <= now && (listing.expiresAt === null || listing.expiresAt > now);
  if (isListed) bars.push(rule(false, { code: "blacklist", source: "blacklist", ref: listing.recordId }));
  if (isOnLeave && leaveBars) bars.push(rule(false, { code: "loa_policy", source: "leave", ref: null }));
  return bars;
}

/** A permission held by a temporary entry alone ends with it; whatever else would allow it holds permanently. */
export function heldUntil(subject: Subject, overrides: readonly Override[], permission: string, guildId?: string): Date | null | undefined {
  const { allowed, reasons } = resolve(subject, permission, guildId);
  if (!allowed) return undefined;
  const given = reasons.filter((reason) => reason.code === "user_allow").map(({ ref }) => overrides.find((entry) => entry.id === ref));
  const next = reasons.find((reason) => reason.code !== "user_allow");
  const isGivenOtherwise = next !== undefined && next.source !== "role_deny";
  if (isGivenOtherwise || given.length === 0) return null;
  const ends = given.map((entry) => entry?.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY);
  const last = Math.max(...ends);
  return Number.isFinite(last) ? new Date(last) : null;
}

interface SubjectFacts extends Pick<Subject, "owner" | "bars"> {
  overrides: readonly Override[];
  held: readonly HeldRole[];
  isStaff: boolean;
  isUnanswered: boolean;
  isUnnamedBot: boolean;
}

/** What is known about a person when their permissions are decided. */
export function subjectOf({ overrides, owner, bars, held, isStaff, isUnanswered, isUnnamedBot }: SubjectFacts): Subject {
  const guilds = new Set(overrides.flatMap(({ guildId }) => (guildId === null ? [] : [guildId])));
  // Without a staff role a personal allow gives nothing: it ends with the membership it was given for.
  const allows = (guildId: string | null) => (isStaff ? rulesOf(overrides, "allow", guildId) : new Map<string, Rule>());
  return {
    owner,
    bars,
    userDeny: rulesOf(overrides, "deny", null),
    userAllow: allows(null),
    local: new Map([...guilds].map((guildId) => [guildId, { deny: rulesOf(overrides, "deny", guildId), allow: allows(guildId) }])),
    roles: held.map((one) => one.role.rules),
    otherwise: isStaff ? notGranted : isUnnamedBot ? notNamed : isUnanswered ? notTold : notStaff,
  };
}

function rulesOf(overrides: readonly Override[], effect: Override["effect"], guildId: string | null): Map<string, Rule> {
  const source = guildId === null ? "user" : `user@${guildId}`;
  const code = effect === "allow" ? "user_allow" : "user_deny";
  return new Map(
    overrides
      .filter((entry) => entry.effect === effect && entry.permission !== "*" && entry.guildId === guildId)
      .map((entry) => [entry.permission, rule(effect === "allow", { code, source, ref: entry.id })]),
  );
}

/**
 * Until when the staff roles of a bot count: a bot counts as staff only where somebody has named it, as an owner or by a personal allowance.
 * @returns null: permanently; undefined: nobody has named it
 */
export function namedUntil(ownerSource: string | null, overrides: readonly Override[], now: Date): Date | null | undefined {
  if (ownerSource !== null && ownerSource !== "last_owner") return null;
  const ends = overrides.flatMap(({ effect, expiresAt }) =>
    effect === "allow" && (expiresAt === null || expiresAt > now) ? [expiresAt?.getTime() ?? Number.POSITIVE_INFINITY] : [],
  );
  if (ends.length === 0) return undefined;
  const last = Math.max(...ends);
  return Number.isFinite(last) ? new Date(last) : null;
}

/** Whether an entry is a suspension: it denies everything. */
export function isSuspension(entry: Override): boolean {
  return entry.effect === "deny" && entry.permission === "*";
}
