import { storedPermission, catalog, levelOrder } from "../../src/kernel/permissions.ts";
import type { Decision, Reason } from "../../src/kernel/call.ts";
import type { Community, EntryPlan, RolePlan } from "./community.ts";

type Rules = Omit<RolePlan, "allow" | "deny"> & { allow: ReadonlySet<string>; deny: ReadonlySet<string> };

interface Person {
  roles: ReadonlySet<string>;
  entries: readonly EntryPlan[];
}

/** Only API keys hold it. */
const nobodys = "system.act";
const defaults = new Map(catalog.map((entry) => [entry.key, entry.default_level]));
const reason = (source: string, ref: string | null): Reason => ({ code: "role_mapping", source, ref });

/**
 * The order of rules as plainly as it can be written: a set of role keys for each person, a set of permissions for each role, nothing prepared.
 * @param ids the people of the community, in its order
 */
export function createNaiveModel({ roles, people }: Community, ids: readonly string[]): (userId: string, permission: string) => Decision {
  const byKey = new Map<string, Rules>(
    roles.map((role) => [role.key, { ...role, allow: new Set(role.allow), deny: new Set(role.deny) }] as const),
  );
  const byId = new Map<string, Person>(people.map(({ roles, entries }, index) => [ids[index] ?? "", { roles: new Set(roles), entries }]));

  return (userId, permission) => {
    const reasons: Reason[] = [];
    let isAllowed: boolean | undefined;
    const say = (allows: boolean, spoken: Reason): void => {
      isAllowed ??= allows;
      reasons.push(spoken);
    };
    const person = byId.get(userId);
    if (person === undefined) return { allowed: false, reasons: [{ code: "not_member", source: "staff", ref: null }] };
    if (permission === nobodys) return { allowed: false, reasons: [reason("default", null)] };
    for (const effect of ["deny", "allow"] as const) {
      const code = effect === "allow" ? "user_allow" : "user_deny";
      for (const entry of person.entries) {
        const counts = entry.effect === effect && entry.permission === permission && !entry.isLocal;
        if (counts) say(effect === "allow", { code, source: "user", ref: entry.id });
      }
    }
    for (const key of person.roles) if (byKey.get(key)?.deny.has(permission) === true) say(false, reason("role_deny", key));
    for (const key of person.roles) if (byKey.get(key)?.allow.has(permission) === true) say(true, reason("role_allow", key));
    for (const key of person.roles) if (givesByDefault(byKey.get(key), permission)) say(true, reason("default", key));
    if (isAllowed === undefined) say(false, reason("default", null));
    return { allowed: isAllowed === true, reasons };
  };
}

function givesByDefault(role: Rules | undefined, permission: string): boolean {
  const lowest = defaults.get(storedPermission(permission)) ?? "none";
  return role !== undefined && lowest !== "none" && levelOrder[role.level] >= levelOrder[lowest];
}
