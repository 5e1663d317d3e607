import { z } from "zod";
import { route, withContentEtag, type Route } from "../../../operations/route.ts";
import { AmendBody } from "./fields.ts";
import { GetParams, readingAccess } from "../requests/workflows.routes.ts";
import { WorkflowView } from "../requests/workflows.schema.ts";
import type { WorkflowsService } from "../requests/workflows.service.ts";

/** A key that only reads changes nothing, not even what the acting person filed. */
const access = { ...readingAccess, permission: "workflows.edit_any", either: ["workflows.{type}.create", "workflows.review"] } as const;

/** The HTTP door to amendments. */
export function amendRoutes(workflows: Pick<WorkflowsService, "amend">): Route[] {
  return [
    route(
      {
        method: "patch",
        path: "/workflows/{type}/{id}",
        operationId: "amendWorkflow",
        tags: ["workflows"],
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
      },
      async ({ call, params: { type, id }, body, ifMatch }) => withContentEtag(await workflows.amend(call, type, id, body, ifMatch)),
    ),
  ];
}
