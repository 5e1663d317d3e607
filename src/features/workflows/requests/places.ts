import type { WorkflowRequest } from "../../../generated/sqlite/client.ts";
import { never } from "../../../kernel/clock.ts";
import { priorities } from "./fields.ts";

/**
 * Where a request stands in the orders of the list that no column gives by itself: what has no date comes last, and both databases walk
 * an index in one direction.
 */
export function placesOf({ priority, dueDecisionAt }: Pick<WorkflowRequest, "priority" | "dueDecisionAt">) {
  const dueOrder = dueDecisionAt ?? never;
  const behind = priorities.length - 1 - (priorities as readonly string[]).indexOf(priority);
  return { dueOrder, queueOrder: `${behind.toString()}${dueOrder.toISOString()}` };
}
