import type { MemberState } from "../../discord/guild-state.ts";
import type { Actor, Reason } from "../../kernel/call.ts";
import type { Level } from "./catalog.ts";
import { levelOrder } from "./catalog.ts";
import type { RoleRules, Rule, Subject } from "./resolve.ts";
import { notGranted, notStaff, resolve, rule } from "./resolve.ts";

/** A staff role as it stands in memory. */
export interface StaffRoleRecord {
  key: string;
  name: string;
  rank: number;
  level: Level;
  capacity: number | null;
  callsignPool: string | null;
  revision: number;
  discord: readonly { guildId: string; roleId: string }[];
  rules: RoleRules;
}

/** An allow or deny entry of one person; `*` denied is a suspension. */
export interface Override {
  id: string;
  permission: string;
  effect: "allow" | "deny";
  expiresAt: Date | null;
}

/** A staff role somebody holds, and the Discord roles (`guildId:roleId`) that give it. */
export interface HeldRole {
  role: StaffRoleRecord;
  refs: readonly string[];
}

/** Where one person stands: their roles, level and permissions, resolved in memory. */
export interface Standing extends Actor {
  level: Level;
  /** `former` held a role once; null was never staff. */
  status: "active" | "suspended" | "former" | null;
  /** Whether they are a member of a guild right now. */
  isInGuild: boolean;
  /** Their staff roles, highest rank first. */
  held: readonly HeldRole[];
  members: readonly MemberState[];
  /** Why they have access or not, the deciding reason first. */
  reasons: readonly Reason[];
  /** Permissions that a deny entry takes away; `*` when suspended. */
  explicitDenials: readonly string[];
  /** When the first temporary entry ends. */
  expiresAt: Date | null;
}

/** What a standing is made from. */
export interface PersonFacts {
  userId: string;
  members: readonly MemberState[];
  isStored: boolean;
  /** Where ownership comes from when not from a role: `configuration` or `owners`. */
  ownerSource: string | null;
  /** Entries that have not expired. */
  overrides: readonly Override[];
  isPresentGuild: (guildId: string) => boolean;
  roleAt: (ref: string) => StaffRoleRecord | undefined;
  isStale: () => boolean;
}

/** Owners stand above every rank a role can have. */
export const ownerRank = 1_000_000;

/** The standing of one person. Only roles of members present in a guild the bot is in count. */
export function standingOf(facts: PersonFacts): Standing {
  const isInGuild = presentMembers(facts.members, facts.isPresentGuild).length > 0;
  const held = heldRoles(presentRefs(facts.members, facts.isPresentGuild), facts.roleAt);
  const owner = ownership(facts.ownerSource, held);
  const isStaff = owner !== null || held.length > 0;
  const subject = subjectOf(facts.overrides, owner, held, isStaff);
  const isSuspended = subject.suspension !== null && owner === null;
  return {
    id: facts.userId,
    isStaff,
    isOwner: owner !== null,
    rank: owner === null ? (held[0]?.role.rank ?? 0) : ownerRank,
    get isStale() {
      return facts.isStale();
    },
    decide: (permission) => resolve(subject, permission),
    level: owner === null ? highestLevel(held) : "owner",
    status: isStaff ? (isSuspended ? "suspended" : "active") : facts.isStored ? "former" : null,
    isInGuild,
    held,
    members: facts.members,
    reasons: accessReasons(subject, held, facts.overrides, isInGuild),
    explicitDenials: owner !== null ? [] : isSuspended ? ["*"] : denials(subject),
    expiresAt: earliest(facts.overrides),
  };
}

type IsPresentGuild = PersonFacts["isPresentGuild"];

function presentMembers(members: readonly MemberState[], isPresentGuild: IsPresentGuild): MemberState[] {
  return members.filter((member) => member.present && isPresentGuild(member.guildId));
}

/** The Discord roles (`guildId:roleId`) of somebody that count. */
export function presentRefs(members: readonly MemberState[], isPresentGuild: IsPresentGuild): string[] {
  return presentMembers(members, isPresentGuild).flatMap((member) => member.roleIds.map((roleId) => `${member.guildId}:${roleId}`));
}

function heldRoles(refs: readonly string[], roleAt: PersonFacts["roleAt"]): HeldRole[] {
  const found = new Map<StaffRoleRecord, string[]>();
  for (const ref of refs) {
    const role = roleAt(ref);
    if (role !== undefined) found.set(role, [...(found.get(role) ?? []), ref]);
  }
  return [...found]
    .map(([role, refs]) => ({ role, refs: refs.toSorted() }))
    .toSorted((a, b) => b.role.rank - a.role.rank || (a.role.key < b.role.key ? -1 : 1));
}

function ownership(source: string | null, held: readonly HeldRole[]): Rule | null {
  if (source !== null) return rule(true, { code: "owner", source, ref: null });
  const role = held.find((one) => one.role.level === "owner");
  return role === undefined ? null : rule(true, { code: "owner", source: role.role.key, ref: role.refs[0] ?? null });
}

function subjectOf(overrides: readonly Override[], owner: Rule | null, held: readonly HeldRole[], isStaff: boolean): Subject {
  const suspension = overrides.find(isSuspension);
  const entries = (effect: Override["effect"], code: Reason["code"]): Map<string, Rule> =>
    new Map(
      overrides
        .filter((entry) => entry.effect === effect && entry.permission !== "*")
        .map((entry) => [entry.permission, rule(effect === "allow", { code, source: "user", ref: entry.id })]),
    );
  return {
    owner,
    suspension: suspension === undefined ? null : rule(false, { code: "suspension", source: "user", ref: suspension.id }),
    userDeny: entries("deny", "user_deny"),
    // Without a staff role a personal allow gives nothing: it ends with the membership it was given for.
    userAllow: isStaff ? entries("allow", "user_allow") : new Map(),
    roles: held.map((one) => one.role.rules),
    otherwise: isStaff ? notGranted : notStaff,
  };
}

function isSuspension(entry: Override): boolean {
  return entry.effect === "deny" && entry.permission === "*";
}

function accessReasons(subject: Subject, held: readonly HeldRole[], overrides: readonly Override[], isInGuild: boolean): Reason[] {
  const reasons: Reason[] = [subject.owner?.reason, subject.suspension?.reason].filter((reason) => reason !== undefined);
  for (const { role, refs } of held) for (const ref of refs) reasons.push({ code: "role_mapping", source: role.key, ref });
  if (subject.owner === null && held.length === 0) reasons.push({ code: "not_member", source: isInGuild ? "staff" : "guild", ref: null });
  for (const { id, permission, effect } of overrides) {
    if (permission !== "*") reasons.push({ code: effect === "allow" ? "user_allow" : "user_deny", source: permission, ref: id });
  }
  return reasons;
}

function denials(subject: Subject): string[] {
  const denied = new Set(subject.userDeny.keys());
  for (const role of subject.roles) for (const key of role.deny) if (!resolve(subject, key).allowed) denied.add(key);
  return [...denied].toSorted();
}

function highestLevel(held: readonly HeldRole[]): Level {
  return held.reduce<Level>((highest, { role }) => (levelOrder[role.level] > levelOrder[highest] ? role.level : highest), "none");
}

function earliest(overrides: readonly Override[]): Date | null {
  const ends = overrides.flatMap((entry) => (entry.expiresAt === null ? [] : [entry.expiresAt.getTime()]));
  return ends.length === 0 ? null : new Date(Math.min(...ends));
}
