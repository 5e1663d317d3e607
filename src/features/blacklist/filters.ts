import { olderThan, type Position } from "../../kernel/page.ts";
import type { Prisma } from "../../generated/sqlite/client.ts";
import { kinds, statuses, type ListBlacklistQuery, type Status } from "./blacklist.schema.ts";
import { aboutSubject } from "./search.ts";

type Where = Prisma.BlacklistRecordWhereInput;

interface Asked {
  filters: Omit<ReturnType<typeof ListBlacklistQuery.parse>, "limit" | "cursor" | "count">;
  now: Date;
  position: Position | undefined;
  /** What `q` stands for, as {@link searchCondition} answers it. */
  search: Where | undefined;
}

/** The database's words for the filters of the list. */
export function conditions({ filters, now, position, search }: Asked): Where {
  const { kind, status, category, severity, subject, review_due: due, expires_before: before, changed_since: since } = filters;
  const live: Where = { status: { in: ["active", "scheduled"] } };
  const all: Where[] = [];
  if (kind !== undefined) all.push({ kind: walked(kinds, [kind]) });
  if (category !== undefined) all.push({ category });
  if (severity !== undefined) all.push({ severity });
  if (subject !== undefined) all.push(aboutSubject(subject));
  if (before !== undefined) all.push({ expiresAt: { lt: new Date(before) } });
  if (since !== undefined) all.push({ updatedAt: { gte: new Date(since) } });
  if (due === "true") all.push(live, { reviewAt: { lte: now } });
  if (due === "false") all.push({ OR: [{ reviewAt: null }, { reviewAt: { gt: now } }, { NOT: live }] });
  if (status !== undefined) all.push(statusCondition(status, now));
  if (search !== undefined) all.push(search);
  if (position !== undefined) all.push(olderThan(position));
  return { AND: all };
}

/** The same answer as the status shown: a record past its end is expired before the sweep comes by. */
function statusCondition(status: Status, now: Date): Where {
  const live: Where = { status: walked(statuses, ["active", "scheduled"]) };
  const lasting: Where = { OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] };
  if (status === "active") return { AND: [live, lasting, { startsAt: { lte: now } }] };
  if (status === "scheduled") return { AND: [{ status }, lasting, { startsAt: { gt: now } }] };
  if (status === "expired") return { OR: [{ status: walked(statuses, [status]) }, { AND: [live, { expiresAt: { lte: now } }] }] };
  return { status: status === "superseded" ? status : walked(statuses, [status]) };
}

/**
 * One of some words that very many records have. As an equation it would let SQLite gather all of these records and sort them;
 * what it is not leaves the walk in the order of the list, which has its page after a few steps.
 */
function walked<Word extends string>(all: readonly Word[], wanted: readonly Word[]): { notIn: Word[] } {
  return { notIn: all.filter((word) => !wanted.includes(word)) };
}
