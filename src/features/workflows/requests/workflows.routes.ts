import { say, inRow, term } from "../../../kit/say.ts";
import { walkDescription, WalkNotes } from "../../../kernel/keyset.ts";
import { understand } from "./intake.ts";
import { filingOperation, pascalCase, kindOf, kinds } from "../kinds/kinds.ts";
import type { RoutePermission } from "../../../kernel/permissions.ts";
import { z } from "zod";
import { routesFor, withContentEtag, type Route } from "../../../operations/route.ts";
import { workflowKinds, type WorkflowKind } from "../../../kernel/vocabulary.ts";
import { actions, decideEscalated, moves, type Action } from "../state/table.ts";
import { DecisionBody } from "./decision.ts";
import { CommonFields } from "./fields.ts";
import { filingRights } from "./workflows.policy.ts";
import { CreationAnswer, DecisionAnswer, ListWorkflowsQuery, WorkflowView } from "./workflows.schema.ts";
import type { WorkflowsService } from "./workflows.service.ts";

const { get, post } = routesFor("workflows");
const type = z
  .string()
  .refine((name) => kindOf(name) !== undefined, {
    error: say("workflows.name-one-of", { values: inRow(workflowKinds.map(term)) }),
    params: { code: "unknown_kind" },
  })
  .meta({ description: "Kind of request, with hyphens or underscores, in any case", example: "blacklist-user" });
const key = z.string().min(1).max(64).meta({ description: "Id or reference, in any case", example: "BLU-REQ-000001" });
const DecideQuery = z.object({
  dry_run: z
    .enum(["true", "false"])
    .default("false")
    .meta({ description: "`true`: show the effects and everything in the way, and write nothing" }),
});
const DecideParams = z.object({ type, website_id: key });
export const GetParams = z.object({ type, id: key });
const GetQuery = z.object({
  why_not: z
    .enum(["true", "false"])
    .default("false")
    .meta({ description: "`true`: say what keeps the acting user from each other action" }),
});

/** Anyone who takes part in requests passes; each action asks for its own permission. */
const takingPart = {
  permission: "workflows.{type}.decide",
  either: [
    ...new Set<RoutePermission>([
      ...actions.flatMap((action) => moves[action].permission ?? []),
      decideEscalated,
      "workflows.{type}.create",
    ]),
  ].filter((permission) => permission !== "workflows.{type}.decide"),
  personal: true,
} as const;
/** Anyone who reads requests passes, and everybody for their own. */
export const readingAccess = { permission: "workflows.read", either: ["workflows.{type}.create"], personal: true } as const;

export function workflowsRoutes(workflows: WorkflowsService): Route[] {
  return [...workflowKinds.map((kind) => creationRoute(workflows, kind)), decisionRoute(workflows), ...readRoutes(workflows)];
}

/** A line of the table of moves, for the document. */
function moveLine(action: Action): string {
  const { from, to, permission, isRequesters = false } = moves[action];
  const who = [...(permission === null ? [] : [`\`${permission}\``]), ...(isRequesters ? ["the requester"] : [])].join(", ");
  return `| \`${action}\` | ${from.join(", ")} | ${to} | ${who} |`;
}

const OtherSpelling = z.looseObject({}).meta({
  description: "The same fields in `payload`, in camelCase or under other names for ids, with any fields of the client's own",
});

/** Any object passes the route and the service method understands it; the second form documents what it understands best. */
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
  const isPersonal = kinds[kind].filedForOneself !== undefined;
  return post(`/workflows/${kind}`, filingOperation(kind), {
    summary: `File a request: ${kind}`,
    description:
      "The fields may stand flat or in `payload`, in snake_case or camelCase. A needed field that is missing is refused by name. Unknown fields are kept and reported in `warnings`; names only the service gives are refused.",
    access: { permission: `workflows.${kind}.create`, ...(isPersonal && { personal: true }) },
    request: { body: bodyOf(kind), understand: (body) => void understand(kinds[kind], body), example: kinds[kind].example },
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
    refusals: ["duplicate_open", "cooldown", ...(isPersonal ? (["authorization_required"] as const) : [])],
    handle: ({ call, body }) => workflows.create(call, kind, body),
  });
}

function decisionRoute(workflows: WorkflowsService): Route {
  return post("/workflows/{type}/{website_id}/decision", "decideWorkflow", {
    summary: "Approve, deny or otherwise move a request",
    description: [
      "Every action on a request goes through here; each needs its own permission, beside the rules of conflict of interest and rank. An approval below the needed number is a vote: `final` is false. The same decision by the same person again answers `replayed`. `dry_run=true` shows what would come of it.",
      "| action | from | to | permission |\n|---|---|---|---|",
    ]
      .join("\n\n")
      .concat("\n", actions.map((action) => moveLine(action)).join("\n")),
    access: takingPart,
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
        revision: 2,
        approvals: { have: 1, required: 1 },
        effects: [],
      },
    },
    refusals: [
      "record_not_found",
      "duplicate_open",
      "duplicate_active_record",
      "pool_exhausted",
      "conflict_of_interest",
      "hierarchy_violation",
      "precondition_failed",
      "already_decided",
      "invalid_transition",
    ],
    handle: ({ call, params, query, body, ifMatch }) =>
      workflows.decide(call, params.type, params.website_id, body, { ifMatch, isDryRun: query.dry_run === "true" }),
  });
}

function readRoutes(workflows: WorkflowsService): Route[] {
  return [
    get("/workflows", "listWorkflows", {
      summary: "List requests",
      description: `Everybody lists their own requests; the others need workflows.read. ${walkDescription}`,
      access: { permission: "workflows.read", either: filingRights, personal: true },
      request: { query: ListWorkflowsQuery },
      success: { status: 200, shape: "list", schema: WorkflowView, notes: WalkNotes, description: "A page of requests" },
      refusals: ["invalid_cursor", "unknown_parameter"],
      handle: ({ call, query }) => workflows.list(call, query),
    }),
    get("/workflows/{type}/{id}", "getWorkflow", {
      summary: "Read one request",
      description: "Everybody reads their own requests; the others need workflows.read.",
      access: readingAccess,
      request: { params: GetParams, query: GetQuery },
      success: { status: 200, shape: "single", schema: WorkflowView, description: "The request" },
      refusals: ["record_not_found"],
      handle: async ({ call, params, query }) =>
        withContentEtag(await workflows.get(call, params.type, params.id, { isWhyNotAsked: query.why_not === "true" })),
    }),
  ];
}
