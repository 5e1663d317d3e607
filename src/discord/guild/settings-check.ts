import { GatewayDispatchEvents as Dispatch } from "discord-api-types/v10";
import type { Logger } from "pino";
import { z } from "zod";
import { listener, type GatewayListener } from "../gateway/listeners.ts";
import { Snowflake } from "../../kernel/fields.ts";
import * as payloads from "./payloads.ts";

/** An application without a sound id says nothing of the settings, and nothing of it reaches the log. */
const Application = z.object({ id: Snowflake }).optional().catch(undefined);
const ready = payloads.ready.extend({ application: Application });

interface SettingsCheckOptions {
  clientId: string;
  served: ReadonlySet<string>;
  logger: Logger;
}

/** The token belongs to another application than the one that is configured. */
export function otherApplication(clientId: string, applicationId: string): string {
  return `DISCORD_CLIENT_ID is ${clientId}, but DISCORD_TOKEN belongs to the application ${applicationId}: commands are not registered, and nobody can agree to be checked. Copy the id, the token and the client secret from the same application.`;
}

/** The bot is not in a guild that is to be served. */
export function notInGuild(guildId: string, clientId: string): string {
  return `GUILD_IDS names the server ${guildId}, but the bot is not in it. Invite it with https://discord.com/oauth2/authorize?client_id=${clientId}&scope=bot+applications.commands&guild_id=${guildId}, or take the id out of GUILD_IDS and restart.`;
}

/** Tells the operator, when the bot is connected, which settings do not fit what Discord says of it: once for each. */
export function createSettingsCheck({ clientId, served, logger }: SettingsCheckOptions): GatewayListener {
  const logged = new Set<string>();
  const warn = (details: Record<string, string>, text: string): void => {
    if (!logged.has(text)) logger.warn(details, text);
    logged.add(text);
  };

  return listener({
    dispatch: Dispatch.Ready,
    intents: [],
    schema: ready,
    handle({ application, guilds }) {
      if (application !== undefined && application.id !== clientId)
        warn({ client_id: clientId, application_id: application.id }, otherApplication(clientId, application.id));
      const present = new Set(guilds.map(({ id }) => id));
      for (const id of served) if (!present.has(id)) warn({ guild_id: id }, notInGuild(id, application?.id ?? clientId));
    },
  });
}
