import { say, term } from "../../../kit/say.ts";
import type { GuildState } from "../../../discord/guild-state.ts";
import { ProblemError, validationProblem } from "../../../kernel/errors.ts";
import { onWire } from "../../../kernel/wire.ts";
import { roleRef } from "../../../kernel/ids.ts";
import type { PermissionsService } from "../../permissions/permissions.service.ts";
import type { StaffRoleRecord } from "../../permissions/access/access-directory.ts";
import type { PutStaffRoleInput, StaffRoleView } from "./roles.schema.ts";

/** @param counts numbers about a role that come from the people and the catalog, not from its record */
export function presentStaffRole(
  role: StaffRoleRecord,
  counts: { permissions: number; members: number },
  guildState: GuildState,
): StaffRoleView {
  const hasState = guildState.freshness().asOf !== null;
  const knownOf = ({ guildId, roleId }: StaffRoleRecord["discord"][number]) =>
    isPresent(guildState, guildId) ? guildState.role(guildId, roleId) : undefined;
  return {
    ...onWire(role, "key", "name", "rank", "level"),
    discord: role.discord.map((mapping) => {
      const { guildId, roleId } = mapping;
      const known = knownOf(mapping);
      return { guild_id: guildId, role_id: roleId, name: known?.name ?? null, missing: hasState && known === undefined };
    }),
    capacity: role.capacity,
    over_capacity: role.capacity !== null && counts.members > role.capacity,
    callsign_pool: role.callsignPool,
    permissions_count: counts.permissions,
    members_count: counts.members,
    hoist: role.discord.some((mapping) => knownOf(mapping)?.hoist === true),
    self_assignable: false,
    revision: role.revision,
  };
}

function isPresent(guildState: GuildState, guildId: string): boolean {
  return guildState.guilds().some((guild) => guild.id === guildId && guild.present);
}

/**
 * Discord roles can only stand for a staff role where they exist. Mappings that stood before may stay, whatever became of the role.
 * @throws ProblemError validation_failed
 */
export function requireDiscordRoles(wanted: PutStaffRoleInput["discord"], before: StaffRoleRecord | null, guildState: GuildState): void {
  const stood = new Set(refsOf(before));
  const guilds = guildState.guilds();
  const errors = wanted.flatMap(({ guild_id, role_id }, index) => {
    if (stood.has(roleRef(guild_id, role_id))) return [];
    const wrong = (field: string, code: string, detail: string) => [
      { pointer: `/discord/${index.toString()}/${field}`, in: "body" as const, code, detail },
    ];
    const guild = guilds.find((one) => one.id === guild_id && one.present);
    if (guild === undefined)
      return guilds.length === 0 ? [] : wrong("guild_id", "unknown_guild", say("staff.the-service-does-not-know-this-guild"));
    return guildState.role(guild_id, role_id) === undefined
      ? wrong("role_id", "unknown_role", say("staff.has-no-such-role", { name: guild.name }))
      : [];
  });
  if (errors.length > 0) throw validationProblem(errors);
}

/**
 * The permissions somebody may hold after a change of a staff role who could not hold them before: by its rules, by a Discord role
 * that stands for it now, or by being rid of what it denied.
 * @param before null for a role that was not there, after null for one that is gone
 */
export function gainsOf(before: StaffRoleRecord | null, after: StaffRoleRecord | null, permissions: RulesOfRoles): string[] {
  const isLeft = before !== null && refsOf(before).some((ref) => !refsOf(after).includes(ref));
  const isJoined = after !== null && (before === null || refsOf(after).some((ref) => !refsOf(before).includes(ref)));
  return [
    ...new Set([
      ...(isJoined ? permissions.effectivePermissions(after.rules) : []),
      ...(isLeft || after === null ? permissions.loosened(before?.rules ?? null, null) : []),
      ...(before !== null && after !== null ? permissions.loosened(before.rules, after.rules) : []),
    ]),
  ].toSorted();
}

/** What the permissions feature knows about the rules of staff roles. */
export type RulesOfRoles = Pick<PermissionsService, "effectivePermissions" | "loosened" | "roleRules">;

/** The Discord roles (`guildId:roleId`) that stand for a staff role only after a change. */
export function newRefs(before: StaffRoleRecord | null, after: StaffRoleRecord | null): ReadonlySet<string> {
  const known = refsOf(before);
  return new Set(refsOf(after).filter((ref) => !known.includes(ref)));
}

/** Whether a change is about who may do what, not only about names and numbers. */
export function isAboutAccess(before: StaffRoleRecord | null, after: StaffRoleRecord | null): boolean {
  const [was, is] = [before, after].map((role) => role && JSON.stringify([role.rank, role.level, refsOf(role)]));
  return was !== is;
}

/** What a change does, in plain words. */
export function summaryOf(key: string, before: StaffRoleRecord | null, after: StaffRoleRecord | null): string {
  if (after === null) return say("staff.delete-the-staff-role", { key });
  const filled = { key, level: term(after.level), rank: after.rank, count: after.discord.length };
  return say(before === null ? "staff.create-role" : "staff.change-role", filled);
}

/** The Discord roles (`guildId:roleId`) that stand for a staff role. */
export function refsOf(role: StaffRoleRecord | null): string[] {
  return (role?.discord ?? []).map(({ guildId, roleId }) => roleRef(guildId, roleId));
}

/** @throws ProblemError duplicate_active_record when a Discord role stands for another staff role */
export function requireUnclaimed(claims: readonly { guildId: string; roleId: string; staffRoleKey: string }[]): void {
  const [claim] = claims;
  if (claim === undefined) return;
  throw new ProblemError("duplicate_active_record", {
    detail: say("staff.the-discord-role-already-stands-for-the", { id: claim.roleId, key: claim.staffRoleKey }),
    extra: { guild_id: claim.guildId, role_id: claim.roleId, staff_role: claim.staffRoleKey },
  });
}
