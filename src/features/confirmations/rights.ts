import { storedPermission } from "../../kernel/permissions.ts";
import { can, requirePermission, type Actor, type Call } from "../../kernel/call.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { answersOf, keysOf, needsOf, type ConfirmationRow } from "./rows.ts";
import type { Need } from "./confirmations.schema.ts";

/** Whether a second person has to confirm it, or has done so. */
export function isForTwo(row: ConfirmationRow): boolean {
  return needsOf(row).includes("second_person") || answersOf(row).some((answer) => answer.as === "second_person");
}

/**
 * Refuse anyone who cannot be the second person.
 * @throws ProblemError conflict_of_interest, permission_denied, acting_user_not_staff, cannot_grant_unheld, hierarchy_violation
 */
export function requireSecondPerson(call: Call, actor: Actor, row: ConfirmationRow): void {
  if (actor.id === row.actorId || actor.id === row.subjectUserId)
    throw new ProblemError("conflict_of_interest", {
      detail: "The second person is neither the one who asked nor the one it is done to.",
    });
  requirePermission(call, storedPermission(row.permission));
  const unheld = keysOf(row).filter((key) => !can(call, storedPermission(key)));
  if (unheld.length > 0) {
    const isKeyMissing = unheld.some((key) => call.client?.allows(key) === false);
    throw new ProblemError("cannot_grant_unheld", {
      detail: `The ${isKeyMissing ? "API key" : "acting user"} does not hold ${unheld.slice(0, 10).join(", ")}.`,
      extra: { unheld: unheld.slice(0, 100), missing_in: isKeyMissing ? "key" : "acting_user" },
    });
  }
  if (!actor.isOwner && actor.rank <= row.rank)
    throw new ProblemError("hierarchy_violation", { detail: "The second person stands above what is changed." });
}

function canBeSecondPerson(call: Call, row: ConfirmationRow): boolean {
  if (call.actor === null || !isForTwo(row)) return false;
  try {
    requireSecondPerson(call, call.actor, row);
    return true;
  } catch (error) {
    if (error instanceof ProblemError) return false;
    throw error;
  }
}

/** Whether a held change is the caller's business: theirs, or theirs to confirm. */
export function concerns(call: Call, row: ConfirmationRow): boolean {
  return call.actor?.id === row.actorId || canBeSecondPerson(call, row);
}

/** Whether a caller may know of a held change. */
export function canSee(call: Call, row: ConfirmationRow): boolean {
  return concerns(call, row) || can(call, "audit.read");
}

/** Whether what the caller can say is among what is still needed. */
export function canConfirm(call: Call, row: ConfirmationRow): boolean {
  const need: Need = call.actor?.id === row.actorId ? "acting_user" : "second_person";
  return needsOf(row).includes(need) && concerns(call, row);
}
