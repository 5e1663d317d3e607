import type { RosterEntriesDeps } from "../changes.ts";
import type { Prisma, RosterEvent } from "../../../generated/sqlite/client.ts";
import { can, requirePermission, type Call } from "../../../kernel/call.ts";
import { either, idsOf, walk, walkedPage, type Condition } from "../../../database/walk.ts";
import { countOf, type Where as PlainWhere } from "../../../database/where.ts";
import { orderOf } from "../../../kernel/keyset.ts";
import { withTotal, type Page } from "../../../kernel/page.ts";
import { hiddenInTx, presentLine, visibleLine, holdingLines, newestFirst, standingLines, standingOf } from "./history.policy.ts";
import { HistoryQuery, type LineView, type RosterStatusView } from "./history.schema.ts";
import { rosterPolicy } from "../roster.policy.ts";
import { hiddenAmong } from "../views.ts";

type Where = PlainWhere<"RosterEvent">;
type Filters = Omit<ReturnType<typeof HistoryQuery.parse>, "limit" | "cursor" | "count">;

/** The list, as its cursors name it. */
const listName = "roster_lines";
/** Newest first, by when it took effect. */
const order = orderOf("effectiveAt", "desc");

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
    const lines = await database.read.rosterEvent.findMany({
      where: { ...(userId !== undefined && { userId }), ...(callsign !== undefined && { callsign }) },
    });
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
      const position = cursor === undefined ? undefined : cursors.decode(listName, filters, cursor);
      const walked = await walk("RosterEvent", {
        ...conditions(filters),
        read: database.read,
        order,
        usual: {},
        position,
        limit,
      });
      const data = await shown(call, walked.rows);
      const page = walkedPage(walked, { data, limit }, (reached) => cursors.encode(listName, filters, reached));
      return withTotal(page, { count }, () => countOf(database.read, "RosterEvent", walked.everything));
    },
  };
}

/** What the filters ask of a line; those whose index finds few come first. */
function conditions({ user_id: userId, callsign, role, event, source, from, to, known_at: knownAt }: Filters) {
  const inOrder = (where: Where, ids: Prisma.Sql): Condition<Where> => ({ where, ids, inOrder: where });
  const all: Condition<Where>[] = [
    ...(userId === undefined ? [] : [inOrder({ userId }, idsOf("RosterEvent", { userId: [userId] }))]),
    ...(callsign === undefined ? [] : [inOrder({ callsign }, idsOf("RosterEvent", { callsign: [callsign] }))]),
    ...(event === undefined ? [] : [inOrder({ event }, idsOf("RosterEvent", { event: [event] }))]),
    ...(role === undefined
      ? []
      : [
          {
            where: { OR: [{ staffRole: role }, { formerRole: role }] },
            ids: either([idsOf("RosterEvent", { staffRole: [role] }), idsOf("RosterEvent", { formerRole: [role] })]),
          },
        ]),
    ...(source === undefined ? [] : [{ where: { source }, ids: idsOf("RosterEvent", { source: [source] }) }]),
    ...(knownAt === undefined ? [] : [{ where: { recordedAt: { lte: new Date(knownAt) } } }]),
  ];
  const bounds: Where[] = [
    ...(from === undefined ? [] : [{ effectiveAt: { gte: new Date(from) } }]),
    ...(to === undefined ? [] : [{ effectiveAt: { lt: new Date(to) } }]),
  ];
  return { conditions: all, bounds };
}
