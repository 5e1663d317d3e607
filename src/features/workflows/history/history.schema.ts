import { z } from "zod";
import { listQuery, redacted, Snowflake, Timestamp, UserRef } from "../../../kernel/fields.ts";

export const HistoryQuery = z.strictObject(listQuery).meta({ id: "WorkflowHistoryQuery" });
export type HistoryQuery = z.input<typeof HistoryQuery>;

const StepData = z
  .object({
    questions: z.array(z.string()).optional(),
    answer: z.string().optional(),
    assignee: z.string().nullable().optional(),
    duplicate_of: z.string().optional(),
    duration: z.string().nullable().optional().meta({ description: "The length it was approved with; null: permanent" }),
    effects: z.record(z.string(), z.boolean()).optional().meta({ description: "Consequences that were switched on or off" }),
    changed: z.record(z.string(), z.unknown()).optional().meta({ description: "What an amendment changed, each field with what it was" }),
    break_glass: z.boolean().optional(),
    lapsed: z.array(Snowflake).optional().meta({ description: "Whose earlier votes no longer count since this one" }),
  })
  .meta({ id: "WorkflowStepData" });

export const StepView = z
  .object({
    revision: z.int().meta({ description: "The revision of the request that this led to" }),
    action: z.string().meta({ example: "approve" }),
    actor: UserRef.nullable().meta({ description: "null: the service itself, or a key that acted for nobody" }),
    client: z.string().nullable().optional().meta({ description: "The key it came through; staff only" }),
    via: z.string().meta({ example: "rest" }),
    at: Timestamp,
    from: z.string().nullable(),
    to: z.string(),
    note_public: z
      .string()
      .nullable()
      .optional()
      .meta({ description: "Left out where it was for those who decide alone, such as with a vote" }),
    note_internal: z.string().nullable().optional().meta({ description: "Deciders only" }),
    data: StepData.meta({ description: "What the action carried" }),
    redacted,
  })
  .meta({ id: "WorkflowStep", description: "One thing that was done to a request" });
export type StepView = z.infer<typeof StepView>;
