import type { ReadClient } from "../../database/database.ts";
import { jsonObject } from "../../kernel/parsing.ts";
import type { AuditEntry, AuditPayload, Prisma } from "../../generated/sqlite/client.ts";
import type { AuditFilters } from "./audit.schema.ts";

/** Positions that one query looks through where no index leads to the entries: a few milliseconds. */
const wide = 4000;
/** Entries whose text is looked at together. */
const slice = 500;

/** An entry with its details, where they are there. */
export interface FoundEntry {
  row: AuditEntry;
  payload: AuditPayload | undefined;
}

export interface Search {
  filters: AuditFilters;
  where: Prisma.AuditEntryWhereInput;
  /** Targets whose entries are left out. They can be more than a statement takes values, so the database is not told of them. */
  hidden: ReadonlySet<string>;
  /** Whether the text of the filters may look into reasons. */
  seesReasons: boolean;
}

/** The position after the last entry there is. */
export async function endOf(db: ReadClient): Promise<number> {
  return ((await db.auditEntry.findFirst({ orderBy: { seq: "desc" }, select: { seq: true } }))?.seq ?? 0) + 1;
}

/** Entries the search may show before a position, newest first; fewer than asked for when nothing is left. */
export async function newestBefore(db: ReadClient, search: Search, before: number | undefined, limit: number): Promise<AuditEntry[]> {
  const rows: AuditEntry[] = [];
  for (let end = before; rows.length < limit;) {
    const found = await readBefore(db, search, end, limit);
    rows.push(...found.filter((row) => isShown(search, row)));
    if (found.length < limit) break;
    end = found.at(-1)?.seq;
  }
  return rows.slice(0, limit);
}

function isShown({ hidden }: Search, { targetId }: AuditEntry): boolean {
  return targetId === null || !hidden.has(targetId);
}

/**
 * Entries before a position, newest first. Queries look through bounded parts of the chain, so that none keeps the process to
 * itself, unless an index leads straight to what is asked.
 */
async function readBefore(
  db: ReadClient,
  { filters, where }: Pick<Search, "filters" | "where">,
  before: number | undefined,
  limit: number,
): Promise<AuditEntry[]> {
  const find = (seq: object, take: number): Promise<AuditEntry[]> =>
    db.auditEntry.findMany({ where: { AND: [where, { seq }] }, orderBy: { seq: "desc" }, take });
  if (hasIndex(filters)) return find(before === undefined ? {} : { lt: before }, limit);
  const rows: AuditEntry[] = [];
  for (let end = before ?? (await endOf(db)); end > 1 && rows.length < limit; end -= wide)
    rows.push(...(await find({ gte: end - wide, lt: end }, limit - rows.length)));
  return rows;
}

/** How many entries the search may show. */
export async function countAll(db: ReadClient, { filters, where, hidden }: Search): Promise<number> {
  if (hidden.size === 0 && hasIndex(filters)) return db.auditEntry.count({ where });
  let count = 0;
  for (let end = await endOf(db); end > 1; end -= wide) {
    const within = { AND: [where, { seq: { gte: end - wide, lt: end } }] };
    if (hidden.size === 0) count += await db.auditEntry.count({ where: within });
    else count += await countShown(db, within, hidden);
  }
  return count;
}

async function countShown(db: ReadClient, where: Prisma.AuditEntryWhereInput, hidden: ReadonlySet<string>): Promise<number> {
  const targets = await db.auditEntry.groupBy({ by: "targetId", where, _count: { _all: true } });
  const shown = targets.filter(({ targetId }) => targetId === null || !hidden.has(targetId));
  return shown.reduce((sum, { _count }) => sum + _count._all, 0);
}

/** One filter alone, by what an index holds in the order of the chain. */
function hasIndex(filters: AuditFilters): boolean {
  const [name, ...others] = Object.entries(filters).flatMap(([key, value]) => (value === undefined ? [] : [key]));
  if (name === undefined) return true;
  if (others.length > 0) return false;
  return name === "actor" || name === "subject" || (name === "action" && filters.action?.includes(",") === false);
}

/** The details of some entries. */
export async function withDetails(db: ReadClient, rows: readonly AuditEntry[]): Promise<FoundEntry[]> {
  const payloads = await db.auditPayload.findMany({ where: { seq: { in: rows.map(({ seq }) => seq) } } });
  const details = new Map(payloads.map((payload) => [payload.seq, payload]));
  return rows.map((row) => ({ row, payload: details.get(row.seq) }));
}

/**
 * Entries before a position whose text holds `q`, newest first, as far as so many looks lead.
 * @returns `found`, at most as many as asked for; `reached`: the position of the last entry looked at, undefined when nothing is left
 */
export async function searchBefore(
  db: ReadClient,
  search: Search,
  { before, limit, maxExamined }: { before: number | undefined; limit: number; maxExamined: number },
) {
  const found: FoundEntry[] = [];
  let examined = 0;
  let reached = before;
  while (examined < maxExamined) {
    const rows = await newestBefore(db, search, reached, Math.min(slice, maxExamined - examined));
    for (const entry of await withDetails(db, rows)) {
      examined += 1;
      reached = entry.row.seq;
      if (holdsText(search, entry)) found.push(entry);
      if (found.length === limit) return { found, examined, reached };
    }
    if (rows.length < slice && examined < maxExamined) return { found, examined, reached: undefined };
  }
  return { found, examined, reached };
}

/** Whether an entry holds the text that is looked for; every entry does when there is none. */
export function holdsText({ filters: { q }, seesReasons }: Search, { row, payload }: FoundEntry): boolean {
  if (q === undefined) return true;
  const reason = seesReasons ? jsonObject(payload?.payload)["reason"] : undefined;
  const wanted = q.toLowerCase();
  return [row.action, row.targetKind, row.targetId, row.targetReference, reason].some(
    (text) => typeof text === "string" && text.toLowerCase().includes(wanted),
  );
}

/** Every entry of a search up to a position, oldest first, in bounded parts. */
export async function* oldestFirst(db: ReadClient, search: Search, to: number): AsyncGenerator<FoundEntry[], void, void> {
  let after = 0;
  while (after < to) {
    const until = Math.min(to, after + wide);
    const rows = await db.auditEntry.findMany({
      where: { AND: [search.where, { seq: { gt: after, lte: until } }] },
      orderBy: { seq: "asc" },
      take: slice,
    });
    const shown = rows.filter((row) => isShown(search, row));
    if (shown.length > 0) yield (await withDetails(db, shown)).filter((entry) => holdsText(search, entry));
    after = rows.length === slice ? (rows.at(-1)?.seq ?? until) : until;
  }
}
