import { Prisma } from "../generated/sqlite/client.ts";
import { columnsOf } from "./columns.ts";
import type { Model, Row, Selects } from "./models.ts";
import { conditionOf, type Where } from "./where.ts";

type DateField<M extends Model> = { [F in keyof Row<M>]: Row<M>[F] extends Date | null ? F : never }[keyof Row<M>] & string;

/**
 * The earliest date of a column, for work that waits for it.
 * @param wheres one query each: an index of a status and a date leads to the first row of one status, and to all rows of several
 * @returns null where no row has a date
 */
export async function earliestOf<M extends Model>(
  db: Selects,
  model: M,
  field: DateField<M>,
  wheres: readonly Where<M>[] = [{}],
): Promise<Date | null> {
  const column = Prisma.raw(`t."${columnsOf(model)[field]?.[0] ?? field}"`);
  const found: (Date | null)[] = [];
  for (const where of wheres) {
    const condition = Prisma.sql`WHERE ${conditionOf(model, where)} AND ${column} IS NOT NULL ORDER BY ${column} LIMIT 1`;
    const [row] = (await db.$select(model, condition, [field])) as unknown as Record<string, Date>[];
    found.push(row?.[field] ?? null);
  }
  return firstOf(...found);
}

/** The first of some dates; null where there is none. */
export function firstOf(...dates: readonly (Date | null)[]): Date | null {
  const times = dates.flatMap((date) => date?.getTime() ?? []);
  return times.length === 0 ? null : new Date(Math.min(...times));
}
