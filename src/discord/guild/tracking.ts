import type { GuildRecord } from "./record.ts";
import type { MemberState, Tracked } from "../guild-state.ts";
import type { LookUps } from "./look-up.ts";

/** More new users than this are found by reading whole member lists instead of single look-ups. */
const maxLookUps = 25;

interface TrackingOptions {
  record: GuildRecord;
  lookUps: LookUps;
  presentGuilds(): readonly string[];
  isLinked(): boolean;
  /** Read a guild's whole member list; never rejects. */
  read(guildId: string): Promise<void>;
  /** Remember that a guild has to be read. */
  markUnread(guildId: string): void;
}

/** Decides who is stored: holders of tracked roles, tracked users, and everyone who is stored already. */
export function createTracking({ record, lookUps, presentGuilds, isLinked, read, markUnread }: TrackingOptions) {
  let tracked: Tracked = { roles: new Set(), users: new Set() };

  const observe = (state: MemberState): void => {
    const isWanted =
      record.member(state.guildId, state.userId) !== undefined ||
      tracked.users.has(state.userId) ||
      state.roleIds.some((roleId) => tracked.roles.has(`${state.guildId}:${roleId}`));
    if (isWanted) record.setMember(state);
  };

  const findOne = async (userId: string): Promise<boolean> => {
    lookUps.touched(userId);
    const found = await lookUps.ask(userId, "staff");
    if (!found.isComplete || found.isOutdated) return false;
    for (const state of found.states) observe(state);
    return true;
  };

  return {
    observe,
    async track(what: Tracked): Promise<void> {
      const before = tracked;
      tracked = { roles: new Set(what.roles), users: new Set(what.users) };
      const newUsers = [...tracked.users].filter((id) => !before.users.has(id));
      const newRoles = [...tracked.roles].filter((key) => !before.roles.has(key));
      const present = presentGuilds();
      const concerned = new Set(newRoles.map((key) => key.split(":")[0] ?? "").filter((id) => present.includes(id)));
      if (newUsers.length > maxLookUps) for (const id of present) concerned.add(id);
      if (!isLinked()) {
        for (const id of newUsers.length > 0 ? present : concerned) markUnread(id);
        return;
      }
      const reads = [...concerned].map(read);
      if (newUsers.length <= maxLookUps && concerned.size < present.length) {
        const found = await Promise.all(newUsers.map(findOne));
        if (found.includes(false)) reads.push(...present.filter((id) => !concerned.has(id)).map(read));
      }
      await Promise.all(reads);
      await record.idle();
    },
  };
}
