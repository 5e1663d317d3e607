import { say, inRow, term } from "../../../kit/say.ts";
import { z } from "zod";
import { routesFor, type Route } from "../../../operations/route.ts";
import { wholeNumber } from "../../../kernel/fields.ts";
import { workflowKinds } from "../../../kernel/vocabulary.ts";
import type { EffectRetry } from "./retry.ts";
import { kindOf } from "../kinds/kinds.ts";
import { DecisionAnswer } from "../requests/workflows.schema.ts";

const { post } = routesFor("workflows");

const RetryParams = z.object({
  type: z
    .string()
    .refine((name) => kindOf(name) !== undefined, {
      error: say("workflows.name-one-of", { values: inRow(workflowKinds.map(term)) }),
      params: { code: "unknown_kind" },
    })
    .meta({ description: "Kind of request, with hyphens or underscores, in any case", example: "blacklist-user" }),
  website_id: z.string().min(1).max(64).meta({ description: "Id or reference, in any case", example: "BLU-REQ-000001" }),
  place: wholeNumber(1, 9999).meta({ description: "Which of its `effects`, the first being 1", example: 1 }),
});

export function deliveriesRoutes(deliveries: EffectRetry): Route[] {
  return [
    post("/workflows/{type}/{website_id}/effects/{place}/retry", "retryWorkflowEffect", {
      summary: "Try a failed effect again",
      description:
        "What an approval left for the bot or for a date is tried twelve times, over hours, before it has failed. The request itself stays as it is, its revision too.",
      access: { permission: "workflows.{type}.decide" },
      request: { params: RetryParams },
      success: {
        status: 200,
        shape: "flat",
        schema: DecisionAnswer,
        description: "The effect is due again",
        example: {
          success: true,
          id: "0199f3a0-0000-7000-8000-000000000000",
          reference: "BLU-REQ-000001",
          status: "approved",
          final: true,
          revision: 2,
          approvals: { have: 1, required: 1 },
          effects: [],
        },
      },
      refusals: ["record_not_found", "conflict_of_interest", "hierarchy_violation", "invalid_transition"],
      handle: ({ call, params: { type, website_id: key, place } }) => deliveries.retry(call, type, key, place),
    }),
  ];
}
