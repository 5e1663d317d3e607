import { GatewayDispatchEvents as Dispatch, GatewayIntentBits as Intent } from "discord-api-types/v10";
import { z } from "zod";
import { listener, type GatewayListener } from "../gateway/listeners.ts";
import type { MemberState, RoleInfo, ServedGuilds } from "../guild-state.ts";
import type { GuildLink } from "./link.ts";
import type { MemberSync } from "./member-sync.ts";
import { memberState, roleInfo } from "./mirror.ts";
import * as payloads from "./payloads.ts";
import type { GuildPayload, MemberPayload, RolePayload } from "./payloads.ts";
import type { MemberWatch } from "./presence.ts";
import type { GuildRecord } from "./record.ts";
import type { StandingRecord } from "./standings.ts";

interface GuildListenersDeps {
  served: ServedGuilds;
  record: GuildRecord;
  link: GuildLink;
  sync: MemberSync;
  /** The guild's member list is read after a pause; its state may have gaps until then. */
  readLater(guildIds: Iterable<string>): void;
  /** Store a member, if they are one of those to be stored. */
  observe(state: MemberState): void;
  /** Hears of all members, whether or not they are stored. */
  members: MemberWatch;
  standings: Pick<StandingRecord, "begin" | "reported">;
  /** An event about this person arrived. */
  touched(guildId: string, userId: string): void;
  /** Discord has deleted a role; it never gives the id to another one. */
  roleGone(guildId: string, roleId: string): void;
  /** The language that a guild states. */
  localeOf(guildId: string, locale: string): void;
  /** The set of present guilds has changed. */
  guildsChanged(): void;
  /** An event of this guild (of any guild, if undefined) was lost: the state may be wrong until the guild is read again. */
  doubt(guildId: string | undefined): void;
}

type OfGuild = { guild_id: string };

/** The rows of the listener table that turn gateway events into changes of the record. */
export function createGuildListeners(deps: GuildListenersDeps): readonly GatewayListener[] {
  const { served, record, link, sync, readLater, observe, members, standings, touched, roleGone, localeOf, guildsChanged, doubt } = deps;

  const removed = (guildId: string): void => {
    const known = record.guild(guildId);
    link.drop(guildId);
    sync.lost(guildId);
    members.drop(guildId);
    if (known !== undefined) record.setGuild({ ...known, present: false });
    for (const state of record.membersOf(guildId)) record.setMember({ ...state, present: false });
    guildsChanged();
  };

  const ready = (guildIds: readonly string[], botId: string | undefined): void => {
    sync.lost();
    standings.begin(botId);
    const present = guildIds.filter((id) => served.has(id));
    link.begin(present);
    for (const guild of record.guilds()) if (guild.present && !present.includes(guild.id)) removed(guild.id);
  };

  const resumed = (): void => {
    link.linked();
    for (const guildId of link.unread) void sync.request(guildId);
  };

  const guildInfo = (guild: GuildPayload): void => {
    const { syncedAt = null, icon: before = null } = record.guild(guild.id) ?? {};
    const { id, name, owner_id: ownerId, icon = before, preferred_locale: locale } = guild;
    if (locale !== undefined) localeOf(id, locale);
    record.setGuild({ id, name, icon, ownerId, present: true, syncedAt });
  };

  const changeRoles = (guildId: string, change: (roles: Map<string, RoleInfo>) => void): void => {
    const roles = new Map(record.roles(guildId));
    change(roles);
    record.setRoles(guildId, roles);
  };

  const setRole = ({ guild_id: guildId, role }: OfGuild & { role: RolePayload }): void =>
    changeRoles(guildId, (roles) => roles.set(role.id, roleInfo(role)));

  /** Discord announces a deleted role once, not again for each member who held it. */
  const roleDeleted = ({ guild_id: guildId, role_id: roleId }: OfGuild & { role_id: string }): void => {
    roleGone(guildId, roleId);
    changeRoles(guildId, (roles) => roles.delete(roleId));
    for (const state of record.membersOf(guildId)) {
      if (state.roleIds.includes(roleId)) record.setMember({ ...state, roleIds: state.roleIds.filter((id) => id !== roleId) });
    }
  };

  const joined = ({ guild_id: guildId, ...data }: OfGuild & MemberPayload): void => {
    touched(guildId, data.user.id);
    observe(memberState(guildId, data));
    members.seen(guildId, data, false);
  };

  const memberChanged = ({ guild_id: guildId, ...data }: OfGuild & MemberPayload): void => {
    touched(guildId, data.user.id);
    members.changed(guildId, data);
    const known = record.member(guildId, data.user.id);
    observe(memberState(guildId, data, known?.present === true ? known : undefined));
    // The event leaves out what has not changed, and that is not known of a new member.
    if (known === undefined && data.nick === undefined && record.member(guildId, data.user.id) !== undefined) readLater([guildId]);
  };

  const left = ({ guild_id: guildId, user }: OfGuild & { user: { id: string } }): void => {
    touched(guildId, user.id);
    members.left(guildId, user.id);
    record.setAbsent(guildId, user.id);
  };

  /** A running read is dropped: it may be older than the state Discord sends when the guild is available again. */
  const unavailable = (guildId: string): void => {
    link.setUnavailable(guildId, true);
    sync.lost(guildId);
  };

  const available = (guild: GuildPayload & { roles: readonly RolePayload[]; members: readonly MemberPayload[] }): void => {
    const isAwaited = record.guild(guild.id) === undefined || (link.unread.has(guild.id) && !link.isUnavailable(guild.id));
    link.setUnavailable(guild.id, false);
    guildInfo(guild);
    record.setRoles(guild.id, new Map(guild.roles.map((role) => [role.id, roleInfo(role)])));
    standings.reported(guild.id, guild.members);
    guildsChanged();
    link.markUnread(guild.id);
    if (isAwaited) void sync.request(guild.id);
    else sync.requestAgain(guild.id);
  };

  const listeners: readonly GatewayListener[] = [
    listener({
      dispatch: Dispatch.Ready,
      intents: [],
      schema: payloads.ready,
      handle: ({ guilds, user }) =>
        ready(
          guilds.map(({ id }) => id),
          user?.id,
        ),
    }),
    listener({ dispatch: Dispatch.Resumed, intents: [], schema: z.unknown(), handle: resumed }),
    listener({
      dispatch: Dispatch.RateLimited,
      intents: [],
      schema: payloads.rateLimited,
      handle: ({ retry_after, meta }) => (meta.guild_id === undefined ? undefined : sync.rateLimited(meta.guild_id, retry_after)),
    }),
    listener({
      dispatch: Dispatch.GuildCreate,
      intents: [Intent.Guilds],
      schema: payloads.guildCreate,
      handle: (guild) => (guild.unavailable === true ? unavailable(guild.id) : available(guild)),
    }),
    listener({ dispatch: Dispatch.GuildUpdate, intents: [Intent.Guilds], schema: payloads.guild, handle: guildInfo }),
    listener({
      dispatch: Dispatch.GuildDelete,
      intents: [Intent.Guilds],
      schema: payloads.guildDelete,
      handle: (guild) => (guild.unavailable === true ? unavailable(guild.id) : removed(guild.id)),
    }),
    listener({ dispatch: Dispatch.GuildRoleCreate, intents: [Intent.Guilds], schema: payloads.guildRole, handle: setRole }),
    listener({ dispatch: Dispatch.GuildRoleUpdate, intents: [Intent.Guilds], schema: payloads.guildRole, handle: setRole }),
    listener({ dispatch: Dispatch.GuildRoleDelete, intents: [Intent.Guilds], schema: payloads.guildRoleDelete, handle: roleDeleted }),
    listener({ dispatch: Dispatch.GuildMemberAdd, intents: [Intent.GuildMembers], schema: payloads.guildMember, handle: joined }),
    listener({ dispatch: Dispatch.GuildMemberUpdate, intents: [Intent.GuildMembers], schema: payloads.guildMember, handle: memberChanged }),
    listener({ dispatch: Dispatch.GuildMemberRemove, intents: [Intent.GuildMembers], schema: payloads.guildMemberRemove, handle: left }),
    listener({
      dispatch: Dispatch.GuildMembersChunk,
      intents: [Intent.GuildMembers],
      schema: payloads.membersChunk,
      handle: (chunk) => sync.chunk(chunk),
    }),
  ];
  return listeners.map((entry) => ({ ...entry, onFault: doubt }));
}
