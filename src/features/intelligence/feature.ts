import type { Logger } from "pino";
import type { Deps } from "../deps.ts";
import { intelligenceCommands } from "./intelligence.commands.ts";
import { feature } from "../../compose.ts";
import type { Core } from "../../core.ts";
import { systemCall } from "../../kernel/call.ts";
import { uuid7 } from "../../kernel/ids.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import { intelligenceRoutes } from "./intelligence.routes.ts";
import type { EventsService } from "../events/events.service.ts";
import type { GrantsService } from "../authorization/grants/grants.service.ts";
import type { LinkReach } from "../links/reach.ts";
import type { PermissionsService } from "../permissions/permissions.service.ts";
import type { AccessDirectory } from "../permissions/access/access-directory.ts";
import type { DataReads } from "../privacy/reads.ts";
import type { ServerFacts } from "../servers/facts.ts";
import { createCandidateIndex } from "./candidates.ts";
import { createMatchCounts } from "./matches/counts.ts";
import { createMatchesService, type MatchesService } from "./matches/matches.service.ts";
import { createUserServersService, type UserServersService } from "./user-servers/user-servers.service.ts";

export const intelligence = feature({
  commands: intelligenceCommands,
  create: (deps: Omit<IntelligenceDeps, "isStaff"> & Pick<Core, "changes" | "cluster"> & { events: Pick<EventsService, "onEmit"> }) => ({
    ...createIntelligence({ ...deps, isStaff: (userId) => deps.access.of(userId).isStaff }),
    matchCounts: createMatchCounts(deps.events),
  }),
  routes: (services) => intelligenceRoutes(services),
  jobs: ({ matches }) => ({ matches: { run: matches.sweep, nextDue: matches.nextDue } }),
  metrics: ({ matchCounts }) => ({ provost_matches_total: () => matchCounts().map(([change, count]) => [{ change }, count]) }),
  async load({ matches, changes, cluster }) {
    const caller = () => (cluster.isLeader() ? systemCall("job", uuid7()) : null);
    changes.listen(
      "blacklist_records",
      ({ keys }) => (keys === undefined ? matches.load() : matches.follow(caller(), keys)),
      () => matches.catchUp(caller()),
    );
    await matches.load();
  },
});

export interface IntelligenceDeps extends Deps<"database" | "keyring" | "cursors" | "clock" | "audit" | "events" | "servedGuilds"> {
  guildState: Pick<GuildState, "lookUp">;
  grants: GrantsService;
  /** Keyed hash of a server id; the same wherever `subject_hash` and `server_hash` are written. */
  hashOf: (serverId: string) => string;
  facts: ServerFacts;
  reach: LinkReach;
  reads: DataReads;
  logger: Logger;
  access: Pick<AccessDirectory, "of">;
  permissions: Pick<PermissionsService, "requireRankAbove">;
  /** Staff match records about themselves without a grant. */
  isStaff: (userId: string) => boolean;
}

/** What is known about people's servers, and how they match. `matches.load()` once at boot. */
export function createIntelligence(deps: IntelligenceDeps): { servers: UserServersService; matches: MatchesService } {
  const servers = createUserServersService(deps);
  const index = createCandidateIndex(deps.hashOf);
  return { servers, matches: createMatchesService({ ...deps, index, servers }) };
}
