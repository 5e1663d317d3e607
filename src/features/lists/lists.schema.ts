import { say } from "../../kit/say.ts";
import { z } from "zod";
import { Duration, listQuery, Snowflake, text, Timestamp } from "../../kernel/fields.ts";
import { GuildPreview } from "../../kernel/guild-preview.ts";
import { blacklistCategories, ownList, severities } from "../../kernel/vocabulary.ts";

/** What a guild does about people on a list. */
export const stances = ["ignore", "notify", "propose", "apply"] as const;
export type Stance = (typeof stances)[number];
/** What the bot can do to a listed person, the mildest first. */
export const listActions = ["role", "timeout", "kick", "ban"] as const;
export type ListActionName = (typeof listActions)[number];
/** Every category of people and of servers, and all that have no rule of their own. */
export const ruleCategories = [...new Set([...blacklistCategories.user, ...blacklistCategories.server, "any" as const])];

/** Rules of one guild. */
const maxRules = 200;
/** Discord's limit for a timeout. */
const longestTimeout = 28 * 86_400;

const ListId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,59}$/, say("lists.name-the-list-by-its-id-or"))
  .meta({ description: "The list: `own` is the blacklist of this community", example: ownList });

const ruleFields = {
  list: ListId.default(ownList),
  category: z.enum(ruleCategories).meta({ description: "Whom it is about; `any` are all categories without a rule of their own" }),
  stance: z.enum(stances).meta({ description: "`ignore`, `notify` the alerts channel, `propose` a punishment, or `apply` the action" }),
  action: z
    .enum(listActions)
    .nullable()
    .default(null)
    .meta({ description: "What `propose` and `apply` do; null is what the record recommends" }),
  role_id: Snowflake.nullable().default(null).meta({ description: "Of the action `role`: the role that is added" }),
  timeout_seconds: z
    .int()
    .min(60)
    .max(longestTimeout)
    .default(longestTimeout)
    .meta({ description: "Of the action `timeout`: how long it lasts, 28 days at most" }),
  min_severity: z.enum(severities).default("low").meta({ description: "Records that are less severe are ignored" }),
};

export const StanceRule = z.strictObject(ruleFields).meta({ id: "StanceRule" });
export type StanceRule = z.output<typeof StanceRule>;

export const PutStanceInput = z
  .strictObject({ rules: z.array(StanceRule).max(maxRules) })
  .superRefine(({ rules }, context) => {
    const seen = new Set<string>();
    for (const [index, rule] of rules.entries()) {
      const wrong = (field: string, message: string, code = "invalid_value") =>
        context.addIssue({ code: "custom", path: ["rules", index, field], message, params: { code } });
      const key = `${rule.list}:${rule.category}`;
      if (seen.has(key)) wrong("category", say("lists.a-list-and-category-have-one-rule"), "duplicate");
      seen.add(key);
      if (rule.action === "role" && rule.role_id === null) wrong("role_id", say("lists.name-the-role-that-is-added"), "required");
      if (rule.action !== "role" && rule.role_id !== null) wrong("role_id", say("lists.a-role-goes-with-the-action-role"));
    }
  })
  .meta({ id: "PutStanceInput", description: "All rules of the guild; categories without one notify" });
export type PutStanceInput = z.input<typeof PutStanceInput>;

export const PutStanceQuery = z.strictObject({
  dry_run: z.enum(["true", "false"]).default("false").meta({ description: "`true` tells what would follow and changes nothing" }),
});
export type PutStanceQuery = z.input<typeof PutStanceQuery>;

export const StanceView = z
  .object({
    guild_id: Snowflake,
    rules: z.array(
      z.object({ ...ruleFields, list_name: z.string().meta({ description: "What the list is called; `own` for that of this community" }) }),
    ),
    revision: z.int().positive(),
    updated_by: z.string().nullable(),
    updated_at: Timestamp.nullable(),
    preview: GuildPreview.optional(),
  })
  .meta({ id: "Stance", description: "What a guild does about listed people" });
export type StanceView = z.infer<typeof StanceView>;

/** The rules of a guild as they are stored. */
export const StoredStance = z.object({
  rules: z.array(z.object(ruleFields)),
});
export type StoredStance = z.output<typeof StoredStance>;

export const exemptionLimits = { reason: 1000 } as const;

export const AddExemptionInput = z
  .strictObject({
    user_id: Snowflake,
    reason: text(3, exemptionLimits.reason).meta({ description: "Why; for staff", example: "Apologised, and has helped since." }),
    until: z
      .union([Timestamp, Duration])
      .nullable()
      .default(null)
      .meta({ description: "When it ends, or how long it lasts; null: it does not end" }),
  })
  .meta({ id: "AddExemptionInput" });
export type AddExemptionInput = z.input<typeof AddExemptionInput>;

export const ExemptionView = z
  .object({
    guild_id: Snowflake,
    user_id: Snowflake,
    reason: z.string(),
    until: Timestamp.nullable(),
    created_by: z.string().nullable(),
    created_at: Timestamp,
    revision: z.int().positive(),
  })
  .meta({ id: "ListExemption", description: "That a guild leaves somebody alone, whatever lists say" });
export type ExemptionView = z.infer<typeof ExemptionView>;

/** How actions stand, of which a list is asked for. */
const listedStates = ["failed", "held", "pending", "undoing", "done", "undone"] as const;

export const ListActionsQuery = z
  .strictObject({
    ...listQuery,
    state: z.enum(listedStates).default("failed").meta({ description: "How the actions stand" }),
  })
  .meta({ id: "ListActionsQuery" });
export type ListActionsQuery = z.output<typeof ListActionsQuery>;

export const ListActionView = z
  .object({
    id: z.string(),
    guild_id: Snowflake,
    user_id: Snowflake,
    list: z.string().meta({ description: "The list: `own` is the blacklist of this community" }),
    record: z.string().meta({ description: "The record, by its number", example: "BL-000123" }),
    stance: z.enum(["propose", "apply"]),
    action: z.enum(listActions),
    is_undo: z.boolean().meta({ description: "Whether it is to be taken back" }),
    state: z.enum([...listedStates, "settled", "ended"]),
    error: z.string().nullable().meta({ description: "Why it failed last; null where it has not, or was done since" }),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: "ListAction", description: "What the bot does, or proposes, about a listed person in a server" });
export type ListActionView = z.infer<typeof ListActionView>;

export const HeldActionsView = z
  .object({
    guild_id: Snowflake,
    state: z
      .enum(["none", "waiting", "confirmed"])
      .meta({ description: "Whether people wait for a confirmation, or the last that waited were confirmed within a day" }),
    acted: z.int().min(0).meta({ description: "People of this hour the bot has acted on" }),
    waiting: z.int().min(0).meta({ description: "People who wait" }),
    since: Timestamp.nullable(),
    people: z
      .array(z.object({ user_id: Snowflake, action: z.enum(listActions), record: z.string() }))
      .meta({ description: "The first 50 who wait" }),
  })
  .meta({ id: "HeldActions", description: "What waits because it was more than an hour allows" });
export type HeldActionsView = z.infer<typeof HeldActionsView>;
