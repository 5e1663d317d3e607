import type { Route } from "../../http/route.ts";
import type { ActionsService } from "./actions.service.ts";

/** The HTTP door to actions of cases and the ledger of strikes. */
export function actionsRoutes(_actions: ActionsService): Route[] {
  return [];
}
