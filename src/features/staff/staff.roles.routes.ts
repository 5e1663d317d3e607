import { z } from "zod";
import type { Route } from "../../http/route.ts";
import { route } from "../../http/route.ts";
import { staffPolicy } from "./staff.policy.ts";
import { PutStaffRoleInput, StaffRolesListQuery, StaffRoleView } from "./staff.roles.schema.ts";
import type { StaffRolesService } from "./staff.roles.service.ts";
import { RoleKey } from "./staff.schema.ts";

const tags = ["staff roles"];
const params = z.object({ key: RoleKey });
const exampleInput = {
  name: "Senior Moderator",
  rank: 50,
  level: "senior",
  discord: [{ guild_id: "41771983423143937", role_id: "41771983423143938" }],
  capacity: 10,
};
const example = {
  ...exampleInput,
  key: "senior-moderator",
  discord: [{ guild_id: "41771983423143937", role_id: "41771983423143938", name: "Senior Mod", missing: false }],
  callsign_pool: null,
  permissions_count: 58,
  members_count: 4,
  self_assignable: false,
  revision: 2,
};

export function staffRolesRoutes(roles: StaffRolesService): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/staffroles",
        operationId: "listStaffRoles",
        tags,
        summary: "List staff-role configuration",
        description:
          "Staff roles by rank, highest first, with the Discord roles that stand for them. A Discord role that vanished is `missing`.",
        access: { permission: staffPolicy.roles },
        request: { query: StaffRolesListQuery },
        success: { status: 200, shape: "list", schema: StaffRoleView, description: "A page of staff roles", example },
        refusals: ["invalid_cursor"],
      },
      ({ call, query }) => roles.list(call, query),
    ),
    route(
      {
        method: "get",
        path: "/staffroles/{key}",
        operationId: "getStaffRole",
        tags,
        summary: "Read one staff role",
        access: { permission: staffPolicy.roles },
        request: { params },
        success: { status: 200, shape: "single", schema: StaffRoleView, description: "The staff role", example },
        refusals: ["record_not_found"],
      },
      ({ call, params: { key } }) => roles.get(call, key),
    ),
    route(
      {
        method: "put",
        path: "/staffroles/{key}",
        operationId: "putStaffRole",
        tags,
        summary: "Create or replace a staff role",
        description:
          "Send the whole role. One Discord role stands for one staff role. Nobody but an owner edits a role at or above their own rank, gives a level above their own, or lets a role give what they do not hold.",
        access: { permission: staffPolicy.manageRoles },
        request: { params, body: PutStaffRoleInput, example: exampleInput },
        success: { status: 200, shape: "single", schema: StaffRoleView, description: "The staff role as it stands now", example },
        refusals: ["precondition_failed", "hierarchy_violation", "cannot_grant_unheld", "last_owner", "duplicate_active_record"],
      },
      ({ call, params: { key }, body, ifMatch }) => roles.put(call, key, body, ifMatch),
    ),
  ];
}
