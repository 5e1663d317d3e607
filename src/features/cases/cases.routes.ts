import { z } from "zod";
import { route, withContentEtag, type Route } from "../../operations/route.ts";
import { casesLifeRoutes } from "./life.routes.ts";
import { casesNotesRoutes } from "./notes/notes.routes.ts";
import { casesPolicy } from "./cases.policy.ts";
import { CaseKey, CaseView, CreateCaseInput, ListCasesQuery, UpdateCaseInput } from "./cases.schema.ts";
import type { CasesService } from "./cases.service.ts";
import { casesTemplatesRoutes } from "./templates/templates.routes.ts";

const tags = ["cases"];
const params = z.object({ id: CaseKey });
const single = { status: 200, shape: "single", schema: CaseView } as const;

/** The HTTP door to cases. */
export function casesRoutes(cases: CasesService): Route[] {
  // Templates first: their address would be taken for that of a case.
  return [...casesTemplatesRoutes(cases), ...coreRoutes(cases), ...casesLifeRoutes(cases), ...casesNotesRoutes(cases)];
}

function coreRoutes(cases: CasesService): Route[] {
  return [
    route(
      {
        method: "post",
        path: "/cases",
        operationId: "createCase",
        tags,
        summary: "Open a case",
        description:
          "What is not sent comes from the template, if one is named. Open requests about the same subjects are offered in `suggestions`. Nobody opens a case about themselves, or about staff of equal or higher rank.",
        access: { permission: casesPolicy.create },
        request: {
          body: CreateCaseInput,
          example: { title: "Raid on the lobby", type: "general", subjects: [{ kind: "user", id: "80351110224678912" }], labels: ["raid"] },
        },
        success: { status: 201, shape: "single", schema: CaseView, description: "The new case" },
        refusals: ["conflict_of_interest", "hierarchy_violation"],
      },
      async ({ call, body }) => withContentEtag(await cases.create(call, body)),
    ),
    route(
      {
        method: "get",
        path: "/cases",
        operationId: "listCases",
        tags,
        summary: "List cases, newest first",
        description: "Those the caller opened, leads or is in the team of; all that are not confidential with `cases.read_all`.",
        access: { permission: casesPolicy.read },
        request: { query: ListCasesQuery },
        success: { status: 200, shape: "list", schema: CaseView, description: "A page of cases" },
        refusals: ["invalid_cursor", "unknown_parameter"],
      },
      ({ call, query }) => cases.list(call, query),
    ),
    route(
      {
        method: "get",
        path: "/cases/{id}",
        operationId: "getCase",
        tags,
        summary: "Read one case",
        access: { permission: casesPolicy.read },
        request: { params },
        success: { ...single, description: "The case" },
        refusals: ["record_not_found"],
      },
      async ({ call, params: { id } }) => withContentEtag(await cases.get(call, id)),
    ),
    route(
      {
        method: "patch",
        path: "/cases/{id}",
        operationId: "updateCase",
        tags,
        summary: "Change a case",
        description:
          "Fields that are not sent stay; lists are sent whole. A closed case takes only `status`, `confidential` and `retention_until`. Lifting confidentiality needs `cases.confidential`.",
        access: { permission: casesPolicy.update },
        request: { params, body: UpdateCaseInput, example: { status: "active", priority: "high" } },
        success: { ...single, description: "The changed case" },
        refusals: ["record_not_found", "precondition_failed", "invalid_transition", "conflict_of_interest", "hierarchy_violation"],
      },
      async ({ call, params: { id }, body, ifMatch }) => withContentEtag(await cases.update(call, id, body, ifMatch)),
    ),
  ];
}
