import { z } from "zod";
import type { ProblemCode } from "../../kernel/errors.ts";
import { routesFor, type Route } from "../../operations/route.ts";
import { ConfirmationKey, ConfirmationView, DeclineConfirmationInput, ListConfirmationsQuery } from "./confirmations.schema.ts";
import type { ConfirmationsService } from "./confirmations.service.ts";

const { get, post } = routesFor("confirmations");
const access = { permission: "permissions.read" } as const;
const params = z.object({ id: ConfirmationKey });
const example = {
  id: "01993c1e-7f8a-7cc2-9d3b-5b6f7a8c9d0e",
  code: "K7QM2X",
  action: "permissions.users.update",
  summary: "Allow staff.suspend for 80351110224678912",
  needs: ["second_person"],
  status: "pending",
  requested_by: "80351110224678913",
  confirmed_by: ["80351110224678913"],
  declined_by: null,
  decline_reason: null,
  created_at: "2026-11-20T10:00:00.000Z",
  expires_at: "2026-11-21T10:00:00.000Z",
  ended_at: null,
  revision: 2,
};
const single = { status: 200, shape: "single", schema: ConfirmationView, example } as const;

/** Who may say anything, and when. */
const turns = [
  "record_not_found",
  "precondition_failed",
  "invalid_transition",
  "conflict_of_interest",
  "cannot_grant_unheld",
  "hierarchy_violation",
] as const;
/** What a change can be refused with while it is carried out. */
const outcomes: readonly ProblemCode[] = ["last_owner", "duplicate_active_record", "unsupported_operation"];

export function confirmationsRoutes(confirmations: ConfirmationsService): Route[] {
  return [...readRoutes(confirmations), ...answerRoutes(confirmations)];
}

function readRoutes(confirmations: ConfirmationsService): Route[] {
  return [
    get("/confirmations", "listConfirmations", {
      summary: "List the changes that wait for you, newest first",
      description: "Pending changes that the acting user has asked for or may confirm.",
      access,
      request: { query: ListConfirmationsQuery },
      success: { status: 200, shape: "list", schema: ConfirmationView, description: "A page of held changes", example },
      refusals: ["invalid_cursor", "unknown_parameter"],
      handle: ({ call, query }) => confirmations.list(call, query),
    }),
    get("/confirmations/{id}", "getConfirmation", {
      summary: "See what became of a held change",
      description: "For the person who asked, for those who may be the second person, and for holders of `audit.read`.",
      access,
      request: { params },
      success: { ...single, description: "The held change" },
      refusals: ["record_not_found"],
      handle: ({ call, params: { id } }) => confirmations.get(call, id),
    }),
  ];
}

function answerRoutes(confirmations: ConfirmationsService): Route[] {
  return [
    post("/confirmations/{id}/confirm", "confirmChange", {
      summary: "Confirm a held change as the second person",
      description:
        "The last confirmation carries the change out, for the person who asked and as they stand now. When it is not allowed any more, the answer is that refusal and the change has failed. The person who asked confirms in Discord, with `/confirm accept`, where `needs` begins with `acting_user`: here they get 409 `invalid_transition` while their own word is needed, and 403 `conflict_of_interest` where a second person's is. A second person says yes here by a signed assertion only, through a key that nobody who asked has made; else in Discord: the word of an API key is 409 `invalid_transition`. Confirming again what one has confirmed answers the same again.",
      access,
      request: { params },
      success: { ...single, description: "The change as it stands now" },
      refusals: [...turns, ...outcomes],
      handle: ({ call, params: { id }, ifMatch }) => confirmations.confirm(call, id, ifMatch),
    }),
    post("/confirmations/{id}/decline", "declineChange", {
      summary: "Decline a held change, or take it back as the person who asked",
      description: "Declining again what one has declined answers the same again.",
      access,
      request: { params, body: DeclineConfirmationInput, bodyOptional: true, example: { reason: "Let us talk about it first." } },
      success: { ...single, description: "The declined change" },
      refusals: [...turns],
      handle: ({ call, params: { id }, body, ifMatch }) => confirmations.decline(call, id, body, ifMatch),
    }),
  ];
}
