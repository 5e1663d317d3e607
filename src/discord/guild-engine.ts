import { systemClock } from "../kernel/clock.ts";
import { roleRef } from "../kernel/role-ref.ts";
import { createChanges } from "./guild-changes.ts";
import { createGuildEvents } from "./guild-events.ts";
import type { GuildStateOptions } from "./guild-feed.ts";
import { createGuildLink } from "./guild-link.ts";
import { createGuildRecord } from "./guild-record.ts";
import { memberState } from "./guild-rows.ts";
import { createLookUps } from "./member-look-up.ts";
import type { MemberState } from "./guild-state.ts";
import type { MemberSource } from "./member-source.ts";
import { createMemberSync } from "./member-sync.ts";
import { createTracking } from "./tracking.ts";

export type GuildEngine = ReturnType<typeof createGuildEngine>;

/** The parts of the guild state, wired: record, freshness, whole-list reads, look-ups, who is stored, dispatches. */
export function createGuildEngine({ database, logger, clock = systemClock, ...options }: GuildStateOptions) {
  const configured = new Set(options.guildIds);
  const isOurs = (guildId: string): boolean => configured.size === 0 || configured.has(guildId);
  const changes = createChanges(logger);
  const goneRoles = new Set<string>();
  let discord: MemberSource | undefined;
  const source = (): MemberSource | undefined => discord;

  const record = createGuildRecord({
    database,
    logger,
    onCommitted(change) {
      link.sign();
      changes.tell(change);
    },
    onGivenUp: (guildIds) => readLater(guildIds),
  });
  const link = createGuildLink({ clock, isFailing: () => record.isFailing() });
  const isLinked = (): boolean => link.isLinked();
  const isPresent = (guildId: string): boolean => record.guild(guildId)?.present === true;
  const presentGuilds = (): string[] => record.guilds().flatMap((guild) => (guild.present ? [guild.id] : []));
  const lookUps = createLookUps({ source, guildIds: presentGuilds, ...options.lookUp });
  const sync = createMemberSync({
    ...options.sync,
    logger,
    clock,
    source,
    isLinked,
    isWanted: (guildId) => isPresent(guildId) && !link.isUnavailable(guildId),
    presentIds: (guildId) => record.membersOf(guildId).flatMap((state) => (state.present ? [state.userId] : [])),
    accept: (guildId, member) => observe(memberState(guildId, member)),
    absent: (guildId, userId) => record.setAbsent(guildId, userId),
    write(guildId, startedAt) {
      record.setSynced(guildId, startedAt);
      return record.idle();
    },
    onDone(guildId) {
      link.markRead(guildId);
      link.sign();
      changes.tell({ users: [], everything: true });
    },
    onFailed: (guildId) => (isPresent(guildId) ? link.markUnread(guildId) : undefined),
  });
  const readLater = (guildIds: Iterable<string>): void => {
    for (const guildId of guildIds) {
      if (isPresent(guildId)) link.markUnread(guildId);
      sync.requestLater(guildId);
    }
  };
  const read = (guildId: string): Promise<void> => sync.request(guildId);
  const markUnread = (guildId: string): void => link.markUnread(guildId);
  const tracking = createTracking({ record, lookUps, presentGuilds, isLinked, read, markUnread });
  // A member list that was asked for before a role was deleted still names it when it arrives.
  const observe = (state: MemberState): void => {
    const roleIds = state.roleIds.filter((roleId) => !goneRoles.has(roleRef(state.guildId, roleId)));
    tracking.observe(roleIds.length === state.roleIds.length ? state : { ...state, roleIds });
  };
  const handle = createGuildEvents({
    isOurs,
    record,
    link,
    sync,
    readLater,
    observe,
    roleGone: (guildId, roleId) => void goneRoles.add(roleRef(guildId, roleId)),
    touched(guildId, userId) {
      sync.touched(guildId, userId);
      lookUps.touched(userId);
    },
    guildsChanged: () => lookUps.clear(),
  });

  return {
    record,
    link,
    lookUps,
    tracking,
    changes,
    presentGuilds,
    isOurs,
    handle,
    readLater,
    attach: (given: MemberSource | undefined) => void (discord = given),
    lost(): void {
      link.lost();
      sync.lost();
    },
    /** Without such a note a restart after weeks would think its state weeks old. */
    note(): void {
      if (link.isLive()) for (const guildId of presentGuilds()) record.setSynced(guildId, clock.now());
    },
  };
}
