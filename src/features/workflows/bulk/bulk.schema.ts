import { z } from "zod";
import { text } from "../../../kernel/fields.ts";
import { DecisionBody } from "../requests/decision.ts";
import { DecisionAnswer } from "../requests/workflows.schema.ts";
import { statuses } from "../state/table.ts";

const key = text(1, 64);
export const maxAtOnce = 100;

const Item = z
  .looseObject({
    id: key.meta({ description: "Id or reference, in any case", example: "BLU-REQ-000001" }),
    type: text(1, 40).optional().meta({ description: "The kind; a request of another one counts as not found" }),
  })
  .meta({ id: "WorkflowBulkItem", description: "A request, and beside its id what is decided: the fields of the decision route" });

/** What is decided about many requests: each by itself, or the same about all. */
export const BulkBody = z
  .strictObject({
    ...DecisionBody.shape,
    items: z.array(Item).min(1).max(maxAtOnce).optional().meta({ description: "Requests, each with its own decision" }),
    references: z.array(key).min(1).max(maxAtOnce).optional().meta({ description: "Ids or references, with one decision for all" }),
  })
  .superRefine(({ items, references, ...shared }, context) => {
    const refuse = (path: string[], code: string, message: string): void => {
      context.addIssue({ code: "custom", path, message, params: { code } });
    };
    if ((items === undefined) === (references === undefined))
      refuse([items === undefined ? "references" : "items"], "required", "Send items or references.");
    if (items !== undefined) for (const name of Object.keys(shared)) refuse([name], "not_offered", "Each item has its own decision.");
  })
  .meta({ id: "WorkflowBulkBody" });
export type BulkBody = z.output<typeof BulkBody>;

const ProblemPart = z.object({
  code: z.string(),
  status: z.int(),
  detail: z.string(),
  errors: z.array(z.object({ pointer: z.string(), code: z.string(), detail: z.string() })).optional(),
});

export const BulkResult = z
  .object({
    asked: z.string().meta({ description: "The request as it was named" }),
    ok: z.boolean(),
    id: z.string().optional(),
    reference: z.string().optional(),
    status: z.enum(statuses).optional().meta({ description: "How the request stands now" }),
    answer: DecisionAnswer.optional().meta({ description: "As the decision route answers" }),
    problem: ProblemPart.optional().meta({ description: "Why nothing was done" }),
  })
  .meta({ id: "WorkflowBulkResult" });
export type BulkResult = z.infer<typeof BulkResult>;

export const BulkAnswer = z
  .object({
    success: z.literal(true),
    decided: z.int().meta({ description: "How many results are ok" }),
    refused: z.int(),
    dry_run: z.literal(true).optional(),
    results: z.array(BulkResult).meta({ description: "In the order in which they were asked for" }),
  })
  .meta({ id: "WorkflowBulkAnswer" });
export type BulkAnswer = z.infer<typeof BulkAnswer>;
