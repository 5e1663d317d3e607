import { createEntryChanges, type RosterEntriesDeps } from "./changes.ts";
import type { RosterEntry } from "../../generated/sqlite/client.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import { toPage, withTotal, type Page } from "../../kernel/page.ts";
import type { Standings } from "../permissions/standing/standing.ts";
import { entriesOrder, entriesWhere, positionOf } from "./filters.ts";
import { createHistory } from "./history/history.ts";
import { rosterPolicy, visibleEntry } from "./roster.policy.ts";
import { ListEntriesQuery, type EntryView, type OneEntryView } from "./roster.schema.ts";
import { hiddenAmong, knowing, viewsOf } from "./views.ts";

export type RosterEntries = ReturnType<typeof createRosterEntries>;

type Known = Pick<Standings, "of" | "role">;

/** The roster and its history, as staff and clients read and change it. */
export function createRosterEntries(deps: RosterEntriesDeps) {
  const { database, standing, cursors, clock } = deps;

  async function shown(call: Call, views: readonly EntryView[]): Promise<EntryView[]> {
    const references = views.map(({ origin_reference }) => origin_reference);
    const hidden = await hiddenAmong(database.read, call, references, deps);
    return views.map((view) => visibleEntry(call, view, { standing, hidden }));
  }

  const present = async (call: Call, rows: readonly RosterEntry[], known: Known = standing): Promise<EntryView[]> =>
    shown(call, await viewsOf(database.read, rows, { standing: known, now: clock.now() }));

  return {
    /** Entries, the newest first unless told; without a status, of those who have not left. @throws ProblemError invalid_cursor */
    async list(call: Call, query: ListEntriesQuery): Promise<Page<EntryView>> {
      requirePermission(call, rosterPolicy.read);
      const { limit, cursor, count, ...filters } = ListEntriesQuery.parse(query);
      const position = cursor === undefined ? undefined : cursors.decode("roster", filters, cursor);
      const where = entriesWhere(filters, standing, position);
      const rows = await database.read.rosterEntry.findMany({ where, orderBy: entriesOrder(filters.sort), take: limit + 1 });
      const views = await present(call, rows.slice(0, limit));
      const page = toPage(
        rows,
        limit,
        (row) => row,
        (last) => cursors.encode("roster", filters, positionOf(filters.sort, last)),
      );
      return withTotal({ ...page, data: views }, { count }, () =>
        database.read.rosterEntry.count({ where: entriesWhere(filters, standing) }),
      );
    },

    /** One entry; an id of nobody is an answer, too. @param key id of the entry or of its person, or `@me` */
    async get(call: Call, key: string): Promise<OneEntryView> {
      requirePermission(call, rosterPolicy.read);
      const id = key === "@me" ? (call.actor?.id ?? key) : key.toLowerCase();
      const row = await database.read.rosterEntry.findFirst({ where: { OR: [{ id }, { userId: id }] } });
      const [view] = row === null ? [] : await present(call, [row], knowing(standing, await standing.resolve(row.userId)));
      return view ?? { state: "absent", id };
    },

    ...createEntryChanges(deps, async (call, view) => (await shown(call, [view]))[0] ?? view),
    ...createHistory(deps),
  };
}
