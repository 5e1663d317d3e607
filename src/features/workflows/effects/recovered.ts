import { tellRecovered } from "../../../discord-actions/told.ts";
import type { Tx } from "../../../database/database.ts";
import type { WorkflowEffect } from "../../../generated/sqlite/client.ts";
import type { EventsService } from "../../events/events.service.ts";
import { eventPermission, type Request } from "../requests/workflows.policy.ts";
import { DiscordEffectInput, hasFailed } from "./discord-effect.ts";

/**
 * Report that an effect that had failed is done after all or called off; nothing for one that had not failed, or has not come to its end.
 * @param row the effect as it was before
 */
export function tellRecoveredEffect(
  events: Pick<EventsService, "emit">,
  tx: Tx,
  { request, row, status }: { request: Pick<Request, "id" | "reference" | "subjects">; row: WorkflowEffect; status: string },
): void {
  const action = DiscordEffectInput.safeParse(row.input).data?.discord;
  if (action === undefined || !hasFailed(row) || status === "failed" || status === "pending") return;
  const cause = { feature: "request", id: request.id, place: row.place, reference: request.reference } as const;
  tellRecovered(events, tx, { action, cause, permission: eventPermission(request) });
}
