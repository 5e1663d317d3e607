import { z } from "zod";
import { listQuery, redacted, Snowflake, Timestamp, UserRef } from "../../kernel/fields.ts";
import { workflowKinds } from "../../kernel/workflow-kinds.ts";
import { actions, statuses } from "./transition.ts";
import { priorities } from "./workflows.fields.ts";

export const WarningView = z.object({ code: z.string(), pointer: z.string(), detail: z.string() }).meta({ id: "WorkflowWarning" });
export type Warning = z.infer<typeof WarningView>;

export const EffectView = z
  .object({
    key: z.string().meta({ example: "blacklist.create" }),
    status: z.enum(["applied", "pending", "done", "failed", "skipped", "reversed"]),
    target: z
      .object({ kind: z.string(), id: z.string(), reference: z.string().optional() })
      .nullable()
      .optional()
      .meta({ description: "The record it is about; needs blacklist.read" }),
    detail: z.string(),
  })
  .meta({ id: "WorkflowEffect", description: "One consequence of an approval" });
export type EffectView = z.infer<typeof EffectView>;

const RequestLink = z.object({ reference: z.string(), type: z.string(), status: z.string() });

export const CreationAnswer = z
  .object({
    success: z.literal(true),
    id: z.string(),
    reference: z.string().meta({ example: "BLU-REQ-000001" }),
    status: z.literal("pending"),
    warnings: z.array(WarningView).meta({ description: "What was assumed, and unknown fields that were kept" }),
    duplicates: z.array(RequestLink).optional().meta({ description: "Other open requests about the same subjects; needs workflows.read" }),
    effects_preview: z.array(z.object({ key: z.string(), detail: z.string() })).meta({ description: "What an approval will do" }),
    redacted,
  })
  .meta({ id: "WorkflowCreated" });
export type CreationAnswer = z.infer<typeof CreationAnswer>;

const Approvals = z.object({ have: z.int(), required: z.int() });

export const DecisionAnswer = z
  .object({
    success: z.literal(true),
    id: z.string(),
    reference: z.string(),
    status: z.enum(statuses),
    final: z.boolean().meta({ description: "False while further approvals are needed" }),
    approvals: Approvals,
    effects: z.array(EffectView),
    replayed: z.literal(true).optional().meta({ description: "The same person had decided the same already; nothing happened" }),
    redacted,
  })
  .meta({ id: "WorkflowDecided" });
export type DecisionAnswer = z.infer<typeof DecisionAnswer>;

export const ListWorkflowsQuery = z
  .strictObject({
    ...listQuery,
    type: z.enum(workflowKinds).optional(),
    status: z
      .enum([...statuses, "open"])
      .optional()
      .meta({ description: "`open` stands for every status before a decision" }),
    requester: z.union([z.literal("@me"), Snowflake]).optional(),
    subject: z.string().trim().min(1).max(100).optional().meta({ description: "Id of a user or server, or what an appeal is against" }),
    q: z.string().trim().min(2).max(100).optional().meta({ description: "Text in reference, title, summary or external id" }),
    sort: z.enum(["-created_at", "created_at"]).default("-created_at"),
  })
  .meta({ id: "ListWorkflowsQuery" });
export type ListWorkflowsQuery = z.input<typeof ListWorkflowsQuery>;

export const WorkflowDecision = z.object({
  outcome: z.enum(["approved", "denied"]),
  by: z.string(),
  at: Timestamp,
  reason_public: z.string().nullable(),
  reason_internal: z.string().nullable().optional().meta({ description: "Deciders only" }),
  policy_refs: z.array(z.string()),
});
export type WorkflowDecision = z.infer<typeof WorkflowDecision>;

const VoteView = z.object({
  actor: UserRef,
  verdict: z.string(),
  at: Timestamp,
  note: z.string().nullable().optional().meta({ description: "Deciders only" }),
  payload_revision: z.int(),
});

export const WorkflowView = z
  .object({
    id: z.string(),
    reference: z.string(),
    type: z.enum(workflowKinds),
    status: z.enum(statuses),
    priority: z.enum(priorities),
    urgent: z.boolean(),
    title: z.string(),
    summary: z.string(),
    payload: z.record(z.string(), z.unknown()),
    payload_revision: z.int(),
    extra: z.record(z.string(), z.unknown()).optional().meta({ description: "Unknown fields of the creation; deciders only" }),
    requester: UserRef.nullable(),
    requested_via: z.string(),
    subjects: z.array(z.object({ kind: z.enum(["user", "server", "record"]), id: z.string() })),
    evidence: z.array(z.looseObject({})),
    related: z.array(z.string()),
    comments_count: z.int(),
    assignment: z.null(),
    hold: z.null(),
    escalation: z.null(),
    approvals: Approvals.extend({ votes: z.array(VoteView) }),
    decision: WorkflowDecision.nullable(),
    effects: z.array(EffectView),
    timers: z.object({ due_first_touch_at: Timestamp.nullable(), due_decision_at: Timestamp.nullable(), expires_at: Timestamp.nullable() }),
    sla: z.object({
      first_touched_at: Timestamp.nullable(),
      claimed_at: z.null(),
      last_claimed_at: z.null(),
      decided_at: Timestamp.nullable(),
      breached: z.boolean(),
    }),
    links: z.array(z.object({ rel: z.string(), reference: z.string() })),
    external_id: z.string().nullable(),
    revision: z.int(),
    created_at: Timestamp,
    updated_at: Timestamp,
    allowed_actions: z.array(z.enum(actions)).meta({ description: "What the acting user may do now" }),
    redacted,
  })
  .meta({ id: "Workflow" });
export type WorkflowView = z.infer<typeof WorkflowView>;
