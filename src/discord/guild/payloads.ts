import { z } from "zod";
import { shownText } from "../../kernel/foreign.ts";

/**
 * The part of Discord's events that the guild state is made of. Fields that an event may leave out are optional here, and a field that is
 * left out is unchanged; anything else that is missing or of another type makes the whole event unreadable.
 * Source: Discord's gateway events, API version 10.
 */

/** Looser than `Snowflake`: nothing depends on the length of an id here, and one strange id must not make a whole guild unreadable. */
const id = z.string().regex(/^\d{1,20}$/);
const time = z.string().refine((text) => !Number.isNaN(Date.parse(text)));
const user = z.object({
  id,
  username: shownText,
  global_name: shownText.nullish(),
  avatar: z.string().nullish(),
  bot: z.boolean().optional().catch(undefined),
});
/** A member, in events and in member lists. */
export const member = z.object({
  user,
  roles: z.array(id),
  nick: shownText.nullish(),
  joined_at: time.nullish(),
  communication_disabled_until: time.nullish().catch(undefined),
});
export type MemberPayload = z.infer<typeof member>;
const role = z.object({
  id,
  name: shownText,
  position: z.int(),
  color: z.int().default(0),
  hoist: z.boolean().default(false),
  permissions: z
    .string()
    .regex(/^\d{1,20}$/)
    .transform(BigInt)
    .optional()
    .catch(undefined),
  managed: z.boolean().default(false),
});
export type RolePayload = z.infer<typeof role>;
export const guild = z.object({
  id,
  name: shownText,
  icon: z.string().nullish(),
  owner_id: id,
  preferred_locale: z.string().optional().catch(undefined),
});
export type GuildPayload = z.infer<typeof guild>;
const ofGuild = z.object({ guild_id: id });

export const ready = z.object({ guilds: z.array(z.object({ id })), user: z.object({ id }).optional().catch(undefined) });
export const rateLimited = z.object({ retry_after: z.number().min(0), meta: z.object({ guild_id: id.optional() }) });
export const guildCreate = z.union([
  z.object({ id, unavailable: z.literal(true) }),
  // Of the members Discord sends at least the bot.
  guild.extend({ unavailable: z.literal(false).nullish(), roles: z.array(role), members: z.array(member).default([]).catch([]) }),
]);
/** What is read of a guild that is not served. */
export const foreignGuild = z.object({ id, name: shownText });
export const foreignGuildCreate = z.union([z.object({ id, unavailable: z.literal(true) }), foreignGuild]);
export const guildDelete = z.object({ id, unavailable: z.boolean().nullish() });
export const guildRole = ofGuild.extend({ role });
export const guildRoleDelete = ofGuild.extend({ role_id: id });
export const guildMember = ofGuild.extend(member.shape);
export const guildMemberRemove = ofGuild.extend({ user: z.object({ id }) });
export const membersChunk = ofGuild.extend({
  members: z.array(member),
  chunk_index: z.int().min(0),
  chunk_count: z.int().min(1),
  nonce: z.string().nullish(),
});
export type MembersChunk = z.infer<typeof membersChunk>;
