import type { ReadClient } from "../../database/database.ts";
import { conditionOf, countOf } from "../../database/where.ts";
import { jsonObject } from "../../kernel/parsing.ts";
import { Prisma, type AuditEntry, type AuditPayload } from "../../generated/sqlite/client.ts";
import type { AuditFilters } from "./audit.schema.ts";
import type { Condition, Where } from "./filters.ts";
import type { SeqRange } from "./spans.ts";

const { sql } = Prisma;

/** Positions that one query of a count or an export looks through: a few milliseconds. */
const wide = 4000;
/** Entries that are looked at together. */
const slice = 500;

/**
 * How a page keeps to a bounded cost. Nothing of it depends on entries that the caller may not see: where a page ends would tell of them.
 */
export interface WalkLimits {
  /** A condition that at most so many entries meet leads to them. SQLite is given at most 999 values in a statement. */
  few: number;
  /** Positions of the chain that a page looks through where several conditions have to be met and each is met by many. */
  positions: number;
}
export const walkLimits: WalkLimits = { few: 800, positions: 20_000 };

/** An entry with its details, where they are there. */
export interface FoundEntry {
  row: AuditEntry;
  payload: AuditPayload | undefined;
}

export interface Search {
  filters: AuditFilters;
  conditions: readonly Condition[];
  /** Where in the chain all of it is; null: nowhere. */
  range: SeqRange | null;
  /** Which of some targets the caller may not know of. */
  hiddenAmong(targetIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Whether the caller may know of confidential records. */
  seesConfidential: boolean;
  /** Whether the text of the filters may look into reasons. */
  seesReasons: boolean;
}

/** A search for counts and exports, which take time in proportion to what they read: all targets the caller may not know of. */
export interface WholeSearch extends Search {
  hidden: ReadonlySet<string>;
}

/** Entries newest first. */
interface Part {
  rows: AuditEntry[];
  /** The position the look came to, where more can be left. */
  reached?: number;
  /** Whether it came to its bound and not to as many entries as asked for. */
  isCut: boolean;
}

/** The last position there is; 0 for an empty chain. */
export async function lastOf(db: ReadClient): Promise<number> {
  const [last] = await db.$select("AuditEntry", sql`ORDER BY t.seq DESC LIMIT 1`, ["seq"]);
  return last?.seq ?? 0;
}

/** Entries the search may show before a position, newest first: as many as asked for, or what a bounded look finds of them. */
export async function newestBefore(
  db: ReadClient,
  search: Search,
  { before, limit, limits = walkLimits }: { before: number | undefined; limit: number; limits?: WalkLimits },
): Promise<Part> {
  if (search.range === null) return { rows: [], isCut: false };
  const way = await wayOf(db, search, search.range, before, limits);
  const rows: AuditEntry[] = [];
  for (let end = before; ;) {
    // Where much may not be shown, more is looked at together.
    const take = end === before ? limit : Math.max(slice, limit);
    const found = await newestOf(db, way.parts, { AND: [...way.bounds, end === undefined ? {} : { seq: { lt: end } }] }, take);
    const hidden = await search.hiddenAmong(found.flatMap(({ targetId }) => targetId ?? []));
    rows.push(...found.filter(({ targetId }) => targetId === null || !hidden.has(targetId)));
    if (rows.length >= limit) return { rows: rows.slice(0, limit), reached: rows[limit - 1]?.seq ?? 0, isCut: false };
    if (found.length < take) break;
    end = found.at(-1)?.seq ?? 0;
  }
  return way.floor === undefined ? { rows, isCut: false } : { rows, reached: way.floor, isCut: true };
}

/** How entries are met: those of some parts, each of which an index holds in the order of the chain, within bounds. */
interface Way {
  parts: readonly Where[];
  bounds: readonly Where[];
  /** Where the look ends before the search does. */
  floor?: number;
}

/**
 * One condition has an index in the order of the chain; of several, one that few entries meet leads to them; otherwise only a part of the
 * chain is looked through. So it is, whatever there is, where nearly all that a condition finds may be kept from the caller: how many
 * entries that are, neither the end of a page nor its cost says.
 */
async function wayOf(db: ReadClient, search: Search, range: SeqRange, before: number | undefined, limits: WalkLimits): Promise<Way> {
  const others = search.conditions.filter(({ isRange = false }) => !isRange);
  const leading = others.find(({ parts }) => parts.length > 0)?.parts ?? [{}];
  const times = search.conditions.flatMap(({ isRange = false, met }) => (isRange ? [met] : []));
  const bounds: Where[] = [{ seq: range }, ...times];
  const isKept = canBeKept(search);
  const both = bothOf(others);
  if (both !== undefined && !isKept) return { parts: both, bounds };
  if (!isKept && others.every(({ parts }) => parts.length > 0) && others.length < 2) return { parts: leading, bounds };

  const met = [...bounds, ...others.map((condition) => condition.met)];
  const few = await fewOf(db, search, [{ seq: range }, before === undefined ? {} : { seq: { lt: before } }], limits.few);
  if (few !== undefined) return { parts: few.length === 0 ? [] : [{ seq: { in: few } }], bounds: met };
  const top = Math.min(before ?? Infinity, (range.lte ?? (await lastOf(db))) + 1);
  const floor = top - limits.positions;
  return { parts: both ?? leading, bounds: [...met, { seq: { gte: floor } }], ...(floor > (range.gte ?? 1) && { floor }) };
}

/** Whether nearly all that the conditions find may be kept from the caller. */
const canBeKept = ({ seesConfidential, conditions }: Search): boolean =>
  !seesConfidential && conditions.some(({ isOfConfidential = false }) => isOfConfidential);

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
    parts.map((part) =>
      db.$select("AuditEntry", sql`WHERE ${conditionOf("AuditEntry", { AND: [part, bounds] })} ORDER BY t.seq DESC LIMIT ${take}`),
    ),
  );
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  return [...new Map(found.flat().map((row) => [row.seq, row])).values()].toSorted((a, b) => b.seq - a.seq).slice(0, take);
}

/** The positions of a condition that few entries meet which the caller may see; undefined when many meet each. */
async function fewOf(db: ReadClient, search: Search, bounds: readonly Where[], most: number): Promise<number[] | undefined> {
  const isKept = canBeKept(search);
  const narrowFirst = search.conditions.toSorted((a, b) => Number(b.isNarrow ?? false) - Number(a.isNarrow ?? false));
  for (const { parts, isNarrow = false } of narrowFirst) {
    const seqs = parts.length > 0 && (isNarrow || !isKept) ? await fewOfParts(db, search, parts, bounds, most) : undefined;
    if (seqs !== undefined) return seqs;
  }
  return undefined;
}

async function fewOfParts(db: ReadClient, search: Search, parts: readonly Where[], bounds: readonly Where[], most: number) {
  const seqs = new Set<number>();
  for (const part of parts)
    for (let end: number | undefined; ;) {
      const where = { AND: [part, ...bounds, end === undefined ? {} : { seq: { lt: end } }] };
      const rest = sql`WHERE ${conditionOf("AuditEntry", where)} ORDER BY t.seq DESC LIMIT ${most + 1}`;
      const rows = await db.$select("AuditEntry", rest, ["seq", "targetId"]);
      const hidden = await search.hiddenAmong(rows.flatMap(({ targetId }) => targetId ?? []));
      for (const { seq, targetId } of rows) if (targetId === null || !hidden.has(targetId)) seqs.add(seq);
      if (seqs.size > most) return undefined;
      if (rows.length <= most) break;
      end = rows.at(-1)?.seq ?? 0;
    }
  return [...seqs];
}

/** How many entries the search may show. */
export async function countAll(db: ReadClient, search: WholeSearch): Promise<number> {
  const { conditions, range, hidden } = search;
  if (range === null) return 0;
  const [only, ...others] = conditions;
  if (hidden.size === 0 && others.length === 0 && only?.parts.length !== 0)
    return countOf(db, "AuditEntry", { AND: [only === undefined ? {} : { OR: only.parts }, { seq: range }] });
  let count = 0;
  for (let end = await lastOf(db); end > 0; end -= wide) {
    const within: Where = { AND: [...conditions.map(({ met }) => met), { seq: range }, { seq: { gt: end - wide, lte: end } }] };
    count += await (hidden.size === 0 ? countOf(db, "AuditEntry", within) : countShown(db, within, hidden));
  }
  return count;
}

async function countShown(db: ReadClient, where: Where, hidden: ReadonlySet<string>): Promise<number> {
  const targets = await db.$queryRaw<{ targetId: string | null; count: bigint | number }[]>`
    SELECT t.target_id AS "targetId", COUNT(*) AS count FROM audit_entries t WHERE ${conditionOf("AuditEntry", where)} GROUP BY t.target_id`;
  const shown = targets.filter(({ targetId }) => targetId === null || !hidden.has(targetId));
  return shown.reduce((sum, { count }) => sum + Number(count), 0);
}

/** The details of some entries. */
export async function withDetails(db: ReadClient, rows: readonly AuditEntry[]): Promise<FoundEntry[]> {
  if (rows.length === 0) return [];
  const payloads = await db.$select("AuditPayload", sql`WHERE ${conditionOf("AuditPayload", { seq: { in: rows.map(({ seq }) => seq) } })}`);
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
    examined += part.isCut ? walkLimits.positions : part.rows.length;
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
  if (range === null) return;
  let after = 0;
  while (after < to) {
    const until = Math.min(to, after + wide);
    const within: Where = { AND: [...conditions.map(({ met }) => met), { seq: range }, { seq: { gt: after, lte: until } }] };
    const rows = await db.$select("AuditEntry", sql`WHERE ${conditionOf("AuditEntry", within)} ORDER BY t.seq LIMIT ${slice}`);
    const shown = rows.filter(({ targetId }) => targetId === null || !hidden.has(targetId));
    if (shown.length > 0) yield (await withDetails(db, shown)).filter((entry) => holdsText(search, entry));
    after = rows.length === slice ? (rows.at(-1)?.seq ?? until) : until;
  }
}
