import { say } from "../../kit/say.ts";
import { storedPermission } from "../../kernel/permissions.ts";
import { can, isOwnWord, requirePermission, type Actor, type Call } from "../../kernel/call.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { answersOf, keysOf, needsOf, type ConfirmationRow } from "./rows.ts";
import type { Need } from "./confirmations.schema.ts";

/** Whether a second person has to confirm it, or has done so. */
export function isForTwo(row: ConfirmationRow): boolean {
  return needsOf(row).includes("second_person") || answersOf(row).some((answer) => answer.as === "second_person");
}

/** Nobody is the second person beside another account of their own. @param accounts of one person @throws ProblemError conflict_of_interest */
export function requireOther({ actorId, subjectUserId }: ConfirmationRow, accounts: readonly string[]): void {
  if (accounts.every((id) => id !== actorId && id !== subjectUserId)) return;
  throw new ProblemError("conflict_of_interest", { detail: say("confirmations.the-second-person-is-neither-the-one") });
}

/**
 * Refuse anyone who cannot be the second person.
 * @throws ProblemError conflict_of_interest, permission_denied, acting_user_not_staff, cannot_grant_unheld, hierarchy_violation
 */
export function requireSecondPerson(call: Call, actor: Actor, row: ConfirmationRow): void {
  requireOther(row, [actor.id]);
  requirePermission(call, storedPermission(row.permission));
  const unheld = keysOf(row).filter((key) => !can(call, storedPermission(key)));
  if (unheld.length > 0) {
    const isKeyMissing = unheld.some((key) => call.client?.allows(key) === false);
    throw new ProblemError("cannot_grant_unheld", {
      detail: say(isKeyMissing ? "permissions.key-does-not-hold" : "permissions.actor-does-not-hold", {
        keys: unheld.slice(0, 10).join(", "),
      }),
      extra: { unheld: unheld.slice(0, 100), missing_in: isKeyMissing ? "key" : "acting_user" },
    });
  }
  if (!actor.isOwner && actor.rank <= row.rank)
    throw new ProblemError("hierarchy_violation", { detail: say("confirmations.the-second-person-stands-above-what-is") });
}

/**
 * Refuse a yes of the second person that the first one may have said. People prove themselves in Discord, on the service's own pages, or
 * by an assertion that is signed with a key none of the askers has made; the word of an API key is nobody's proof.
 * @throws ProblemError invalid_transition, conflict_of_interest
 */
export function requireOwnWord(call: Call, actor: Actor, row: ConfirmationRow): void {
  if (!isOwnWord(call))
    throw new ProblemError("invalid_transition", {
      detail: say("confirmations.the-second-person-says-yes-in-discord"),
    });
  const asked = answersOf(row).find((answer) => answer.as === "asked");
  const askers = new Set([row.actorId, ...(asked?.makers ?? [])]);
  if (![actor.id, ...(call.makers ?? [])].some((id) => askers.has(id))) return;
  throw new ProblemError("conflict_of_interest", {
    detail: askers.has(actor.id) ? say("confirmations.you-made-the-api-key-that-this") : say("confirmations.this-api-key-was-made-by-the"),
  });
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
