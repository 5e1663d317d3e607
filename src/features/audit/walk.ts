import type { ReadClient } from "../../database/database.ts";
import { jsonObject } from "../../kernel/parsing.ts";
import type { AuditEntry, AuditPayload } from "../../generated/sqlite/client.ts";
import type { AuditFilters } from "./audit.schema.ts";
import type { Condition, Where } from "./filters.ts";

/** Positions that one query of a count or an export looks through: a few milliseconds. */
const wide = 4000;
/** Entries that are looked at together. */
const slice = 500;

/** How a page keeps to a bounded cost. */
export interface WalkLimits {
  /** A condition that at most so many entries meet leads to them. SQLite is given at most 999 values in a statement. */
  few: number;
  /** Entries that a page looks at where several conditions have to be met and each is met by many, or most may not be shown. */
  examined: number;
}
export const walkLimits: WalkLimits = { few: 800, examined: 2000 };

/** An entry with its details, where they are there. */
export interface FoundEntry {
  row: AuditEntry;
  payload: AuditPayload | undefined;
}

export interface Search {
  filters: AuditFilters;
  conditions: readonly Condition[];
  /** Where in the chain all of it is; null: nowhere. */
  range: Where | null;
  /** Which of some targets the caller may not know of. */
  hiddenAmong(targetIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Whether the text of the filters may look into reasons. */
  seesReasons: boolean;
}

/** A search for counts and exports, which take time in proportion to what they read: all targets the caller may not know of. */
export interface WholeSearch extends Search {
  hidden: ReadonlySet<string>;
}

/** Entries newest first, and how many were looked at; `reached`: the last position looked at, where more are left. */
interface Part {
  rows: AuditEntry[];
  examined: number;
  reached?: number;
}

/** The last position there is; 0 for an empty chain. */
export async function lastOf(db: ReadClient): Promise<number> {
  return (await db.auditEntry.findFirst({ orderBy: { seq: "desc" }, select: { seq: true } }))?.seq ?? 0;
}

/** Entries the search may show before a position, newest first: as many as asked for, or what a bounded look finds of them. */
export async function newestBefore(
  db: ReadClient,
  search: Search,
  { before, limit, limits = walkLimits }: { before: number | undefined; limit: number; limits?: WalkLimits },
): Promise<Part> {
  const rows: AuditEntry[] = [];
  let examined = 0;
  for (let end = before; ;) {
    // Where much may not be shown, more is looked at together.
    const take = examined === 0 ? limit : Math.max(slice, limit);
    const found = await readBefore(db, search, { before: end, limit: take, limits });
    const hidden = await search.hiddenAmong(found.rows.flatMap(({ targetId }) => targetId ?? []));
    rows.push(...found.rows.filter(({ targetId }) => targetId === null || !hidden.has(targetId)));
    examined += found.examined;
    if (rows.length >= limit) return { rows: rows.slice(0, limit), examined, reached: rows[limit - 1]?.seq ?? 0 };
    if (found.reached === undefined) return { rows, examined };
    if (examined >= limits.examined) return { rows, examined, reached: found.reached };
    end = found.reached;
  }
}

/**
 * Entries before a position, whoever may see them. One condition has an index in the order of the chain; of several, one that few entries
 * meet leads to them; otherwise only so many entries are looked at.
 */
async function readBefore(
  db: ReadClient,
  { conditions, range }: Pick<Search, "conditions" | "range">,
  { before, limit, limits }: { before: number | undefined; limit: number; limits: WalkLimits },
): Promise<Part> {
  if (range === null) return { rows: [], examined: 0 };
  const end: Where = { AND: [range, before === undefined ? {} : { seq: { lt: before } }] };
  const met = conditions.map((condition) => condition.met);
  const inOrder = (parts: readonly Where[], bounds: Where, take: number) => newestOf(db, parts, { AND: [end, bounds] }, take);
  const whole = (rows: AuditEntry[], take: number): Part => ({
    rows,
    examined: rows.length,
    ...(rows.length === take && { reached: rows.at(-1)?.seq ?? 0 }),
  });
  const [leading = []] = conditions.flatMap(({ parts }) => (parts.length > 0 ? [parts] : []));
  const both = bothOf(conditions);
  if (both !== undefined) return whole(await inOrder(both, {}, limit), limit);
  if (conditions.length === 0) return whole(await inOrder([{}], {}, limit), limit);
  if (conditions.length === 1 && leading.length > 0) return whole(await inOrder(leading, {}, limit), limit);

  const few = await fewOf(db, conditions, end, limits.few);
  if (few?.length === 0) return { rows: [], examined: 0 };
  if (few !== undefined) return whole(await inOrder([{ seq: { in: few } }], { AND: met }, limit), limit);

  const parts = leading.length > 0 ? leading : [{}];
  const floors = await Promise.all(parts.map((part) => positionAfter(db, { AND: [part, end] }, limits.examined)));
  const floor = Math.max(...floors);
  const rows = await inOrder(parts, { AND: [{ seq: { gte: floor } }, ...met] }, limit);
  if (rows.length === limit) return whole(rows, limit);
  return floor === 0 ? { rows, examined: rows.length } : { rows, examined: limits.examined, reached: floor };
}

/** Two conditions, on who did what, that one index holds together. */
function bothOf(conditions: readonly Condition[]): Where[] | undefined {
  const [actor, action, ...others] = conditions;
  const [first, ...more] = actor?.parts ?? [];
  if (first?.actorId === undefined || more.length > 0 || others.length > 0) return undefined;
  return action?.parts[0]?.action === undefined ? undefined : action.parts.map((part) => ({ ...first, ...part }));
}

/** The newest entries that meet one of some conditions, each of which an index holds in the order of the chain. */
async function newestOf(db: ReadClient, parts: readonly Where[], bounds: Where, take: number): Promise<AuditEntry[]> {
  const found = await Promise.all(
    parts.map((part) => db.auditEntry.findMany({ where: { AND: [part, bounds] }, orderBy: { seq: "desc" }, take })),
  );
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  return [...new Map(found.flat().map((row) => [row.seq, row])).values()].toSorted((a, b) => b.seq - a.seq).slice(0, take);
}

/** The positions that meet a condition which few entries meet; undefined when many meet each. */
async function fewOf(db: ReadClient, conditions: readonly Condition[], end: Where, most: number): Promise<number[] | undefined> {
  for (const { parts } of conditions) {
    const seqs = parts.length === 0 ? undefined : await fewOfParts(db, parts, end, most);
    if (seqs !== undefined) return seqs;
  }
  return undefined;
}

async function fewOfParts(db: ReadClient, parts: readonly Where[], end: Where, most: number): Promise<number[] | undefined> {
  const beyond = await Promise.all(parts.map((part) => positionAfter(db, { AND: [part, end] }, most + 1)));
  if (beyond.some((seq) => seq > 0)) return undefined;
  const found = await Promise.all(
    parts.map((part) =>
      db.auditEntry.findMany({ where: { AND: [part, end] }, select: { seq: true }, orderBy: { seq: "desc" }, take: most }),
    ),
  );
  const seqs = [...new Set(found.flat().map(({ seq }) => seq))];
  return seqs.length > most ? undefined : seqs;
}

/** The position of the last of so many entries, newest first; 0 when there are fewer. */
async function positionAfter(db: ReadClient, where: Where, count: number): Promise<number> {
  const [row] = await db.auditEntry.findMany({ where, select: { seq: true }, orderBy: { seq: "desc" }, skip: count - 1, take: 1 });
  return row?.seq ?? 0;
}

/** How many entries the search may show. */
export async function countAll(db: ReadClient, search: WholeSearch): Promise<number> {
  const { conditions, range, hidden } = search;
  if (range === null) return 0;
  const [only, ...others] = conditions;
  if (hidden.size === 0 && others.length === 0 && only?.parts.length !== 0)
    return db.auditEntry.count({ where: { AND: [only === undefined ? {} : { OR: [...only.parts] }, range] } });
  let count = 0;
  for (let end = await lastOf(db); end > 0; end -= wide) {
    const within: Where = { AND: [...conditions.map(({ met }) => met), range, { seq: { gt: end - wide, lte: end } }] };
    if (hidden.size === 0) count += await db.auditEntry.count({ where: within });
    else count += await countShown(db, within, hidden);
  }
  return count;
}

async function countShown(db: ReadClient, where: Where, hidden: ReadonlySet<string>): Promise<number> {
  const targets = await db.auditEntry.groupBy({ by: "targetId", where, _count: { _all: true } });
  const shown = targets.filter(({ targetId }) => targetId === null || !hidden.has(targetId));
  return shown.reduce((sum, { _count }) => sum + _count._all, 0);
}

/** The details of some entries. */
export async function withDetails(db: ReadClient, rows: readonly AuditEntry[]): Promise<FoundEntry[]> {
  if (rows.length === 0) return [];
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
    const part = await newestBefore(db, search, { before: reached, limit: Math.min(slice, maxExamined - examined) });
    for (const [place, entry] of (await withDetails(db, part.rows)).entries()) {
      reached = entry.row.seq;
      if (holdsText(search, entry)) found.push(entry);
      if (found.length === limit) return { found, examined: examined + place + 1, reached };
    }
    examined += Math.max(part.examined, part.rows.length);
    if (part.reached === undefined) return { found, examined, reached: undefined };
    ({ reached } = part);
  }
  return { found, examined, reached };
}

/** Whether an entry holds the text that is looked for; every entry does when there is none. */
function holdsText({ filters: { q }, seesReasons }: Pick<Search, "filters" | "seesReasons">, { row, payload }: FoundEntry): boolean {
  if (q === undefined) return true;
  const reason = seesReasons ? jsonObject(payload?.payload)["reason"] : undefined;
  const wanted = q.toLowerCase();
  return [row.action, row.targetKind, row.targetId, row.targetReference, reason].some(
    (text) => typeof text === "string" && text.toLowerCase().includes(wanted),
  );
}

/** Every entry of a search up to a position, oldest first, in bounded parts. */
export async function* oldestFirst(db: ReadClient, search: WholeSearch, to: number): AsyncGenerator<FoundEntry[], void, void> {
  const { conditions, range, hidden } = search;
  let after = 0;
  while (after < to && range !== null) {
    const until = Math.min(to, after + wide);
    const rows = await db.auditEntry.findMany({
      where: { AND: [...conditions.map(({ met }) => met), range, { seq: { gt: after, lte: until } }] },
      orderBy: { seq: "asc" },
      take: slice,
    });
    const shown = rows.filter(({ targetId }) => targetId === null || !hidden.has(targetId));
    if (shown.length > 0) yield (await withDetails(db, shown)).filter((entry) => holdsText(search, entry));
    after = rows.length === slice ? (rows.at(-1)?.seq ?? until) : until;
  }
}
