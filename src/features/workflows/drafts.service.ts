import type { Database } from "../../database/database.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Cursors } from "../../kernel/page.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { EventsService } from "../events/events.service.ts";
import type { WorkflowsService } from "./workflows.service.ts";

export type DraftsService = ReturnType<typeof createDraftsService>;

export interface DraftsDeps {
  database: Database;
  audit: AuditService;
  events: Pick<EventsService, "emit">;
  workflows: Pick<WorkflowsService, "create">;
  cursors: Cursors;
  clock: Clock;
}

/** Requests that something suggests: they wait until a person files or dismisses them. */
export function createDraftsService(_deps: DraftsDeps) {
  return {};
}
