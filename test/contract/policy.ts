import { readFileSync } from "node:fs";

/** A line of the table of routes. */
export interface PolicyRoute {
  method: string;
  path: string;
  /** With its parameters in braces; null where anybody may ask. */
  permission: string | null;
  /** A second permission that is needed besides. */
  also: string | null;
  /** Further permissions of which one does as well, for somebody who is named. */
  either: readonly string[];
  /** Whether everybody named passes: the verb finds out whether it is their own matter. */
  isPersonal: boolean;
  /** Whether a public route looks at a key that is sent. */
  readsKey: boolean;
  /** The parameter of the person whose own data it is. */
  own: string | null;
  needsActor: boolean;
  /** Whether even a key with `system.act` has to name somebody. */
  alwaysActor: boolean;
  /** Whether only some bodies need an acting user: the others change nothing. */
  someActor: boolean;
  limit: string | null;
  summary: string;
}

/** A line of the table of permissions. `level` is null where no level gives it. */
export interface PolicyPermission {
  key: string;
  level: string | null;
  danger: boolean;
  scopes: string[];
  description: string;
}

/** The page of the policy, as its readers see it: nothing here comes from the code it is compared with. */
const page = readFileSync(new URL("../../docs/permissions.md", import.meta.url), "utf8");
const none = "–";

/** The cells of the table under a heading, without its head. */
export function tableUnder(heading: string): string[][] {
  const section = page.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? "";
  const lines = section.split("\n").filter((line) => line.startsWith("|"));
  return lines.slice(2).map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** The texts in backticks of a cell. */
export const codesIn = (cell: string | undefined): string[] => [...(cell ?? "").matchAll(/`([^`]+)`/g)].map(([, code]) => code ?? "");

export const policyRoutes: readonly PolicyRoute[] = tableUnder("Routes").map(
  ([route, permission = "", own, actor, limit = "", summary = ""]) => {
    const [method = "", path = ""] = (codesIn(route)[0] ?? "").split(" ");
    return {
      method,
      path,
      permission: codesIn(permission)[0] ?? null,
      also: codesIn(permission.split(" or ")[0])[1] ?? null,
      either: codesIn(permission.split(" or ")[1]),
      isPersonal: own === "matters",
      readsKey: !permission.startsWith("public") || permission.endsWith("key optional"),
      own: codesIn(own)[0] ?? null,
      needsActor: actor !== none,
      alwaysActor: actor === "always",
      someActor: actor === "to change",
      limit: limit === none ? null : limit,
      summary,
    };
  },
);

export const policyPermissions: readonly PolicyPermission[] = tableUnder("Permissions").map(
  ([key, level = "", danger, scopes = "", description = ""]) => ({
    key: codesIn(key)[0] ?? "",
    level: level === "nobody" ? null : level,
    danger: danger === "yes",
    scopes: scopes.split(", "),
    description,
  }),
);

/** Who asks, in the words of the page. */
export interface Caller {
  key: {
    scopes: readonly string[];
    delegation: string;
    /** Whether the acting user is proved by a signed assertion. */
    isProved: boolean;
    /** The refusal of a key that is not in force, or null. */
    refusal: string | null;
  } | null;
  actor: { isStaff: boolean; level: string; isSuspended: boolean } | null;
}

const levels = ["none", "viewer", "moderator", "senior", "admin", "owner"];
const levelOf: ReadonlyMap<string, string | null> = new Map(policyPermissions.map(({ key, level }) => [key, level]));

/** Whether the scopes of a key hold a permission. */
export function isInScopes(scopes: readonly string[], permission: string): boolean {
  if (scopes.includes(permission)) return true;
  if (permission === "system.act") return false;
  const [group = ""] = permission.split(".");
  return scopes.includes("*") || scopes.includes(`${group}.*`);
}

/** Whether a person of a level holds a permission, with nothing allowed or denied on top. */
export function isHeldBy({ isStaff, level, isSuspended }: NonNullable<Caller["actor"]>, permission: string): boolean {
  const from = levelOf.get(permission) ?? null;
  return isStaff && !isSuspended && from !== null && levels.indexOf(level) >= levels.indexOf(from);
}

/** Rules 1 to 8 of the page. @param permission of the route, with the value of the path filled in */
export function outcomeOf(route: PolicyRoute, permission: string | null, caller: Caller, isOwn: boolean): string {
  const first = outcomeFor(route, permission, caller, isOwn);
  return first === "allowed" && route.also !== null ? outcomeFor(route, route.also, caller, isOwn) : first;
}

function outcomeFor(route: PolicyRoute, permission: string | null, { key, actor }: Caller, isOwn: boolean): string {
  const denied = (required: string, missing: string): string => `403 permission_denied ${required} missing in ${missing}`;
  if (!route.readsKey) return "allowed";
  if (key === null) return permission === null ? "allowed" : "401 invalid_credentials";
  if (key.refusal !== null) return key.refusal;
  if (actor !== null && key.delegation === "none") return denied("delegation", "key");
  if (actor !== null && key.delegation === "signed" && !key.isProved) return "401 assertion_invalid";
  if (permission === null) return "allowed";
  const asked = [permission, ...(actor === null ? [] : otherPermissions(route, permission))];
  const inKey = asked.filter((one) => isInScopes(key.scopes, one));
  if (inKey.length === 0) return denied(permission, "key");
  const speaksForItself = !route.alwaysActor && key.scopes.includes("system.act");
  if (actor === null) return route.needsActor && !route.someActor && !speaksForItself ? "403 acting_user_required" : "allowed";
  if (isOwn && route.own !== null) return "allowed";
  if (route.isPersonal) return "allowed";
  if (!inKey.includes(permission) && !inKey.some((one) => isHeldBy(actor, one))) return denied(permission, "key");
  if (!actor.isStaff) return "403 acting_user_not_staff";
  return inKey.some((one) => isHeldBy(actor, one)) ? "allowed" : denied(permission, "acting_user");
}

/** The permissions that do as well as the first, with the value of the path filled in. */
function otherPermissions({ permission: template, either }: PolicyRoute, permission: string): string[] {
  const [before = "", after] = (template ?? "").split("{type}");
  const type = after === undefined ? "poach" : permission.slice(before.length, permission.length - after.length);
  return either.map((one) => one.replace("{type}", type));
}

/** The permissions a route may ask for, each with the values of the path that make it so. */
export function permissionsOf({ permission }: PolicyRoute): { permission: string | null; values: Record<string, string> }[] {
  const name = /\{(\w+)\}/.exec(permission ?? "")?.[1];
  if (permission === null || name === undefined) return [{ permission, values: {} }];
  const [before = "", after = ""] = permission.split(`{${name}}`);
  return policyPermissions
    .filter(({ key }) => key.startsWith(before) && key.endsWith(after) && key.split(".").length === permission.split(".").length)
    .map(({ key }) => ({ permission: key, values: { [name]: key.slice(before.length, key.length - after.length) } }));
}
