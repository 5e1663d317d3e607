import type { Database } from "../../database/database.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Cursors } from "../../kernel/page.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { EventsService } from "../events/events.service.ts";
import type { DraftsService } from "../workflows/drafts.service.ts";
import type { CasesService } from "./cases.service.ts";

export type ActionsService = ReturnType<typeof createActionsService>;

export interface ActionsDeps {
  database: Database;
  audit: AuditService;
  events: Pick<EventsService, "emit">;
  cases: CasesService;
  drafts: DraftsService;
  /** How staff stand towards each other, known without I/O. */
  standing: { of(userId: string): { isStaff: boolean; rank: number } };
  /** From how many points in force a punishment is suggested, rising. */
  thresholds: readonly { points: number; action: string }[];
  cursors: Cursors;
  clock: Clock;
}

/** What is done about people in cases, and the ledger of strikes that comes of it. */
export function createActionsService(_deps: ActionsDeps) {
  return {};
}
