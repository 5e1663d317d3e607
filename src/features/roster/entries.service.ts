import { createEntryChanges, type RosterEntriesDeps } from "./changes.ts";
import type { RosterEntry, Prisma } from "../../generated/sqlite/client.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import { toPage, withTotal, type Page, type Position } from "../../kernel/page.ts";
import type { AccessDirectory } from "../permissions/access/access.ts";
import { createHistory } from "./history/history.ts";
import { rosterPolicy, visibleEntry } from "./roster.policy.ts";
import { ListEntriesQuery, type EntryView, type OneEntryView } from "./roster.schema.ts";
import { hiddenAmong, knowing, viewsOf } from "./views.ts";
import { beginningWith } from "../../kernel/words.ts";
import { liveStatuses } from "./states.ts";

export type RosterEntries = ReturnType<typeof createRosterEntries>;

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
      const position = cursor === undefined ? undefined : cursors.decode("roster", filters, cursor);
      const where = entriesWhere(filters, access, position);
      const rows = await database.read.rosterEntry.findMany({ where, orderBy: entriesOrder(filters.sort), take: limit + 1 });
      const views = await present(call, rows.slice(0, limit));
      const page = toPage(
        rows,
        limit,
        (row) => row,
        (last) => cursors.encode("roster", filters, positionOf(filters.sort, last)),
      );
      return withTotal({ ...page, data: views }, { count }, () =>
        database.read.rosterEntry.count({ where: entriesWhere(filters, access) }),
      );
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

type Where = Prisma.RosterEntryWhereInput;
export type EntryFilters = Omit<ReturnType<typeof ListEntriesQuery.parse>, "limit" | "cursor" | "count">;

/** More people than this are not looked for by name. */
const maxNamed = 1000;

/** The database's words for the filters of the list. */
export function entriesWhere(filters: EntryFilters, access: Pick<AccessDirectory, "people" | "of">, position?: Position): Where {
  const { status, include_left: includeLeft, staff_role: staffRole, department, supervisor_id: supervisorId, in_guild: inGuild } = filters;
  const equal = { status, staffRole, department, supervisorId };
  const all: Where[] = [Object.fromEntries(Object.entries(equal).filter(([, value]) => value !== undefined))];
  if (status === undefined && includeLeft !== "true") all.push({ status: { in: [...liveStatuses] } });
  if (inGuild !== undefined) all.push({ inGuild: inGuild === "true" });
  if (filters.q !== undefined) all.push(namedLike(filters.q, access));
  if (position !== undefined) all.push(beyond(filters.sort, position));
  return { AND: all };
}

/** By what they are called now, in whatever case, and by what they were called when last looked at. */
function namedLike(q: string, access: Pick<AccessDirectory, "people" | "of">): Where {
  const wanted = q.toLowerCase();
  const isNamed = (id: string): boolean =>
    access
      .of(id)
      .members.some(({ nick, globalName, username }) =>
        [nick, globalName, username].some((name) => name?.toLowerCase().startsWith(wanted) === true),
      );
  const named = access.people().filter(isNamed).slice(0, maxNamed);
  return { OR: [{ userId: { in: named } }, { userId: beginningWith(q) }, { nickname: beginningWith(q) }] };
}

const sorts = {
  "-created_at": { column: "createdAt", direction: "desc", beyond: "lt" },
  created_at: { column: "createdAt", direction: "asc", beyond: "gt" },
  "-updated_at": { column: "updatedAt", direction: "desc", beyond: "lt" },
} as const satisfies Record<EntryFilters["sort"], object>;

export function entriesOrder(sort: EntryFilters["sort"]): Prisma.RosterEntryOrderByWithRelationInput[] {
  const { column, direction } = sorts[sort];
  return [{ [column]: direction }, { id: direction }];
}

/** Where a row stands in the order of the list. */
export function positionOf(sort: EntryFilters["sort"], row: { id: string; createdAt: Date; updatedAt: Date }): Position {
  return [row[sorts[sort].column].toISOString(), row.id];
}

function beyond(sort: EntryFilters["sort"], [value, id]: Position): Where {
  const { column, beyond: further } = sorts[sort];
  const at = new Date(value);
  return { OR: [{ [column]: { [further]: at } }, { [column]: at, id: { [further]: id } }] };
}
