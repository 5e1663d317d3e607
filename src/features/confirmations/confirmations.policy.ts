import type { Call } from "../../kernel/call.ts";
import { createVisibility, noClearance, seesRedactions, type FieldClasses } from "../../kernel/visibility.ts";
import { onWire } from "../../kernel/wire.ts";
import { canConfirm } from "./rights.ts";
import { answersOf, needsOf, statusAt, titleOf, type ConfirmationRow } from "./rows.ts";
import type { ConfirmationView } from "./confirmations.schema.ts";

/** Who may call the service methods of this feature; anyone who may ask for such a change has it. */
export const confirmationsPermission = "permissions.read";

/** What of a held change is for whom. */
const fields: FieldClasses<ConfirmationView> = {
  id: "public",
  code: "decider",
  action: "public",
  summary: "public",
  needs: "public",
  status: "public",
  requested_by: "public",
  confirmed_by: "public",
  declined_by: "public",
  decline_reason: "public",
  failure: "public",
  created_at: "public",
  expires_at: "public",
  ended_at: "public",
  revision: "public",
};
const visible = createVisibility(fields);

/** A held change as somebody who may know of it sees it. */
export function presentConfirmation(call: Call, row: ConfirmationRow, now: Date): ConfirmationView {
  // What was given is for the person who gave it: others may not read everything in it.
  const told = call.actor?.id === row.actorId ? row : { ...row, summary: titleOf(row) };
  return visible(viewOf(told, now), { ...noClearance, decider: canConfirm(call, row) }, seesRedactions(call));
}

function viewOf(row: ConfirmationRow, now: Date): ConfirmationView {
  const status = statusAt(row, now);
  const isPending = status === "pending";
  const answers = answersOf(row);
  const decline = answers.find((answer) => answer.as === "declined");
  return {
    id: row.id,
    ...(isPending && { code: row.code }),
    ...onWire(row, "action", "summary"),
    needs: isPending ? needsOf(row) : [],
    status,
    requested_by: row.actorId,
    confirmed_by: answers.filter(({ as }) => as === "acting_user" || as === "second_person").map((answer) => answer.user_id),
    declined_by: decline?.user_id ?? null,
    decline_reason: decline?.reason ?? null,
    ...(row.failure !== null && { failure: row.failure }),
    ...onWire(row, "createdAt", "expiresAt", "endedAt", "revision"),
  };
}
