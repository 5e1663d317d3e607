import { PermissionFlagsBits } from "discord-api-types/v10";
import { compareIds } from "../ids.ts";
import { invalidForm, unknown } from "../errors.ts";
import { deleteMessage } from "../messages.ts";
import type { Ban, Guild, User, World } from "../model.ts";
import { userPayload } from "../payloads.ts";
import { ban, unban } from "../world-members.ts";
import { auditReason } from "./audit-log.ts";
import { requireAbove, requireBotPermission, requireGuild, requireUser } from "./guards.ts";
import { integerQuery, noContent, objectBody, ok, param, snowflakeQuery, type Call, type Route } from "./route.ts";

const weekInSeconds = 604_800;

const banPayload = ({ user, reason }: Ban) => ({ user: userPayload(user), reason });

/** Bans of a guild, all behind Ban Members. The reason is the audit log header, percent-encoded. */
export function banRoutes(world: World): Route[] {
  const bans = "/guilds/{guild_id}/bans";
  const one = `${bans}/{user_id}`;
  const allowed = (call: Call) => {
    const found = requireGuild(world, call);
    requireBotPermission(world, found.guild, found.self, PermissionFlagsBits.BanMembers);
    return found;
  };
  return [
    {
      method: "GET",
      path: bans,
      auth: "bot",
      handle(call) {
        const { guild } = allowed(call);
        const limit = integerQuery(call, "limit", { min: 1, max: 1000, fallback: 1000 });
        const after = snowflakeQuery(call, "after");
        const before = snowflakeQuery(call, "before");
        const sorted = [...guild.bans.values()].sort((a, b) => compareIds(a.user.id, b.user.id));
        const inside = sorted.filter(
          ({ user }) =>
            (after === undefined || compareIds(user.id, after) > 0) && (before === undefined || compareIds(user.id, before) < 0),
        );
        const page = before !== undefined && after === undefined ? inside.slice(-limit) : inside.slice(0, limit);
        return ok(page.map(banPayload));
      },
    },
    {
      method: "GET",
      path: one,
      auth: "bot",
      handle(call) {
        const found = allowed(call).guild.bans.get(param(call, "user_id"));
        if (!found) throw unknown("Ban");
        return ok(banPayload(found));
      },
    },
    {
      method: "PUT",
      path: one,
      auth: "bot",
      handle(call) {
        const { guild, self } = allowed(call);
        const user = requireUser(world, param(call, "user_id"));
        const seconds = deletionOf(objectBody(call)["delete_message_seconds"]);
        const member = guild.members.get(user.id);
        if (member) requireAbove(guild, self, member);
        ban(world, guild, user, { by: self.user, reason: auditReason(call) });
        if (seconds > 0) deleteMessagesOf(world, guild, user, seconds);
        return noContent;
      },
    },
    {
      method: "DELETE",
      path: one,
      auth: "bot",
      handle(call) {
        const { guild, self } = allowed(call);
        const user = requireUser(world, param(call, "user_id"));
        if (!unban(world, guild, user, { by: self.user, reason: auditReason(call) })) throw unknown("Ban");
        return noContent;
      },
    },
  ];
}

function deleteMessagesOf(world: World, guild: Guild, user: User, seconds: number): void {
  const since = world.now() - seconds * 1000;
  for (const { messages } of guild.channels.values())
    for (const message of messages.values()) if (message.author === user && message.createdAt >= since) deleteMessage(world, message);
}

function deletionOf(seconds: unknown): number {
  if (seconds === undefined || seconds === null) return 0;
  if (typeof seconds === "number" && Number.isInteger(seconds) && seconds >= 0 && seconds <= weekInSeconds) return seconds;
  throw invalidForm("delete_message_seconds", "NUMBER_TYPE_MAX", `int value should be between 0 and ${weekInSeconds}.`);
}
