import { GatewayDispatchEvents as Dispatch, GatewayIntentBits as Intent } from "discord-api-types/v10";
import { z } from "zod";
import { listener, type GatewayListener } from "../../discord/gateway/listeners.ts";
import { Snowflake } from "../../kernel/fields.ts";
import type { NativeWatch } from "./watch.ts";

const ready = z.object({ user: z.object({ id: Snowflake }) });
const guild = z.object({ id: Snowflake, unavailable: z.boolean().nullish() });
/** Whatever else it holds, the log's reader judges: as what it reads there. */
const entry = z.looseObject({ guild_id: Snowflake });
const ban = z.object({ guild_id: Snowflake, user: z.object({ id: Snowflake }) });
const moderation = [Intent.GuildModeration];

/** What the gateway tells of the moderation of the served guilds; events of other guilds reach no listener. */
export function nativeActionsListeners(watch: NativeWatch): readonly GatewayListener[] {
  return [
    listener({ dispatch: Dispatch.Ready, intents: [], schema: ready, handle: ({ user }) => watch.connected(user.id) }),
    listener({
      dispatch: Dispatch.GuildCreate,
      intents: [Intent.Guilds],
      schema: guild,
      handle: ({ id, unavailable }) => (unavailable === true ? undefined : watch.present(id)),
    }),
    listener({
      dispatch: Dispatch.GuildDelete,
      intents: [Intent.Guilds],
      schema: guild,
      handle: ({ id, unavailable }) => (unavailable === true ? undefined : watch.gone(id)),
    }),
    listener({
      dispatch: Dispatch.GuildAuditLogEntryCreate,
      intents: moderation,
      schema: entry,
      handle: ({ guild_id: guildId, ...told }) => watch.entry(guildId, told),
    }),
    listener({
      dispatch: Dispatch.GuildBanAdd,
      intents: moderation,
      schema: ban,
      handle: ({ guild_id: guildId, user }) => watch.ban("ban", guildId, user.id),
    }),
    listener({
      dispatch: Dispatch.GuildBanRemove,
      intents: moderation,
      schema: ban,
      handle: ({ guild_id: guildId, user }) => watch.ban("unban", guildId, user.id),
    }),
  ];
}
