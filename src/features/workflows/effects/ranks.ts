import type { StaffService } from "../../staff/staff.service.ts";
import type { Approval, Blocker } from "./types.ts";

/** Nobody but an owner gives a staff role of their own rank or above. @param keys of the staff roles that an approval gives */
export function rankBlockers(staff: Pick<StaffService, "staffRoleOf">, { tx }: Pick<Approval, "tx">, keys: readonly string[]): Blocker[] {
  const { actor } = tx.call;
  if (actor === null || actor.isOwner) return [];
  return [...new Set(keys)]
    .filter((key) => (staff.staffRoleOf(key)?.rank ?? 0) >= actor.rank)
    .map((key) => ({ code: "hierarchy_violation", detail: `The staff role ${key} is of the decider's own rank or above.` }));
}
