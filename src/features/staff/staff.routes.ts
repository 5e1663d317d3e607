import { z } from "zod";
import type { Route } from "../../http/route.ts";
import { route, withEtag } from "../../http/route.ts";
import { Snowflake } from "../../kernel/fields.ts";
import { staffPolicy } from "./staff.policy.ts";
import { staffRolesRoutes } from "./staff.roles.routes.ts";
import { AccessQuery, AccessView, ProfileView, StaffEntryView, StaffListQuery } from "./staff.schema.ts";
import type { StaffService } from "./staff.service.ts";

const tags = ["staff"];
const params = z.object({ discord_user_id: Snowflake });
const exampleUser = { id: "80351110224678912", username_snapshot: "nelly", display_name: "Nelly", in_community: true };
const exampleEntry = {
  user: exampleUser,
  level: "senior",
  rank: 50,
  status: "active",
  staff_roles: ["senior-moderator"],
  department: null,
  timezone: "Europe/Berlin",
};

export function staffRoutes(staff: StaffService): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/staff/{discord_user_id}/access",
        operationId: "getStaffAccess",
        tags,
        summary: "Decide staff access",
        description:
          "What a person may do here and why, by the Discord roles they hold right now. A stranger is answered with `allowed: false`, never with 404. Everybody may read their own. With `permission` the answer is whether they hold every named permission, with one decision for each.",
        access: { permission: staffPolicy.access, own: "discord_user_id" },
        request: { params, query: AccessQuery },
        success: {
          status: 200,
          shape: "single",
          schema: AccessView,
          description: "The access decision",
          example: {
            user_id: "80351110224678912",
            allowed: true,
            level: "viewer",
            rank: 10,
            staff_roles: ["helper"],
            permissions: ["staff.access.read", "staff.read"],
            denied: [],
            status: "active",
            reasons: [{ code: "role_mapping", source: "helper", ref: "41771983423143937:41771983423143938" }],
            expires_at: null,
            evaluated_at: "2026-11-20T10:00:00.000Z",
            max_age_seconds: 30,
          },
        },
      },
      async ({ call, params: { discord_user_id }, query }) => {
        const { view, tag } = await staff.access(call, discord_user_id, query);
        return withEtag(view, tag);
      },
    ),
    route(
      {
        method: "get",
        path: "/staff/{discord_user_id}/profile",
        operationId: "getStaffProfile",
        tags,
        summary: "Read a staff profile",
        description: "Who a present or former staff member is. Everybody may read their own.",
        access: { permission: staffPolicy.profile, own: "discord_user_id" },
        request: { params },
        success: {
          status: 200,
          shape: "single",
          schema: ProfileView,
          description: "The profile",
          example: {
            ...exampleEntry,
            staff_roles: [{ key: "senior-moderator", name: "Senior Moderator", rank: 50, level: "senior" }],
            revision: 1,
          },
        },
        refusals: ["record_not_found"],
      },
      ({ call, params: { discord_user_id } }) => staff.profile(call, discord_user_id),
    ),
    route(
      {
        method: "get",
        path: "/staff",
        operationId: "listStaff",
        tags,
        summary: "List staff",
        description: "Staff by rank, highest first, then by id. Former staff are listed with `status=former` only.",
        access: { permission: staffPolicy.list },
        request: { query: StaffListQuery },
        success: { status: 200, shape: "list", schema: StaffEntryView, description: "A page of staff", example: exampleEntry },
        refusals: ["invalid_cursor"],
      },
      ({ call, query }) => staff.list(call, query),
    ),
    ...staffRolesRoutes(staff.roles),
  ];
}
