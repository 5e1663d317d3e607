import { createEntryChanges, type RosterEntriesDeps } from "./changes.ts";
import type { RosterEntry } from "../../generated/sqlite/client.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import { withTotal, type Page } from "../../kernel/page.ts";
import { walk, walkedPage } from "../../database/walk.ts";
import { countOf } from "../../database/where.ts";
import { conditions, orders } from "./filters.ts";
import type { AccessDirectory } from "../permissions/access/access-directory.ts";
import { createHistory } from "./history/history.ts";
import { rosterPolicy, visibleEntry } from "./roster.policy.ts";
import { ListEntriesQuery, type EntryView, type OneEntryView } from "./roster.schema.ts";
import { hiddenAmong, knowing, viewsOf } from "./views.ts";

export type RosterEntries = ReturnType<typeof createRosterEntries>;

/** The list, as its cursors name it. */
const listName = "roster_list";

type Known = Pick<AccessDirectory, "of" | "role">;

/** The roster and its history, as staff and clients read and change it. */
export function createRosterEntries(deps: RosterEntriesDeps) {
  const { database, access, cursors, clock } = deps;

  async function shown(call: Call, views: readonly EntryView[]): Promise<EntryView[]> {
    const references = views.map(({ origin_reference }) => origin_reference);
    const hidden = await hiddenAmong(database.read, call, references, deps);
    return views.map((view) => visibleEntry(call, view, { access, hidden }));
  }

  const present = async (call: Call, rows: readonly RosterEntry[], known: Known = access): Promise<EntryView[]> =>
    shown(call, await viewsOf(database.read, rows, { access: known, now: clock.now() }));

  return {
    /** Entries, the newest first by default; without a status, of those who have not left. @throws ProblemError invalid_cursor */
    async list(call: Call, query: ListEntriesQuery): Promise<Page<EntryView>> {
      requirePermission(call, rosterPolicy.read);
      const { limit, cursor, count, ...filters } = ListEntriesQuery.parse(query);
      const position = cursor === undefined ? undefined : cursors.decode(listName, filters, cursor);
      const order = orders[filters.sort];
      const walked = await walk("RosterEntry", {
        conditions: conditions(filters, access),
        read: database.read,
        order,
        usual: {},
        position,
        limit,
      });
      const data = await present(call, walked.rows);
      const page = walkedPage(walked, { data, limit }, (reached) => cursors.encode(listName, filters, reached));
      return withTotal(page, { count }, () => countOf(database.read, "RosterEntry", walked.everything));
    },

    /** One entry; an id of nobody is an answer, too. @param key id of the entry or of its person, or `@me` */
    async get(call: Call, key: string): Promise<OneEntryView> {
      requirePermission(call, rosterPolicy.read);
      const id = key === "@me" ? (call.actor?.id ?? key) : key.toLowerCase();
      const row = await database.read.rosterEntry.findFirst({ where: { OR: [{ id }, { userId: id }] } });
      const [view] = row === null ? [] : await present(call, [row], knowing(access, await access.resolve(row.userId)));
      return view ?? { state: "absent", id };
    },

    ...createEntryChanges(deps, async (call, view) => (await shown(call, [view]))[0] ?? view),
    ...createHistory(deps),
  };
}
