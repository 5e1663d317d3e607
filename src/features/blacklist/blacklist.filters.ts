import type { Prisma } from "../../generated/sqlite/client.ts";
import type { Position } from "../../kernel/page.ts";
import type { ListBlacklistQuery } from "./blacklist.schema.ts";

type Where = Prisma.BlacklistRecordWhereInput;

interface Asked {
  filters: Omit<ReturnType<typeof ListBlacklistQuery.parse>, "limit" | "cursor" | "count">;
  now: Date;
  position: Position | undefined;
  readsConfidential: boolean;
  dialect: "sqlite" | "postgres";
}

/** The database's words for the filters of the list. */
export function conditions({ filters, now, position, readsConfidential, dialect }: Asked): Where {
  const { kind, status, category, severity, subject, q, review_due: due, expires_before: before, changed_since: since } = filters;
  const live: Where = { status: { in: ["active", "scheduled"] } };
  const all: Where[] = [];
  if (kind !== undefined) all.push({ kind });
  if (category !== undefined) all.push({ category });
  if (severity !== undefined) all.push({ severity });
  if (subject !== undefined) all.push({ subjectId: subject });
  if (before !== undefined) all.push({ expiresAt: { lt: new Date(before) } });
  if (since !== undefined) all.push({ updatedAt: { gte: new Date(since) } });
  if (due === "true") all.push(live, { reviewAt: { lte: now } });
  if (due === "false") all.push({ OR: [{ reviewAt: null }, { reviewAt: { gt: now } }, { NOT: live }] });
  if (status !== undefined) all.push(statusCondition(status, now));
  if (q !== undefined) all.push(textCondition(q, readsConfidential, dialect));
  if (position !== undefined) {
    const createdAt = new Date(position[0]);
    all.push({ OR: [{ createdAt: { lt: createdAt } }, { createdAt, id: { lt: position[1] } }] });
  }
  return { AND: all };
}

/** The same answer as the status shown: a record past its end is expired before the sweep comes by. */
function statusCondition(status: string, now: Date): Where {
  const live: Where = { status: { in: ["active", "scheduled"] } };
  const lasting: Where = { OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] };
  if (status === "active") return { AND: [live, lasting, { startsAt: { lte: now } }] };
  if (status === "scheduled") return { AND: [live, lasting, { startsAt: { gt: now } }] };
  if (status === "expired") return { OR: [{ status }, { AND: [live, { expiresAt: { lte: now } }] }] };
  return { status };
}

/** SQLite ignores the case of ASCII letters by itself; PostgreSQL is asked to. A hidden reason is not searched either. */
function textCondition(q: string, readsConfidential: boolean, dialect: "sqlite" | "postgres"): Where {
  const contains = { contains: q, ...(dialect === "postgres" && { mode: "insensitive" }) };
  return {
    OR: [
      { reasonPublic: contains },
      { subjectName: contains },
      { subjectId: q },
      ...(readsConfidential ? [{ reasonInternal: contains }] : []),
    ],
  };
}
