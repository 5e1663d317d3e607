import { oneAtATime, type Changes } from "../../cluster/changes.ts";
import type { ServedGuilds } from "../guild-state.ts";
import type { GuildRecord } from "./record.ts";

/** Where another process may have the link to Discord, and write the state. */
export interface Following {
  changes: Changes;
  /** Whether this process has the link. */
  isLeader(): boolean;
  /** How current the state of the process is that has it; undefined when none has told it lately. */
  leader(): { isLive: boolean; asOf: Date | null } | undefined;
}

interface FollowDeps {
  record: Pick<GuildRecord, "reload" | "forgetDeleted">;
  served: ServedGuilds;
}

/** Show what the process that has the link to Discord stores, and have that one forget whom another process has erased. */
export function followLeader({ changes, isLeader }: Following, { record, served }: FollowDeps): void {
  let areGuildsChanged = false;
  /** Whose rows have changed since the last look; undefined: anybody's. */
  let changed: Set<string> | undefined = new Set();

  const look = oneAtATime(async () => {
    const [guilds, userIds] = [areGuildsChanged, changed && [...changed]];
    [areGuildsChanged, changed] = [false, new Set()];
    if (!guilds && userIds?.length === 0) return;
    // Who has the link has written the rest itself.
    if (isLeader()) return record.forgetDeleted(userIds);
    try {
      await record.reload(served, { guilds, userIds });
    } catch (error) {
      [areGuildsChanged, changed] = [true, undefined];
      throw error;
    }
  });
  changes.listen(["guilds", "guild_roles"], () => {
    areGuildsChanged = true;
    return look();
  });
  changes.listen("guild_members", ({ keys }) => {
    if (keys === undefined) changed = undefined;
    else for (const userId of keys) changed?.add(userId);
    return look();
  });
}
