import { hash } from "node:crypto";
import { routesFor, withEtag, type Route } from "../../../operations/route.ts";
import { TypesView, typesAccess } from "./types.schema.ts";
import type { WorkflowsService } from "../requests/workflows.service.ts";
import { StatsQuery, StatsView, statsPermission } from "../stats/stats.schema.ts";

const { get } = routesFor("workflows");

/** HTTP routes for what kinds of request there are. */
export function typesRoutes({ types }: Pick<WorkflowsService, "types">): Route[] {
  return [
    get("/workflows/types", "listWorkflowTypes", {
      summary: "Read what kinds of request there are",
      description:
        "For each kind: the JSON Schema of its payload, other names of its fields, its permissions and whether the caller holds them, how it is decided and what an approval does. For holders of workflows.read or of the right to file any kind.",
      access: typesAccess,
      success: { status: 200, shape: "single", schema: TypesView, description: "The kinds, in the order of the routes" },
      handle: async ({ call }) => {
        const view = await types.list(call);
        return withEtag(view, hash("sha256", JSON.stringify(view), "base64url").slice(0, 22));
      },
    }),
  ];
}

/** HTTP routes for numbers about requests. */
export function statsRoutes({ stats }: Pick<WorkflowsService, "stats">): Route[] {
  return [
    get("/workflows/stats", "readWorkflowStats", {
      summary: "Read numbers about requests",
      description:
        "What is open is counted as it is now, whenever it was filed; everything else is about the requests filed in the period, at most 366 days. Confidential requests are counted like the others.",
      access: { permission: statsPermission },
      request: { query: StatsQuery },
      success: { status: 200, shape: "single", schema: StatsView, description: "The numbers, in all and for each kind" },
      refusals: ["unknown_parameter"],
      handle: ({ call, query }) => stats.read(call, query),
    }),
  ];
}
