import { z } from "zod";
import { routesFor, type Route } from "../../operations/route.ts";
import { permissionsPolicy } from "./permissions.policy.ts";
import {
  CatalogView,
  PermissionsListQuery,
  ReplaceRolePermissionsInput,
  RolePermissionsView,
  StaffRoleKey,
  UpdateRolePermissionsInput,
} from "./permissions.schema.ts";
import type { PermissionsService } from "./permissions.service.ts";
import { userPermissionsRoutes } from "./users/users.routes.ts";
import { ExplainInput, ExplainView, SimulateInput, SimulateView, steps } from "./explain/explain.schema.ts";

const { get, patch, post, put } = routesFor("permissions");
const refusals = ["record_not_found", "precondition_failed", "hierarchy_violation", "cannot_grant_unheld"] as const;
const params = z.object({ role_key: StaffRoleKey });
const exampleMapping = {
  role_key: "moderator",
  level: "moderator",
  allow: ["audit.read"],
  deny: ["users.refresh"],
  unknown: [],
  revision: 3,
};

export function permissionsRoutes(permissions: PermissionsService): Route[] {
  return [
    get("/permissions/catalog", "listPermissions", {
      summary: "List permission definitions",
      description: "Every permission there is, ordered by key, with the lowest level that holds it by default.",
      access: { permission: permissionsPolicy.catalog },
      request: { query: PermissionsListQuery },
      success: {
        status: 200,
        shape: "list",
        schema: CatalogView,
        description: "A page of the catalog",
        example: {
          key: "staff.read",
          group: "staff",
          label: "List staff",
          description: "See who is staff",
          default_level: "viewer",
          danger: false,
          scopes: ["network"],
          implies: [],
          conflicts: [],
          since: "1.0.0",
        },
      },
      refusals: ["invalid_cursor"],
      handle: ({ call, query }) => permissions.catalog(call, query),
    }),
    get("/permissions/roles", "listRolePermissions", {
      summary: "List role permission mappings",
      description: "What every staff role allows and denies on top of its level, ordered by role key.",
      access: { permission: permissionsPolicy.roles },
      request: { query: PermissionsListQuery },
      success: { status: 200, shape: "list", schema: RolePermissionsView, description: "A page of mappings", example: exampleMapping },
      refusals: ["invalid_cursor"],
      handle: ({ call, query }) => permissions.roles(call, query),
    }),
    get("/permissions/roles/{role_key}", "getRolePermissions", {
      summary: "Read what one staff role holds",
      description: "The mapping of one staff role, with the permissions it gives in the end.",
      access: { permission: permissionsPolicy.roles },
      request: { params },
      success: {
        status: 200,
        shape: "single",
        schema: RolePermissionsView,
        description: "The mapping",
        example: { ...exampleMapping, effective: ["audit.read"] },
      },
      refusals: ["record_not_found"],
      handle: ({ call, params: { role_key } }) => permissions.role(call, role_key),
    }),
    put("/permissions/roles/{role_key}", "replaceRolePermissions", {
      summary: "Replace what one staff role holds",
      description:
        "Send the full set: a key in neither list follows the level of the role. Nobody gives what they do not hold, nor edits a role at or above their own rank. Keys this version does not know are kept and reported in `unknown`.",
      access: { permission: permissionsPolicy.changeRole },
      request: { params, body: ReplaceRolePermissionsInput, example: { allow: ["audit.read"], deny: ["users.refresh"] } },
      success: {
        status: 200,
        shape: "single",
        schema: RolePermissionsView,
        description: "The mapping as it stands now",
        example: { ...exampleMapping, effective: ["audit.read"] },
      },
      confirmable: true,
      refusals,
      handle: ({ call, params: { role_key }, body, ifMatch }) => permissions.replaceRole(call, role_key, body, ifMatch),
    }),
    patch("/permissions/roles/{role_key}", "updateRolePermissions", {
      summary: "Change what one staff role holds",
      description:
        "Allow, deny or clear some keys; the others stay. The rules are those of the whole set: nobody gives what they do not hold, and taking a denial away gives.",
      access: { permission: permissionsPolicy.changeRole },
      request: { params, body: UpdateRolePermissionsInput, example: { allow: ["audit.read"], clear: ["users.refresh"] } },
      success: {
        status: 200,
        shape: "single",
        schema: RolePermissionsView,
        description: "The mapping as it stands now",
        example: { ...exampleMapping, deny: [], effective: ["audit.read"] },
      },
      confirmable: true,
      refusals,
      handle: ({ call, params: { role_key }, body, ifMatch }) => permissions.updateRole(call, role_key, body, ifMatch),
    }),
    ...userPermissionsRoutes(permissions),
    ...explanationsRoutes(permissions),
  ];
}

export function explanationsRoutes(permissions: PermissionsService): Route[] {
  return [
    post("/permissions/explain", "explainPermission", {
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
      handle: ({ call, body }) => permissions.explain(call, body),
    }),
    post("/permissions/simulate", "simulatePermissions", {
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
      handle: ({ call, body }) => permissions.simulate(call, body),
    }),
  ];
}
