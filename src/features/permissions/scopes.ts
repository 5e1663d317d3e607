import { knownPermissions } from "../../kernel/permissions.ts";

/** Never part of a wildcard: a key that writes without an acting user is named so on purpose. */
const alwaysNamed = "system.act";

/** Whether a scope of an API key is a permission, `group.*` with at least one permission, or `*`. */
export function isKnownScope(scope: string): boolean {
  return knownPermissions.has(scope) || [...knownPermissions].some((key) => covers(scope, key));
}

/** What an API key with these scopes may do; keys of the catalog are looked up, others compared with the wildcards. */
export function createScopes(scopes: readonly string[]): (permission: string) => boolean {
  const named = new Set(scopes);
  const held = new Set([...knownPermissions].filter((key) => named.has(key) || scopes.some((scope) => covers(scope, key))));
  return (permission) =>
    held.has(permission) ||
    (!knownPermissions.has(permission) && scopes.some((scope) => scope === permission || covers(scope, permission)));
}

/** Whether a wildcard covers a permission. */
function covers(scope: string, permission: string): boolean {
  if (permission === alwaysNamed || (scope !== "*" && !scope.endsWith(".*"))) return false;
  return permission.startsWith(scope.slice(0, -1));
}
