import { say, term } from "../../kit/say.ts";
import type { Call } from "../../kernel/call.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { catalog, knownPermissions, levelOrder, type Level } from "../../kernel/permissions.ts";
import { clientOnly, places, saysDefault, type RoleRules } from "./resolve.ts";

/** Something that a change lets somebody do. */
export interface Grant {
  key: string;
  /** Where: one guild, or (null) everywhere. */
  guildId: string | null;
  /** Until when; null: permanently. */
  until: Date | null;
}

/** The rule that nobody gives what they do not hold, for permissions given everywhere. @param until null or left out: permanently */
export type RequireKeys = (call: Call, keys: readonly string[], until?: Date | null) => void;

/** The same rule for grants of any reach. */
export type RequireGrants = (call: Call, grants: readonly Grant[]) => void;

/**
 * Nobody touches what stands at or above them. Owners and clients that act as the system stand above everything.
 * @throws ProblemError hierarchy_violation
 */
export function requireRankAbove(call: Call, rank: number): void {
  if (call.actor === null || call.actor.isOwner || call.actor.rank > rank) return;
  throw new ProblemError("hierarchy_violation", {
    detail: say("permissions.rank-is-not-below-your-own-rank", { rank, own: call.actor.rank }),
  });
}

/**
 * Nobody gives a level above their own. Ranks are compared apart.
 * @param ownLevel of the acting user
 * @throws ProblemError hierarchy_violation
 */
export function requireLevel(call: Call, ownLevel: Level, level: Level): void {
  if (call.actor === null || call.actor.isOwner || levelOrder[level] <= levelOrder[ownLevel]) return;
  throw new ProblemError("hierarchy_violation", {
    detail: say("permissions.the-level-is-above-your-own-level", { level: term(level), own: term(ownLevel) }),
  });
}

/**
 * Nobody gives what they do not hold, nor further or for longer than they hold it. What a call holds is what both its key and
 * its actor hold; who gives something everywhere holds it in every guild.
 * @param guildIds every guild there is
 * @throws ProblemError cannot_grant_unheld
 */
export function requireHeld(call: Call, grants: readonly Grant[], guildIds: ReadonlySet<string>): void {
  const unheld = grants.filter((grant) => !holds(call, grant, guildIds));
  if (unheld.length === 0) return;
  const keys = [...new Set(unheld.map(({ key }) => key))];
  const isKeyMissing = keys.some((key) => call.client?.allows(key) === false);
  const isTooFar = !isKeyMissing && keys.every((key) => key !== clientOnly && call.actor?.decide(key).allowed === true);
  throw new ProblemError("cannot_grant_unheld", {
    detail: isTooFar
      ? say("permissions.the-acting-user-does-not-hold-everywhere", { keys: named(keys) })
      : say(isKeyMissing ? "permissions.key-does-not-hold" : "permissions.actor-does-not-hold", { keys: named(keys) }),
    extra: { unheld: keys.slice(0, 100), missing_in: isKeyMissing ? "key" : "acting_user" },
  });
}

function holds({ client, actor }: Call, { key, guildId, until }: Grant, guildIds: ReadonlySet<string>): boolean {
  if (key === clientOnly || client?.allows(key) === false) return false;
  if (actor === null) return client !== null;
  const everywhere = guildId === null ? [undefined, ...guildIds] : [guildId];
  return everywhere.every((place) => {
    const end = actor.heldUntil(key, place);
    return end === null || (end !== undefined && until !== null && until <= end);
  });
}

function named(keys: readonly string[]): string {
  return keys.slice(0, 10).join(", ");
}

/** The permissions among these with which a wrong grant can do lasting harm. */
export function dangerousOf(keys: Iterable<string>): string[] {
  const granted = new Set(keys);
  return catalog.filter((entry) => entry.danger && granted.has(entry.key)).map((entry) => entry.key);
}

/** How much a staff role says for a permission: denied below silent below given below owned, which no denial takes away. */
function stance({ allow, deny, level, spoken }: RoleRules, key: string, place: number): number {
  if (key === clientOnly) return allow.has(key) ? 1 : 0;
  if (level === "owner") return 2;
  if (deny.has(key)) return -1;
  return allow.has(key) || ((spoken[place] ?? 0) & saysDefault) !== 0 ? 1 : 0;
}

/**
 * The permissions for which a staff role says more after a change than before, sorted. Only for these can anybody gain anything,
 * whatever other roles and entries they have, because a decision never gets worse when one of its rules gets better.
 * @param before null for a role that was not there, after null for one that is gone
 */
export function loosened(before: RoleRules | null, after: RoleRules | null): string[] {
  const named = [before, after].flatMap((rules) => (rules === null ? [] : [...rules.allow, ...rules.deny]));
  const said = (rules: RoleRules | null, key: string): number => (rules === null ? 0 : stance(rules, key, places.get(key) ?? -1));
  return [...new Set([...knownPermissions, ...named])].filter((key) => said(after, key) > said(before, key)).toSorted();
}
