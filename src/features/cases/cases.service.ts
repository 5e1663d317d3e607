import type { Database } from "../../database/database.ts";
import type { Call } from "../../kernel/call.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Cursors } from "../../kernel/page.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { EventsService } from "../events/events.service.ts";
import type { LinkReach } from "../links/links.reach.ts";

export type CasesService = ReturnType<typeof createCasesService>;

export interface CasesDeps {
  database: Database;
  audit: AuditService;
  events: Pick<EventsService, "emit">;
  /** How staff stand towards each other, known without I/O. */
  standing: { of(userId: string): { isStaff: boolean; rank: number } };
  reach: LinkReach;
  /** Ids of the requests a caller may not know of. */
  hiddenRequests: (call: Call) => Promise<readonly string[]>;
  cursors: Cursors;
  clock: Clock;
}

/** Cases: what staff look into, by whom, and what came of it. */
export function createCasesService(_deps: CasesDeps) {
  return {
    /** The ids of the cases a caller may not know of. */
    hiddenFrom: (_call: Call): Promise<string[]> => Promise.resolve([]),
    /** What time does to cases. For the job that runs each minute. */
    sweep: (_call: Call): Promise<number> => Promise.resolve(0),
  };
}
