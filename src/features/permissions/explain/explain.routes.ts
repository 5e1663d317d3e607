import { route, type Route } from "../../../operations/route.ts";
import { ExplainInput, ExplainView, SimulateInput, SimulateView, steps } from "./explain.schema.ts";
import { permissionsPolicy } from "../permissions.policy.ts";
import type { PermissionsService } from "../permissions.service.ts";

const tags = ["permissions"];

export function explanationsRoutes(permissions: PermissionsService): Route[] {
  return [
    route(
      {
        method: "post",
        path: "/permissions/explain",
        operationId: "explainPermission",
        tags,
        summary: "Explain one permission of one person",
        description: "Every rule that speaks, in the order in which rules are asked; the first one decides.",
        access: { permission: permissionsPolicy.explain },
        write: false,
        limit: "read",
        request: { body: ExplainInput, example: { user_id: "80351110224678912", key: "cases.close" } },
        success: {
          status: 200,
          shape: "single",
          schema: ExplainView,
          description: "The rules that spoke",
          example: {
            user_id: "80351110224678912",
            key: "cases.close",
            allowed: true,
            expires_at: null,
            trace: [
              {
                step: "role_allow",
                effect: "allow",
                decides: true,
                code: "role_mapping",
                source: "role_allow",
                ref: "helper",
                text: "The staff role helper allows it.",
              },
            ],
            order: [...steps],
          },
        },
      },
      ({ call, body }) => permissions.explain(call, body),
    ),
    route(
      {
        method: "post",
        path: "/permissions/simulate",
        operationId: "simulatePermissions",
        tags,
        summary: "See who would gain and lose what, before saving",
        description:
          "The changes are imagined one after the other; nothing is written. `refusals` names the changes that this caller could not save.",
        access: { permission: permissionsPolicy.explain },
        write: false,
        limit: "read",
        request: {
          body: SimulateInput,
          example: { changes: [{ role_key: "moderator", allow: ["cases.close"], deny: ["users.refresh"] }] },
        },
        success: {
          status: 200,
          shape: "single",
          schema: SimulateView,
          description: "What would be otherwise",
          example: {
            people: [{ user_id: "80351110224678912", scope: null, gains: ["cases.close"], loses: ["users.refresh"] }],
            people_total: 1,
            roles: [{ role_key: "moderator", gains: ["cases.close"], loses: ["users.refresh"] }],
            refusals: [{ index: 0, code: "hierarchy_violation", detail: "Rank 40 is not below your own rank 40." }],
          },
        },
      },
      ({ call, body }) => permissions.simulate(call, body),
    ),
  ];
}
