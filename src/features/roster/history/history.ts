import type { RosterEntriesDeps } from "../changes.ts";
import type { Prisma, RosterEvent } from "../../../generated/sqlite/client.ts";
import { can, requirePermission, type Call } from "../../../kernel/call.ts";
import { toPage, withTotal, type Page, type Position } from "../../../kernel/page.ts";
import { hiddenInTx, presentLine, visibleLine, holdingLines, newestFirst, standingLines, standingOf } from "./history.policy.ts";
import { HistoryQuery, type LineView, type RosterStatusView } from "./history.schema.ts";
import { rosterPolicy } from "../roster.policy.ts";
import { hiddenAmong } from "../views.ts";

type Where = Prisma.RosterEventWhereInput;
type Filters = Omit<ReturnType<typeof HistoryQuery.parse>, "limit" | "cursor" | "count">;

/** Reads of what happened to people on the roster. */
export function createHistory(deps: Pick<RosterEntriesDeps, "database" | "access" | "cursors" | "hiddenRequests" | "hiddenCases">) {
  const { database, access, cursors } = deps;

  async function shown(call: Call, rows: readonly RosterEvent[], stand?: RosterStatusView | null): Promise<LineView[]> {
    const views = rows.map((row) => presentLine(row, access));
    const named = views.flatMap((view) => hiddenInTx(view)).concat(stand?.origin_reference ?? []);
    const hidden = await hiddenAmong(database.read, call, named, deps);
    if (stand?.origin_reference && hidden.has(stand.origin_reference)) stand.origin_reference = "confidential";
    return views.map((view) => visibleLine(call, view, { hidden, isEditor: can(call, rosterPolicy.edit) }));
  }

  /** How things stood at a time: few lines, so that they are one page. */
  async function stoodOn(call: Call, filters: Filters & { on: string }, limit: number): Promise<Page<LineView>> {
    const { on, known_at: knownAt, user_id: userId, callsign } = filters;
    const time = { at: new Date(on), knownAt: knownAt === undefined ? undefined : new Date(knownAt) };
    const lines = await database.read.rosterEvent.findMany({ where: where({ user_id: userId, callsign }) });
    if (callsign !== undefined) {
      const data = await shown(call, newestFirst(holdingLines(lines, time)));
      return { data, limit, next_cursor: null };
    }
    const stand = standingOf(lines, time);
    const data = await shown(call, newestFirst(standingLines(lines, time)), stand);
    return { data, limit, next_cursor: null, notes: { standing: stand } };
  }

  return {
    /**
     * What happened, newest first by when it took effect; with `on` how things stood then, on one page.
     * @throws ProblemError validation_failed, invalid_cursor
     */
    async history(call: Call, query: HistoryQuery): Promise<Page<LineView>> {
      requirePermission(call, rosterPolicy.history);
      const { limit, cursor, count, ...filters } = HistoryQuery.parse(query);
      const { on } = filters;
      if (on !== undefined) {
        const page = await stoodOn(call, { ...filters, on }, limit);
        return withTotal(page, { count }, () => page.data.length);
      }
      const position = cursor === undefined ? undefined : cursors.decode("roster_history", filters, cursor);
      const rows = await database.read.rosterEvent.findMany({
        where: where(filters, position),
        orderBy: [{ effectiveAt: "desc" }, { id: "desc" }],
        take: limit + 1,
      });
      const data = await shown(call, rows.slice(0, limit));
      const page = toPage(
        rows,
        limit,
        (row) => row,
        (last) => cursors.encode("roster_history", filters, [last.effectiveAt.toISOString(), last.id]),
      );
      return withTotal({ ...page, data }, { count }, () => database.read.rosterEvent.count({ where: where(filters) }));
    },
  };
}

function where(filters: Partial<Filters>, position?: Position): Where {
  const { user_id: userId, callsign, role, event, source, from, to, known_at: knownAt } = filters;
  const equal = { userId, callsign, event, source };
  const all: Where[] = [Object.fromEntries(Object.entries(equal).filter(([, value]) => value !== undefined))];
  if (role !== undefined) all.push({ OR: [{ staffRole: role }, { formerRole: role }] });
  if (from !== undefined) all.push({ effectiveAt: { gte: new Date(from) } });
  if (to !== undefined) all.push({ effectiveAt: { lt: new Date(to) } });
  if (knownAt !== undefined) all.push({ recordedAt: { lte: new Date(knownAt) } });
  if (position !== undefined) all.push(beyond(position));
  return { AND: all };
}

function beyond([value, id]: Position): Where {
  const effectiveAt = new Date(value);
  return { OR: [{ effectiveAt: { lt: effectiveAt } }, { effectiveAt, id: { lt: id } }] };
}
