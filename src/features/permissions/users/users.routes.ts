import { z } from "zod";
import { routesFor, type Route } from "../../../operations/route.ts";
import { Snowflake } from "../../../kernel/fields.ts";
import { permissionsPolicy } from "../permissions.policy.ts";
import type { PermissionsService } from "../permissions.service.ts";
import {
  ClearUserPermissionsBody,
  ClearUserPermissionsQuery,
  EffectiveQuery,
  EffectiveView,
  UpdateUserPermissionsInput,
  UserPermissionsView,
} from "./users.schema.ts";

const { del, get, patch } = routesFor("permissions");
const path = "/permissions/users/{discord_user_id}";
const params = z.object({ discord_user_id: Snowflake });
const refusals = ["precondition_failed", "hierarchy_violation", "cannot_grant_unheld"] as const;
const example = {
  user_id: "80351110224678912",
  overrides: [
    {
      id: "019a9f3e-7c1a-7f60-8a51-0c9d1f6f1b11",
      key: "cases.close",
      effect: "allow",
      scope: null,
      expires_at: "2100-01-01T00:00:00.000Z",
      created_at: "2026-11-20T10:00:00.000Z",
      reason: "Covers for a colleague",
      created_by: "80351110224678913",
    },
  ],
  suspension: null,
  revision: 3,
};
const single = { status: 200, shape: "single", schema: UserPermissionsView } as const;

export function userPermissionsRoutes(permissions: PermissionsService): Route[] {
  return [
    get(path, "getUserPermissions", {
      summary: "Read what one person is allowed and denied besides their roles",
      description: "Somebody without entries is an answer, too. Everybody may read their own.",
      access: { permission: permissionsPolicy.user, own: "discord_user_id" },
      request: { params },
      success: { ...single, description: "The entries in force", example },
      handle: ({ call, params: { discord_user_id } }) => permissions.user(call, discord_user_id),
    }),
    patch(path, "updateUserPermissions", {
      summary: "Allow or deny one person something, for good or for a while",
      description:
        "Entries that are not named stay. One entry stands for a key and a scope. Nobody but an owner changes entries of somebody at or above their own rank, nor gives what they do not hold, nor for longer; taking a denial away gives for good.",
      access: { permission: permissionsPolicy.changeUser },
      request: {
        params,
        body: UpdateUserPermissionsInput,
        example: {
          overrides: [
            { key: "cases.close", effect: "allow", expires_at: "2100-01-01T00:00:00.000Z", reason: "Covers for a colleague" },
            { key: "users.refresh", effect: "clear", reason: "No longer needed" },
          ],
        },
      },
      success: { ...single, description: "The entries as they stand now", example },
      confirmable: true,
      refusals,
      handle: ({ call, params: { discord_user_id }, body, ifMatch }) => permissions.updateUser(call, discord_user_id, body, ifMatch),
    }),
    del(path, "clearUserPermissions", {
      summary: "Clear every entry of one person",
      description: "A suspension is none of them. The reason stands in the body or in `?reason=`. The rules are those of a change.",
      access: { permission: permissionsPolicy.changeUser },
      request: {
        params,
        query: ClearUserPermissionsQuery,
        body: ClearUserPermissionsBody,
        bodyOptional: true,
        example: { reason: "Back to what the roles say" },
      },
      success: { ...single, description: "The entries as they stand now", example: { ...example, overrides: [], revision: 4 } },
      confirmable: true,
      refusals,
      handle: ({ call, params: { discord_user_id }, query, body, ifMatch }) =>
        permissions.clearUser(call, discord_user_id, { ...query, ...body }, ifMatch),
    }),
    get(`${path}/effective`, "getEffectivePermissions", {
      summary: "Decide every permission for one person",
      description:
        "What holds now, with the rule that decides. Everybody may read their own. With `guild_id` entries of that guild count, too.",
      access: { permission: permissionsPolicy.explain, own: "discord_user_id" },
      request: { params, query: EffectiveQuery },
      success: {
        status: 200,
        shape: "single",
        schema: EffectiveView,
        description: "One decision for each permission of the catalog",
        example: {
          user_id: "80351110224678912",
          guild_id: null,
          level: "viewer",
          rank: 10,
          status: "active",
          barred: false,
          permissions: [
            { key: "staff.read", allowed: true, expires_at: null, reason: { code: "role_mapping", source: "default", ref: "helper" } },
          ],
        },
      },
      handle: ({ call, params: { discord_user_id }, query }) => permissions.effective(call, discord_user_id, query),
    }),
  ];
}
