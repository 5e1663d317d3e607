import { route, type Route } from "../../../operations/route.ts";
import { StatsQuery, StatsView, statsPermission } from "./stats.schema.ts";
import type { WorkflowsService } from "../requests/workflows.service.ts";

/** The HTTP door to numbers about requests. */
export function statsRoutes({ stats }: Pick<WorkflowsService, "stats">): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/workflows/stats",
        operationId: "readWorkflowStats",
        tags: ["workflows"],
        summary: "Read numbers about requests",
        description:
          "What is open is counted as it is now, whenever it was filed; everything else is about the requests filed in the period, at most 366 days. Confidential requests are counted like the others.",
        access: { permission: statsPermission },
        request: { query: StatsQuery },
        success: { status: 200, shape: "single", schema: StatsView, description: "The numbers, in all and for each kind" },
        refusals: ["unknown_parameter"],
      },
      ({ call, query }) => stats.read(call, query),
    ),
  ];
}
