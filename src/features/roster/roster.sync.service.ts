import type { Logger } from "pino";
import type { Database } from "../../database/database.ts";
import type { Discord } from "../../discord/client.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import type { Call } from "../../kernel/call.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { EventsService } from "../events/events.service.ts";
import type { PermissionsService } from "../permissions/permissions.service.ts";
import type { Standings } from "../permissions/standing.ts";
import type { RosterService } from "./roster.service.ts";

export type RosterSync = ReturnType<typeof createRosterSync>;

export interface RosterSyncDeps {
  database: Database;
  audit: Pick<AuditService, "record">;
  events: Pick<EventsService, "emit">;
  guildState: GuildState;
  standing: Standings;
  permissions: Pick<PermissionsService, "requireRankAbove">;
  roster: RosterService;
  isFollowing: boolean;
  clock: Clock;
  logger: Logger;
}

/** Keeps the roster and the guilds in step. */
export function createRosterSync(_deps: RosterSyncDeps) {
  const performing: { current: Pick<Discord, "actions" | "status"> | undefined } = { current: undefined };
  return {
    /** Set once at boot. */
    performing,
    start(): void {
      return;
    },
    stop: (): Promise<void> => Promise.resolve(),
    /** For the job that runs each minute. */
    catchUp: (_call: Call): Promise<number> => Promise.resolve(0),
  };
}
