import type { ReadClient } from "../../database/database.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import type { AuthorizationSession } from "../../generated/sqlite/client.ts";

/** Names for the consent page, so that a person knows who is asked and who asks; null where a name is not known. */
export interface Names {
  /** The username of the person who is asked. */
  account: string | null;
  /** The servers of the community, whose staff will see the answer. */
  communities: readonly string[];
  client: string | null;
  staffMember: string | null;
}

export interface ConsentNames {
  of(session: AuthorizationSession): Promise<Names>;
}

export function createConsentNames({
  read,
  guildState,
}: {
  read: ReadClient;
  guildState: Pick<GuildState, "guilds" | "members" | "lookUp">;
}): ConsentNames {
  return {
    async of({ userId, requestedByClient, requestedByUser }) {
      const where = { id: requestedByClient ?? "" };
      const [key, asked] = await Promise.all([read.apiKey.findUnique({ where, select: { name: true } }), guildState.lookUp(userId)]);
      const [member] = requestedByUser === null ? [] : guildState.members(requestedByUser);
      return {
        account: asked.members[0]?.username ?? null,
        communities: guildState.guilds().flatMap((guild) => (guild.present ? [guild.name] : [])),
        client: key?.name ?? null,
        staffMember: member?.globalName ?? member?.username ?? null,
      };
    },
  };
}
