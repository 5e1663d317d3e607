import { Prisma } from "../generated/sqlite/client.ts";
import { tables } from "../generated/tables.ts";
import type { Page, Position } from "../kernel/page.ts";
import { columnsOf } from "./columns.ts";
import type { Order } from "../kernel/keyset.ts";
import type { Model, ReadClient, Row } from "./models.ts";
import { conditionOf, sqlOrderOf, type Where } from "./where.ts";

/** How a page keeps to a bounded cost. */
export interface WalkLimits {
  /** A filter that finds at most so many entries is asked for all of them. */
  gathered: number;
  /** So many entries of a list are looked at for one page: it ends there, although the list goes on. */
  examined: number;
}

/** Tests set them lower. */
export const walkLimits: WalkLimits = { gathered: 500, examined: 2000 };

/** What a filter asks of an entry. */
export interface Condition<W> {
  where: W;
  /** What an index holds in the order of the list: everything the filter finds, and hardly more. */
  inOrder?: W;
  /** The ids of everything the filter finds, and perhaps of more, out of an index in any order. */
  ids?: Prisma.Sql;
}

export interface Walk<M extends Model> {
  read: Pick<ReadClient, "$queryRaw" | "$select">;
  order: Pick<Order<string>, "column" | "direction" | "valueOf"> & { of(row: Row<M>): Position };
  conditions: readonly Condition<Where<M>>[];
  /** What nearly every entry meets, such as what the caller may know of. */
  usual: Where<M>;
  /** Bounds of the column that the list is ordered by. */
  bounds?: readonly Where<M>[];
  position: Position | undefined;
  limit: number;
}

/** A page of a list. */
export interface Walked<M extends Model> {
  rows: Row<M>[];
  /** Where the next page begins; null: there is none. */
  reached: Position | null;
  /** For the page's notes: present where it ended before it was full, although the list goes on. */
  notes?: { examined: number };
  /** Finds the same on all pages, for counting. */
  everything: Where<M>;
}

/**
 * Read a page of a list at a cost that does not grow with the list. A filter that finds few is asked for them all. Otherwise the list is
 * walked in its order, and the page ends after so many entries that the caller may know of. Every other condition is kept from the planner:
 * SQLite, without statistics, takes any index for a good one, gathers half of the table by it and sorts that; PostgreSQL reads half of an
 * index to leave out rows that it is about to read anyway.
 */
export async function walk<M extends Model>(model: M, options: Walk<M>): Promise<Walked<M>> {
  const { read, order, conditions, usual, bounds = [], position, limit } = options;
  const { by, after, upTo } = sqlOrderOf(model, order);
  const find = async (where: Where<M>, { take, skip = 0 }: { take: number; skip?: number }): Promise<Row<M>[]> =>
    (await read.$select(model, Prisma.sql`WHERE ${conditionOf(model, where)} ORDER BY ${by} LIMIT ${take} OFFSET ${skip}`)) as Row<M>[];
  const range = [...bounds, ...(position === undefined ? [] : [after(position) as Where<M>])];
  const every = [...conditions.map(({ where }) => where), usual];
  const inOrder = conditions.flatMap((condition) => condition.inOrder ?? []);
  const pageOf = async (where: Where<M>): Promise<Pick<Walked<M>, "rows" | "reached">> => {
    const rows = await find(where, { take: limit + 1 });
    const last = rows.length > limit ? rows[limit - 1] : undefined;
    return { rows: rows.slice(0, limit), reached: last === undefined ? null : order.of(last) };
  };
  const everything = all([...bounds, ...every]);
  const isExact = conditions.length === inOrder.length && inOrder.length < 2;
  if (isExact) return { ...(await pageOf(all([...inOrder, ...range, ...every.map(kept)]))), everything };
  const ids = await fewOf(options, walkLimits.gathered);
  if (ids !== undefined) {
    const among = { id: { in: ids } } as unknown as Where<M>;
    if (ids.length === 0) return { rows: [], reached: null, everything: among };
    return {
      ...(await pageOf(all([among, ...[...range, ...every].map(kept)]))),
      everything: all([among, ...[...bounds, ...every].map(kept)]),
    };
  }
  const walked = [...inOrder.slice(0, 1), ...range];
  const [last] = await find(all([...walked, kept(usual)]), { skip: walkLimits.examined - 1, take: 1 });
  if (last === undefined) return { ...(await pageOf(all([...walked, ...every.map(kept)]))), everything };
  const end = order.of(last);
  const page = await pageOf(all([...walked, upTo(end) as Where<M>, ...every.map(kept)]));
  if (page.reached !== null) return { ...page, everything };
  return { ...page, reached: end, ...(page.rows.length < limit && { notes: { examined: walkLimits.examined } }), everything };
}

/** The ids that the first filter finds which finds few; undefined where none does. */
async function fewOf(
  { read, conditions }: { read: Pick<ReadClient, "$queryRaw">; conditions: readonly Pick<Condition<object>, "ids">[] },
  most: number,
): Promise<string[] | undefined> {
  for (const { ids } of conditions) {
    if (ids === undefined) continue;
    const rows = await read.$queryRaw<{ id: string }[]>`${ids} LIMIT ${most + 1}`;
    if (rows.length <= most) return [...new Set(rows.map(({ id }) => id))];
  }
  return undefined;
}

/** A page with what is shown of its entries. @param encode makes the cursor of a position */
export function walkedPage<View>(
  { reached, notes }: Pick<Walked<Model>, "reached" | "notes">,
  { data, limit }: Pick<Page<View>, "data" | "limit">,
  encode: (reached: Position) => string,
): Page<View> {
  return { data, limit, next_cursor: reached === null ? null : encode(reached), ...(notes !== undefined && { notes }) };
}

const all = <W>(conditions: readonly W[]): W => ({ AND: conditions }) as W;
/** The same condition as no index serves it. */
const kept = <W>(where: W): W => ({ kept: where }) as W;

type Field<M extends Model> = keyof (typeof tables)[M]["columns"] & string;
/** One of some values; empty; or in a range. */
type Match = readonly (string | boolean | number)[] | null | Readonly<Partial<Record<"gt" | "gte" | "lt" | "lte", string | number | Date>>>;

const signs = { gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;

/** SELECT of the ids of what matches: for {@link Condition}. @param id the field that holds them */
export function idsOf<M extends Model>(model: M, matches: Readonly<Partial<Record<Field<M>, Match>>>, id: string = "id"): Prisma.Sql {
  const { table } = tables[model];
  const columns = columnsOf(model);
  const nameOf = (field: string): Prisma.Sql => Prisma.raw(`"${columns[field]?.[0] ?? field}"`);
  const conditions = (Object.entries(matches) as [string, Match][]).flatMap(([field, match]) => {
    const name = nameOf(field);
    if (match === null) return [Prisma.sql`${name} IS NULL`];
    if (Array.isArray(match) && match.length === 0) return [Prisma.sql`1 = 0`];
    if (Array.isArray(match)) return [Prisma.sql`${name} IN (${Prisma.join(match)})`];
    return Object.entries(match).map(([sign, value]) => Prisma.sql`${name} ${Prisma.raw(signs[sign as keyof typeof signs])} ${value}`);
  });
  return Prisma.sql`SELECT ${nameOf(id)} AS id FROM ${Prisma.raw(`"${table}"`)} WHERE ${Prisma.join(conditions, " AND ")}`;
}

/** What one of some statements finds. */
export const either = (statements: readonly Prisma.Sql[]): Prisma.Sql => Prisma.join([...statements], " UNION ALL ");
