import { orderOf } from "../../../kernel/keyset.ts";

export const sorts = ["-created_at", "created_at", "due_decision_at", "-updated_at", "-priority"] as const;
export type Sort = (typeof sorts)[number];

/** How each order of the list is made: by an index of the column and the id. */
export const orders = {
  "-created_at": orderOf("createdAt", "desc"),
  created_at: orderOf("createdAt", "asc"),
  due_decision_at: orderOf("dueOrder", "asc"),
  "-updated_at": orderOf("updatedAt", "desc"),
  "-priority": orderOf("queueOrder", "asc", "texts"),
} as const satisfies Readonly<Record<Sort, object>>;
