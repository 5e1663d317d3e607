import { routesFor, type Route } from "../../../operations/route.ts";
import { HistoryQuery, StepView } from "./history.schema.ts";
import type { HistoryService } from "./history.service.ts";
import { GetParams, readingAccess } from "../requests/workflows.routes.ts";

const { get } = routesFor("workflows");

/** HTTP routes for what was done to requests. */
export function historyRoutes(workflows: { history: HistoryService }): Route[] {
  return [
    get("/workflows/{type}/{id}/history", "listWorkflowHistory", {
      summary: "List what was done to a request, oldest first",
      description:
        "Whoever filed the request, and whoever is partial in it, reads what was meant for them. Where votes are blind, those of others are left out until one has voted.",
      access: readingAccess,
      request: { params: GetParams, query: HistoryQuery },
      success: { status: 200, shape: "list", schema: StepView, description: "A page of history" },
      refusals: ["record_not_found", "invalid_cursor", "unknown_parameter"],
      handle: ({ call, params: { type, id }, query }) => workflows.history.list(call, type, id, query),
    }),
  ];
}
