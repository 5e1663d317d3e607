import type { Prisma } from "../../generated/sqlite/client.ts";
import { severities } from "../../kernel/vocabulary.ts";
import { anyCategory, kinds, statuses, type ListBlacklistQuery, type Status } from "./blacklist.schema.ts";
import { aboutSubject, type Found } from "./search.ts";

type Where = Prisma.BlacklistRecordWhereInput;

/** What the list is asked for. */
export type Filters = Omit<ReturnType<typeof ListBlacklistQuery.parse>, "limit" | "cursor" | "count">;

export interface Asked {
  filters: Filters;
  now: Date;
  /** What `q` stands for. */
  search: Found | undefined;
}

/** Filters that ask for one word of a few, each with an index that holds its records in the order of the list. */
export const wordFilters = ["category", "severity", "status", "kind"] as const satisfies readonly (keyof Filters)[];
export type WordFilter = (typeof wordFilters)[number];

/** Statuses of records that count, or will. */
export const liveStatuses = ["active", "scheduled"] as const satisfies readonly Status[];
/** Statuses of records that end when their time is over. */
export const endingStatuses = [...liveStatuses, "suspended"] as const satisfies readonly Status[];

/**
 * The database's words for the filters of the list.
 * @param order how the records are met: "any" lets the database choose; "list" is the order of the list, or that of the index of a
 * word filter, which is then left out here
 */
export function conditions({ filters, now, search }: Asked, order: "any" | "list" | WordFilter): Where {
  const { kind, status, category, severity, subject, review_due: due, expires_before: before, changed_since: since } = filters;
  const one = <Word extends string>(all: readonly Word[], wanted: readonly Word[]) =>
    order === "any" ? { in: [...wanted] } : walked(all, wanted);
  const live: Where = { status: one(statuses, liveStatuses) };
  const all: Where[] = [];
  if (kind !== undefined && order !== "kind") all.push({ kind: one(kinds, [kind]) });
  if (category !== undefined && order !== "category") all.push({ category: one(anyCategory.options, [category]) });
  if (severity !== undefined && order !== "severity") all.push({ severity: one(severities, [severity]) });
  if (subject !== undefined) all.push(aboutSubject(subject));
  if (before !== undefined) all.push({ expiresAt: { lt: new Date(before) } });
  if (since !== undefined) all.push({ updatedAt: { gte: new Date(since) } });
  if (due === "true") all.push(live, { reviewAt: { lte: now } });
  if (due === "false") all.push({ OR: [{ reviewAt: null }, { reviewAt: { gt: now } }, { NOT: live }] });
  if (status !== undefined && order !== "status") all.push(shownAs(status, now, one));
  if (search !== undefined) all.push(search.where);
  if (search?.few !== undefined) all.push({ id: { in: search.few } });
  return { AND: all };
}

type OneOf = (all: readonly Status[], wanted: readonly Status[]) => { in: Status[] } | { notIn: Status[] };

/** The same answer as the status shown: a record past its end is expired before the sweep comes by. */
function shownAs(status: Status, now: Date, one: OneOf): Where {
  const stored: Where = { status: one(statuses, [status]) };
  const live: Where = { status: one(statuses, liveStatuses) };
  const ending: Where = { status: one(statuses, endingStatuses) };
  const lasting: Where = { OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] };
  if (status === "active") return { AND: [live, lasting, { startsAt: { lte: now } }] };
  if (status === "scheduled") return { AND: [live, lasting, { startsAt: { gt: now } }] };
  if (status === "suspended") return { AND: [stored, lasting] };
  if (status === "expired") return { OR: [stored, { AND: [ending, { expiresAt: { lte: now } }] }] };
  return stored;
}

/**
 * One of some words that very many records have. As an equation it would let SQLite gather all of these records and sort them;
 * what it is not leaves the walk in the order of the list.
 */
function walked<Word extends string>(all: readonly Word[], wanted: readonly Word[]): { notIn: Word[] } {
  return { notIn: all.filter((word) => !wanted.includes(word)) };
}
