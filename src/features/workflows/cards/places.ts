import type { Database } from "../../../database/database.ts";
import type { GuildState } from "../../../discord/guild-state.ts";
import type { Place } from "../../messages/keeping.ts";

/** The channels of a guild that cards stand in. */
export interface CardChannels {
  of(guildId: string): { readonly review?: string; readonly board?: string };
}

export interface PlaceDeps {
  database: Pick<Database, "read">;
  guildState: Pick<GuildState, "guilds">;
  channels: CardChannels;
}

/** In which channels cards belong now. */
export function createPlaces({ database, guildState, channels }: PlaceDeps) {
  const guildIds = (): string[] =>
    guildState
      .guilds()
      .filter(({ present }) => present)
      .map(({ id }) => id)
      .toSorted();

  /** Of the guild a request was filed in; where that has none, of the guild the card stands in, or of the first that has one. */
  async function ofRequest(requestId: string, lastGuildId?: string): Promise<Place | undefined> {
    const row = await database.read.workflowRequest.findUnique({ where: { id: requestId }, select: { origin: true } });
    const origin = row?.origin as { guild_id?: string } | null | undefined;
    const known = new Set(guildIds());
    const wanted = [origin?.guild_id, lastGuildId].filter((id): id is string => id !== undefined && known.has(id));
    for (const guildId of [...wanted, ...known]) {
      const channelId = channels.of(guildId).review;
      if (channelId !== undefined) return { guildId, channelId };
    }
    return undefined;
  }

  return {
    ofRequest,

    /** What was chosen, as one text: when it is another one, cards may belong elsewhere. */
    layout: (): string => JSON.stringify(guildIds().map((id) => [id, channels.of(id).review, channels.of(id).board])),

    /** Whether cards are wanted anywhere. */
    hasAny: (): boolean => guildIds().some((id) => channels.of(id).review !== undefined || channels.of(id).board !== undefined),

    /** Where the boards of the queue stand: in a channel of their own, else with the cards. */
    boards: (): Place[] =>
      guildIds().flatMap((guildId) => {
        const { board, review } = channels.of(guildId);
        const channelId = board ?? review;
        return channelId === undefined ? [] : [{ guildId, channelId }];
      }),

    /** Where the card of a request stands, or will: a link, or a mention of the channel. */
    async linkOf(requestId: string): Promise<string | undefined> {
      const card = await database.read.reviewCard.findUnique({ where: { requestId } });
      if (card !== null && card.messageId !== null)
        return `https://discord.com/channels/${card.guildId}/${card.channelId}/${card.messageId}`;
      const place = await ofRequest(requestId);
      return place === undefined ? undefined : `<#${place.channelId}>`;
    },
  };
}
