import { z } from "zod";
import { routesFor, withContentEtag, type Route } from "../../../operations/route.ts";
import { staffPolicy } from "../staff.policy.ts";
import { DeleteStaffRoleInput, PatchStaffRoleInput, PutStaffRoleInput, StaffRolesListQuery, StaffRoleView } from "./roles.schema.ts";
import type { StaffRolesService } from "./roles.service.ts";
import { RoleKey } from "../staff.schema.ts";

const { del, get, patch, put } = routesFor("staff roles");
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
  over_capacity: false,
  callsign_pool: null,
  permissions_count: 58,
  members_count: 4,
  hoist: false,
  self_assignable: false,
  revision: 2,
};

const manage = { permission: staffPolicy.manageRoles };
const refusals = ["precondition_failed", "hierarchy_violation", "cannot_grant_unheld", "last_owner"] as const;
const rules =
  "Nobody but an owner touches a role at or above their own rank, gives a level above their own, or lets anybody have what they do not hold themselves.";

export function staffRolesRoutes(roles: StaffRolesService): Route[] {
  return [...readRoutes(roles), ...writeRoutes(roles)];
}

function readRoutes(roles: StaffRolesService): Route[] {
  return [
    get("/staffroles", "listStaffRoles", {
      summary: "List staff-role configuration",
      description:
        "Staff roles by rank, highest first, with the Discord roles that stand for them. A Discord role that vanished is `missing`.",
      access: { permission: staffPolicy.roles },
      request: { query: StaffRolesListQuery },
      success: { status: 200, shape: "list", schema: StaffRoleView, description: "A page of staff roles", example },
      refusals: ["invalid_cursor"],
      handle: ({ call, query }) => roles.list(call, query),
    }),
    get("/staffroles/{key}", "getStaffRole", {
      summary: "Read one staff role",
      access: { permission: staffPolicy.roles },
      request: { params },
      success: { status: 200, shape: "single", schema: StaffRoleView, description: "The staff role", example },
      refusals: ["record_not_found"],
      handle: async ({ call, params: { key } }) => withContentEtag(await roles.get(call, key)),
    }),
  ];
}

function writeRoutes(roles: StaffRolesService): Route[] {
  return [
    put("/staffroles/{key}", "putStaffRole", {
      summary: "Create or replace a staff role",
      description: `Send the whole role. One Discord role stands for one staff role. ${rules}`,
      access: manage,
      confirmable: true,
      request: { params, body: PutStaffRoleInput, example: exampleInput },
      success: { status: 200, shape: "single", schema: StaffRoleView, description: "The staff role as it stands now", example },
      refusals: [...refusals, "duplicate_active_record"],
      handle: ({ call, params: { key }, body, ifMatch }) => roles.put(call, key, body, ifMatch),
    }),
    patch("/staffroles/{key}", "updateStaffRole", {
      summary: "Change parts of a staff role",
      description: `Fields that are not sent stay; \`discord\` is always the whole list. ${rules}`,
      access: manage,
      confirmable: true,
      request: { params, body: PatchStaffRoleInput, example: { name: "Senior Moderator", capacity: 12 } },
      success: { status: 200, shape: "single", schema: StaffRoleView, description: "The staff role as it stands now", example },
      refusals: [...refusals, "record_not_found", "duplicate_active_record"],
      handle: ({ call, params: { key }, body, ifMatch }) => roles.patch(call, key, body, ifMatch),
    }),
    del("/staffroles/{key}", "deleteStaffRole", {
      summary: "Delete a staff role",
      description: `Its holders keep their Discord roles, which stand for nothing any more. The reason stands in the body or in \`?reason=\`. ${rules} What the role denied counts as given.`,
      access: manage,
      confirmable: true,
      request: {
        params,
        query: z.object(DeleteStaffRoleInput.shape),
        body: DeleteStaffRoleInput,
        bodyOptional: true,
        example: { reason: "The team was dissolved." },
      },
      success: { status: 200, shape: "single", schema: StaffRoleView, description: "The staff role as it was", example },
      refusals: [...refusals, "record_not_found"],
      handle: ({ call, params: { key }, query, body, ifMatch }) => roles.remove(call, key, { ...query, ...body }, ifMatch),
    }),
  ];
}
