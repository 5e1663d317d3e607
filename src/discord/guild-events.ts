import {
  GatewayDispatchEvents,
  type APIRole,
  type APIUser,
  type GatewayDispatchPayload,
  type GatewayGuildCreateDispatchData,
} from "discord-api-types/v10";
import type { GuildLink } from "./guild-link.ts";
import type { GuildRecord } from "./guild-record.ts";
import { memberState, roleInfo } from "./guild-rows.ts";
import type { MemberState, RoleInfo } from "./guild-state.ts";
import type { MemberSync } from "./member-sync.ts";

/** The dispatches that feed the guild state. */
export const guildDispatches = [
  GatewayDispatchEvents.Ready,
  GatewayDispatchEvents.Resumed,
  GatewayDispatchEvents.GuildCreate,
  GatewayDispatchEvents.GuildUpdate,
  GatewayDispatchEvents.GuildDelete,
  GatewayDispatchEvents.GuildRoleCreate,
  GatewayDispatchEvents.GuildRoleUpdate,
  GatewayDispatchEvents.GuildRoleDelete,
  GatewayDispatchEvents.GuildMemberAdd,
  GatewayDispatchEvents.GuildMemberUpdate,
  GatewayDispatchEvents.GuildMemberRemove,
  GatewayDispatchEvents.GuildMembersChunk,
  GatewayDispatchEvents.RateLimited,
] as const;

export type GuildDispatch = Extract<GatewayDispatchPayload, { t: (typeof guildDispatches)[number] }>;

interface GuildEventsOptions {
  isOurs(guildId: string): boolean;
  record: GuildRecord;
  link: GuildLink;
  sync: MemberSync;
  /** Keep a member as told, when they are of those to be stored. */
  observe(state: MemberState): void;
  /** An event about this person arrived. */
  touched(guildId: string, userId: string): void;
  /** Discord has deleted a role; its id is never given again. */
  roleGone(guildId: string, roleId: string): void;
  /** Which guilds count has changed. */
  guildsChanged(): void;
}

/** Translates gateway dispatches into changes of the record; dispatches of guilds that are not ours are ignored. */
export function createGuildEvents({ isOurs, record, link, sync, observe, touched, roleGone, guildsChanged }: GuildEventsOptions) {
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

  const guildInfo = (guild: { id: string; name: string; icon?: string | null; owner_id: string }): void => {
    const syncedAt = record.guild(guild.id)?.syncedAt ?? null;
    record.setGuild({ id: guild.id, name: guild.name, icon: guild.icon ?? null, ownerId: guild.owner_id, present: true, syncedAt });
  };

  const changeRoles = (guildId: string, change: (roles: Map<string, RoleInfo>) => void): void => {
    const roles = new Map(record.roles(guildId));
    change(roles);
    record.setRoles(guildId, roles);
  };

  const setRole = (guildId: string, role: APIRole): void => changeRoles(guildId, (roles) => roles.set(role.id, roleInfo(role)));

  /** Discord announces a deleted role once, not again for each member who held it. */
  const roleDeleted = (guildId: string, roleId: string): void => {
    roleGone(guildId, roleId);
    changeRoles(guildId, (roles) => roles.delete(roleId));
    for (const state of record.membersOf(guildId)) {
      if (state.roleIds.includes(roleId)) record.setMember({ ...state, roleIds: state.roleIds.filter((id) => id !== roleId) });
    }
  };

  const member = (guildId: string, data: { user: APIUser; roles: string[]; nick?: string | null; joined_at?: string | null }): void => {
    touched(guildId, data.user.id);
    const state = memberState(guildId, data);
    observe(state.joinedAt === null ? { ...state, joinedAt: record.member(guildId, state.userId)?.joinedAt ?? null } : state);
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

  const there = (guild: GatewayGuildCreateDispatchData): void => {
    const isAwaited = record.guild(guild.id) === undefined || (link.unread.has(guild.id) && !link.isUnavailable(guild.id));
    link.setUnavailable(guild.id, false);
    guildInfo(guild);
    record.setRoles(guild.id, new Map(guild.roles.map((role) => [role.id, roleInfo(role)])));
    guildsChanged();
    link.markUnread(guild.id);
    if (isAwaited) void sync.request(guild.id);
    else sync.requestAgain(guild.id);
  };

  const ofGuild = ({ t, d }: GuildDispatch, guildId: string): void => {
    switch (t) {
      case GatewayDispatchEvents.GuildUpdate:
        return guildInfo(d);
      case GatewayDispatchEvents.GuildRoleCreate:
      case GatewayDispatchEvents.GuildRoleUpdate:
        return setRole(guildId, d.role);
      case GatewayDispatchEvents.GuildRoleDelete:
        return roleDeleted(guildId, d.role_id);
      case GatewayDispatchEvents.GuildMemberAdd:
      case GatewayDispatchEvents.GuildMemberUpdate:
        return member(guildId, d);
      case GatewayDispatchEvents.GuildMemberRemove:
        return left(guildId, d.user.id);
      case GatewayDispatchEvents.GuildMembersChunk:
        return sync.chunk(d);
      case GatewayDispatchEvents.GuildDelete:
        return d.unavailable === true ? away(guildId) : removed(guildId);
      case GatewayDispatchEvents.GuildCreate:
        return d.unavailable === true ? away(guildId) : there(d);
      default:
        return undefined;
    }
  };

  return function handle(dispatch: GuildDispatch): void {
    if (dispatch.t === GatewayDispatchEvents.Ready) return ready(dispatch.d.guilds.map((guild) => guild.id));
    if (dispatch.t === GatewayDispatchEvents.Resumed) return resumed();
    if (dispatch.t === GatewayDispatchEvents.RateLimited) return sync.rateLimited(dispatch.d.meta.guild_id, dispatch.d.retry_after);
    const guildId = guildOf(dispatch);
    if (isOurs(guildId)) ofGuild(dispatch, guildId);
  };
}

function guildOf({ d }: Exclude<GuildDispatch, { t: "READY" | "RESUMED" | "RATE_LIMITED" }>): string {
  return "guild_id" in d ? d.guild_id : d.id;
}
