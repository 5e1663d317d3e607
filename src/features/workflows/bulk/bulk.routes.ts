import { z } from "zod";
import { route, type Route } from "../../../operations/route.ts";
import { BulkAnswer, BulkBody } from "./bulk.schema.ts";
import type { WorkflowsService } from "../requests/workflows.service.ts";

const Query = z.object({
  dry_run: z
    .enum(["true", "false"])
    .default("false")
    .meta({ description: "`true`: show for each what would come of it, and write nothing" }),
});

/** The HTTP door to many decisions at once. */
export function bulkRoutes(workflows: Pick<WorkflowsService, "decideMany">): Route[] {
  return [
    route(
      {
        method: "post",
        path: "/workflows/decisions",
        operationId: "decideWorkflows",
        tags: ["workflows"],
        summary: "Decide about up to 100 requests",
        description:
          "Each decision needs its own permission besides, and is carried out or refused by itself: the answer has a result for each, in order. Either `items`, each with the fields of the decision route, or `references` with one decision for all. No request stands twice.",
        access: { permission: "workflows.bulk" },
        request: { query: Query, body: BulkBody, example: { references: ["BLU-REQ-000001", "BLU-REQ-000002"], decision: "approve" } },
        success: {
          status: 200,
          shape: "flat",
          schema: BulkAnswer,
          description: "What came of each",
          example: {
            success: true,
            decided: 0,
            refused: 1,
            results: [
              { asked: "BLU-REQ-000001", ok: false, problem: { code: "record_not_found", status: 404, detail: "There is no such record" } },
            ],
          },
        },
      },
      ({ call, query, body }) => workflows.decideMany(call, body, { isDryRun: query.dry_run === "true" }),
    ),
  ];
}
