import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import type { Access } from "./access/access-directory.ts";
import { isPrivilegedRole } from "../../kernel/privileged-role.ts";
import type { Call } from "../../kernel/call.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { roleRef } from "../../kernel/ids.ts";
import { requireLevel, requireRankAbove, type RequireGrants, type RequireKeys } from "./grant.ts";
import { waitingGrants, type Edit } from "./overrides.ts";
import { effectivePermissions } from "./permissions.policy.ts";

export interface GivingDeps extends Deps<"access" | "guildState"> {
  requireKeys: RequireKeys;
  requireGrants: RequireGrants;
}

/** A Discord role of one guild. */
export interface DiscordRole {
  guildId: string;
  roleId: string;
}

/** Who gets it. */
export interface Recipient {
  userId: string;
}

export interface Giving {
  requireMayGiveStaffRole(call: Call, key: string, given: Recipient): void;
  /**
   * The first allowance of a bot names it: the staff roles that it holds in Discord count from then on, and as long as it is named. So whoever
   * allows a bot anything, or for longer, needs what giving it those roles needs.
   * @throws ProblemError hierarchy_violation, cannot_grant_unheld
   */
  requireMayName(call: Call, given: Pick<Access, "id" | "isBot" | "held" | "dormant">, edits: readonly Edit[]): void;
  /**
   * Whoever maps a Discord role to a staff role lets others give it: one with moderation or administration bits needs an owner.
   * @param refs Discord roles (`guildId:roleId`) that map to a staff role from now on
   * @throws ProblemError hierarchy_violation
   */
  requireMayMap(call: Call, refs: ReadonlySet<string>): void;
  /**
   * A Discord role that maps to a staff role needs what the staff role needs. Any other role with moderation or administration bits needs
   * an owner, also while its bits are unknown.
   * @throws ProblemError hierarchy_violation, cannot_grant_unheld
   */
  requireMayGiveRole(call: Call, given: DiscordRole, recipient: Recipient): void;
}

/** What giving a person a staff role, or any Discord role, needs. Every path that ends in either asks here. */
export function createGiving({ access, guildState, requireKeys, requireGrants }: GivingDeps): Giving {
  /**
   * A staff role is given by those who could also grant what it holds: their rank is above it, their level is not below it, and they hold
   * its permissions. A key that is not in use gives nothing.
   * @throws ProblemError hierarchy_violation, cannot_grant_unheld
   */
  function requireMayGiveStaffRole(call: Call, key: string, { userId }: Recipient): void {
    const role = access.role(key);
    if (role === undefined) return;
    requireRankAbove(call, role.rank);
    requireLevel(call, call.actor === null ? "owner" : access.of(call.actor.id).level, role.level);
    requireKeys(call, effectivePermissions(role.rules));
    const person = access.of(userId);
    if (!person.isStaff) requireGrants(call, waitingGrants(person.overrides));
  }

  function requireMayGiveBits(call: Call, { guildId, roleId }: DiscordRole): void {
    if (call.actor === null || call.actor.isOwner || isPrivilegedRole(guildState.role(guildId, roleId)) === false) return;
    throw new ProblemError("hierarchy_violation", {
      detail: say("permissions.only-owners-give-or-map-a-discord"),
    });
  }

  return {
    requireMayGiveStaffRole,

    requireMayName(
      call: Call,
      { id, isBot, held, dormant }: Pick<Access, "id" | "isBot" | "held" | "dormant">,
      edits: readonly Edit[],
    ): void {
      if (!isBot || !edits.some(({ wanted }) => wanted.effect === "allow")) return;
      for (const { role } of [...held, ...dormant]) requireMayGiveStaffRole(call, role.key, { userId: id });
    },

    requireMayMap(call: Call, refs: ReadonlySet<string>): void {
      for (const ref of refs) {
        const [guildId = "", roleId = ""] = ref.split(":");
        requireMayGiveBits(call, { guildId, roleId });
      }
    },

    requireMayGiveRole(call: Call, { guildId, roleId }: DiscordRole, recipient: Recipient): void {
      const staffRole = access.roleAt(roleRef(guildId, roleId));
      if (staffRole !== undefined) requireMayGiveStaffRole(call, staffRole.key, recipient);
      else requireMayGiveBits(call, { guildId, roleId });
    },
  };
}
