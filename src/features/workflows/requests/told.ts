import type { Tx } from "../../../database/database.ts";
import type { WorkflowSubject } from "../../../generated/sqlite/client.ts";
import type { EventsService } from "../../events/events.service.ts";
import type { EventType } from "../../events/types.ts";
import { eventPermission } from "./workflows.policy.ts";

/** The request that something happened to. */
interface Told {
  id: string;
  reference: string;
  type: string;
  subjects: readonly Pick<WorkflowSubject, "kind">[];
}

/** Tell of what happened to a request: of a confidential one, those alone who may know of it. */
export function tellOf(
  events: Pick<EventsService, "emit">,
  tx: Tx,
  event: EventType,
  { id, reference, type, subjects }: Told,
  said: Readonly<Record<string, string | readonly string[] | null>> & { status: string },
): void {
  const permission = eventPermission({ subjects });
  const data = { request_id: id, reference, type, ...said };
  events.emit(tx, { type: event, data, ...(permission !== undefined && { permission }) });
}
