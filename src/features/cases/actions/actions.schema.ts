import { say } from "../../../kit/say.ts";
import { z } from "zod";
import { Duration, listQuery, Snowflake, Timestamp, text } from "../../../kernel/fields.ts";

export const actionKinds = [
  "note",
  "warning",
  "strike",
  "probation",
  "suspension",
  "demotion",
  "termination",
  "timeout",
  "kick",
  "ban",
  "untimeout",
  "unban",
  "other",
] as const;
export type ActionKind = (typeof actionKinds)[number];

/** What became of the message to the person about an action. */
export const noticeStates = ["delivered", "failed"] as const;
export type NoticeState = (typeof noticeStates)[number];

const Points = z.int().min(0).max(10);

export const RecordActionInput = z
  .strictObject({
    kind: z.enum(actionKinds),
    user_id: Snowflake.optional().meta({
      description:
        "Whom it was done to: a subject of the case or a confirmed linked account of one. The only user the case is about unless told",
    }),
    points: Points.optional().meta({ description: "What it adds to the ledger of strikes; 1 for a strike and 0 for the rest unless told" }),
    reason: text(10, 2000),
    duration: Duration.nullable().optional().meta({ description: "How long it is in force; null: for good" }),
    expires_at: Timestamp.nullable().optional().meta({ description: "Instead of duration; null: for good" }),
    effect_ref: text(1, 100).optional().meta({ description: "Where it was done, such as the id of an entry in another log" }),
  })
  .superRefine((input, context) => {
    if (input.duration !== undefined && input.expires_at !== undefined)
      context.addIssue({ code: "custom", path: ["expires_at"], message: say("cases.send-duration-or-expires-at-not-both") });
  })
  .meta({ id: "RecordActionInput" });
export type RecordActionInput = z.input<typeof RecordActionInput>;

export const VoidActionInput = z
  .strictObject({ reason: text(10, 1000).meta({ description: "Why it no longer counts" }) })
  .meta({ id: "VoidActionInput" });
export type VoidActionInput = z.input<typeof VoidActionInput>;

export const ListActionsQuery = z.strictObject({ ...listQuery }).meta({ id: "ListActionsQuery" });
export type ListActionsQuery = z.input<typeof ListActionsQuery>;

export const ListStrikesQuery = z
  .strictObject({
    ...listQuery,
    include_alts: z
      .enum(["true", "false"])
      .default("false")
      .meta({ description: "`true` merges the ledgers of confirmed linked accounts; needs users.links.read" }),
    in_force: z.enum(["true", "false"]).optional().meta({ description: "Only what counts now, or only what does not" }),
  })
  .meta({ id: "ListStrikesQuery" });
export type ListStrikesQuery = z.input<typeof ListStrikesQuery>;

export const ActionView = z
  .object({
    id: z.string(),
    case_id: z.string(),
    case_number: z.string().meta({ example: "CASE-000001" }),
    kind: z.enum(actionKinds),
    user_id: Snowflake,
    points: Points,
    reason: z.string(),
    at: Timestamp,
    by: z.string().nullable(),
    expires_at: Timestamp.nullable().meta({ description: "null: for good" }),
    in_force: z.boolean().meta({ description: "Neither voided nor expired" }),
    effect_ref: z.string().nullable(),
    origin_reference: z.string().nullable().meta({ description: "The request it came from" }),
    notice: z
      .enum(noticeStates)
      .nullable()
      .meta({ description: "Whether the message to the person about it arrived; null: none was tried" }),
    voided: z.object({ at: Timestamp, by: z.string().nullable(), reason: z.string() }).nullable(),
  })
  .meta({ id: "CaseAction", description: "What was done about a person in a case" });
export type ActionView = z.infer<typeof ActionView>;

const Threshold = z.object({ points: z.int().positive(), action: z.string() });

export const StrikesNotes = z.object({
  withheld: z
    .string()
    .optional()
    .meta({ description: "The permission that is missing to read the strikes of staff; the rest is absent then" }),
  points_in_force: z.int().min(0).optional().meta({ description: "Of what the caller may see: neither voided nor expired" }),
  points_total: z.int().min(0).optional().meta({ description: "Of what the caller may see: expired ones included, voided ones not" }),
  next_threshold: Threshold.nullable().optional().meta({
    description: "What is suggested next, and from how many points in force; null: nothing more",
  }),
});
export type StrikesNotes = z.infer<typeof StrikesNotes>;
