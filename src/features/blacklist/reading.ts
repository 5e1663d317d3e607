import type { ReadClient } from "../../database/database.ts";
import { conditionOf, sqlOrderOf, type Where as PlainWhere } from "../../database/where.ts";
import { Prisma, type BlacklistRecord } from "../../generated/sqlite/client.ts";
import { newestFirst } from "../../kernel/keyset.ts";
import type { Position } from "../../kernel/page.ts";
import { statusAt } from "./blacklist.policy.ts";
import { kinds, statuses } from "./blacklist.schema.ts";
import { conditions, endingStatuses, liveStatuses, wordFilters, type Asked, type Filters, type WordFilter } from "./filters.ts";
import { fewRecords } from "./search.ts";

type Where = Prisma.BlacklistRecordWhereInput;
/** The same, as it is made into SQL here. */
type Asks = PlainWhere<"BlacklistRecord">;
type OrderBy = Prisma.BlacklistRecordOrderByWithRelationInput | typeof newestFirst.orderBy;
type Reader = Pick<ReadClient, "blacklistRecord" | "$select">;

const order = sqlOrderOf("BlacklistRecord", newestFirst);

/** How a page keeps to a bounded cost. */
export interface ReadLimits {
  /** A filter that at most so many records meet leads to them. */
  few: number;
  /** Records that a page looks at where several filters have to be met and each is met by many. */
  examined: number;
}

export const readLimits: ReadLimits = { few: fewRecords, examined: 2000 };

/** `reached`: where the page ended before it was full, the position of the last record it looked at. */
export interface PageRows {
  rows: BlacklistRecord[];
  reached?: Position;
}

interface PageQuery {
  position?: Position | undefined;
  take: number;
  limits?: ReadLimits;
}

/**
 * Records that meet the filters, newest first, at a cost that does not grow with the number of records: a filter that asks for one word
 * has an index in the order of the list; of several filters, one that few records meet leads to them; otherwise only so many records
 * are looked at.
 */
export async function readPage(db: Reader, asked: Asked, page: PageQuery): Promise<PageRows> {
  const { position, take, limits = readLimits } = page;
  const after = position === undefined ? {} : order.after(position);
  const find = (leading: Asks, { wanted, range = {} }: { wanted: Where; range?: Asks }): Promise<BlacklistRecord[]> =>
    db.$select("BlacklistRecord", Prisma.sql`${inOrder([leading, after, range, { kept: wanted as Asks }])} LIMIT ${take}`);
  const given = (Object.keys(asked.filters) as (keyof Filters)[]).filter((name) => asked.filters[name] !== undefined);
  const word = wordFilters.find((name) => given.includes(name));
  const isAlone = given.length === 0 || (given.length === 1 && word !== undefined);
  const few = isAlone ? undefined : await fewOf(db, asked, limits.few);
  if (few?.length === 0) return { rows: [] };
  if (few !== undefined) {
    const search = asked.search === undefined ? undefined : { where: asked.search.where };
    return { rows: await find({ id: { in: few } }, { wanted: conditions({ ...asked, search }, "list") }) };
  }

  const { met, first, more } = await orderFor(db, asked, word, limits.few);
  const isExact = isAlone && met === (word ?? "list");
  const floor = isExact ? undefined : await positionAfter(db, [first, after], limits.examined);
  const rest = { wanted: conditions(asked, met), ...(floor !== undefined && { range: order.upTo(floor) }) };
  const found = await find(first, rest);
  const rows = more === undefined ? found : [...found, ...(await find(more, rest))].toSorted(inListOrder).slice(0, take);
  return { rows, ...(floor !== undefined && rows.length < take && { reached: floor }) };
}

/** In which order records are met: those of `first` in the order of an index; few others, of `more`, besides. */
interface Met {
  met: "list" | WordFilter;
  first: Asks;
  more?: Asks;
}

async function orderFor(db: Reader, { filters, now }: Asked, word: WordFilter | undefined, most: number): Promise<Met> {
  if (word === undefined) return { met: "list", first: {} };
  const { status } = filters;
  if (word !== "status" || status === undefined) return { met: word, first: { [word]: filters[word] } };
  const overdue = await Promise.all(
    overdueParts(now).map(({ where, orderBy }) => db.blacklistRecord.findMany({ where, orderBy, take: most + 1, select: stored })),
  );
  const rows = overdue.flat();
  // The sweep is far behind: what is stored says too little.
  if (rows.length > most) return { met: "list", first: {} };
  const shown = rows.filter((row) => statusAt(row, now) === status).map(({ id }) => id);
  const first: Asks = { status, ...(rows.length > 0 && { id: { notIn: rows.map(({ id }) => id) } }) };
  return { met: word, first, ...(shown.length > 0 && { more: { id: { in: shown } } }) };
}

const stored = { id: true, status: true, startsAt: true, expiresAt: true } as const;

/** A condition that an index serves, in the order of that index. */
interface Part {
  where: Where;
  orderBy: OrderBy;
}

/** Records whose status is not the one that is stored, until the sweep comes by; one is active before its start where the clock went back. */
function overdueParts(now: Date): Part[] {
  return [
    { where: { status: "scheduled", startsAt: { lte: now } }, orderBy: { startsAt: "asc" } },
    { where: { status: "active", startsAt: { gt: now } }, orderBy: { startsAt: "asc" } },
    ...endingStatuses.map((status): Part => ({ where: { status, expiresAt: { lte: now } }, orderBy: { expiresAt: "asc" } })),
  ];
}

const listed = (where: Where): Part => ({ where, orderBy: newestFirst.orderBy });

/** The records that each filter finds, as parts that an index serves; none: no index does. Words have their own look-up. */
const partsOf: { readonly [Name in keyof Filters]?: (value: NonNullable<Filters[Name]>, now: Date) => Part[] } = {
  kind: (kind) => [listed({ kind })],
  category: (category) => [listed({ category })],
  severity: (severity) => [listed({ severity })],
  status: (status, now) => [listed({ status }), ...overdueParts(now)],
  subject: (subjectId) => kinds.map((kind) => ({ where: { kind, subjectId }, orderBy: { subjectId: "asc" } })),
  review_due: (due, now) =>
    due === "true" ? liveStatuses.map((status) => ({ where: { status, reviewAt: { lte: now } }, orderBy: { reviewAt: "asc" } })) : [],
  expires_before: (before) =>
    statuses.map((status) => ({ where: { status, expiresAt: { lt: new Date(before) } }, orderBy: { expiresAt: "asc" } })),
  changed_since: (since) => [{ where: { updatedAt: { gte: new Date(since) } }, orderBy: { updatedAt: "asc" } }],
};

/** The records that meet a filter which few meet; undefined when many meet each of them. */
async function fewOf(db: Reader, { filters, now, search }: Asked, most: number): Promise<string[] | undefined> {
  if (search?.few !== undefined) return search.few;
  for (const [name, value] of Object.entries(filters)) {
    const parts =
      value === undefined
        ? undefined
        : (partsOf[name as keyof Filters] as ((value: unknown, now: Date) => Part[]) | undefined)?.(value, now);
    const ids = parts === undefined || parts.length === 0 ? undefined : await fewOfParts(db, parts, most);
    if (ids !== undefined) return ids;
  }
  return undefined;
}

async function fewOfParts(db: Reader, parts: readonly Part[], most: number): Promise<string[] | undefined> {
  const select = { id: true };
  for (const { where, orderBy } of parts)
    if ((await db.blacklistRecord.findMany({ where, orderBy, skip: most, take: 1, select })).length > 0) return undefined;
  const rows = await Promise.all(parts.map(({ where, orderBy }) => db.blacklistRecord.findMany({ where, orderBy, take: most, select })));
  const ids = [...new Set(rows.flat().map(({ id }) => id))];
  return ids.length > most ? undefined : ids;
}

/** The position of the last of so many records; undefined when there are fewer. */
async function positionAfter(db: Reader, all: readonly Asks[], count: number): Promise<Position | undefined> {
  const rest = Prisma.sql`${inOrder(all)} LIMIT 1 OFFSET ${count - 1}`;
  const [row] = await db.$select("BlacklistRecord", rest, ["id", "createdAt"]);
  return row === undefined ? undefined : newestFirst.of(row);
}

const inOrder = (all: readonly Asks[]): Prisma.Sql =>
  Prisma.sql`WHERE ${conditionOf("BlacklistRecord", { AND: all })} ORDER BY ${order.by}`;

function inListOrder(a: BlacklistRecord, b: BlacklistRecord): number {
  return b.createdAt.getTime() - a.createdAt.getTime() || (a.id < b.id ? 1 : -1);
}
