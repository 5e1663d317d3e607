import { PermissionFlagsBits } from "discord-api-types/v10";
import { invalidForm, missingPermissions } from "../errors.ts";
import type { Guild, Member, World } from "../model.ts";
import { textOf } from "../text.ts";
import { rolePayload } from "../payloads.ts";
import { allPermissions, compareRoles, permissionsOf } from "../permissions.ts";
import { createRole, deleteRole, updateRole, type RoleChange } from "../guild-handle.ts";
import { requireBotPermission, requireGuild, requireRole, requireRoleBelow } from "./guards.ts";
import { noContent, objectBody, ok, param, textField, type Call, type Route } from "./route.ts";

/** Roles of guilds. Changing one needs Manage Roles and a place above it. */
export function roleRoutes(world: World): Route[] {
  const roles = "/guilds/{guild_id}/roles";
  const one = `${roles}/{role_id}`;
  const managed = (call: Call) => {
    const found = requireGuild(world, call);
    requireBotPermission(world, found.guild, found.self, PermissionFlagsBits.ManageRoles);
    return found;
  };
  return [
    {
      method: "GET",
      path: roles,
      auth: "bot",
      handle: (call) => ok([...requireGuild(world, call).guild.roles.values()].map(rolePayload)),
    },
    {
      method: "POST",
      path: roles,
      auth: "bot",
      handle(call) {
        const { guild, self } = managed(call);
        return ok(rolePayload(createRole(world, guild, readRole(world, call, guild, self))));
      },
    },
    {
      method: "GET",
      path: `${roles}/member-counts`,
      auth: "bot",
      handle: (call) => ok(memberCounts(requireGuild(world, call).guild)),
    },
    {
      method: "GET",
      path: one,
      auth: "bot",
      handle: (call) => ok(rolePayload(requireRole(requireGuild(world, call).guild, param(call, "role_id")))),
    },
    {
      method: "PATCH",
      path: one,
      auth: "bot",
      handle(call) {
        const { guild, self } = managed(call);
        const role = requireRole(guild, param(call, "role_id"));
        if (role.id !== guild.id) requireRoleBelow(guild, self, role);
        updateRole(world, role, readRole(world, call, guild, self));
        return ok(rolePayload(role));
      },
    },
    {
      method: "DELETE",
      path: one,
      auth: "bot",
      handle(call) {
        const { guild, self } = managed(call);
        const role = requireRole(guild, param(call, "role_id"));
        requireRoleBelow(guild, self, role);
        deleteRole(world, guild, role);
        return noContent;
      },
    },
    {
      method: "PATCH",
      path: roles,
      auth: "bot",
      handle(call) {
        const { guild, self } = managed(call);
        moveRoles(world, guild, self, call.body);
        return ok([...guild.roles.values()].map(rolePayload));
      },
    },
  ];
}

function memberCounts(guild: Guild): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const id of guild.roles.keys()) if (id !== guild.id) counts[id] = 0;
  for (const member of guild.members.values()) for (const id of member.roles) counts[id] = (counts[id] ?? 0) + 1;
  return counts;
}

/** A role's fields; the bot can only hand out permissions it holds. */
function readRole(world: World, call: Call, guild: Guild, self: Member): RoleChange {
  const body = objectBody(call);
  const change: RoleChange = {};
  const name = textField(body, "name", { min: 1, max: 100 });
  if (name) change.name = name;
  if (typeof body["color"] === "number") change.color = body["color"];
  if (typeof body["hoist"] === "boolean") change.hoist = body["hoist"];
  if (typeof body["mentionable"] === "boolean") change.mentionable = body["mentionable"];
  const { permissions } = body;
  if (permissions === undefined || permissions === null) return change;
  if (!/^\d{1,20}$/.test(textOf(permissions))) throw invalidForm("permissions", "NUMBER_TYPE_COERCE", "Value is not int.");
  change.permissions = BigInt(textOf(permissions)) & allPermissions;
  if (change.permissions & ~permissionsOf(guild, self, world.now())) throw missingPermissions();
  return change;
}

/** Client libraries send every role's place; only a role whose rank changes has to be below the bot's. */
function moveRoles(world: World, guild: Guild, self: Member, body: unknown): void {
  if (!Array.isArray(body)) throw invalidForm("_", "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType");
  const moves = body as { id: string; position?: number | null }[];
  const places = new Map(moves.map(({ id, position }) => [requireRole(guild, id).id, position ?? undefined]));
  const before = [...guild.roles.values()].toSorted(compareRoles);
  const moved = before.map((role) => ({ ...role, position: places.get(role.id) ?? role.position })).toSorted(compareRoles);
  for (const [rank, role] of before.entries()) if (moved[rank]?.id !== role.id) requireRoleBelow(guild, self, role);
  for (const role of before) {
    const position = places.get(role.id);
    if (position !== undefined && position !== role.position) updateRole(world, role, { position });
  }
}
