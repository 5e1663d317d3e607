import { z } from "zod";
import { listQuery, Timestamp } from "../../../kernel/fields.ts";
import { workflowKinds } from "../../../kernel/vocabulary.ts";
import { Policy, policyFields } from "./policies.ts";
import { WarningView } from "../requests/workflows.schema.ts";

export const PoliciesQuery = z.strictObject(listQuery).meta({ id: "WorkflowPoliciesQuery" });
export type PoliciesQuery = z.input<typeof PoliciesQuery>;

const nullable = <Field extends z.ZodType>(field: Field) => field.nullable().optional();
const { shape } = Policy;

/** The same fields, of which `null` returns one to its default. */
export const UpdatePolicyInput = z
  .strictObject({
    prefix: nullable(shape.prefix),
    approvals: nullable(shape.approvals),
    approvals_grave: nullable(shape.approvals_grave),
    reversals: nullable(shape.reversals),
    deny_needs_majority: nullable(shape.deny_needs_majority),
    first_touch_seconds: nullable(shape.first_touch_seconds),
    decision_seconds: nullable(shape.decision_seconds),
    expiry_seconds: nullable(shape.expiry_seconds),
    cool_down_seconds: nullable(shape.cool_down_seconds),
    claim_seconds: nullable(shape.claim_seconds),
    info_seconds: nullable(shape.info_seconds),
    blind_votes: nullable(shape.blind_votes),
    notify: nullable(shape.notify),
  })
  .meta({ id: "UpdateWorkflowPolicyInput", description: "What is left out stays; `null` returns a value to its default" });
export type UpdatePolicyInput = z.input<typeof UpdatePolicyInput>;

export const PolicyView = z
  .object({
    type: z.enum(workflowKinds),
    ...shape,
    reference_prefix: z.string().meta({ description: "What references of the kind begin with now", example: "BLU" }),
    defaults: z.object(shape).meta({ description: "What holds where nothing was chosen" }),
    chosen: z.array(z.enum(policyFields)).meta({ description: "The fields somebody chose a value for" }),
    warnings: z.array(WarningView).meta({ description: "Why requests of the kind could not be decided as things are" }),
    revision: z.int(),
    updated_by: z.string().nullable(),
    updated_at: Timestamp.nullable(),
  })
  .meta({ id: "WorkflowPolicy", description: "How requests of one kind are decided" });
export type PolicyView = z.infer<typeof PolicyView>;
