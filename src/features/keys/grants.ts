import { say } from "../../kit/say.ts";
import type { Call } from "../../kernel/call.ts";
import { ProblemError } from "../../kernel/errors.ts";
import type { ApiKey } from "../../generated/sqlite/client.ts";
import type { AccessDirectory } from "../permissions/access/access-directory.ts";
import type { PermissionsService } from "../permissions/permissions.service.ts";
import { keysPolicy, limitsOf, makersOf, settingsOf, type KeySettings } from "./keys.policy.ts";
import { isIP } from "node:net";
import { createAddressRanges } from "../../kernel/addresses.ts";

export type GrantingPermissions = Pick<
  PermissionsService,
  "isKnownScope" | "createScopes" | "knownPermissions" | "requireHeld" | "dangerousOf"
>;

export interface KeyGrants {
  /** @throws ProblemError validation_failed naming the place of every unknown scope */
  requireKnown(scopes: readonly string[]): void;
  /**
   * Nobody gives a key what they do not hold until its end. A wildcard holds what a later version adds, too, so a key gives one
   * only out of a wildcard of its own. The operator's command line and the service itself stand above the catalog.
   * @throws ProblemError cannot_grant_unheld
   */
  requireMayGive(call: Call, given: Pick<KeySettings, "scopes" | "expiresAt">): void;
  /** Whether a key may do less now than its settings say: somebody who made it does not hold all of it. */
  isLimited(row: ApiKey): boolean;
  /** Whether a changed key can do nothing that it could not do before, from nowhere else and no longer. */
  isOnlyNarrowed(before: KeySettings, after: KeySettings): boolean;
  /**
   * What of a key can do lasting harm: permissions among its scopes, and to speak for others, which counts as the permission that
   * gives it.
   */
  dangerousIn(given: Pick<KeySettings, "scopes" | "delegation">): string[];
}

/** What may be given to a key, and by whom. */
export function createKeyGrants(permissions: GrantingPermissions, access: Pick<AccessDirectory, "allHold">): KeyGrants {
  const { createScopes, isKnownScope, knownPermissions, requireHeld } = permissions;

  /** The permissions of the catalog that scopes give. */
  const parseForm = (scopes: readonly string[]): string[] => [...knownPermissions].filter(createScopes(scopes));

  return {
    requireKnown(scopes: readonly string[]): void {
      const errors = [...scopes.entries()]
        .filter(([, scope]) => !isKnownScope(scope))
        .map(([index, scope]) => ({
          pointer: `/scopes/${index.toString()}`,
          in: "body" as const,
          code: "unknown_scope",
          detail: say("keys.is-neither-a-permission-nor-group-nor", { name: scope }),
        }));
      if (errors.length > 0)
        throw new ProblemError("validation_failed", { detail: say("keys.scopes-are-not-known", { count: errors.length }), errors });
    },

    requireMayGive(call: Call, { scopes, expiresAt }: Pick<KeySettings, "scopes" | "expiresAt">): void {
      if (call.via === "cli" || call.via === "job") return;
      requireHeld(call, parseForm(scopes), expiresAt);
      const wider = scopes.filter((scope) => !knownPermissions.has(scope) && call.client?.allows(scope) === false);
      if (wider.length === 0) return;
      throw new ProblemError("cannot_grant_unheld", {
        detail: say("permissions.key-does-not-hold", { keys: wider.slice(0, 10).join(", ") }),
        extra: { unheld: wider.slice(0, 100), missing_in: "key" },
      });
    },

    isLimited(row: ApiKey): boolean {
      const { scopes, delegation } = settingsOf(row);
      const { allows, mayName } = limitsOf(access, makersOf(row), createScopes(scopes));
      return (delegation !== "none" && !mayName()) || parseForm(scopes).some((permission) => !allows(permission));
    },

    isOnlyNarrowed(before: KeySettings, after: KeySettings): boolean {
      return (
        after.scopes.every(createScopes(before.scopes)) &&
        (after.delegation === "none" || (after.delegation === before.delegation && after.publicKey?.x === before.publicKey?.x)) &&
        isNarrower(after.ipAllowlist, before.ipAllowlist) &&
        after.expiresAt <= before.expiresAt
      );
    },

    dangerousIn: ({ scopes, delegation }: Pick<KeySettings, "scopes" | "delegation">): string[] =>
      permissions.dangerousOf([...parseForm(scopes), ...(delegation === "none" ? [] : [keysPolicy.create])]),
  };
}

/** @param ranges addresses and CIDR ranges; none: everywhere is allowed. An address that is not known is in no range */
export function createAddressCheck(ranges: readonly string[]): (address: string | undefined) => boolean {
  if (ranges.length === 0) return () => true;
  const isWithin = createAddressRanges(ranges);
  return (address) => address !== undefined && isWithin(address);
}

/** Whether an allow-list lets in nobody whom another one keeps out. A range that several others cover together does not count. */
export function isNarrower(inner: readonly string[], outer: readonly string[]): boolean {
  if (outer.length === 0) return true;
  return inner.length > 0 && inner.every((range) => outer.some((wide) => isWithin(range, wide)));
}

function isWithin(range: string, wide: string): boolean {
  const [inner, outer] = [parse(range), parse(wide)];
  return inner.family === outer.family && inner.bits >= outer.bits && createAddressRanges([wide])(inner.address);
}

function parse(range: string): { address: string; family: number; bits: number } {
  const [address = "", bits] = range.split("/");
  const family = isIP(address);
  return { address, family, bits: bits === undefined ? (family === 4 ? 32 : 128) : Number(bits) };
}
