import { z } from "zod";
import type { Route } from "../../http/route.ts";
import { route } from "../../http/route.ts";
import type { WorkflowKind } from "../../kernel/workflow-kinds.ts";
import { workflowKinds } from "../../kernel/workflow-kinds.ts";
import { DecisionBody } from "./workflows.decision.ts";
import { CommonFields } from "./workflows.fields.ts";
import { kindOf, kinds } from "./workflows.kinds.ts";
import { CreationAnswer, DecisionAnswer, ListWorkflowsQuery, WorkflowView } from "./workflows.schema.ts";
import type { WorkflowsService } from "./workflows.service.ts";

const tags = ["workflows"];
const type = z
  .string()
  .refine((name) => kindOf(name) !== undefined, { error: `Name one of ${workflowKinds.join(", ")}.`, params: { code: "unknown_kind" } })
  .meta({ description: "Kind of request, with hyphens or underscores, in any case", example: "blacklist-user" });
const key = z.string().min(1).max(64).meta({ description: "Id or reference, in any case", example: "BLU-REQ-000001" });
const DecideQuery = z.object({
  dry_run: z.literal("false", "A dry run is not offered yet.").optional().meta({ description: "Not offered yet" }),
});
const DecideParams = z.object({ type, website_id: key });
const GetParams = z.object({ type, id: key });

export function workflowsRoutes(workflows: WorkflowsService): Route[] {
  return [...workflowKinds.map((kind) => creationRoute(workflows, kind)), decisionRoute(workflows), ...readRoutes(workflows)];
}

/** `blacklist-user` is `BlacklistUser`. */
function pascalCase(kind: WorkflowKind): string {
  return kind.replaceAll(/(^|-)([a-z])/g, (_whole, _hyphen: string, letter: string) => letter.toUpperCase());
}

const OtherSpelling = z.looseObject({}).meta({
  description: "The same fields in `payload`, in camelCase or under other names for ids, with any fields of the client's own",
});

/** Any object passes the door and the verb understands it; the second form documents what it understands best. */
function bodyOf(kind: WorkflowKind) {
  const { payload, assumed = {} } = kinds[kind];
  // What is only taken from other fields is documented as needed: a client that sends it depends on no guess.
  const optional = Object.entries(assumed).filter(([, guess]) => guess({}) !== undefined);
  const documented = z
    .object({ ...payload.shape, ...CommonFields.shape })
    .partial(Object.fromEntries(optional.map(([field]) => [field, true])) as Record<string, never>)
    .meta({ id: `${pascalCase(kind)}Request` });
  return z.union([OtherSpelling, documented]);
}

function creationRoute(workflows: WorkflowsService, kind: WorkflowKind): Route {
  return route(
    {
      method: "post",
      path: `/workflows/${kind}`,
      operationId: `create${pascalCase(kind)}Request`,
      tags,
      summary: `File a ${kind} request`,
      description:
        "The fields may stand flat or in `payload`, in snake_case or camelCase. A needed field that is missing is refused by name. Unknown fields are kept and reported in `warnings`; names only the service gives are refused.",
      access: { permission: `workflows.${kind}.create` },
      request: { body: bodyOf(kind), example: kinds[kind].example },
      success: {
        status: 201,
        shape: "flat",
        schema: CreationAnswer,
        description: "The request is pending",
        example: {
          success: true,
          id: "0199f3a0-0000-7000-8000-000000000000",
          reference: `${kinds[kind].prefix}-REQ-000001`,
          status: "pending",
          warnings: [],
          effects_preview: [],
        },
      },
      refusals: ["duplicate_open", "cooldown"],
    },
    ({ call, body }) => workflows.create(call, kind, body),
  );
}

function decisionRoute(workflows: WorkflowsService): Route {
  return route(
    {
      method: "post",
      path: "/workflows/{type}/{website_id}/decision",
      operationId: "decideWorkflow",
      tags,
      summary: "Approve or deny a request",
      description:
        "An approval below the needed number is a vote: `final` is false. A denial needs a reason of 10 to 1,000 characters. The same decision by the same person again answers `replayed`.",
      access: { permission: "workflows.{type}.decide" },
      request: {
        params: DecideParams,
        query: DecideQuery,
        body: z.union([z.looseObject({}), DecisionBody]),
        example: { decision: "approve" },
      },
      success: {
        status: 200,
        shape: "flat",
        schema: DecisionAnswer,
        description: "The decision was recorded",
        example: {
          success: true,
          id: "0199f3a0-0000-7000-8000-000000000000",
          reference: "BLU-REQ-000001",
          status: "approved",
          final: true,
          approvals: { have: 1, required: 1 },
          effects: [],
        },
      },
      refusals: [
        "record_not_found",
        "conflict_of_interest",
        "hierarchy_violation",
        "precondition_failed",
        "already_decided",
        "invalid_transition",
      ],
    },
    ({ call, params, body, ifMatch }) => workflows.decide(call, params.type, params.website_id, body, ifMatch),
  );
}

function readRoutes(workflows: WorkflowsService): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/workflows",
        operationId: "listWorkflows",
        tags,
        summary: "List requests",
        access: { permission: "workflows.read" },
        request: { query: ListWorkflowsQuery },
        success: { status: 200, shape: "list", schema: WorkflowView, description: "A page of requests" },
        refusals: ["invalid_cursor", "unknown_parameter"],
      },
      ({ call, query }) => workflows.list(call, query),
    ),
    route(
      {
        method: "get",
        path: "/workflows/{type}/{id}",
        operationId: "getWorkflow",
        tags,
        summary: "Read one request",
        access: { permission: "workflows.read" },
        request: { params: GetParams },
        success: { status: 200, shape: "single", schema: WorkflowView, description: "The request" },
        refusals: ["record_not_found"],
      },
      ({ call, params }) => workflows.get(call, params.type, params.id),
    ),
  ];
}
