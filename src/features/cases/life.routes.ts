import { z } from "zod";
import { routesFor, withContentEtag, type Route } from "../../operations/route.ts";
import { casesPolicy } from "./cases.policy.ts";
import { CaseKey, CaseLinkView, CaseView, CloseCaseInput, CreateLinkInput, DeleteReason, ReopenCaseInput } from "./cases.schema.ts";
import type { CasesService } from "./cases.service.ts";
import { CaseTimelineEntryView, CaseTimelineQuery } from "./timeline.ts";

const { del, get, post } = routesFor("cases");
const params = z.object({ id: CaseKey });
const linkParams = z.object({ id: CaseKey, link_id: z.guid().meta({ description: "Id of the link" }) });
const single = { status: 200, shape: "single", schema: CaseView } as const;
const DeleteBody = z.strictObject({ reason: DeleteReason }).meta({ id: "DeleteCaseBody" });
const DeleteQuery = z.object({ reason: DeleteReason });
const working = ["record_not_found", "conflict_of_interest", "hierarchy_violation", "invalid_transition"] as const;
const refusals = [...working, "precondition_failed"] as const;

/** How cases end, begin again and go; their links and their history. */
export function casesLifeRoutes(cases: CasesService): Route[] {
  return [...endRoutes(cases), ...binRoutes(cases), ...linkRoutes(cases)];
}

function endRoutes(cases: CasesService): Route[] {
  return [
    post("/cases/{id}/close", "closeCase", {
      summary: "Close a case with an outcome",
      description:
        "Which outcomes there are depends on the type of the case: docs/cases.md lists them. `spawn` suggests requests that follow about its subjects.",
      access: { permission: casesPolicy.close },
      request: { params, body: CloseCaseInput, example: { outcome: "resolved", reason: "Both sides agreed." } },
      success: { ...single, description: "The closed case" },
      refusals,
      handle: async ({ call, params: { id }, body, ifMatch }) => withContentEtag(await cases.close(call, id, body, ifMatch)),
    }),
    post("/cases/{id}/reopen", "reopenCase", {
      summary: "Go on with a closed case",
      access: { permission: casesPolicy.reopen },
      request: { params, body: ReopenCaseInput, example: { reason: "A new witness." } },
      success: { ...single, description: "The case, active again" },
      refusals,
      handle: async ({ call, params: { id }, body, ifMatch }) => withContentEtag(await cases.reopen(call, id, body, ifMatch)),
    }),
    get("/cases/{id}/timeline", "listCaseTimeline", {
      summary: "List what happened in a case, newest first",
      access: { permission: casesPolicy.read },
      request: { params, query: CaseTimelineQuery },
      success: { status: 200, shape: "list", schema: CaseTimelineEntryView, description: "A page of entries" },
      refusals: ["record_not_found", "invalid_cursor", "unknown_parameter"],
      handle: ({ call, params: { id }, query }) => cases.timeline(call, id, query),
    }),
  ];
}

function binRoutes(cases: CasesService): Route[] {
  return [
    del("/cases/{id}", "deleteCase", {
      summary: "Put a case into the bin",
      description:
        "It is gone for everybody but holders of `cases.delete`, who find it with `?deleted=true` and can restore it for 30 days. The reason stands in the body or in `?reason=`.",
      access: { permission: casesPolicy.delete },
      request: { params, query: DeleteQuery, body: DeleteBody, bodyOptional: true, example: { reason: "Opened by mistake." } },
      success: { ...single, description: "The case in the bin" },
      refusals,
      handle: async ({ call, params: { id }, query, body, ifMatch }) =>
        withContentEtag(await cases.remove(call, id, { ...query, ...body }, ifMatch)),
    }),
    post("/cases/{id}/restore", "restoreCase", {
      summary: "Take a case out of the bin",
      access: { permission: casesPolicy.delete },
      request: { params },
      success: { ...single, description: "The case as it was" },
      refusals: ["record_not_found", "conflict_of_interest", "hierarchy_violation", "precondition_failed"],
      handle: async ({ call, params: { id }, ifMatch }) => withContentEtag(await cases.restore(call, id, ifMatch)),
    }),
  ];
}

function linkRoutes(cases: CasesService): Route[] {
  return [
    post("/cases/{id}/links", "createCaseLink", {
      summary: "Link a case with another record",
      description: "With a case, a request or a blacklist record that the caller may know of.",
      access: { permission: casesPolicy.update },
      request: { params, body: CreateLinkInput, example: { rel: "related", reference: "CASE-000001" } },
      success: { status: 201, shape: "single", schema: CaseLinkView, description: "The link" },
      refusals: [...working, "duplicate_active_record"],
      handle: ({ call, params: { id }, body }) => cases.links.link(call, id, body),
    }),
    del("/cases/{id}/links/{link_id}", "deleteCaseLink", {
      summary: "Take a link back",
      description: "`If-Match` names the revision of the case.",
      access: { permission: casesPolicy.update },
      request: { params: linkParams },
      success: { status: 200, shape: "single", schema: CaseLinkView, description: "The link as it was" },
      refusals,
      handle: ({ call, params: { id, link_id: linkId }, ifMatch }) => cases.links.unlink(call, id, linkId, ifMatch),
    }),
  ];
}
