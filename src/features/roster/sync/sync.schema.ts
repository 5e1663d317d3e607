import { say } from "../../../kit/say.ts";
import { z } from "zod";
import { Snowflake, text, Timestamp, UserRef } from "../../../kernel/fields.ts";
import { rosterEvents } from "../states.ts";

export const syncDirections = ["report", "from_discord", "to_discord"] as const;
export const syncFields = ["entry", "in_guild", "held_roles", "staff_role", "nickname"] as const;
export const syncActions = ["none", "create_entry", "set_roster", "add_role", "remove_role", "set_nickname"] as const;

export const SyncMemberInput = z
  .strictObject({
    discord_user_id: Snowflake,
    direction: z.enum(syncDirections).default("report").meta({
      description:
        "`report` compares; `from_discord` makes the roster what Discord shows; `to_discord` makes the mapped roles and the nickname what the roster says",
    }),
    dry_run: z.boolean().default(false).meta({ description: "Tell what would be done and do nothing" }),
    apply: z.array(z.enum(syncFields)).min(1).max(syncFields.length).optional().meta({
      description:
        "Only these fields; every one that usually follows unless told. Roles of somebody suspended or on probation change only when `held_roles` is named",
    }),
    reason: text(1, 500).optional(),
  })
  .meta({ id: "SyncMemberInput" });
export type SyncMemberInput = z.output<typeof SyncMemberInput>;

const Value = z.union([z.string(), z.boolean(), z.array(z.string()), z.null()]);
export type SyncValue = z.infer<typeof Value>;

export const SyncChange = z
  .object({
    field: z.enum(syncFields),
    discord: Value.meta({ description: "What Discord shows" }),
    roster: Value.meta({ description: "What the roster says" }),
    action: z.enum(syncActions),
    guild_id: Snowflake.optional(),
    role_id: Snowflake.optional().meta({ description: "The Discord role that is given or taken" }),
    applied: z.boolean(),
    reason: z.string().nullable().meta({ description: "Why it was not applied, or how it ended" }),
  })
  .meta({ id: "RosterSyncChange" });
export type SyncChange = z.infer<typeof SyncChange>;

export const SyncMemberView = z
  .object({
    user: UserRef,
    direction: z.enum(syncDirections),
    dry_run: z.boolean(),
    state: z.enum(["on_roster", "left", "absent"]).meta({ description: "`absent`: no entry has ever been made for them" }),
    in_sync: z.boolean().meta({ description: "Whether nothing differed when it was looked at" }),
    changes: z.array(SyncChange),
    warnings: z.array(z.string()),
    stale: z.boolean().meta({ description: "Whether Discord may show something else by now" }),
  })
  .meta({ id: "RosterSyncMember" });
export type SyncMemberView = z.infer<typeof SyncMemberView>;

export const SyncRosterInput = z
  .strictObject({
    dry_run: z.boolean().default(true),
    plan_hash: z
      .string()
      .regex(/^[0-9a-f]{64}$/, say("callsigns.name-the-plan-of-a-dry-run"))
      .optional()
      .meta({ description: "Of the plan that is to be applied; needed unless `dry_run`" }),
  })
  .meta({ id: "SyncRosterInput" });

const PlannedPerson = z.object({
  user_id: Snowflake,
  steps: z.array(z.object({ event: z.enum(rosterEvents), before: Value, after: Value })),
  withheld: z
    .boolean()
    .meta({ description: "Whether the rank of the acting user does not reach this person, or it is another account of theirs" }),
});

export const SyncPlanView = z
  .object({
    dry_run: z.boolean(),
    plan_hash: z.string(),
    people: z.int().meta({ description: "How many people the plan is about" }),
    steps: z.record(z.string(), z.int()).meta({ description: "How many steps of each kind" }),
    plan: z.array(PlannedPerson).meta({ description: "The first 200 people" }),
    live: z.int().meta({ description: "How many people are on the roster" }),
    limit: z.number().meta({ description: "How many may change by themselves within ten minutes" }),
    withheld: z.int().meta({
      description: "People whom the rank of the acting user does not reach, and other accounts of theirs; they are left as they are",
    }),
    applied: z.int().meta({ description: "How many people were changed" }),
    stale: z.boolean(),
  })
  .meta({ id: "RosterSyncPlan" });
export type SyncPlanView = z.infer<typeof SyncPlanView>;

export const SyncStatusView = z
  .object({
    following: z.boolean().meta({ description: "Whether the roster follows Discord by itself" }),
    pending: z.int().meta({ description: "How many people are still to be looked at" }),
    held_back: z.int().meta({ description: "How many people differ and are left as they are: too many at once, or nothing follows here" }),
    tripped_at: Timestamp.nullable().meta({ description: "Since when too much would change at once" }),
    last_round_at: Timestamp.nullable(),
    stale: z.boolean(),
    changed_in_10_minutes: z.int(),
    limit: z.number(),
  })
  .meta({ id: "RosterSyncStatus" });
export type SyncStatusView = z.infer<typeof SyncStatusView>;
