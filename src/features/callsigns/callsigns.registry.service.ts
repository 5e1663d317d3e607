import type { Database } from "../../database/database.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Cursors } from "../../kernel/page.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { EventsService } from "../events/events.service.ts";
import type { PermissionsService } from "../permissions/permissions.service.ts";
import type { Standings } from "../permissions/standing.ts";
import type { CallsignsService } from "./callsigns.service.ts";

export type CallsignRegistry = ReturnType<typeof createCallsignRegistry>;

export interface CallsignRegistryDeps {
  database: Database;
  audit: Pick<AuditService, "record">;
  events: Pick<EventsService, "emit">;
  standing: Standings;
  permissions: Pick<PermissionsService, "requireRankAbove">;
  callsigns: CallsignsService;
  cursors: Cursors;
  clock: Clock;
}

/** Callsigns as staff and clients see them: asked for, looked at, given back. */
export function createCallsignRegistry(_deps: CallsignRegistryDeps) {
  return {};
}
