import { Prisma } from "../generated/sqlite/client.ts";
import { tables } from "../generated/tables.ts";
import type { Order } from "../kernel/keyset.ts";
import type { Position } from "../kernel/page.ts";
import type { ReadClient } from "./client.ts";

/** So many entries of a list are looked at for one page: it ends there, although the list goes on. */
const mostWalked = 5000;
/** What an index finds is read at once while it is no more than so many entries. */
const mostGathered = 500;

/** What a filter asks of an entry. */
export interface Condition<Where> {
  where: Where;
  /** What an index holds in the order of the list: everything the filter finds, and hardly more. */
  inOrder?: Where;
  /** The ids of everything the filter finds, and perhaps of more, out of an index in any order. */
  ids?: Prisma.Sql;
}

export interface Walk<Row, Where> {
  read: Pick<ReadClient, "$queryRaw">;
  order: Pick<Order<string>, "after" | "upTo">;
  conditions: readonly Condition<Where>[];
  /** What nearly every entry meets, such as what the caller may know of. */
  usual: Where;
  /** Bounds of the column that the list is ordered by. */
  bounds?: readonly Where[];
  position: Position | undefined;
  take: number;
  /** Reads at most `take` entries in the order of the list. */
  find(where: Where, take: number): Promise<Row[]>;
  /** The position of the entry that comes so many places after the first, in the order of the list; null: there is none. */
  skip(where: Where, places: number): Promise<Position | null>;
}

/** Entries in the order of the list, and where looking for more ended before there were enough; null: there are no more. */
export interface Walked<Row> {
  rows: Row[];
  end: Position | null;
}

/**
 * Read entries of a list at a cost that does not grow with it. A filter that finds few is asked for them all. Otherwise the list is walked
 * in its order, and the walk ends after 5,000 entries. Every other condition is kept from the planner of SQLite: without statistics it takes
 * any index for a good one, gathers half the table by it and sorts that.
 */
export async function walk<Row, Where extends object>(options: Walk<Row, Where>): Promise<Walked<Row>> {
  const { order, conditions, usual, bounds = [], position, take, find, skip } = options;
  const range = [...bounds, ...(position === undefined ? [] : [order.after(position) as Where])];
  const every = [...conditions.map(({ where }) => where), usual].map((where) => kept(where));
  const inOrder = conditions.flatMap((condition) => condition.inOrder ?? []);
  if (conditions.length === inOrder.length && inOrder.length < 2)
    return { rows: await find(all([...inOrder, ...range, ...every]), take), end: null };
  for (const { ids: statement } of conditions) {
    const ids = statement === undefined ? undefined : await gathered(options, statement);
    if (ids !== undefined)
      return { rows: await find(all([{ id: { in: ids } } as Where, ...[...range, ...every].map(kept)]), take), end: null };
  }
  const walked = [...inOrder.slice(0, 1), ...range];
  const end = await skip(all(walked), mostWalked - 1);
  const rows = await find(all([...walked, ...(end === null ? [] : [order.upTo(end) as Where]), ...every]), take);
  return { rows, end: rows.length < take ? end : null };
}

/** The page without its entries: where the next one begins. */
export function walkedPage<Row>(
  { rows, end }: Walked<Row>,
  limit: number,
  of: (row: Row) => Position,
  encode: (reached: Position) => string,
) {
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  const reached = last === undefined ? end : of(last);
  return { limit, next_cursor: reached === null ? null : encode(reached) };
}

/** @returns undefined for more than are gathered */
async function gathered({ read }: Pick<Walk<never, never>, "read">, statement: Prisma.Sql): Promise<string[] | undefined> {
  const rows = await read.$queryRaw<{ id: string }[]>`${statement} LIMIT ${mostGathered + 1}`;
  return rows.length > mostGathered ? undefined : [...new Set(rows.map(({ id }) => id))];
}

const all = <Where>(conditions: readonly Where[]): Where => ({ AND: conditions }) as Where;

/** The same condition as no index serves it; PostgreSQL takes both negations out again. */
const kept = <Where>(where: Where): Where => ({ NOT: { NOT: where } }) as Where;

type Model = keyof typeof tables;
type Field<M extends Model> = keyof (typeof tables)[M]["columns"] & string;
/** One of some values; empty; or in a range. */
type Match = readonly (string | boolean | number)[] | null | Readonly<Partial<Record<"gt" | "gte" | "lt" | "lte", string | number | Date>>>;

const signs = { gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;

/** SELECT of the ids of what matches: for {@link Condition}. @param id the field that holds them */
export function idsOf<M extends Model>(model: M, matches: Readonly<Partial<Record<Field<M>, Match>>>, id: string = "id"): Prisma.Sql {
  const { table } = tables[model];
  const columns: Readonly<Record<string, readonly [column: string, type: string]>> = tables[model].columns;
  const nameOf = (field: string): Prisma.Sql => Prisma.raw(`"${columns[field]?.[0] ?? field}"`);
  const conditions = (Object.entries(matches) as [string, Match][]).flatMap(([field, match]) => {
    const name = nameOf(field);
    if (match === null) return [Prisma.sql`${name} IS NULL`];
    if (Array.isArray(match)) return [Prisma.sql`${name} IN (${Prisma.join(match)})`];
    return Object.entries(match).map(([sign, value]) => Prisma.sql`${name} ${Prisma.raw(signs[sign as keyof typeof signs])} ${value}`);
  });
  return Prisma.sql`SELECT ${nameOf(id)} AS id FROM ${Prisma.raw(`"${table}"`)} WHERE ${Prisma.join(conditions, " AND ")}`;
}

/** What one of some statements finds. */
export const either = (statements: readonly Prisma.Sql[]): Prisma.Sql => Prisma.join([...statements], " UNION ALL ");
