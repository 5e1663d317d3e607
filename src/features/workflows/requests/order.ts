import type { Prisma } from "../../../generated/sqlite/client.ts";
import type { Position } from "../../../kernel/page.ts";
import type { Request } from "./workflows.policy.ts";

type Where = Prisma.WorkflowRequestWhereInput;
type Direction = "asc" | "desc";
type Name = "createdAt" | "updatedAt" | "dueDecisionAt" | "priorityOrder";

/** A column a list can be ordered by; what has no value comes last. */
interface Column {
  name: Name;
  direction: Direction;
  isNullable?: true;
}

interface Order {
  columns: readonly [Column, ...Column[]];
  /** Of the ids, where everything else is equal. */
  ids: Direction;
}

export const sorts = ["-created_at", "created_at", "due_decision_at", "-updated_at", "-priority"] as const;
export type Sort = (typeof sorts)[number];

const due: Column = { name: "dueDecisionAt", direction: "asc", isNullable: true };

/** How each order of the list is made. */
const orders: Readonly<Record<Sort, Order>> = {
  "-created_at": { columns: [{ name: "createdAt", direction: "desc" }], ids: "desc" },
  created_at: { columns: [{ name: "createdAt", direction: "asc" }], ids: "asc" },
  due_decision_at: { columns: [due], ids: "asc" },
  "-updated_at": { columns: [{ name: "updatedAt", direction: "desc" }], ids: "desc" },
  "-priority": { columns: [{ name: "priorityOrder", direction: "desc" }, due], ids: "asc" },
};

type Value = string | number | null;

export function orderBy(sort: Sort): Prisma.WorkflowRequestOrderByWithRelationInput[] {
  const { columns, ids } = orders[sort];
  const inOrder = columns.map(({ name, direction, isNullable }) => ({
    [name]: isNullable === true ? { sort: direction, nulls: "last" } : direction,
  }));
  return [...inOrder, { id: ids }];
}

/** Where a row stands in an order. */
export function positionOf(sort: Sort, row: Pick<Request, Name | "id">): Position {
  const values = orders[sort].columns.map(({ name }): Value => {
    const value = row[name];
    return value instanceof Date ? value.toISOString() : value;
  });
  return [JSON.stringify(values), row.id];
}

/** What stands after a position of an order. */
export function beyond(sort: Sort, [sortedBy, id]: Position): Where {
  const { columns, ids } = orders[sort];
  const values = JSON.parse(String(sortedBy)) as Value[];
  const equals = columns.map(({ name }, index): Where => ({ [name]: read(values[index]) }));
  const later = columns.flatMap((column, index): Where[] => {
    const value = read(values[index]);
    return value === null ? [] : [{ AND: [...equals.slice(0, index), after(column, value)] }];
  });
  const sameButId: Where = { AND: [...equals, { id: ids === "asc" ? { gt: id } : { lt: id } }] };
  return { AND: [boundOf(columns[0], read(values[0])), { OR: [...later, sameButId] }] };
}

function after({ name, direction, isNullable }: Column, value: Date | number): Where {
  const past: Where = { [name]: direction === "asc" ? { gt: value } : { lt: value } };
  return isNullable === true ? { OR: [past, { [name]: null }] } : past;
}

/** Says nothing new, but lets the database begin at the position rather than at the start of its index. */
function boundOf({ name, direction, isNullable }: Column, value: Date | number | null): Where {
  if (value === null || isNullable === true) return {};
  return { [name]: direction === "asc" ? { gte: value } : { lte: value } };
}

function read(value: Value | undefined): Date | number | null {
  return typeof value === "string" ? new Date(value) : (value ?? null);
}
