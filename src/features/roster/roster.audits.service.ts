import type { Logger } from "pino";
import type { Database } from "../../database/database.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import type { Call } from "../../kernel/call.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Cursors } from "../../kernel/page.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { GrantsService } from "../authorization/grants.service.ts";
import type { CallsignsService } from "../callsigns/callsigns.service.ts";
import type { EventsService } from "../events/events.service.ts";
import type { LinkReach } from "../links/links.reach.ts";
import type { PermissionsService } from "../permissions/permissions.service.ts";
import type { Standings } from "../permissions/standing.ts";
import type { RosterService } from "./roster.service.ts";
import type { RosterSync } from "./roster.sync.service.ts";

export type RosterAudits = ReturnType<typeof createRosterAudits>;

export interface RosterAuditsDeps {
  database: Database;
  audit: Pick<AuditService, "record">;
  events: Pick<EventsService, "emit">;
  guildState: GuildState;
  standing: Standings;
  permissions: Pick<PermissionsService, "requireRankAbove">;
  grants: GrantsService;
  reach: LinkReach;
  roster: RosterService;
  callsigns: CallsignsService;
  rosterSync: RosterSync;
  /** The hour (UTC) of the nightly audit; null: none. */
  hour: number | null;
  inactiveDays: number;
  cursors: Cursors;
  clock: Clock;
  logger: Logger;
}

/** Finds what is not as it should be about those on the roster. */
export function createRosterAudits(_deps: RosterAuditsDeps) {
  return {
    /** The nightly audit, when its hour has come. For the job that runs each minute. */
    sweep: (_call: Call): Promise<number> => Promise.resolve(0),
  };
}
