import { GatewayDispatchEvents } from "discord-api-types/v10";
import { z } from "zod";
import { Snowflake } from "../kernel/fields.ts";

/**
 * The part of Discord's events that the guild state is made of. What an event may leave out is optional here, and left out means unchanged;
 * anything else that is missing or of another kind makes the whole event unreadable. Source: Discord's gateway events, API version 10.
 */

const time = z.string().refine((text) => !Number.isNaN(Date.parse(text)));
const user = z.object({
  id: Snowflake,
  username: z.string(),
  global_name: z.string().nullish(),
  avatar: z.string().nullish(),
});
/** A member, also as the list of members says it. */
export const member = z.object({ user, roles: z.array(Snowflake), nick: z.string().nullish(), joined_at: time.nullish() });
const role = z.object({ id: Snowflake, name: z.string(), position: z.int(), color: z.int().default(0) });
const guild = z.object({ id: Snowflake, name: z.string(), icon: z.string().nullish(), owner_id: Snowflake });
const ofGuild = z.object({ guild_id: Snowflake });

export type MemberPayload = z.infer<typeof member>;
export type RolePayload = z.infer<typeof role>;
export type GuildPayload = z.infer<typeof guild>;

export const guildDispatchSchemas = {
  [GatewayDispatchEvents.Ready]: z.object({ guilds: z.array(z.object({ id: Snowflake })) }),
  [GatewayDispatchEvents.Resumed]: z.unknown(),
  [GatewayDispatchEvents.RateLimited]: z.object({ meta: z.object({ guild_id: Snowflake.optional() }) }),
  [GatewayDispatchEvents.GuildCreate]: z.union([
    z.object({ id: Snowflake, unavailable: z.literal(true) }),
    guild.extend({ unavailable: z.literal(false).optional(), roles: z.array(role) }),
  ]),
  [GatewayDispatchEvents.GuildUpdate]: guild,
  [GatewayDispatchEvents.GuildDelete]: z.object({ id: Snowflake, unavailable: z.boolean().optional() }),
  [GatewayDispatchEvents.GuildRoleCreate]: ofGuild.extend({ role }),
  [GatewayDispatchEvents.GuildRoleUpdate]: ofGuild.extend({ role }),
  [GatewayDispatchEvents.GuildRoleDelete]: ofGuild.extend({ role_id: Snowflake }),
  [GatewayDispatchEvents.GuildMemberAdd]: ofGuild.extend(member.shape),
  [GatewayDispatchEvents.GuildMemberUpdate]: ofGuild.extend(member.shape),
  [GatewayDispatchEvents.GuildMemberRemove]: ofGuild.extend({ user: z.object({ id: Snowflake }) }),
  [GatewayDispatchEvents.GuildMembersChunk]: ofGuild.extend({
    members: z.array(member),
    chunk_index: z.int().min(0),
    chunk_count: z.int().min(1),
    nonce: z.string().optional(),
  }),
} as const;

export type GuildDispatchName = keyof typeof guildDispatchSchemas;
/** What an event says, read. */
export type GuildDispatch<Name extends `${GuildDispatchName}`> = z.infer<
  { [Key in GuildDispatchName as `${Key}`]: (typeof guildDispatchSchemas)[Key] }[Name]
>;
