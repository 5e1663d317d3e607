import { z } from "zod";
import { routesFor, withContentEtag, type Route } from "../../../operations/route.ts";
import { policiesPolicy } from "./policies.ts";
import { PoliciesQuery, PolicyView, UpdatePolicyInput } from "./policies.schema.ts";
import type { PoliciesService } from "./policies.service.ts";

const { del, get, patch } = routesFor("workflows");
const params = z.object({
  type: z
    .string()
    .min(1)
    .max(64)
    .meta({ description: "Kind of request, with hyphens or underscores, in any case", example: "blacklist-user" }),
});
const single = { status: 200, shape: "single", schema: PolicyView } as const;
const keeps = "New requests and the decisions from now on go by it; open requests keep the approvals and the dates they were filed with.";

/** HTTP routes for how each kind of request is decided. */
export function policiesRoutes(policies: PoliciesService): Route[] {
  return [
    get("/workflows/policies", "listWorkflowPolicies", {
      summary: "List how each kind of request is decided",
      access: { permission: policiesPolicy.read },
      request: { query: PoliciesQuery },
      success: { status: 200, shape: "list", schema: PolicyView, description: "A page of policies" },
      refusals: ["invalid_cursor", "unknown_parameter"],
      handle: ({ call, query }) => policies.list(call, query),
    }),
    get("/workflows/policies/{type}", "getWorkflowPolicy", {
      summary: "Read how a kind of request is decided",
      access: { permission: policiesPolicy.read },
      request: { params },
      success: { ...single, description: "The policy" },
      refusals: ["record_not_found"],
      handle: async ({ call, params: { type } }) => withContentEtag(await policies.get(call, type)),
    }),
    patch("/workflows/policies/{type}", "updateWorkflowPolicy", {
      summary: "Change how a kind of request is decided",
      description: `Lengths are seconds. What is left out stays; \`null\` returns a value to its default. ${keeps}`,
      access: { permission: policiesPolicy.manage },
      request: { params, body: UpdatePolicyInput, example: { first_touch_seconds: 7200, approvals_grave: 3 } },
      success: { ...single, description: "The policy as it holds now" },
      refusals: ["record_not_found", "precondition_failed"],
      handle: async ({ call, params: { type }, body, ifMatch }) => withContentEtag(await policies.update(call, type, body, ifMatch)),
    }),
    del("/workflows/policies/{type}", "resetWorkflowPolicy", {
      summary: "Return a kind of request to its default policy",
      description: keeps,
      access: { permission: policiesPolicy.manage },
      request: { params },
      success: { ...single, description: "The policy as it holds now" },
      refusals: ["record_not_found", "precondition_failed"],
      handle: async ({ call, params: { type }, ifMatch }) => withContentEtag(await policies.reset(call, type, ifMatch)),
    }),
  ];
}
