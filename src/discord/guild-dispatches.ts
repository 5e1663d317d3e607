import { GatewayDispatchEvents } from "discord-api-types/v10";
import { z } from "zod";

/**
 * The part of Discord's events that the guild state is made of. What an event may leave out is optional here, and left out means unchanged;
 * anything else that is missing or of another kind makes the whole event unreadable. Source: Discord's gateway events, API version 10.
 */

/** Nothing depends on its length here, and one strange id must not make a whole server unreadable. */
const id = z.string().regex(/^\d{1,20}$/);
const time = z.string().refine((text) => !Number.isNaN(Date.parse(text)));
const user = z.object({
  id,
  username: z.string(),
  global_name: z.string().nullish(),
  avatar: z.string().nullish(),
});
/** A member, also as the list of members says it. */
export const member = z.object({ user, roles: z.array(id), nick: z.string().nullish(), joined_at: time.nullish() });
const role = z.object({ id, name: z.string(), position: z.int(), color: z.int().default(0) });
const guild = z.object({ id, name: z.string(), icon: z.string().nullish(), owner_id: id });
const ofGuild = z.object({ guild_id: id });

export type MemberPayload = z.infer<typeof member>;
export type RolePayload = z.infer<typeof role>;
export type GuildPayload = z.infer<typeof guild>;

export const guildDispatchSchemas = {
  [GatewayDispatchEvents.Ready]: z.object({ guilds: z.array(z.object({ id })) }),
  [GatewayDispatchEvents.Resumed]: z.unknown(),
  [GatewayDispatchEvents.RateLimited]: z.object({ retry_after: z.number().min(0), meta: z.object({ guild_id: id.optional() }) }),
  [GatewayDispatchEvents.GuildCreate]: z.union([
    z.object({ id, unavailable: z.literal(true) }),
    guild.extend({ unavailable: z.literal(false).nullish(), roles: z.array(role) }),
  ]),
  [GatewayDispatchEvents.GuildUpdate]: guild,
  [GatewayDispatchEvents.GuildDelete]: z.object({ id, unavailable: z.boolean().nullish() }),
  [GatewayDispatchEvents.GuildRoleCreate]: ofGuild.extend({ role }),
  [GatewayDispatchEvents.GuildRoleUpdate]: ofGuild.extend({ role }),
  [GatewayDispatchEvents.GuildRoleDelete]: ofGuild.extend({ role_id: id }),
  [GatewayDispatchEvents.GuildMemberAdd]: ofGuild.extend(member.shape),
  [GatewayDispatchEvents.GuildMemberUpdate]: ofGuild.extend(member.shape),
  [GatewayDispatchEvents.GuildMemberRemove]: ofGuild.extend({ user: z.object({ id }) }),
  [GatewayDispatchEvents.GuildMembersChunk]: ofGuild.extend({
    members: z.array(member),
    chunk_index: z.int().min(0),
    chunk_count: z.int().min(1),
    nonce: z.string().nullish(),
  }),
} as const;

export type GuildDispatchName = keyof typeof guildDispatchSchemas;
/** What an event says, read. */
export type GuildDispatch<Name extends `${GuildDispatchName}`> = z.infer<
  { [Key in GuildDispatchName as `${Key}`]: (typeof guildDispatchSchemas)[Key] }[Name]
>;
