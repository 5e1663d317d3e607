import type { Decision, Reason } from "../../kernel/call.ts";
import { catalog, levelOrder, type Level } from "../../kernel/permissions.ts";

/** One rule that can speak, with its answer prepared: most decisions have one reason and allocate nothing. */
export interface Rule {
  reason: Reason;
  alone: Decision;
}

/** What a staff role says about permissions. */
export interface RoleRules {
  level: Level;
  allow: ReadonlySet<string>;
  deny: ReadonlySet<string>;
  /** What the role says about each permission of the catalog, by its place there. */
  spoken: Uint8Array;
  denied: Rule;
  allowed: Rule;
  byDefault: Rule;
}

/** Everything that is known about one person when a permission is decided. */
export interface Subject {
  owner: Rule | null;
  /** What takes everything away for now: a suspension, a blacklist record, leave. */
  bars: readonly Rule[];
  /** Deny and allow entries of the person by permission. */
  userDeny: ReadonlyMap<string, Rule>;
  userAllow: ReadonlyMap<string, Rule>;
  /** Deny and allow entries that count in one guild only, by guild and permission. */
  local: ReadonlyMap<string, { deny: ReadonlyMap<string, Rule>; allow: ReadonlyMap<string, Rule> }>;
  /** Highest rank first, for display alone: the order never changes the outcome. */
  roles: readonly RoleRules[];
  /** What speaks when no rule does. */
  otherwise: Rule;
}

const saysDeny = 1;
const saysAllow = 2;
/** The bit of what a level gives by default in `RoleRules.spoken`. */
export const saysDefault = 4;

/** The one key that no person ever holds, whatever their roles and entries say: it is a scope of API keys. */
export const clientOnly = "system.act";
/** The place of each permission in the catalog. */
export const places: ReadonlyMap<string, number> = new Map(catalog.map((entry, index) => [entry.key, index]));

/** A rule with its prepared answer. */
export function rule(isAllowed: boolean, reason: Reason): Rule {
  const frozen = Object.freeze(reason);
  return { reason: frozen, alone: Object.freeze({ allowed: isAllowed, reasons: Object.freeze([frozen]) }) };
}

/** The rules of a staff role. */
export function roleRules(key: string, level: Level, allow: ReadonlySet<string>, deny: ReadonlySet<string>): RoleRules {
  const spoken = Uint8Array.from(catalog, (entry) => {
    const isDefault = entry.default_level !== "none" && levelOrder[level] >= levelOrder[entry.default_level];
    return explicit(allow, deny, entry.key) | (isDefault ? saysDefault : 0);
  });
  const of = (isAllowed: boolean, source: string): Rule => rule(isAllowed, { code: "role_mapping", source, ref: key });
  return { level, allow, deny, spoken, denied: of(false, "role_deny"), allowed: of(true, "role_allow"), byDefault: of(true, "default") };
}

function explicit(allow: ReadonlySet<string>, deny: ReadonlySet<string>, permission: string): number {
  return (deny.has(permission) ? saysDeny : 0) | (allow.has(permission) ? saysAllow : 0);
}

/** A staff member whom no rule gives the permission. */
export const notGranted = rule(false, { code: "role_mapping", source: "default", ref: null });
/** Somebody without a staff role. */
export const notStaff = rule(false, { code: "not_member", source: "staff", ref: null });

/** A bot that nobody has named. */
export const notNamed = rule(false, { code: "not_member", source: "bot", ref: null });

/** Somebody whose roles Discord did not tell. */
export const notTold = rule(false, { code: "unknown", source: "discord", ref: null });

/** Filled and emptied within one decision. */
const speakers: Rule[] = [];

/**
 * Decide one permission: owner → suspension and other bars → user deny → user allow → role deny → role allow → default of the level.
 * The first rule that speaks decides; every other rule that spoke follows it in the reasons.
 * @param guildId where the permission is used, if in a guild: entries limited to that guild speak, too
 */
export function resolve(subject: Subject, permission: string, guildId?: string): Decision {
  if (permission === clientOnly) return subject.otherwise.alone;
  speakers.length = 0;
  const local = guildId === undefined || subject.local.size === 0 ? undefined : subject.local.get(guildId);
  if (subject.owner !== null) speakers.push(subject.owner);
  for (const bar of subject.bars) speakers.push(bar);
  if (subject.userDeny.size > 0) speakFrom(subject.userDeny, permission);
  if (local !== undefined) speakFrom(local.deny, permission);
  if (subject.userAllow.size > 0) speakFrom(subject.userAllow, permission);
  if (local !== undefined) speakFrom(local.allow, permission);
  speakForRoles(subject.roles, permission);
  const [first = subject.otherwise] = speakers;
  if (speakers.length <= 1) return first.alone;
  return { allowed: first.alone.allowed, reasons: speakers.map((speaker) => speaker.reason) };
}

function speakFrom(entries: ReadonlyMap<string, Rule>, permission: string): void {
  const entry = entries.get(permission);
  if (entry !== undefined) speakers.push(entry);
}

function speakForRoles(roles: readonly RoleRules[], permission: string): void {
  const place = places.get(permission);
  let union = 0;
  for (const role of roles) union |= saidBy(role, permission, place);
  if (union === 0) return;
  if ((union & saysDeny) !== 0)
    for (const role of roles) if ((saidBy(role, permission, place) & saysDeny) !== 0) speakers.push(role.denied);
  if ((union & saysAllow) !== 0)
    for (const role of roles) if ((saidBy(role, permission, place) & saysAllow) !== 0) speakers.push(role.allowed);
  if ((union & saysDefault) !== 0)
    for (const role of roles) if ((saidBy(role, permission, place) & saysDefault) !== 0) speakers.push(role.byDefault);
}

/** Keys that the catalog does not know are kept in a mapping and have no default. */
function saidBy(role: RoleRules, permission: string, place: number | undefined): number {
  return place === undefined ? explicit(role.allow, role.deny, permission) : (role.spoken[place] ?? 0);
}
