import { alertKinds } from "../../kernel/vocabulary.ts";
import { setting, type Stored } from "../../kit/setting.ts";
import { purposes, StoredChannels, type ChannelsView, type PutChannelsInput, type Purpose } from "./channels.schema.ts";

/** Who may see and choose the channels. */
export const channelsPolicy = { read: "system.settings.read", manage: "system.settings.manage" } as const;

/** The chosen channels of a guild by purpose; what has none is left out. */
export type ChosenChannels = Readonly<Partial<Record<Purpose, string>>>;

export const channelsSetting = setting({
  key: "channels:",
  per: "guild",
  schema: StoredChannels,
  nothing: { channels: { review: null, alerts: null, board: null }, muted_alerts: [] },
  permission: channelsPolicy,
  action: "channels.update",
  field: null,
  lock: "channels",
  differing,
});

export function presentChannels(guildId: string, { value: { channels, ...mutes }, ...rest }: Stored<StoredChannels>): ChannelsView {
  return { guild_id: guildId, ...channels, ...mutes, ...rest };
}

/** All of them: what was not sent has none. */
export function wantedChannels({ review, alerts, board, muted_alerts: muted = [] }: PutChannelsInput): StoredChannels {
  const channels = { review: review ?? null, alerts: alerts ?? null, board: board ?? null };
  return { channels, muted_alerts: alertKinds.filter((kind) => muted.includes(kind)) };
}

/** What a choice has otherwise than another one: the channels, and the mutes where they differ. */
function differing(choice: StoredChannels, other: StoredChannels): Partial<PutChannelsInput> {
  const changed = purposes.filter((purpose) => choice.channels[purpose] !== other.channels[purpose]);
  const isMutedAlike = choice.muted_alerts.join() === other.muted_alerts.join();
  return {
    ...Object.fromEntries(changed.map((purpose) => [purpose, choice.channels[purpose]])),
    ...(!isMutedAlike && { muted_alerts: choice.muted_alerts }),
  };
}

export function chosenOf({ value: { channels } }: Stored<StoredChannels>): ChosenChannels {
  return Object.fromEntries(purposes.flatMap((purpose) => (channels[purpose] === null ? [] : [[purpose, channels[purpose]]])));
}
