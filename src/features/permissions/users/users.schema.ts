import { say } from "../../../kit/say.ts";
import { z } from "zod";
import { redacted, Snowflake, Timestamp } from "../../../kernel/fields.ts";
import { Level, PermissionKey, refuse } from "../permissions.schema.ts";

export const usersLimits = { overrides: 100, reason: { min: 3, max: 500 } } as const;

const Reason = z
  .string()
  .trim()
  .min(usersLimits.reason.min)
  .max(usersLimits.reason.max)
  .meta({ description: "Why, for the audit and for the person", example: "Covers for a colleague" });
const Effect = z.enum(["allow", "deny"]);

const entryFields = {
  id: z.string(),
  expires_at: Timestamp.nullable().meta({ description: "When it ends by itself; null: never" }),
  created_at: Timestamp,
  reason: z.string().optional().meta({ description: "Needs permissions.users.manage; the person sees their own" }),
  created_by: z.string().nullable().optional().meta({ description: "Needs permissions.users.manage; null: the system" }),
};

export const OverrideView = z
  .object({
    ...entryFields,
    key: z.string(),
    effect: Effect,
    scope: Snowflake.nullable().meta({ description: "The guild it counts in; null: everywhere" }),
  })
  .meta({
    id: "PermissionOverride",
    description: "An entry of one person: it decides before their roles do, a denial before an allowance",
  });

export const UserPermissionsView = z
  .object({
    user_id: Snowflake,
    overrides: z.array(OverrideView).meta({ description: "The entries in force, by key" }),
    suspension: z.object(entryFields).nullable().meta({ description: "Takes every permission away while it lasts" }),
    revision: z.int().nonnegative().meta({ description: "0: nothing was ever written about this person" }),
    redacted,
  })
  .meta({ id: "UserPermissions", description: "What one person is allowed and denied besides their roles" });
export type UserPermissionsView = z.infer<typeof UserPermissionsView>;

const OverrideInput = z
  .strictObject({
    key: PermissionKey,
    effect: z.enum(["allow", "deny", "clear"]).meta({ description: "`clear` takes the entry away" }),
    scope: Snowflake.nullable().optional().meta({ description: "The guild it counts in; everywhere unless told" }),
    expires_at: Timestamp.nullable().optional().meta({ description: "When it ends by itself; never unless told" }),
    reason: Reason,
  })
  .refine(({ effect, expires_at }) => effect !== "clear" || typeof expires_at !== "string", {
    path: ["expires_at"],
    message: say("permissions.what-is-taken-away-has-no-end"),
    params: { code: "contradiction" },
  })
  .meta({ id: "PermissionOverrideInput" });

export const UpdateUserPermissionsInput = z
  .strictObject({ overrides: z.array(OverrideInput).min(1).max(usersLimits.overrides) })
  .superRefine(({ overrides }, context) => {
    const seen = new Set<string>();
    for (const [index, { key, scope }] of overrides.entries()) {
      const place = `${key} ${scope ?? ""}`;
      const message = say("permissions.stands-in-the-list-twice-for-the", { key });
      if (seen.has(place)) refuse(context, ["overrides", index, "key"], "contradiction", message);
      seen.add(place);
    }
  })
  .meta({ id: "UpdateUserPermissionsInput", description: "Entries to set or clear; entries that are not named stay" });
export type UpdateUserPermissionsInput = z.infer<typeof UpdateUserPermissionsInput>;

export const ClearUserPermissionsInput = z.strictObject({ reason: Reason }).meta({ id: "ClearUserPermissionsInput" });
export const ClearUserPermissionsBody = z.strictObject({ reason: Reason.optional() }).meta({ id: "ClearUserPermissionsBody" });
export const ClearUserPermissionsQuery = z.object({ reason: Reason.optional() });

/** A held change, and what it was asked about. */
const heldUser = {
  user_id: Snowflake,
  if_match: z.int().nonnegative(),
  /** Of the person, as known when it was asked. */
  rank: z.int(),
};
export const HeldUserUpdate = z.strictObject({ ...heldUser, overrides: z.array(OverrideInput) });
export const HeldUserClear = z.strictObject({ ...heldUser, reason: Reason });

const Status = z.enum(["active", "trial", "loa", "suspended", "former"]);
export const PermissionReason = z.object({
  code: z.enum(["role_mapping", "user_allow", "user_deny", "suspension", "blacklist", "not_member", "unknown", "loa_policy", "owner"]),
  source: z.string().meta({ description: "Where the rule stands: `role_deny`, `role_allow`, `default`, `user`, `user@<guild>`, …" }),
  ref: z.string().nullable().meta({ description: "What the rule belongs to: a staff role, an entry, a record" }),
});

export const EffectiveView = z
  .object({
    user_id: Snowflake,
    guild_id: Snowflake.nullable().meta({ description: "The guild the answer is for; null: wherever no guild is named" }),
    level: Level,
    rank: z.int(),
    status: Status.nullable().meta({ description: "null: never was staff here" }),
    barred: z.boolean().meta({ description: "Whether a suspension, a blacklist record or leave takes everything away for now" }),
    permissions: z.array(
      z.object({
        key: PermissionKey,
        allowed: z.boolean(),
        expires_at: Timestamp.nullable().meta({ description: "When it ends by itself; null: not by itself, or not held" }),
        reason: PermissionReason.meta({ description: "The rule that decides" }),
      }),
    ),
  })
  .meta({ id: "EffectivePermissions", description: "Every permission of the catalog as decided for one person" });
export type EffectiveView = z.infer<typeof EffectiveView>;

export const EffectiveQuery = z.object({ guild_id: Snowflake.optional().meta({ description: "Decide as in this guild" }) });
export type EffectiveQuery = z.infer<typeof EffectiveQuery>;
