import { say } from "../../../kit/say.ts";
import { z } from "zod";
import { routesFor, type Route } from "../../../operations/route.ts";
import { idPattern, Snowflake } from "../../../kernel/fields.ts";
import { actionsPolicy } from "./actions.policy.ts";
import { ActionView, ListActionsQuery, ListStrikesQuery, RecordActionInput, StrikesNotes, VoidActionInput } from "./actions.schema.ts";
import type { ActionsService } from "./actions.service.ts";
import { CaseKey } from "../cases.schema.ts";

const { get, post } = routesFor("cases");
const path = "/cases/{id}/actions";
const params = z.object({ id: CaseKey });
const actionParams = params.extend({
  action_id: z
    .string()
    .regex(idPattern, say("cases.name-the-action-by-its-id"))
    .transform((id) => id.toLowerCase())
    .meta({ description: "Id of the action", example: "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f" }),
});

const example = {
  id: "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f",
  case_id: "0199d2f4-0000-7c8d-9e0f-1a2b3c4d5e6f",
  case_number: "CASE-000001",
  kind: "strike" as const,
  user_id: "80351110224678912",
  points: 2,
  reason: "Insulted two newcomers after a warning.",
  at: "2026-11-20T10:00:00.000Z",
  by: "80351110224678914",
  expires_at: "2027-02-18T10:00:00.000Z",
  in_force: true,
  effect_ref: null,
  origin_reference: null,
  notice: null,
  voided: null,
};
const refusals = ["record_not_found", "conflict_of_interest", "hierarchy_violation", "invalid_transition"] as const;

/** HTTP routes for actions of cases and the ledger of strikes. */
export function actionsRoutes(actions: ActionsService): Route[] {
  return [...caseRoutes(actions), ledgerRoute(actions)];
}

function caseRoutes(actions: ActionsService): Route[] {
  return [
    post(path, "recordCaseAction", {
      summary: "Record what was done about a person in a case",
      description:
        "It is kept, nothing is done in Discord. Points count towards the person's strikes until they expire or are voided; at a threshold a punishment request is suggested.",
      access: { permission: actionsPolicy.write },
      request: {
        params,
        body: RecordActionInput,
        example: { kind: "strike", points: 2, reason: "Insulted two newcomers after a warning.", duration: "P90D" },
      },
      success: { status: 201, shape: "single", schema: ActionView, description: "The recorded action", example },
      refusals,
      handle: ({ call, params: { id }, body }) => actions.record(call, id, body),
    }),
    get(path, "listCaseActions", {
      summary: "List what was done in a case, newest first",
      access: { permission: actionsPolicy.read },
      request: { params, query: ListActionsQuery },
      success: { status: 200, shape: "list", schema: ActionView, description: "A page of actions", example },
      refusals: ["record_not_found", "invalid_cursor", "unknown_parameter"],
      handle: ({ call, params: { id }, query }) => actions.list(call, id, query),
    }),
    post(`${path}/{action_id}/void`, "voidCaseAction", {
      summary: "Let an action count no longer",
      description: "It stays readable, with who voided it and why. Actions of closed cases can be voided, too.",
      access: { permission: actionsPolicy.write },
      request: { params: actionParams, body: VoidActionInput, example: { reason: "It was somebody else with the same name." } },
      success: {
        status: 200,
        shape: "single",
        schema: ActionView,
        description: "The voided action",
        example: {
          ...example,
          in_force: false,
          voided: { at: "2026-11-21T10:00:00.000Z", by: "80351110224678914", reason: "It was somebody else with the same name." },
        },
      },
      refusals,
      handle: ({ call, params: { id, action_id: actionId }, body }) => actions.void(call, id, actionId, body),
    }),
  ];
}

function ledgerRoute(actions: ActionsService): Route {
  return get("/users/{discord_user_id}/strikes", "listUserStrikes", {
    summary: "List what counts against a person, newest first",
    description:
      "Every action with points in cases the caller may see, and in `meta` what they sum up to. The strikes of staff are for holders of staff.discipline; for others the page is empty and `meta.withheld` says so.",
    access: { permission: actionsPolicy.read },
    request: { params: z.object({ discord_user_id: Snowflake }), query: ListStrikesQuery },
    success: {
      status: 200,
      shape: "list",
      schema: ActionView,
      notes: StrikesNotes,
      description: "A page of the ledger",
    },
    refusals: ["invalid_cursor", "unknown_parameter"],
    handle: ({ call, params: { discord_user_id: userId }, query }) => actions.strikes(call, userId, query),
  });
}
