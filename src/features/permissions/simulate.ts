import { isDeepStrictEqual } from "node:util";
import { applyEdits, editsOf, entriesAt, type Edit, type Wanted } from "./overrides.ts";
import type { Change, SimulateView } from "./explain/explain.schema.ts";
import type { KeyLists } from "./permissions.schema.ts";
import { roleRules } from "./resolve.ts";
import type { Override, Access, AccessDirectory, StaffRoleRecord } from "./access/access-directory.ts";

/** What one change would do. */
export type ImaginedStep =
  | { kind: "role"; before: StaffRoleRecord; after: StaffRoleRecord }
  | { kind: "user"; userId: string; edits: readonly Edit[] };

/** How things would be after some changes, made one after the other. */
export interface Imagined {
  roles: ReadonlyMap<string, StaffRoleRecord>;
  overrides: ReadonlyMap<string, readonly Override[]>;
  /** In the order of the changes. */
  steps: readonly ImaginedStep[];
}

/** Nothing is written; later changes find what earlier ones would have left. */
export function imagine(
  changes: readonly Change[],
  { roleOf, overridesOf, now }: Pick<AccessDirectory, "overridesOf"> & { roleOf(key: string): StaffRoleRecord; now: Date },
): Imagined {
  const roles = new Map<string, StaffRoleRecord>();
  const overrides = new Map<string, readonly Override[]>();
  const changeRole = (key: string, change: Change): ImaginedStep => {
    const before = roles.get(key) ?? roleOf(key);
    const { allow, deny } = updatedWith(change)(before.rules);
    const after = { ...before, rules: roleRules(key, before.level, allow, deny) };
    roles.set(key, after);
    return { kind: "role", before, after };
  };
  const changeUser = (userId: string, change: Change): ImaginedStep => {
    const rows = overrides.get(userId) ?? overridesOf(userId);
    const edits = editsOf(entriesAt(rows, now), wantedBy(change));
    overrides.set(userId, applyEdits(rows, edits, { idOf: () => "imagined", by: null, at: now }).rows);
    return { kind: "user", userId, edits };
  };
  const steps = changes.map((change) =>
    change.role_key === undefined ? changeUser(change.user_id ?? "", change) : changeRole(change.role_key, change),
  );
  return { roles, overrides, steps };
}

/** The entries a change wants for its person. */
export function wantedBy({ scope = null, allow, deny, clear }: Change): Wanted[] {
  return Object.entries({ allow, deny, clear }).flatMap(([effect, keys]) =>
    keys.map((key) => ({ key, effect: effect as Wanted["effect"], guildId: scope, expiresAt: null, reason: "" })),
  );
}

type Affected = SimulateView["people"][number] & { rank: number };
type Difference = Pick<Affected, "gains" | "loses">;

/**
 * Everybody for whom something would be decided otherwise, highest rank first. People with the same roles and no entries share
 * one computation.
 * @param people everyone there is, the changed ones at least
 */
export function affected(
  people: Iterable<Access>,
  changes: readonly Change[],
  imagined: Imagined,
  access: Pick<AccessDirectory, "suppose">,
): Affected[] {
  const keys = [...new Set(changes.flatMap(({ allow, deny, clear }) => [...allow, ...deny, ...clear]))];
  const alike = new Map<string, Difference>();
  const suppose = (person: Access): Access => {
    const overrides = imagined.overrides.get(person.id);
    return access.suppose(person, { roles: imagined.roles, ...(overrides !== undefined && { overrides }) });
  };
  const compute = (person: Access): Affected[] => {
    const after = suppose(person);
    return placesOf(person.id, changes).map((scope) => {
      return { user_id: person.id, scope, rank: person.rank, ...differenceOf(person, after, keys, scope ?? undefined) };
    });
  };
  const share = (person: Access): Affected[] => {
    const roles = person.held.map(({ role }) => role.key).join(" ");
    const known = alike.get(roles) ?? differenceOf(person, suppose(person), keys);
    alike.set(roles, known);
    return [{ user_id: person.id, scope: null, rank: person.rank, ...known }];
  };
  const found: Affected[] = [];
  for (const person of people) {
    const isChanged = imagined.overrides.has(person.id);
    const isTouched = isChanged || person.held.some(({ role }) => imagined.roles.has(role.key));
    // Owners hold everything and the barred nothing, whatever else is said.
    if (!isTouched || person.isOwner || person.isBarred) continue;
    const all = isChanged || person.overrides.length > 0 ? compute(person) : share(person);
    found.push(...all.filter(({ gains, loses }) => gains.length + loses.length > 0));
  }
  return found.toSorted((a, b) => b.rank - a.rank || (BigInt(a.user_id) < BigInt(b.user_id) ? -1 : 1));
}

/** Where a person's decisions are compared: at large, and in every guild the changes name for them. */
function placesOf(userId: string, changes: readonly Change[]): (string | null)[] {
  const own = changes.filter(({ user_id }) => user_id === userId);
  return [...new Set([null, ...own.map(({ scope }) => scope ?? null)])];
}

function differenceOf(before: Access, after: Access, keys: readonly string[], guildId?: string): Difference {
  const holds = (who: Access, key: string): boolean => who.decide(key, guildId).allowed;
  return {
    gains: keys.filter((key) => !holds(before, key) && holds(after, key)).toSorted(),
    loses: keys.filter((key) => holds(before, key) && !holds(after, key)).toSorted(),
  };
}

/** What a staff role says on top of its level. */
export interface Mapping {
  allow: ReadonlySet<string>;
  deny: ReadonlySet<string>;
}

/** The change that leaves exactly these keys. */
export function replacedWith({ allow, deny }: Pick<KeyLists, "allow" | "deny">): () => Mapping {
  return () => ({ allow: new Set(allow), deny: new Set(deny) });
}

/** The change that says this about these keys; about others it says what was said before. */
export function updatedWith({ allow, deny, clear }: KeyLists): (before: Mapping) => Mapping {
  return (before) => {
    const named = new Set([...allow, ...deny, ...clear]);
    const rest = (keys: ReadonlySet<string>): string[] => [...keys].filter((key) => !named.has(key));
    return { allow: new Set([...rest(before.allow), ...allow]), deny: new Set([...rest(before.deny), ...deny]) };
  };
}

export function isSameMapping(a: Mapping, b: Mapping): boolean {
  return isDeepStrictEqual(a.allow, b.allow) && isDeepStrictEqual(a.deny, b.deny);
}

/** What is said anew, and what is not said any more. */
export function changedKeys(before: Mapping, after: Mapping): KeyLists {
  const said = [...before.allow, ...before.deny];
  return {
    allow: [...after.allow].filter((key) => !before.allow.has(key)).toSorted(),
    deny: [...after.deny].filter((key) => !before.deny.has(key)).toSorted(),
    clear: [...new Set(said)].filter((key) => !after.allow.has(key) && !after.deny.has(key)).toSorted(),
  };
}

/** As the audit keeps it. */
export function mappingOf({ allow, deny }: Mapping): { allow: string[]; deny: string[] } {
  return { allow: [...allow].toSorted(), deny: [...deny].toSorted() };
}
