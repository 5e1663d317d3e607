import type { z } from "zod";
import { alertKinds } from "../../kernel/vocabulary.ts";
import { purposes, StoredChannels, type ChannelsView, type PutChannelsInput, type Purpose } from "./channels.schema.ts";

/** Who may see and choose the channels. */
export const channelsPolicy = { read: "system.settings.read", manage: "system.settings.manage" } as const;

/** The chosen channels of a guild by purpose; what has none is left out. */
export type ChosenChannels = Readonly<Partial<Record<Purpose, string>>>;

/** What is known of a guild; the first revision is that of no channels at all. */
export type KnownChannels = Omit<z.infer<typeof StoredChannels>, "updated_at"> & { updated_at: string | null };

export const noChannels: KnownChannels = {
  channels: { review: null, alerts: null, board: null },
  muted_alerts: [],
  revision: 1,
  updated_by: null,
  updated_at: null,
};

const prefix = "channels:";

/** Where the channels of a guild are kept among the settings. */
export function channelsKey(guildId: string): string {
  return `${prefix}${guildId}`;
}

export function guildOf(key: string): string {
  return key.slice(prefix.length);
}

/** What is stored, as far as it can be read. */
export function readChannels(value: unknown): KnownChannels {
  const stored = StoredChannels.safeParse(value);
  return stored.success ? stored.data : noChannels;
}

export function presentChannels(guildId: string, { channels, ...known }: KnownChannels): ChannelsView {
  return { guild_id: guildId, ...channels, ...known };
}

/** What somebody chooses of a guild. */
export type Choice = Pick<KnownChannels, "channels" | "muted_alerts">;

/** All of them: what was not sent has none. */
export function wantedChannels({ review, alerts, board, muted_alerts: muted = [] }: PutChannelsInput): Choice {
  const channels = { review: review ?? null, alerts: alerts ?? null, board: board ?? null };
  return { channels, muted_alerts: alertKinds.filter((kind) => muted.includes(kind)) };
}

/** What a choice has otherwise than another one: the channels, and the mutes where they differ. */
export function differing(choice: Choice, other: Choice): Partial<PutChannelsInput> {
  const changed = purposes.filter((purpose) => choice.channels[purpose] !== other.channels[purpose]);
  const isMutedAlike = choice.muted_alerts.join() === other.muted_alerts.join();
  return {
    ...Object.fromEntries(changed.map((purpose) => [purpose, choice.channels[purpose]])),
    ...(!isMutedAlike && { muted_alerts: choice.muted_alerts }),
  };
}

export function chosenOf({ channels }: KnownChannels): ChosenChannels {
  return Object.fromEntries(purposes.flatMap((purpose) => (channels[purpose] === null ? [] : [[purpose, channels[purpose]]])));
}
