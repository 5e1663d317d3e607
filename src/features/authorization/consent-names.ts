import type { ReadClient } from "../../database/database.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import type { AuthorizationSession } from "../../generated/sqlite/client.ts";

/** Names for the consent page, so that a person knows who asks. */
export interface ConsentNames {
  of(session: AuthorizationSession): Promise<{ communities: string[]; client: string; staffMember: string }>;
}

export function createConsentNames({
  read,
  guildState,
}: {
  read: ReadClient;
  guildState: Pick<GuildState, "guilds" | "members">;
}): ConsentNames {
  return {
    async of({ requestedByClient, requestedByUser }) {
      const key =
        requestedByClient === null ? null : await read.apiKey.findUnique({ where: { id: requestedByClient }, select: { name: true } });
      const [member] = requestedByUser === null ? [] : guildState.members(requestedByUser);
      return {
        communities: guildState.guilds().flatMap((guild) => (guild.present ? [guild.name] : [])),
        client: key?.name ?? "a moderation client",
        staffMember: member?.globalName ?? member?.username ?? "A staff member",
      };
    },
  };
}
