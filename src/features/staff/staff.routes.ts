import { z } from "zod";
import { routesFor, withContentEtag, withEtag, type Route } from "../../operations/route.ts";
import { Snowflake } from "../../kernel/fields.ts";
import { staffDutyRoutes } from "./duty/duty.routes.ts";
import { staffPolicy } from "./staff.policy.ts";
import { ProfileView, UpdateProfileInput } from "./profile/profile.schema.ts";
import { staffRolesRoutes } from "./roles/roles.routes.ts";
import { AccessQuery, AccessView, StaffEntryView, StaffListQuery } from "./staff.schema.ts";
import type { StaffService } from "./staff.service.ts";

const { get, patch } = routesFor("staff");
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
const exampleProfile = {
  ...exampleEntry,
  staff_roles: [{ key: "senior-moderator", name: "Senior Moderator", rank: 50, level: "senior" }],
  availability: "available",
  quiet_hours: [{ days: [0, 6], from: "22:00", to: "09:00" }],
  leave: null,
  revision: 1,
};

export function staffRoutes(staff: StaffService): Route[] {
  return [
    ...accessRoutes(staff),
    ...profileRoutes(staff),
    ...staffDutyRoutes(staff),
    ...listRoutes(staff),
    ...staffRolesRoutes(staff.roles),
  ];
}

function accessRoutes(staff: StaffService): Route[] {
  return [
    get("/staff/{discord_user_id}/access", "getStaffAccess", {
      summary: "Decide staff access",
      description:
        "What a person may do here and why, by the Discord roles they hold right now. A stranger is answered with `allowed: false`, never with 404. Everybody may read their own. With `permission` the answer is whether they hold every named permission, with one decision for each. With `guild_id` the answer is about that guild.",
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
      handle: async ({ call, params: { discord_user_id }, query }) => {
        const { view, tag } = await staff.access(call, discord_user_id, query);
        return withEtag(view, tag);
      },
    }),
  ];
}

function profileRoutes(staff: StaffService): Route[] {
  return [
    get("/staff/{discord_user_id}/profile", "getStaffProfile", {
      summary: "Read a staff profile",
      description:
        "Who a present or former staff member is. Everybody may read their own. `roster` and `callsigns` say how they stand, `role_history` how they came there; the last is for holders of staff.profile.read. `activity` is for holders of staff.stats, `discipline` for holders of staff.discipline.",
      access: { permission: staffPolicy.profile, own: "discord_user_id" },
      request: { params },
      success: {
        status: 200,
        shape: "single",
        schema: ProfileView,
        description: "The profile",
        example: exampleProfile,
      },
      refusals: ["record_not_found"],
      handle: async ({ call, params: { discord_user_id } }) => withContentEtag(await staff.profile(call, discord_user_id)),
    }),
    patch("/staff/{discord_user_id}", "updateStaffProfile", {
      summary: "Change what is kept about a colleague",
      description:
        "Fields that are not sent stay. Everybody may change their own time zone, quiet hours and availability; everything else takes a rank above the person's.",
      access: { permission: staffPolicy.manage, own: "discord_user_id" },
      request: {
        params,
        body: UpdateProfileInput,
        example: { timezone: "Europe/Berlin", quiet_hours: [{ from: "22:00", to: "07:00" }] },
      },
      success: {
        status: 200,
        shape: "single",
        schema: ProfileView,
        description: "The profile as it stands now",
        example: exampleProfile,
      },
      refusals: ["record_not_found", "hierarchy_violation", "precondition_failed"],
      handle: ({ call, params: { discord_user_id }, body, ifMatch }) => staff.update(call, discord_user_id, body, ifMatch),
    }),
  ];
}

function listRoutes(staff: StaffService): Route[] {
  return [
    get("/staff", "listStaff", {
      summary: "List staff",
      description: "Staff by rank, highest first, then by id. Former staff are listed with `status=former` only.",
      access: { permission: staffPolicy.list },
      request: { query: StaffListQuery },
      success: {
        status: 200,
        shape: "list",
        schema: StaffEntryView,
        description: "A page of staff",
        example: { ...exampleEntry, available: true },
      },
      refusals: ["invalid_cursor"],
      handle: ({ call, query }) => staff.list(call, query),
    }),
  ];
}
