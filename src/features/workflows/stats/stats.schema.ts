import { z } from "zod";
import { Timestamp } from "../../../kernel/fields.ts";
import { workflowKinds } from "../../../kernel/vocabulary.ts";
import { severalOf } from "../requests/workflows.schema.ts";

export const statsPermission = "workflows.stats";

export const StatsQuery = z
  .strictObject({
    type: severalOf(workflowKinds).meta({ description: "Only these kinds, separated by commas", example: "punishment,appeal" }),
    from: Timestamp.optional().meta({ description: "Requests filed from this time on; 90 days before `to` unless told" }),
    to: Timestamp.optional().meta({ description: "And before this time; now unless told" }),
  })
  .meta({ id: "WorkflowStatsQuery" });
export type StatsQuery = z.input<typeof StatsQuery>;

const count = z.int().nonnegative();
const seconds = z.int().nullable().meta({ description: "Seconds; null without any request to measure" });
const rate = (description: string) =>
  z
    .number()
    .min(0)
    .max(1)
    .nullable()
    .meta({ description: `${description}; null without any` });

export const NumbersView = z
  .object({
    filed: count.meta({ description: "Requests filed in the period" }),
    open: z
      .object({ total: count, pending: count, in_review: count, needs_info: count, escalated: count })
      .meta({ description: "Open now, whenever they were filed" }),
    open_age: z
      .object({ p50: seconds, p90: seconds, max: seconds })
      .meta({ description: "How long those have waited since they were filed" }),
    overdue: count.meta({ description: "Of those: past their date of decision, with clocks that run" }),
    first_touch: z.object({ p50: seconds, p90: seconds }).meta({ description: "From the filing to the first thing somebody else did" }),
    decision: z.object({ p50: seconds, p90: seconds }).meta({ description: "From the filing to the decision; waiting for answers counts" }),
    outcomes: z
      .object({ approved: count, denied: count, withdrawn: count, expired: count, void: count, reversed: count })
      .meta({ description: "What became of the requests filed in the period; `approved` are those that still stand" }),
    approval_rate: rate("Approvals, reversed ones too, among all decisions"),
    reversal_rate: rate("Reversals among all approvals"),
    breached_share: rate("Past their date of decision, among those that were decided, expired or still wait"),
    break_glass: count.meta({ description: "Decisions or reversals by one person where more were needed, or past a failed check" }),
  })
  .meta({ id: "WorkflowNumbers", description: "Numbers about requests. Percentiles are the shortest time that so many do not exceed" });
export type NumbersView = z.infer<typeof NumbersView>;

export const StatsView = z
  .object({
    from: Timestamp.meta({ description: "Requests filed from this time on; later than asked for where `is_whole` is false" }),
    to: Timestamp,
    evaluated_at: Timestamp,
    is_whole: z.boolean().meta({
      description:
        "False where more requests were filed or are open than one answer counts: of each kind the newest 5,000 of the period, and `from` says since when; of each status before a decision the 5,000 that wait longest",
    }),
    all: NumbersView,
    types: z
      .array(z.object({ type: z.enum(workflowKinds), ...NumbersView.shape }))
      .meta({ description: "The same for each kind asked for" }),
  })
  .meta({ id: "WorkflowStats" });
export type StatsView = z.infer<typeof StatsView>;
