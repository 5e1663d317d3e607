import { can, type Call } from "../../kernel/call.ts";
import type { CheckView } from "./health.schema.ts";

/** Whether a caller sees more than the status of a check. */
export function canSeeDetails(call: Call): boolean {
  return can(call, "system.health.read");
}

export function presentCheck(check: CheckView, isDetailed: boolean): CheckView {
  return isDetailed ? check : { status: check.status };
}
