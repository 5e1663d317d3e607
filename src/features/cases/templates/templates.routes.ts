import { z } from "zod";
import { route, type Route } from "../../../operations/route.ts";
import { casesPolicy } from "../cases.policy.ts";
import type { CasesService } from "../cases.service.ts";
import { PutTemplateInput, TemplateKey, TemplatesQuery, TemplateView } from "./templates.ts";

const tags = ["cases"];
const params = z.object({ key: TemplateKey });
const single = { status: 200, shape: "single", schema: TemplateView } as const;

/** The HTTP door to templates of cases. */
export function casesTemplatesRoutes({ templates }: Pick<CasesService, "templates">): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/cases/templates",
        operationId: "listCaseTemplates",
        tags,
        summary: "List what cases can begin with",
        access: { permission: casesPolicy.read },
        request: { query: TemplatesQuery },
        success: { status: 200, shape: "list", schema: TemplateView, description: "A page of templates, in the order of their keys" },
        refusals: ["invalid_cursor", "unknown_parameter"],
      },
      ({ call, query }) => templates.list(call, query),
    ),
    route(
      {
        method: "get",
        path: "/cases/templates/{key}",
        operationId: "getCaseTemplate",
        tags,
        summary: "Read one template",
        access: { permission: casesPolicy.read },
        request: { params },
        success: { ...single, description: "The template" },
        refusals: ["record_not_found"],
      },
      ({ call, params: { key } }) => templates.get(call, key),
    ),
    route(
      {
        method: "put",
        path: "/cases/templates/{key}",
        operationId: "putCaseTemplate",
        tags,
        summary: "Create or replace a template",
        description: "Send the whole template.",
        access: { permission: casesPolicy.templates },
        request: {
          params,
          body: PutTemplateInput,
          example: { title: "Harassment report", type: "investigation", labels: ["harassment"], priority: "high", due: "P7D" },
        },
        success: { ...single, description: "The template as it stands now" },
        refusals: ["precondition_failed"],
      },
      ({ call, params: { key }, body, ifMatch }) => templates.put(call, key, body, ifMatch),
    ),
    route(
      {
        method: "delete",
        path: "/cases/templates/{key}",
        operationId: "deleteCaseTemplate",
        tags,
        summary: "Delete a template",
        description: "Cases opened from it stay as they are.",
        access: { permission: casesPolicy.templates },
        request: { params },
        success: { ...single, description: "The template as it was" },
        refusals: ["record_not_found", "precondition_failed"],
      },
      ({ call, params: { key }, ifMatch }) => templates.remove(call, key, ifMatch),
    ),
  ];
}
