import { say } from "../../../kit/say.ts";
import { z } from "zod";
import { Snowflake, Timestamp } from "../../../kernel/fields.ts";
import { checkKeyLists, keyLists, PermissionKey, refuse, StaffRoleKey } from "../permissions.schema.ts";
import { PermissionReason } from "../users/users.schema.ts";

export const explainLimits = { changes: 50, people: 200 } as const;

/** The rules in the order they are asked; the first that speaks decides. */
export const steps = [
  "owner",
  "suspension",
  "blacklist",
  "loa_policy",
  "user_deny",
  "user_allow",
  "role_deny",
  "role_allow",
  "default",
  "nothing",
] as const;
export type Step = (typeof steps)[number];

export const ExplainInput = z
  .strictObject({
    user_id: Snowflake,
    key: PermissionKey,
    context: z.strictObject({ guild_id: Snowflake.optional().meta({ description: "Decide as in this guild" }) }).optional(),
  })
  .meta({ id: "ExplainPermissionInput" });
export type ExplainInput = z.infer<typeof ExplainInput>;

export const ExplainView = z
  .object({
    user_id: Snowflake,
    key: PermissionKey,
    allowed: z.boolean(),
    expires_at: Timestamp.nullable().meta({ description: "When it ends by itself; null: not by itself, or not held" }),
    trace: z
      .array(
        z.object({
          step: z.enum(steps),
          effect: z.enum(["allow", "deny"]),
          decides: z.boolean().meta({ description: "True for the first rule alone" }),
          ...PermissionReason.shape,
          scope: Snowflake.optional().meta({ description: "The guild the entry counts in" }),
          expires_at: Timestamp.nullable().optional().meta({ description: "When this rule ends by itself, where it can" }),
          text: z.string().meta({ description: "The rule in plain words" }),
        }),
      )
      .meta({ description: "Every rule that spoke, in order" }),
    order: z.array(z.enum(steps)).meta({ description: "The order in which rules are asked" }),
  })
  .meta({ id: "PermissionExplanation", description: "Why somebody may or may not do something" });
export type ExplainView = z.infer<typeof ExplainView>;

const ChangeInput = z
  .strictObject({
    role_key: StaffRoleKey.optional(),
    user_id: Snowflake.optional(),
    scope: Snowflake.nullable().optional().meta({ description: "For a person: the guild the entries count in" }),
    ...keyLists,
  })
  .superRefine(({ role_key, user_id, scope, ...lists }, context) => {
    if ((role_key === undefined) === (user_id === undefined))
      refuse(context, ["role_key"], "contradiction", say("permissions.name-a-staff-role-or-a-person"));
    if (role_key !== undefined && typeof scope === "string")
      refuse(context, ["scope"], "contradiction", say("permissions.what-a-role-holds-counts-everywhere"));
    checkKeyLists(lists, context);
  })
  .meta({ id: "PermissionChange", description: "What one staff role or one person would be allowed and denied" });

export const SimulateInput = z
  .strictObject({ changes: z.array(ChangeInput).min(1).max(explainLimits.changes) })
  .meta({ id: "SimulatePermissionsInput" });
export type SimulateInput = z.input<typeof SimulateInput>;
export type Change = z.output<typeof ChangeInput>;

const keys = z.array(z.string());

export const SimulateView = z
  .object({
    people: z
      .array(
        z.object({
          user_id: Snowflake,
          scope: Snowflake.nullable().meta({ description: "The guild in which it would be so; null: everywhere" }),
          gains: keys,
          loses: keys,
        }),
      )
      .meta({ description: `Those for whom something would change, highest rank first, ${explainLimits.people.toString()} at most` }),
    people_total: z.int().nonnegative(),
    roles: z.array(z.object({ role_key: z.string(), gains: keys, loses: keys })),
    refusals: z
      .array(z.object({ index: z.int(), code: z.string(), detail: z.string() }))
      .meta({ description: "Which of the changes this caller could not save, each with the first reason" }),
  })
  .meta({ id: "PermissionSimulation", description: "Who would gain and lose what; nothing was changed" });
export type SimulateView = z.infer<typeof SimulateView>;
