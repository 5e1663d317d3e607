import { ChannelType, OverwriteType, PermissionFlagsBits } from "discord.js";
import { z } from "zod";

const Bits = z.string().transform(BigInt);

/** A channel of a server, as far as it decides who sees it. */
export const Channel = z.object({
  id: z.string(),
  type: z.int(),
  guild_id: z.string().optional(),
  parent_id: z.string().nullish(),
  permission_overwrites: z.array(z.object({ id: z.string(), type: z.int(), allow: Bits, deny: Bits })).default([]),
});
export type Channel = z.output<typeof Channel>;

export const Guild = z.object({ id: z.string(), owner_id: z.string(), roles: z.array(z.object({ id: z.string(), permissions: Bits })) });
type Guild = z.output<typeof Guild>;

export const Member = z.object({ roles: z.array(z.string()) });
type Member = z.output<typeof Member>;

const reading = PermissionFlagsBits.ViewChannel | PermissionFlagsBits.ReadMessageHistory;
const threads: ReadonlySet<number> = new Set([ChannelType.AnnouncementThread, ChannelType.PublicThread, ChannelType.PrivateThread]);

export function isThread({ type }: Channel): boolean {
  return threads.has(type);
}

/**
 * Whether a member may read what was written in a channel, by the rules Discord documents for permissions.
 * @param channel for a thread the channel it belongs to
 * @param isPrivate for a private thread: who is in it is not looked at, so that only those who manage threads count
 */
export function canRead(
  userId: string,
  member: Member,
  { guild, channel, isPrivate }: { guild: Guild; channel: Channel; isPrivate: boolean },
): boolean {
  if (guild.owner_id === userId) return true;
  const held = new Set([guild.id, ...member.roles]);
  const base = guild.roles.filter(({ id }) => held.has(id)).reduce((bits, { permissions }) => bits | permissions, 0n);
  if ((base & PermissionFlagsBits.Administrator) !== 0n) return true;
  const wanted = isPrivate ? reading | PermissionFlagsBits.ManageThreads : reading;
  return (overwritten(base, userId, held, channel) & wanted) === wanted;
}

/** First what is said of everybody, then of the member's roles together, then of the member. */
function overwritten(
  base: bigint,
  userId: string,
  held: ReadonlySet<string>,
  { guild_id: everyone, permission_overwrites: all }: Channel,
): bigint {
  const rounds = [
    all.filter(({ id }) => id === everyone),
    all.filter(({ id, type }) => type === Number(OverwriteType.Role) && id !== everyone && held.has(id)),
    all.filter(({ id, type }) => type === Number(OverwriteType.Member) && id === userId),
  ];
  return rounds.reduce((bits, round) => {
    const deny = round.reduce((sum, one) => sum | one.deny, 0n);
    const allow = round.reduce((sum, one) => sum | one.allow, 0n);
    return (bits & ~deny) | allow;
  }, base);
}
