import { GatewayDispatchEvents } from "discord-api-types/v10";
import {
  guildDispatchSchemas,
  type GuildDispatch,
  type GuildDispatchName,
  type GuildPayload,
  type MemberPayload,
  type RolePayload,
} from "./guild-dispatches.ts";
import type { GuildLink } from "./guild-link.ts";
import type { GuildRecord } from "./guild-record.ts";
import { memberState, roleInfo } from "./guild-rows.ts";
import type { MemberState, RoleInfo } from "./guild-state.ts";
import type { MemberSync } from "./member-sync.ts";

interface GuildEventsOptions {
  isOurs(guildId: string): boolean;
  record: GuildRecord;
  link: GuildLink;
  sync: MemberSync;
  /** The guild's member list is read after a pause; its state may have gaps until then. */
  readLater(guildIds: Iterable<string>): void;
  /** Keep a member as told, when they are of those to be stored. */
  observe(state: MemberState): void;
  /** An event about this person arrived. */
  touched(guildId: string, userId: string): void;
  /** Discord has deleted a role; its id is never given again. */
  roleGone(guildId: string, roleId: string): void;
  /** Which guilds count has changed. */
  guildsChanged(): void;
}

type Handlers = { [Name in GuildDispatchName]: (data: GuildDispatch<Name>) => void };

/** Translates gateway dispatches into changes of the record; dispatches of guilds that are not ours are ignored. */
export function createGuildEvents({
  isOurs,
  record,
  link,
  sync,
  readLater,
  observe,
  touched,
  roleGone,
  guildsChanged,
}: GuildEventsOptions) {
  const removed = (guildId: string): void => {
    const known = record.guild(guildId);
    link.drop(guildId);
    sync.lost(guildId);
    if (known !== undefined) record.setGuild({ ...known, present: false });
    for (const state of record.membersOf(guildId)) record.setMember({ ...state, present: false });
    guildsChanged();
  };

  const ready = (guildIds: readonly string[]): void => {
    sync.lost();
    const ours = guildIds.filter(isOurs);
    link.begin(ours);
    for (const { id, present } of record.guilds()) if (present && !ours.includes(id)) removed(id);
  };

  const resumed = (): void => {
    link.linked();
    for (const guildId of link.unread) void sync.request(guildId);
  };

  const guildInfo = (guild: GuildPayload): void => {
    const { syncedAt = null, icon: before = null } = record.guild(guild.id) ?? {};
    const { id, name, owner_id: ownerId, icon = before } = guild;
    record.setGuild({ id, name, icon, ownerId, present: true, syncedAt });
  };

  const changeRoles = (guildId: string, change: (roles: Map<string, RoleInfo>) => void): void => {
    const roles = new Map(record.roles(guildId));
    change(roles);
    record.setRoles(guildId, roles);
  };

  const setRole = (guildId: string, role: RolePayload): void => changeRoles(guildId, (roles) => roles.set(role.id, roleInfo(role)));

  /** Discord announces a deleted role once, not again for each member who held it. */
  const roleDeleted = (guildId: string, roleId: string): void => {
    roleGone(guildId, roleId);
    changeRoles(guildId, (roles) => roles.delete(roleId));
    for (const state of record.membersOf(guildId)) {
      if (state.roleIds.includes(roleId)) record.setMember({ ...state, roleIds: state.roleIds.filter((id) => id !== roleId) });
    }
  };

  const joined = (guildId: string, data: MemberPayload): void => {
    touched(guildId, data.user.id);
    observe(memberState(guildId, data));
  };

  const memberChanged = (guildId: string, data: MemberPayload): void => {
    touched(guildId, data.user.id);
    const known = record.member(guildId, data.user.id);
    observe(memberState(guildId, data, known?.present === true ? known : undefined));
    // What the event leaves out is unchanged, and nobody has told yet what it is.
    if (known === undefined && data.nick === undefined && record.member(guildId, data.user.id) !== undefined) readLater([guildId]);
  };

  const left = (guildId: string, userId: string): void => {
    touched(guildId, userId);
    record.setAbsent(guildId, userId);
  };

  /** What is being read now may be older than what Discord tells when it has the guild again. */
  const away = (guildId: string): void => {
    link.setUnavailable(guildId, true);
    sync.lost(guildId);
  };

  const there = (guild: GuildPayload & { roles: readonly RolePayload[] }): void => {
    const isAwaited = record.guild(guild.id) === undefined || (link.unread.has(guild.id) && !link.isUnavailable(guild.id));
    link.setUnavailable(guild.id, false);
    guildInfo(guild);
    record.setRoles(guild.id, new Map(guild.roles.map((role) => [role.id, roleInfo(role)])));
    guildsChanged();
    link.markUnread(guild.id);
    if (isAwaited) void sync.request(guild.id);
    else sync.requestAgain(guild.id);
  };

  const handlers: Handlers = {
    [GatewayDispatchEvents.Ready]: ({ guilds }) => ready(guilds.map(({ id }) => id)),
    [GatewayDispatchEvents.Resumed]: resumed,
    [GatewayDispatchEvents.RateLimited]: ({ retry_after, meta }) =>
      meta.guild_id === undefined ? undefined : sync.rateLimited(meta.guild_id, retry_after),
    [GatewayDispatchEvents.GuildCreate]: (data) => (data.unavailable === true ? away(data.id) : there(data)),
    [GatewayDispatchEvents.GuildUpdate]: guildInfo,
    [GatewayDispatchEvents.GuildDelete]: ({ id, unavailable }) => (unavailable === true ? away(id) : removed(id)),
    [GatewayDispatchEvents.GuildRoleCreate]: ({ guild_id, role }) => setRole(guild_id, role),
    [GatewayDispatchEvents.GuildRoleUpdate]: ({ guild_id, role }) => setRole(guild_id, role),
    [GatewayDispatchEvents.GuildRoleDelete]: ({ guild_id, role_id }) => roleDeleted(guild_id, role_id),
    [GatewayDispatchEvents.GuildMemberAdd]: ({ guild_id, ...data }) => joined(guild_id, data),
    [GatewayDispatchEvents.GuildMemberUpdate]: ({ guild_id, ...data }) => memberChanged(guild_id, data),
    [GatewayDispatchEvents.GuildMemberRemove]: ({ guild_id, user }) => left(guild_id, user.id),
    [GatewayDispatchEvents.GuildMembersChunk]: (data) => sync.chunk(data),
  };

  function run<Name extends GuildDispatchName>(name: Name, data: unknown): void {
    const told = data as { guild_id?: unknown; id?: unknown } | null;
    const guildId = told?.guild_id ?? told?.id;
    if (typeof guildId === "string" && !isOurs(guildId)) return;
    handlers[name](guildDispatchSchemas[name].parse(data) as GuildDispatch<Name>);
  }
  return run;
}
