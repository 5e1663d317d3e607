import type { MemberState } from "../../../discord/guild-state.ts";
import type { Actor, Reason } from "../../../kernel/call.ts";
import { roleRef } from "../../../kernel/ids.ts";
import { levelOrder, type Level } from "../../../kernel/permissions.ts";
import { notNamed, notTold, resolve, rule, type Rule, type Subject } from "../resolve.ts";
import {
  barsOf,
  heldUntil,
  namedUntil,
  subjectOf,
  type BarFacts,
  type HeldRole,
  type Leave,
  type Listing,
  type Override,
  type StaffRoleRecord,
} from "./subject.ts";

/** Where one person stands: their roles, level and permissions, resolved in memory. */
export interface Access extends Actor {
  level: Level;
  /** `former` held a role once; null was never staff. */
  status: "active" | "loa" | "suspended" | "former" | null;
  /** Whether something takes every permission away for now. Never true for owners. */
  isBarred: boolean;
  /** The leave that runs or is planned. */
  leave: Leave | null;
  /** The severe blacklist record about them that is or will be in force. */
  listing: Listing | null;
  /** Whether they are a member of a guild right now. */
  isInGuild: boolean;
  /** Whether Discord could not be asked about them, so that whether they are a member is not known. */
  isUnanswered: boolean;
  isUnknown(): boolean;
  /** Their staff roles, highest rank first. */
  held: readonly HeldRole[];
  /** Whether the account is a bot. */
  isBot: boolean;
  /** The staff roles of a bot that do not count, as nobody has named it; highest rank first. */
  dormant: readonly HeldRole[];
  members: readonly MemberState[];
  /** Allow and deny entries that count now. */
  overrides: readonly Override[];
  /** Why they have access or not, the deciding reason first. */
  reasons: readonly Reason[];
  /** Permissions that a deny entry takes away; `*` when barred from all. */
  explicitDenials: readonly string[];
  /** When this answer may change by itself: a temporary entry ends, a leave begins or ends. */
  expiresAt: Date | null;
}

/** What an access answer is made from. */
export interface PersonFacts extends BarFacts {
  userId: string;
  members: readonly MemberState[];
  isStored: boolean;
  /** Discord was to be asked about them, and did not answer. */
  isUnanswered?: boolean;
  /** Where ownership comes from when not from a role: `configuration`, `owners` or `last_owner`. */
  ownerSource: string | null;
  overrides: readonly Override[];
  leave: Leave | null;
  isPresentGuild: (guildId: string) => boolean;
  roleAt: (ref: string) => StaffRoleRecord | undefined;
  isStale: () => boolean;
  /** Whether anyone who is not stored is certainly no staff. */
  isCertain?: () => boolean;
}

/** Owners stand above every rank a role can have. */
export const ownerRank = 1_000_000;

/**
 * The access of one person. Only roles of members present in a guild the bot is in count, and those of a bot only where somebody has named it.
 */
export function standingOf(facts: PersonFacts): Access {
  const { now, leave } = facts;
  const isInGuild = presentMembers(facts.members, facts.isPresentGuild).length > 0;
  const inDiscord = heldRoles(presentRefs(facts.members, facts.isPresentGuild), facts.roleAt);
  const isBot = isBotAccount(facts.members);
  const namedTo = isBot ? namedUntil(facts.ownerSource, facts.overrides, now) : null;
  const isUnnamedBot = namedTo === undefined;
  const [held, dormant] = isUnnamedBot ? [[], inDiscord] : [inDiscord, []];
  const owner = isUnnamedBot ? null : ownership(facts.ownerSource, held);
  const isStaff = owner !== null || held.length > 0;
  const isUnanswered = facts.isUnanswered === true && !isStaff;
  const overrides = facts.overrides.filter((entry) => entry.expiresAt === null || entry.expiresAt > now);
  const isOnLeave = leave !== null && leave.from <= now && (leave.until === null || leave.until > now);
  const bars = barsOf(facts, overrides, isOnLeave);
  const subject = subjectOf({ overrides, owner, bars, held, isStaff, isUnanswered, isUnnamedBot });
  const isBarred = bars.length > 0 && owner === null;
  return {
    id: facts.userId,
    isStaff,
    isOwner: owner !== null,
    rank: owner === null ? (held[0]?.role.rank ?? 0) : ownerRank,
    isStale: facts.isStale,
    decide: (permission, guildId) => resolve(subject, permission, guildId),
    heldUntil: (permission, guildId) => sooner(heldUntil(subject, overrides, permission, guildId), namedTo),
    level: owner === null ? highestLevel(held) : "owner",
    status: isStaff ? statusOf(bars, isOnLeave, owner !== null) : facts.isStored && !isUnnamedBot ? "former" : null,
    isBarred,
    leave,
    listing: facts.listing,
    isInGuild,
    isUnanswered,
    isUnknown: () => isUnanswered && facts.isCertain?.() !== true,
    held,
    isBot,
    dormant,
    members: facts.members,
    overrides,
    reasons: accessReasons(subject, held, overrides, lackingOf({ isUnanswered, isInGuild, isUnnamedBot })),
    explicitDenials: owner !== null ? [] : isBarred ? ["*"] : denials(subject),
    expiresAt: nextChange(facts),
  };
}

/** The earlier one of two ends; what is not held has none. */
function sooner(end: Date | null | undefined, other: Date | null | undefined): Date | null | undefined {
  if (end === undefined || other === undefined || other === null) return end;
  return end === null || end > other ? other : end;
}

/** Whether an account is a bot. In one guild that is known before it is in another. */
export function isBotAccount(members: readonly MemberState[]): boolean {
  return members.some(({ isBot }) => isBot);
}

function statusOf(bars: readonly Rule[], isOnLeave: boolean, isOwner: boolean): "active" | "loa" | "suspended" {
  const isSuspended = bars.some(({ reason }) => reason.code !== "loa_policy");
  return isSuspended && !isOwner ? "suspended" : isOnLeave ? "loa" : "active";
}

type IsPresentGuild = PersonFacts["isPresentGuild"];

function presentMembers(members: readonly MemberState[], isPresentGuild: IsPresentGuild): MemberState[] {
  return members.filter((member) => member.present && isPresentGuild(member.guildId));
}

/** The Discord roles (`guildId:roleId`) of somebody that count. */
export function presentRefs(members: readonly MemberState[], isPresentGuild: IsPresentGuild): string[] {
  return presentMembers(members, isPresentGuild).flatMap((member) => member.roleIds.map((roleId) => roleRef(member.guildId, roleId)));
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

/** Why somebody is no staff. */
function lackingOf(facts: { isUnanswered: boolean; isInGuild: boolean; isUnnamedBot: boolean }): Reason {
  if (facts.isInGuild && facts.isUnnamedBot) return notNamed.reason;
  return facts.isUnanswered ? notTold.reason : { code: "not_member", source: facts.isInGuild ? "staff" : "guild", ref: null };
}

function accessReasons(subject: Subject, held: readonly HeldRole[], overrides: readonly Override[], lacking: Reason): Reason[] {
  const reasons: Reason[] = [...(subject.owner === null ? [] : [subject.owner]), ...subject.bars].map(({ reason }) => reason);
  for (const { role, refs } of held) for (const ref of refs) reasons.push({ code: "role_mapping", source: role.key, ref });
  if (subject.owner === null && held.length === 0) reasons.push(lacking);
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

function nextChange({ now, overrides, leave, listing }: PersonFacts): Date | null {
  const times = [...overrides.map((entry) => entry.expiresAt), leave?.from, leave?.until, listing?.startsAt, listing?.expiresAt];
  const ahead = times.flatMap((at) => (at instanceof Date && at > now ? [at.getTime()] : []));
  return ahead.length === 0 ? null : new Date(Math.min(...ahead));
}
