import { z } from "zod";
import { alertKinds } from "../../kernel/vocabulary.ts";
import { listQuery, Snowflake, Timestamp } from "../../kernel/fields.ts";

/** What a channel is for. */
export const purposes = ["review", "alerts", "board"] as const;
export type Purpose = (typeof purposes)[number];

const channel = (description: string) => Snowflake.nullable().meta({ description });
const fields = {
  review: channel("Where a card of every request is posted"),
  alerts: channel("Where it is told what needs somebody's attention"),
  board: channel("Where the list of open requests is pinned"),
};

const mutedAlerts = z
  .array(z.enum(alertKinds))
  .max(alertKinds.length)
  .meta({ description: "Kinds of alerts that the alerts channel is not told of" });

export const ChannelsQuery = z.strictObject(listQuery).meta({ id: "ChannelsQuery" });
export type ChannelsQuery = z.input<typeof ChannelsQuery>;

export const PutChannelsInput = z
  .strictObject({
    review: fields.review.optional(),
    alerts: fields.alerts.optional(),
    board: fields.board.optional(),
    muted_alerts: mutedAlerts.optional(),
  })
  .meta({ id: "PutChannelsInput", description: "All channels of the guild and all its mutes; what is left out or null has none" });
export type PutChannelsInput = z.input<typeof PutChannelsInput>;

export const ChannelsView = z
  .object({
    guild_id: Snowflake,
    ...fields,
    muted_alerts: mutedAlerts,
    revision: z.int().positive(),
    updated_by: z.string().nullable(),
    updated_at: Timestamp.nullable(),
  })
  .meta({ id: "Channels", description: "The channels of a guild the service posts in" });
export type ChannelsView = z.infer<typeof ChannelsView>;

/** The channels of a guild as they are stored. */
export const StoredChannels = z.object({
  channels: z.object(fields),
  muted_alerts: mutedAlerts.default([]),
});
export type StoredChannels = z.output<typeof StoredChannels>;
