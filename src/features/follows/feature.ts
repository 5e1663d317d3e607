import { feature } from "../../compose.ts";
import type { Core } from "../../core.ts";
import type { BlacklistTransfer } from "../blacklist/import/import.service.ts";
import { createOutgoing } from "../../outgoing.ts";
import { createFollowedEntries } from "./entries.ts";
import { followsCommands } from "./follows.commands.ts";
import { followsRoutes } from "./follows.routes.ts";
import { createFollowsService, type FollowsDeps } from "./follows.service.ts";

/** What followed lists say, as other features ask it. */
export const followedEntries = feature({
  create: (deps: Pick<Core, "database" | "clock" | "changes">) => ({ followedEntries: createFollowedEntries(deps) }),
  jobs: ({ followedEntries }) => ({ followedEntries: { run: followedEntries.reportDated, nextDue: followedEntries.nextDue } }),
  async load({ followedEntries, changes }) {
    changes.listen("followed_lists", followedEntries.load);
    await followedEntries.load();
  },
});

type Needs = Omit<FollowsDeps, "entries" | "readers" | "outgoing"> &
  Pick<Core, "config" | "stopping"> & { followedEntries: FollowsDeps["entries"]; blacklistTransfer: BlacklistTransfer };

/** Lists of others that this community follows. */
export const follows = feature({
  commands: followsCommands,
  create({ config, stopping, followedEntries: entries, blacklistTransfer: { readers }, ...deps }: Needs) {
    const outgoing = createOutgoing({ allowed: config.listsFrom, stopping });
    return { follows: createFollowsService({ ...deps, entries, readers, outgoing }) };
  },
  routes: ({ follows }) => followsRoutes(follows),
  jobs: ({ follows }) => ({ follows: follows.lookAgain }),
  start: ({ follows }) => follows.start(),
  stop: ({ follows }) => ({ follows: follows.stop }),
  metrics: ({ follows }) => ({ provost_followed_lists: follows.byState }),
});
