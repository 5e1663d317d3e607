import { GatewayIntentBits, PermissionFlagsBits } from "discord-api-types/v10";
import { DiscordApiError, invalidForm, missingAccess, missingPermissions, unknown } from "../errors.ts";
import type { Guild, Member, World } from "../model.ts";
import { memberPayload } from "../payloads.ts";
import { permissionsOf } from "../permissions.ts";
import { kick, updateMember, type MemberChange } from "../world-members.ts";
import { auditReason } from "./audit-log.ts";
import { requireAbove, requireBotPermission, requireGuild, requireMember, requireRole, requireRoleBelow } from "./guards.ts";
import { integerQuery, noContent, objectBody, ok, param, snowflakeQuery, textField, type Call, type Route } from "./route.ts";

const maxTimeoutMs = 28 * 24 * 3_600_000;
const pageRange = { min: 1, max: 1000, fallback: 1 };

/** Members of guilds: read, change, kick. The list needs the privileged members intent of the application. */
export function memberRoutes(world: World): Route[] {
  const members = "/guilds/{guild_id}/members";
  return [
    {
      method: "GET",
      path: members,
      auth: "bot",
      handle(call) {
        const { guild } = requireGuild(world, call);
        if (!(world.application.privilegedIntents & GatewayIntentBits.GuildMembers)) throw missingAccess();
        const limit = integerQuery(call, "limit", pageRange);
        return ok(guild.members.page(snowflakeQuery(call, "after") ?? "0", limit).map(memberPayload));
      },
    },
    {
      method: "GET",
      path: `${members}/search`,
      auth: "bot",
      handle(call) {
        const { guild } = requireGuild(world, call);
        const query = call.query.get("query");
        if (!query) throw invalidForm("query", "BASE_TYPE_REQUIRED", "This field is required");
        return ok(guild.members.search(query, integerQuery(call, "limit", pageRange)).map(memberPayload));
      },
    },
    {
      method: "PATCH",
      path: `${members}/@me`,
      auth: "bot",
      handle(call) {
        const { guild, self } = requireGuild(world, call);
        const nick = textField(objectBody(call), "nick", { max: 32 });
        requireBotPermission(world, guild, self, PermissionFlagsBits.ChangeNickname);
        if (nick !== undefined) updateMember(world, guild, self, { nick: nick || null }, doing(call, self));
        return ok(memberPayload(self));
      },
    },
    {
      method: "GET",
      path: `${members}/{user_id}`,
      auth: "bot",
      handle: (call) => ok(memberPayload(target(world, call).member)),
    },
    {
      method: "PATCH",
      path: `${members}/{user_id}`,
      auth: "bot",
      handle(call) {
        const { guild, self, member } = target(world, call);
        updateMember(world, guild, member, readChange(world, call, { guild, self, member }), doing(call, self));
        return ok(memberPayload(member));
      },
    },
    {
      method: "DELETE",
      path: `${members}/{user_id}`,
      auth: "bot",
      handle(call) {
        const { guild, self, member } = target(world, call);
        requireBotPermission(world, guild, self, PermissionFlagsBits.KickMembers);
        requireAbove(guild, self, member);
        kick(world, guild, member.user, doing(call, self));
        return noContent;
      },
    },
    ...(["PUT", "DELETE"] as const).map((method): Route => ({
      method,
      path: `${members}/{user_id}/roles/{role_id}`,
      auth: "bot",
      handle(call) {
        const { guild, self, member } = target(world, call);
        const role = requireRole(guild, param(call, "role_id"));
        requireBotPermission(world, guild, self, PermissionFlagsBits.ManageRoles);
        requireRoleBelow(guild, self, role);
        const others = member.roles.filter((id) => id !== role.id);
        updateMember(world, guild, member, { roles: method === "PUT" ? [...others, role.id] : others }, doing(call, self));
        return noContent;
      },
    })),
  ];
}

/** What the bot does with this call, for the audit log. */
const doing = (call: Call, self: Member) => ({ by: self.user, reason: auditReason(call) });

type Target = { guild: Guild; self: Member; member: Member };

function target(world: World, call: Call): Target {
  const found = requireGuild(world, call);
  const id = param(call, "user_id");
  if (!world.users.has(id)) throw unknown("User");
  return { ...found, member: requireMember(found.guild, id) };
}

/** Checks each changed field for its own permission, before anything is changed. */
function readChange(world: World, call: Call, { guild, self, member }: Target): MemberChange {
  const body = objectBody(call);
  const change: MemberChange = {};
  const nick = textField(body, "nick", { max: 32 });
  if (nick !== undefined) {
    requireBotPermission(world, guild, self, PermissionFlagsBits.ManageNicknames);
    requireAbove(guild, self, member);
    change.nick = nick || null;
  }
  if (body["roles"] !== undefined) change.roles = readRoles(world, body["roles"], { guild, self, member });
  if (body["communication_disabled_until"] !== undefined) {
    requireBotPermission(world, guild, self, PermissionFlagsBits.ModerateMembers);
    requireAbove(guild, self, member);
    if (permissionsOf(guild, member, 0) & PermissionFlagsBits.Administrator) throw missingPermissions();
    change.timeoutUntil = readTimeout(world, body["communication_disabled_until"]);
  }
  return change;
}

function readRoles(world: World, value: unknown, { guild, self, member }: Target): string[] {
  if (!Array.isArray(value) || !value.every((id) => typeof id === "string"))
    throw invalidForm("roles", "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType");
  requireBotPermission(world, guild, self, PermissionFlagsBits.ManageRoles);
  const wanted = new Set<string>(value);
  for (const id of wanted) requireRole(guild, id);
  const changed = [...wanted].filter((id) => !member.roles.includes(id));
  changed.push(...member.roles.filter((id) => !wanted.has(id)));
  for (const id of changed) requireRoleBelow(guild, self, requireRole(guild, id));
  return [...wanted];
}

function readTimeout(world: World, value: unknown): number | null {
  if (value === null) return null;
  const until = typeof value === "string" ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(until)) throw invalidForm("communication_disabled_until", "DATE_TIME_TYPE_PARSE", "Could not parse value.");
  if (until > world.now() + maxTimeoutMs)
    throw new DiscordApiError(400, 50035, "Invalid Form Body", {
      communication_disabled_until: {
        _errors: [{ code: "GUILD_MEMBER_TIMEOUT_TOO_LONG", message: "Timeouts last at most 28 days." }],
      },
    });
  return until > world.now() ? until : null;
}
