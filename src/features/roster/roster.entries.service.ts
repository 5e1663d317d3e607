import type { Database } from "../../database/database.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Cursors } from "../../kernel/page.ts";
import type { PermissionsService } from "../permissions/permissions.service.ts";
import type { Standings } from "../permissions/standing.ts";
import type { RosterService } from "./roster.service.ts";

export type RosterEntries = ReturnType<typeof createRosterEntries>;

export interface RosterEntriesDeps {
  database: Database;
  guildState: GuildState;
  standing: Standings;
  permissions: Pick<PermissionsService, "requireRankAbove">;
  roster: RosterService;
  cursors: Cursors;
  clock: Clock;
}

/** The roster and its history, as staff and clients read and change it. */
export function createRosterEntries(_deps: RosterEntriesDeps) {
  return {};
}
