import { say } from "../../../kit/say.ts";
import { z } from "zod";
import { listQuery, redacted, Snowflake, Timestamp, UserRef } from "../../../kernel/fields.ts";
import { workflowKinds } from "../../../kernel/vocabulary.ts";
import { actions, openStatuses, statuses, verdicts } from "../state/table.ts";
import { Origin, priorities } from "./fields.ts";
import { rulings } from "../kinds/kind.ts";
import { sorts } from "./order.ts";

export const WarningView = z.object({ code: z.string(), pointer: z.string(), detail: z.string() }).meta({ id: "WorkflowWarning" });
export type Warning = z.infer<typeof WarningView>;

/** Why something could not be done, for programs. */
export const effectErrors = [
  "missing_permission",
  "not_a_member",
  "unknown_user",
  "messages_refused",
  "rate_limited",
  "not_found",
  "discord_refused",
  "unavailable",
  "not_done",
] as const;

export const EffectView = z
  .object({
    key: z.string().meta({ example: "blacklist.create" }),
    status: z
      .enum(["planned", "applied", "pending", "done", "failed", "skipped", "reversed", "ended"])
      .meta({ description: "planned: in a dry run; pending: left for its date, or for the bot" }),
    target: z
      .object({ kind: z.string(), id: z.string(), reference: z.string().optional() })
      .nullable()
      .optional()
      .meta({ description: "The record it is about; needs blacklist.read" }),
    detail: z.string(),
    attempts: z.int().meta({ description: "How often it was tried, where it is done after the decision" }),
    last_error: z.string().nullable().meta({ description: "Why the last attempt failed, in a sentence; `error` has its code" }),
    error: z
      .object({
        code: z.enum(effectErrors),
        discord_code: z.int().nullable().meta({ description: "Discord's own error code, where Discord refused it", example: 50013 }),
        detail: z.string(),
      })
      .optional()
      .meta({ description: "Why the last attempt failed. With `status: pending` it is tried again, or waits for the person to return" }),
    changed: z
      .boolean()
      .optional()
      .meta({ description: "Of something done in Discord: false where Discord showed it so already, and the bot changed nothing" }),
    due_at: Timestamp.nullable().meta({ description: "When it is done or tried again; null: nothing is left" }),
  })
  .meta({ id: "WorkflowEffect", description: "One consequence of a decision" });
export type EffectView = z.infer<typeof EffectView>;

const RequestLink = z.object({ reference: z.string(), type: z.string(), status: z.string() });

export const CreationAnswer = z
  .object({
    success: z.literal(true),
    id: z.string(),
    reference: z.string().meta({ example: "BLU-REQ-000001" }),
    status: z.enum(openStatuses).meta({ description: "pending; where an open request was joined, how that one stands" }),
    joined: z.literal(true).optional().meta({ description: "The same was open already, and this was added to it" }),
    warnings: z.array(WarningView).meta({ description: "What was assumed, and unknown fields that were kept" }),
    duplicates: z.array(RequestLink).optional().meta({ description: "Other open requests about the same subjects; needs workflows.read" }),
    effects_preview: z.array(z.object({ key: z.string(), detail: z.string() })).meta({ description: "What an approval will do" }),
    redacted,
  })
  .meta({ id: "WorkflowCreated" });
export type CreationAnswer = z.infer<typeof CreationAnswer>;

const Approvals = z.object({
  have: z.int().meta({ description: "Approvals, less objections" }),
  required: z.int(),
  lapsed: z.array(Snowflake).optional().meta({
    description:
      "Whose earlier votes lapsed with this one: their authors could not vote any more, or voted again by another account of theirs. They do not count, and who may vote again can",
  }),
});

export const BlockerView = z
  .object({ code: z.string(), detail: z.string(), waivable: z.literal(true).optional().meta({ description: "`override` passes it" }) })
  .meta({ id: "WorkflowBlocker", description: "What keeps a decision from being made now" });

export type BlockerView = z.infer<typeof BlockerView>;

export const DecisionAnswer = z
  .object({
    success: z.literal(true),
    id: z.string(),
    reference: z.string(),
    status: z.enum(statuses),
    final: z.boolean().meta({ description: "False while further approvals are needed" }),
    revision: z.int(),
    approvals: Approvals,
    effects: z.array(EffectView),
    dry_run: z.literal(true).optional().meta({ description: "Nothing was written: this is what would come of it" }),
    blockers: z.array(BlockerView).optional().meta({ description: "Of a dry run: everything in the way" }),
    replayed: z.literal(true).optional().meta({ description: "The same person had decided the same already; nothing happened" }),
    redacted,
  })
  .meta({ id: "WorkflowDecided" });
export type DecisionAnswer = z.infer<typeof DecisionAnswer>;

export const CheckView = z
  .object({
    key: z.string(),
    result: z
      .enum(["pass", "warn", "fail", "ended"])
      .meta({ description: "`ended`: it rested on a consent that is over, and what it found is forgotten" }),
    detail: z.string(),
    at: Timestamp,
    consent_of: Snowflake.optional().meta({ description: "Whose consent it rests on: it ends with that" }),
    through_accounts: z.literal(true).optional().meta({ description: "It counts matches through other accounts, too" }),
  })
  .meta({ id: "WorkflowCheck", description: "One automatic check; a failed one keeps an approval from being given, unless overridden" });
export type CheckView = z.infer<typeof CheckView>;

/** Query text that names one or several of these, separated by commas. */
export function severalOf(names: readonly string[]) {
  const one = `(?:${names.join("|")})`;
  return z
    .string()
    .max(500)
    .regex(new RegExp(`^${one}(?:,${one})*$`), say("workflows.name-one-or-several-of-separated-by", { names: names.join(", ") }))
    .optional();
}
const flag = z.enum(["true", "false"]).optional();
const me = z.literal("@me");

export const ListWorkflowsQuery = z
  .strictObject({
    ...listQuery,
    type: severalOf(workflowKinds).meta({ description: "One kind or several, separated by commas", example: "punishment,appeal" }),
    status: severalOf([...statuses, "open"]).meta({
      description: "One status or several, separated by commas; `open` stands for every status before a decision",
      example: "pending,in_review",
    }),
    assignee: z
      .union([me, z.literal("none"), Snowflake])
      .optional()
      .meta({ description: "Who took it on; `@me`: the acting user, `none`: nobody" }),
    requester: z
      .union([me, Snowflake])
      .optional()
      .meta({ description: "Who filed it; `@me`: the acting user, who may have joined it, too" }),
    subject: z.string().trim().min(1).max(100).optional().meta({ description: "Id of a user or server, or what an appeal is against" }),
    overdue: flag.meta({ description: "Open and past `due_decision_at`; while the requester is asked nothing is overdue" }),
    priority: severalOf(priorities).meta({ description: "One priority or several, separated by commas", example: "high,critical" }),
    urgent: flag,
    held: flag,
    escalated: flag.meta({ description: "On a higher tier" }),
    review_later: flag.meta({ description: "Decided by one person alone, and not looked at by somebody else yet" }),
    external_id: z.string().trim().min(1).max(200).optional().meta({ description: "The client's own id of the request, as a whole" }),
    created_from: Timestamp.optional().meta({ description: "Not filed before this time" }),
    created_to: Timestamp.optional().meta({ description: "Filed before this time" }),
    q: z.string().trim().min(2).max(100).optional().meta({ description: "Text in reference, title, summary or external id" }),
    sort: z.enum(sorts).default("-created_at").meta({
      description: "`-priority`: the highest first, then what is due first. What has no date comes last",
    }),
  })
  .meta({ id: "ListWorkflowsQuery" });
export type ListWorkflowsQuery = z.input<typeof ListWorkflowsQuery>;

const said = {
  by: z.string(),
  at: Timestamp,
  reason_public: z.string().nullable(),
  reason_internal: z.string().nullable().optional().meta({ description: "Deciders only" }),
  break_glass: z.boolean().optional().meta({ description: "One person did what needs more, or passed a failed check" }),
};
export const WorkflowDecision = z.object({
  outcome: z.enum(["approved", "denied"]),
  ...said,
  policy_refs: z.array(z.string()),
  ruling: z
    .object({
      outcome: z.enum(rulings).nullable(),
      duration: z.string().nullable().optional(),
      severity: z.string().optional(),
      points: z.int().optional(),
      instructions: z.string().optional(),
      message: z.string().optional(),
    })
    .optional()
    .meta({ description: "What came of an appeal" }),
  reversal: z.object(said).optional().meta({ description: "Who took the approval back" }),
});
export type WorkflowDecision = z.infer<typeof WorkflowDecision>;

const VoteView = z.object({
  actor: UserRef,
  verdict: z.enum([...verdicts, "reverse"]),
  at: Timestamp,
  note: z.string().nullable().optional().meta({ description: "Deciders only" }),
  payload_revision: z.int(),
  lapsed_at: Timestamp.nullable().meta({
    description:
      "Since when it does not count any more, as its author could not vote then, or had voted again by another account; null: it counts for the payload it was cast about",
  }),
});

const NotAllowed = z.object({ code: z.string(), detail: z.string() }).meta({ id: "WorkflowActionRefusal" });

export const WorkflowView = z
  .object({
    id: z.string(),
    reference: z.string(),
    type: z.enum(workflowKinds),
    status: z.enum(statuses),
    priority: z.enum(priorities),
    urgent: z.boolean(),
    title: z.string().meta({ description: "As filed; otherwise what is asked for in short, which names nobody: see `subjects`" }),
    summary: z.string(),
    payload: z.record(z.string(), z.unknown()),
    payload_revision: z.int(),
    place: z
      .object({
        everywhere: z.boolean(),
        servers: z.array(z.object({ id: Snowflake, name: z.string().nullable() })),
      })
      .nullable()
      .meta({
        description: "Which servers it applies in: those it names, or with `everywhere` those the bot is in; null: it says nothing",
      }),
    extra: z.record(z.string(), z.unknown()).optional().meta({ description: "Unknown fields of the creation; deciders only" }),
    requester: UserRef.nullable(),
    requested_via: z.string(),
    subjects: z.array(z.object({ kind: z.enum(["user", "server", "record"]), id: z.string() })),
    evidence: z.array(z.looseObject({})),
    related: z.array(z.string()),
    comments_count: z.int(),
    origin: Origin.nullable(),
    assignment: z
      .object({ user: UserRef, by: z.string().nullable(), since: Timestamp, expires_at: Timestamp.nullable(), live: z.boolean() })
      .nullable()
      .meta({ description: "Who works on it, and until when that keeps others off" }),
    hold: z
      .object({ by: z.string().nullable(), at: Timestamp, reason: z.string().nullable().optional(), reference: z.string().nullable() })
      .nullable()
      .meta({ description: "A held request cannot be approved" }),
    escalation: z.object({ tier: z.int(), by: z.string().nullable(), at: Timestamp, reason: z.string().nullable().optional() }).nullable(),
    questions: z.array(z.string()).meta({ description: "What its requester is asked now" }),
    checks: z
      .array(CheckView)
      .optional()
      .meta({ description: "What is known of the subject, as it was when the request was filed or last decided about; deciders only" }),
    approvals: z.object({
      have: z.int().optional().meta({ description: "Approvals, less objections; absent while votes are hidden from you" }),
      required: z.int(),
      reversals_required: z.int(),
      votes: z.array(VoteView).meta({ description: "Where votes are blind, only your own until you have voted" }),
    }),
    decision: WorkflowDecision.nullable(),
    direct: z.boolean().meta({ description: "Decided by its own requester in one step, as the server lets them" }),
    look: z
      .object({ due_at: Timestamp.nullable(), at: Timestamp.nullable(), by: z.string().nullable() })
      .nullable()
      .meta({ description: "Of a direct one: until when somebody else should look at it, and who did" }),
    effects: z.array(EffectView),
    timers: z.object({
      due_first_touch_at: Timestamp.nullable(),
      due_decision_at: Timestamp.nullable(),
      expires_at: Timestamp.nullable(),
      info_due_at: Timestamp.nullable(),
      paused_at: Timestamp.nullable().meta({ description: "Since when the clocks stand still" }),
    }),
    sla: z.object({
      first_touched_at: Timestamp.nullable(),
      claimed_at: Timestamp.nullable(),
      last_claimed_at: Timestamp.nullable(),
      decided_at: Timestamp.nullable(),
      breached: z.boolean(),
    }),
    links: z.array(z.object({ rel: z.string(), reference: z.string() })),
    external_id: z.string().nullable(),
    revision: z.int(),
    created_at: Timestamp,
    updated_at: Timestamp,
    allowed_actions: z
      .array(z.enum(actions))
      .meta({ description: "What the acting user may do now; `claim` only where nobody else holds a claim" }),
    why_not: z
      .partialRecord(z.enum(actions), NotAllowed)
      .optional()
      .meta({ description: "With `why_not=true`: what keeps the acting user from the other actions" }),
    redacted,
  })
  .meta({ id: "Workflow" });
export type WorkflowView = z.infer<typeof WorkflowView>;
