import { GatewayDispatchEvents as Dispatch, GatewayIntentBits as Intent } from "discord-api-types/v10";
import type { Logger } from "pino";
import { listener, type GatewayListener } from "../gateway/listeners.ts";
import type { ForeignGuild } from "../guild-state.ts";
import * as payloads from "./payloads.ts";

/** Knows in which guilds the bot is without their being served, so that the operator learns of them. Only ids and names are kept, in memory. */
export function createForeignGuilds(logger: Logger) {
  const names = new Map<string, string>();
  /** Reconnects announce every guild again. */
  const logged = new Set<string>();

  const note = ({ id, name }: ForeignGuild): void => {
    names.set(id, name);
    if (logged.has(id)) return;
    logged.add(id);
    logger.warn(
      { guild_id: id, guild: name },
      "the bot is in a server that is not served, and leaves it alone: remove the bot from it, or add its id to GUILD_IDS and restart",
    );
  };

  const rows: readonly GatewayListener[] = [
    listener({
      dispatch: Dispatch.Ready,
      intents: [],
      schema: payloads.ready,
      handle({ guilds }) {
        const present = new Set(guilds.map(({ id }) => id));
        for (const id of names.keys()) if (!present.has(id)) names.delete(id);
      },
    }),
    listener({
      dispatch: Dispatch.GuildCreate,
      intents: [Intent.Guilds],
      schema: payloads.foreignGuildCreate,
      handle: (guild) => ("name" in guild ? note(guild) : undefined),
    }),
    listener({ dispatch: Dispatch.GuildUpdate, intents: [Intent.Guilds], schema: payloads.foreignGuild, handle: note }),
    listener({
      dispatch: Dispatch.GuildDelete,
      intents: [Intent.Guilds],
      schema: payloads.guildDelete,
      handle: ({ id, unavailable }) => (unavailable === true ? undefined : void names.delete(id)),
    }),
  ];

  return {
    listeners: rows.map((row): GatewayListener => ({ ...row, isOfForeignGuilds: true })),
    list: (): ForeignGuild[] => [...names].map(([id, name]) => ({ id, name })),
  };
}
