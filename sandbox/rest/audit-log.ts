import { PermissionFlagsBits } from "discord-api-types/v10";
import { pageOfLog } from "../audit-log.ts";
import { DiscordApiError, invalidForm } from "../errors.ts";
import type { World } from "../model.ts";
import { userPayload } from "../payloads.ts";
import { requireBotPermission, requireGuild } from "./guards.ts";
import { integerQuery, ok, snowflakeQuery, type Call, type Route } from "./route.ts";

/** The audit log of guilds, behind View Audit Log. */
export function auditLogRoutes(world: World): Route[] {
  return [
    {
      method: "GET",
      path: "/guilds/{guild_id}/audit-logs",
      auth: "bot",
      handle(call) {
        const { guild, self } = requireGuild(world, call);
        requireBotPermission(world, guild, self, PermissionFlagsBits.ViewAuditLog);
        const entries = pageOfLog(world, guild, {
          before: snowflakeQuery(call, "before"),
          after: snowflakeQuery(call, "after"),
          userId: snowflakeQuery(call, "user_id"),
          targetId: snowflakeQuery(call, "target_id"),
          action: actionQuery(call),
          limit: integerQuery(call, "limit", { min: 1, max: 100, fallback: 50 }),
        });
        const named = new Set(entries.flatMap(({ user_id, target_id }) => [user_id ?? "", target_id ?? ""]));
        const users = [...named].flatMap((id) => world.users.get(id) ?? []);
        return ok({
          audit_log_entries: entries,
          users: users.map(userPayload),
          integrations: [],
          webhooks: [],
          guild_scheduled_events: [],
          threads: [],
          application_commands: [],
          auto_moderation_rules: [],
        });
      },
    },
  ];
}

function actionQuery(call: Call): number | undefined {
  const text = call.query.get("action_type");
  if (text === null) return undefined;
  if (!/^\d{1,3}$/.test(text)) throw invalidForm("action_type", "NUMBER_TYPE_COERCE", `Value "${text}" is not int.`);
  return Number(text);
}

/** What the bot gives as the reason of a change, for the audit log: a header, percent-encoded, of at most 512 characters. */
export function auditReason(call: Call): string | null {
  const header = call.headers.get("x-audit-log-reason");
  if (header === null) return null;
  const reason = decodeURIComponent(header);
  if (reason.length > 512) throw new DiscordApiError(400, 50035, "Invalid Form Body");
  return reason;
}
