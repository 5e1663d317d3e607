import { z } from "zod";
import { routesFor, withContentEtag, type Route } from "../../../operations/route.ts";
import { BulkAnswer, BulkBody } from "./bulk.schema.ts";
import type { WorkflowsService } from "../requests/workflows.service.ts";
import { AmendBody } from "../amend/fields.ts";
import { GetParams, readingAccess } from "../requests/workflows.routes.ts";
import { WorkflowView } from "../requests/workflows.schema.ts";

const { patch, post } = routesFor("workflows");

const Query = z.object({
  dry_run: z
    .enum(["true", "false"])
    .default("false")
    .meta({ description: "`true`: show for each what would come of it, and write nothing" }),
});

/** HTTP routes for many decisions at once. */
export function bulkRoutes(workflows: Pick<WorkflowsService, "decideMany">): Route[] {
  return [
    post("/workflows/decisions", "decideWorkflows", {
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
      handle: ({ call, query, body }) => workflows.decideMany(call, body, { isDryRun: query.dry_run === "true" }),
    }),
  ];
}

/** A key that only reads changes nothing, not even what the acting person filed. */
const access = { ...readingAccess, permission: "workflows.edit_any", either: ["workflows.{type}.create", "workflows.review"] } as const;

/** HTTP routes for amendments. */
export function amendRoutes(workflows: Pick<WorkflowsService, "amend">): Route[] {
  return [
    patch("/workflows/{type}/{id}", "amendWorkflow", {
      summary: "Change an open request",
      description:
        "Its requester and holders of `workflows.edit_any` change it; `workflows.review` sets priority and urgency. The fields of the kind stand flat or in `payload`, in snake_case or camelCase, and null takes one away: when they change, earlier votes lapse. Whom a request is about stays.",
      access,
      request: {
        params: GetParams,
        body: z.union([z.looseObject({}), AmendBody]),
        example: { summary: "Led both raids of last night." },
      },
      success: { status: 200, shape: "single", schema: WorkflowView, description: "The request" },
      refusals: [
        "record_not_found",
        "conflict_of_interest",
        "hierarchy_violation",
        "precondition_failed",
        "invalid_transition",
        "duplicate_open",
      ],
      handle: async ({ call, params: { type, id }, body, ifMatch }) =>
        withContentEtag(await workflows.amend(call, type, id, body, ifMatch)),
    }),
  ];
}
