import { say } from "../../kit/say.ts";
import { z } from "zod";
import { listQuery } from "../../kernel/fields.ts";
import { levels } from "../../kernel/permissions.ts";

export const permissionsLimits = { keys: 500, keyLength: 100 } as const;

export const Level = z.enum(levels).meta({ id: "Level", description: "What a staff role stands for, lowest first" });

/** The form of a permission key; keys of a newer version have it too. */
export const PermissionKey = z
  .string()
  .max(permissionsLimits.keyLength)
  .regex(/^[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)+$/, say("permissions.write-a-permission-key-such-as-staff"))
  .meta({ id: "PermissionKey", description: "A key of the permission catalog", example: "staff.read" });

export const StaffRoleKey = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,49}$/, say("permissions.write-1-50-lower-case-letters-digits"))
  .meta({ id: "StaffRoleKey", description: "The name of a staff role in paths and references", example: "senior-moderator" });

export const CatalogView = z
  .object({
    key: PermissionKey,
    group: z.string(),
    label: z.string(),
    description: z.string(),
    default_level: Level.meta({ description: "The lowest level that holds it by default; `none`: nobody does" }),
    danger: z.boolean().meta({ description: "Whether a wrong grant can do lasting harm" }),
    scopes: z.array(z.enum(["network", "server"])).meta({ description: "Where a grant may apply" }),
    implies: z.array(z.string()).meta({ description: "Keys worth granting along; they are not granted by themselves" }),
    conflicts: z.array(z.string()).meta({ description: "Keys that should not be in the same hands" }),
    since: z.string().meta({ description: "The version that brought it" }),
  })
  .meta({ id: "Permission", description: "One entry of the permission catalog" });
export type CatalogView = z.infer<typeof CatalogView>;

export const RolePermissionsView = z
  .object({
    role_key: StaffRoleKey,
    level: Level,
    allow: z.array(z.string()).meta({ description: "Keys the role allows, on top of its level" }),
    deny: z.array(z.string()).meta({ description: "Keys the role denies, whatever its level and other roles say" }),
    effective: z.array(z.string()).optional().meta({ description: "What the role gives in the end; only where one role is answered" }),
    conflicts: z
      .array(z.array(z.string()))
      .optional()
      .meta({ description: "Pairs among `effective` that should not be in the same hands; only owners are meant to hold both" }),
    unknown: z.array(z.string()).meta({ description: "Keys of this mapping that this version does not know; they are kept" }),
    revision: z.int().positive(),
  })
  .meta({ id: "RolePermissions", description: "What a staff role holds" });
export type RolePermissionsView = z.infer<typeof RolePermissionsView>;

/** Refuse a part of an input for how it goes with the others. */
export function refuse(context: z.RefinementCtx, path: PropertyKey[], code: string, message: string): void {
  context.addIssue({ code: "custom", path, message, params: { code } });
}

export const ReplaceRolePermissionsInput = z
  .strictObject({
    allow: z.array(PermissionKey).max(permissionsLimits.keys),
    deny: z.array(PermissionKey).max(permissionsLimits.keys),
  })
  .superRefine(({ allow, deny }, context) => {
    const denied = new Set(deny);
    for (const [index, key] of allow.entries()) {
      if (denied.has(key)) refuse(context, ["allow", index], "contradiction", say("permissions.is-in-as-well", { key, other: "deny" }));
    }
  })
  .meta({ id: "ReplaceRolePermissionsInput", description: "The full set: a key in neither list follows the level of the role" });
export type ReplaceRolePermissionsInput = z.infer<typeof ReplaceRolePermissionsInput>;

/** Keys by what is wanted of them. */
export type KeyLists = Readonly<Record<"allow" | "deny" | "clear", readonly string[]>>;

/** A key can be wanted in one way only, and at least one has to be named. */
export function checkKeyLists({ allow, deny, clear }: KeyLists, context: z.RefinementCtx): void {
  if (allow.length + deny.length + clear.length === 0) refuse(context, ["allow"], "required", say("permissions.name-at-least-one-key"));
  const found = new Map(allow.map((key) => [key, "allow"]));
  for (const [list, keys] of Object.entries({ deny, clear })) {
    for (const [index, key] of keys.entries()) {
      const other = found.get(key) ?? list;
      if (other !== list) refuse(context, [list, index], "contradiction", say("permissions.is-in-as-well", { key, other }));
      found.set(key, other);
    }
  }
}

const someKeys = z.array(PermissionKey).max(permissionsLimits.keys).default([]);
export const keyLists = {
  allow: someKeys.meta({ description: "Keys to allow" }),
  deny: someKeys.meta({ description: "Keys to deny" }),
  clear: someKeys.meta({ description: "Keys about which nothing is to be said any more" }),
};

export const UpdateRolePermissionsInput = z
  .strictObject(keyLists)
  .superRefine(checkKeyLists)
  .meta({ id: "UpdateRolePermissionsInput", description: "Keys that are not named stay as they are" });
export type UpdateRolePermissionsInput = z.input<typeof UpdateRolePermissionsInput>;

/** Without paging the whole catalog comes at once. */
export const PermissionsListQuery = z.object({ ...listQuery, limit: listQuery.limit.default(200) });
export type PermissionsListQuery = z.infer<typeof PermissionsListQuery>;
