import type { Call } from "../../kernel/call.ts";
import { can } from "../../kernel/call.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { knownPermissions } from "./catalog.ts";
import type { CatalogEntry } from "./catalog.ts";
import type { CatalogView, RolePermissionsView } from "./permissions.schema.ts";
import type { Subject, RoleRules } from "./resolve.ts";
import { clientOnly, notGranted, resolve } from "./resolve.ts";
import type { StaffRoleRecord } from "./standing.person.ts";

/** Who may call the verbs of this room. */
export const permissionsPolicy = {
  catalog: "permissions.read",
  roles: "permissions.read",
  replaceRole: "permissions.roles.manage",
} as const;

/** Every key, catalogued or not, that somebody with this role alone holds. */
export function effectivePermissions(rules: RoleRules): string[] {
  const subject: Subject = {
    owner: null,
    suspension: null,
    userDeny: new Map(),
    userAllow: new Map(),
    roles: [rules],
    otherwise: notGranted,
  };
  const all = new Set([...knownPermissions, ...rules.allow]);
  const isHeld = rules.level === "owner" ? (key: string) => key !== clientOnly : (key: string) => resolve(subject, key).allowed;
  return [...all].filter(isHeld).toSorted();
}

/**
 * Nobody touches what stands at or above them. Owners and clients that act as the system stand above everything.
 * @throws ProblemError hierarchy_violation
 */
export function requireRankAbove(call: Call, rank: number): void {
  if (call.actor === null || call.actor.isOwner || call.actor.rank > rank) return;
  throw new ProblemError("hierarchy_violation", {
    detail: `Rank ${rank.toString()} is not below your own rank ${call.actor.rank.toString()}.`,
  });
}

/**
 * Nobody gives what they do not hold, and what a call holds is what both its key and its actor hold.
 * @throws ProblemError cannot_grant_unheld
 */
export function requireHeld(call: Call, granted: readonly string[]): void {
  const unheld = granted.filter((key) => key === clientOnly || !can(call, key));
  if (unheld.length === 0) return;
  const isKeyMissing = unheld.some((key) => call.client?.allows(key) === false);
  throw new ProblemError("cannot_grant_unheld", {
    detail: `The ${isKeyMissing ? "API key" : "acting user"} does not hold ${unheld.slice(0, 10).join(", ")}.`,
    extra: { unheld: unheld.slice(0, 100), missing_in: isKeyMissing ? "key" : "acting_user" },
  });
}

/** @throws ProblemError precondition_failed when the caller read another revision; `found` is null when there is no record */
export function requireRevision(ifMatch: number | undefined, found: number | null): void {
  if (ifMatch === undefined || ifMatch === (found ?? 0)) return;
  throw new ProblemError("precondition_failed", { extra: { current_etag: found === null ? null : `"v${found.toString()}"` } });
}

export function presentCatalogEntry(entry: CatalogEntry): CatalogView {
  const { key, group, label, description, default_level, danger, since } = entry;
  return {
    key,
    group,
    label,
    description,
    default_level,
    danger,
    scopes: [...entry.scopes],
    implies: [...entry.implies],
    conflicts: [...entry.conflicts],
    since,
  };
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
    ...(options.withEffective && { effective: effectivePermissions(role.rules) }),
    unknown: [...allow, ...deny].filter((key) => !knownPermissions.has(key)).toSorted(),
    revision: role.revision,
  };
}
