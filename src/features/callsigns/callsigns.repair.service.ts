import type { Database } from "../../database/database.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import type { Call } from "../../kernel/call.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Cursors } from "../../kernel/page.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { EventsService } from "../events/events.service.ts";
import type { Standings } from "../permissions/standing.ts";
import type { CallsignsService } from "./callsigns.service.ts";
import type { RosterService } from "../roster/roster.service.ts";

export type RepairsService = ReturnType<typeof createRepairsService>;

export interface RepairsDeps {
  database: Database;
  audit: Pick<AuditService, "record">;
  events: Pick<EventsService, "emit">;
  guildState: Pick<GuildState, "guilds" | "members" | "freshness">;
  standing: Pick<Standings, "of" | "role">;
  roster: RosterService;
  callsigns: CallsignsService;
  cursors: Cursors;
  clock: Clock;
}

/** Finds what is damaged in the registry of callsigns, and puts it right. */
export function createRepairsService(_deps: RepairsDeps) {
  return {
    /** Forget what can no longer be undone. For the job that runs each minute. */
    sweep: (_call: Call): Promise<number> => Promise.resolve(0),
  };
}
