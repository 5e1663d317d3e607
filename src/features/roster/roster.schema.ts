import { say } from "../../kit/say.ts";
import { z } from "zod";
import { listQuery, redacted, Snowflake, snowflakeForm, text, Timestamp, UserRef } from "../../kernel/fields.ts";
import { rosterStatuses } from "./states.ts";

export const EntryKey = z
  .string()
  .regex(
    new RegExp(`^([0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|${snowflakeForm}|@me)$`),
    say("roster.name-the-entry-by-its-id-or"),
  )
  .meta({ description: "Id of the entry or of its person, or `@me`", example: "80351110224678912" });

const status = z.enum(rosterStatuses);
const RoleKey = z.string().max(40).meta({ description: "Key of a staff role", example: "moderator" });
const Department = text(1, 60).meta({ example: "north" });
const Reason = text(3, 1000);
const Notes = text(1, 4000).meta({ description: "For holders of `roster.edit`, and never for the person themself" });
const when = Timestamp.nullable();

export const CreateEntryInput = z
  .strictObject({
    user_id: Snowflake,
    staff_role: RoleKey.nullable().optional(),
    department: Department.nullable().optional(),
    supervisor_id: Snowflake.nullable().optional(),
    trial_days: z.int().min(0).max(365).default(0).meta({ description: "How long the trial takes; 0 begins without one" }),
    joined_at: Timestamp.optional().meta({ description: "Since when; from now on unless sent, never in the future" }),
    notes: Notes.nullable().optional(),
    reason: Reason,
  })
  .meta({ id: "CreateRosterEntryInput" });
export type CreateEntryInput = z.input<typeof CreateEntryInput>;

export const UpdateEntryInput = z
  .strictObject({
    status: status.optional(),
    staff_role: RoleKey.nullable().optional(),
    department: Department.nullable().optional(),
    supervisor_id: Snowflake.nullable().optional(),
    trial_ends_at: when.optional().meta({ description: "Only of somebody on trial, or who returns to it" }),
    suspended_until: when.optional().meta({ description: "Only of a suspension or probation; null: until it is lifted" }),
    notes: Notes.nullable().optional(),
    effective_at: Timestamp.optional().meta({ description: "Since when it is so; from now on unless sent, never in the future" }),
    correction: z.boolean().default(false).meta({
      description: "Puts right what was written wrongly: any status, told as `corrected`; needs roster.apply_fixes",
    }),
    reason: Reason.optional().meta({ description: "Needed where the status or the staff role changes, and for a correction" }),
  })
  .refine((input) => input.reason !== undefined || (input.status === undefined && input.staff_role === undefined && !input.correction), {
    path: ["reason"],
    message: say("roster.say-why"),
  })
  .meta({ id: "UpdateRosterEntryInput" });
export type UpdateEntryInput = z.input<typeof UpdateEntryInput>;

const flag = z.enum(["true", "false"]).optional();

export const ListEntriesQuery = z
  .strictObject({
    ...listQuery,
    status: status.optional(),
    include_left: flag.meta({ description: "`true`: those who have left, too; a status finds them without it" }),
    staff_role: RoleKey.optional(),
    department: Department.optional(),
    supervisor_id: Snowflake.optional(),
    in_guild: flag.meta({ description: "Whether they were in a guild when last looked at" }),
    q: text(1, 100).optional().meta({ description: "The beginning of an id or of a name" }),
    sort: z.enum(["-created_at", "created_at", "-updated_at"]).default("-created_at"),
  })
  .meta({ id: "ListRosterQuery" });
export type ListEntriesQuery = z.input<typeof ListEntriesQuery>;

export const driftCodes = ["left_guild", "missing_role", "extra_role"] as const;

export const EntryView = z
  .object({
    state: z.literal("present"),
    id: z.string(),
    user: UserRef,
    status,
    status_before: status.nullable().meta({ description: "What a suspension or probation returns to" }),
    staff_role: z.string().nullable(),
    rank: z.int().nullable().meta({ description: "Of the staff role" }),
    department: z.string().nullable(),
    callsigns: z.array(z.object({ callsign: z.string(), pool: z.string() })),
    joined_at: when,
    trial_ends_at: when,
    suspended_until: when,
    ended_at: when,
    loa: z
      .object({ from: Timestamp, until: when, reason: z.string().nullable().optional() })
      .nullable()
      .meta({ description: "The leave that runs or is planned" }),
    last_seen_at: when.meta({ description: "The day (UTC) on which they last did something with a request" }),
    supervisor: UserRef.nullable(),
    discord: z.object({
      in_guild: z.boolean(),
      nickname: z.string().nullable(),
      role_ids: z.array(z.string()).meta({ description: "Those that stand for staff roles" }),
      synced_at: when,
      drift: z.array(z.enum(driftCodes)).meta({ description: "Where Discord says something else" }),
    }),
    notes: z.string().nullable().optional(),
    origin_reference: z.string().nullable(),
    allowed_moves: z.array(status).meta({ description: "Where the caller may move it" }),
    revision: z.int(),
    created_at: Timestamp,
    updated_at: Timestamp,
    redacted,
  })
  .meta({ id: "RosterEntry" });
export type EntryView = z.infer<typeof EntryView>;

export const AbsentView = z
  .object({ state: z.literal("absent"), id: z.string() })
  .meta({ id: "RosterAbsent", description: "Nobody of that id is or was on the roster" });

export const OneEntryView = z.discriminatedUnion("state", [EntryView, AbsentView]);
export type OneEntryView = z.infer<typeof OneEntryView>;
