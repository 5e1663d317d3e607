import type { Logger } from "pino";
import type { Deps } from "../deps.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import { systemClock, type Clock } from "../../kernel/clock.ts";
import { toPage, withTotal, type Page } from "../../kernel/page.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { ConfirmationsService } from "../confirmations/confirmations.service.ts";
import type { EventsService } from "../events/events.service.ts";
import { catalog, knownPermissions } from "../../kernel/permissions.ts";
import { dangerousOf, loosened, requireHeld, requireLevel, requireRankAbove, type RequireGrants, type RequireKeys } from "./grant.ts";
import { suspensionAt, suspensionBy, suspensionsAt, waitingGrants } from "./overrides.ts";
import { createGiving } from "./giving.ts";
import { createExpiry } from "./expiry.ts";
import { createExplanations } from "./explain/explain.service.ts";
import { createOwners } from "./owners.service.ts";
import { effectivePermissions, permissionsPolicy, presentCatalogEntry } from "./permissions.policy.ts";
import { createRolePermissions } from "./roles.service.ts";
import type { CatalogView, PermissionsListQuery } from "./permissions.schema.ts";
import { createUserPermissions } from "./users/users.service.ts";
import { createPermissionsInTx } from "./in-tx.ts";
import { roleRules } from "./resolve.ts";
import { createUserRows } from "./user-rows.ts";

export type PermissionsService = ReturnType<typeof createPermissionsService>;

export interface PermissionsDeps extends Deps<"database" | "servedGuilds" | "access" | "cursors" | "guildState"> {
  audit: AuditService;
  events: EventsService;
  confirmations: ConfirmationsService;
  logger: Logger;
  clock?: Clock;
}

/** What is permitted to whom, and the rules of granting that other features share. */
export function createPermissionsService({ clock = systemClock, ...deps }: PermissionsDeps) {
  const { cursors, servedGuilds } = deps;
  const requireGrants: RequireGrants = (call, grants) => requireHeld(call, grants, servedGuilds);
  const requireKeys: RequireKeys = (call, keys, until = null) =>
    requireGrants(
      call,
      keys.map((key) => ({ key, guildId: null, until })),
    );
  const giving = createGiving({ ...deps, requireGrants, requireKeys });
  const ground = { ...deps, clock, requireGrants, requireKeys, requireMayName: giving.requireMayName };
  const owners = createOwners(ground);
  const { expireEntries, nextDue } = createExpiry(ground);

  return {
    /** Every permission there is. */
    knownPermissions,
    isKnownScope,
    createScopes,
    effectivePermissions,
    loosened,
    dangerousOf,
    roleRules,
    /** @throws ProblemError cannot_grant_unheld when these are given everywhere, until then, and the call does not hold them so */
    requireHeld: requireKeys,
    /**
     * Anyone who makes people staff gives what their own entries hold ready for that.
     * @param refs Discord roles (`guildId:roleId`) whose holders become staff
     * @throws ProblemError cannot_grant_unheld
     */
    requireWaiting(call: Call, refs: ReadonlySet<string>): void {
      const strangers = deps.access.holdersOf(refs).filter((one) => !one.isStaff);
      requireGrants(
        call,
        strangers.flatMap((one) => waitingGrants(one.overrides)),
      );
    },
    requireRankAbove,
    requireLevel,
    /** The stored entries of one person, for the feature that suspends people. */
    userRows: createUserRows(deps.access),
    suspensionAt,
    suspensionBy,
    suspensionsAt,

    ...createRolePermissions(ground),
    ...createUserPermissions(ground),
    ...createExplanations(ground),
    ...createPermissionsInTx(ground),
    ...giving,
    owners,
    /** Make somebody an owner, as part of another feature's transaction; an owner stays one. */
    addOwner: owners.addInTx,

    /** The definitions of all permissions, ordered by key. */
    async catalog(call: Call, query: PermissionsListQuery): Promise<Page<CatalogView>> {
      requirePermission(call, permissionsPolicy.catalog);
      const { limit, cursor } = query;
      const after = cursor === undefined ? "" : cursors.decode("permissions.catalog", {}, cursor)[1];
      const rows = catalog.filter((entry) => entry.key > after).slice(0, limit + 1);
      const page = toPage(rows, limit, presentCatalogEntry, (last) => cursors.encode("permissions.catalog", {}, [last.key, last.key]));
      return withTotal(page, query, () => catalog.length);
    },

    /** End what is past its end, and keep the list of owners true. For the job that runs each minute. @returns how many people it was about */
    async expireDue(call: Call): Promise<number> {
      const people = await expireEntries(call);
      await owners.handleLastOwnersLost(call);
      return people;
    },
    nextDue,
  };
}

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
