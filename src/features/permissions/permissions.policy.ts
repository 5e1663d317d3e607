import { say } from "../../kit/say.ts";
import { conflictsAmong, knownPermissions, type CatalogEntry } from "../../kernel/permissions.ts";
import type { CatalogView, RolePermissionsView } from "./permissions.schema.ts";
import { clientOnly, notGranted, resolve, type Subject, type RoleRules } from "./resolve.ts";
import type { StaffRoleRecord } from "./access/subject.ts";

/** Who may call the service methods of this feature. */
export const permissionsPolicy = {
  catalog: "permissions.read",
  roles: "permissions.read",
  changeRole: "permissions.roles.manage",
  user: "permissions.read",
  changeUser: "permissions.users.manage",
  explain: "permissions.explain",
  /** Owners are looked at and named with it; only owners and the operator may. */
  owners: "system.settings.manage",
  /** Held by the service itself. */
  jobs: "system.act",
} as const;

/** Every key, catalogued or not, that somebody with this role alone holds. */
export function effectivePermissions(rules: RoleRules): string[] {
  const subject: Subject = {
    owner: null,
    bars: [],
    userDeny: new Map(),
    userAllow: new Map(),
    local: new Map(),
    roles: [rules],
    otherwise: notGranted,
  };
  const all = new Set([...knownPermissions, ...rules.allow]);
  const isHeld = rules.level === "owner" ? (key: string) => key !== clientOnly : (key: string) => resolve(subject, key).allowed;
  return [...all].filter(isHeld).toSorted();
}

/** A change in plain words, for anyone who has to confirm it. */
export function summaryOf(whose: "role" | "user", id: string, lists: Readonly<Record<string, readonly string[]>>): string {
  const parts = Object.entries(lists).flatMap(([verb, keys]) => {
    if (keys.length === 0) return [];
    // All of them: whoever confirms it agrees to each.
    return [say(`permissions.keys-${verb as "allow" | "deny" | "clear"}`, { keys: keys.join(", ") })];
  });
  return say(`permissions.change-of-${whose}`, { id, parts: parts.join("; ") });
}

export function presentCatalogEntry(entry: CatalogEntry): CatalogView {
  return { ...entry, scopes: [...entry.scopes], implies: [...entry.implies], conflicts: [...entry.conflicts] };
}

/** What a role holds in all, and what of it should not be in the same hands; owners hold everything. */
function heldTogether(rules: RoleRules) {
  const effective = effectivePermissions(rules);
  return { effective, conflicts: rules.level === "owner" ? [] : conflictsAmong(effective) };
}

/** What a role holds; the effective set only where one role is answered, for it is long. */
export function presentRolePermissions(role: StaffRoleRecord, options: { withEffective: boolean }): RolePermissionsView {
  const allow = [...role.rules.allow].toSorted();
  const deny = [...role.rules.deny].toSorted();
  return {
    role_key: role.key,
    level: role.level,
    allow,
    deny,
    ...(options.withEffective && heldTogether(role.rules)),
    unknown: [...allow, ...deny].filter((key) => !knownPermissions.has(key)).toSorted(),
    revision: role.revision,
  };
}
