import type { HistoryQuery, LineView } from "./history/history.schema.ts";
import { createEntryChanges, type RosterEntriesDeps } from "./changes.ts";
import type { RosterEntry } from "../../generated/sqlite/client.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import { withTotal, type Page } from "../../kernel/page.ts";
import { walk, walkedPage, either, idsOf, type Condition } from "../../database/walk.ts";
import { countOf, type Where as PlainWhere } from "../../database/where.ts";
import type { AccessDirectory } from "../permissions/access/access-directory.ts";
import { createHistory } from "./history/history.ts";
import { rosterPolicy, visibleEntry } from "./roster.policy.ts";
import { ListEntriesQuery, type EntryView, type OneEntryView, type CreateEntryInput, type UpdateEntryInput } from "./roster.schema.ts";
import { hiddenAmong, knowing, viewsOf } from "./views.ts";
import { orderOf } from "../../kernel/keyset.ts";
import { beginningWith } from "../../kernel/words.ts";
import { liveStatuses } from "./states.ts";

type Where = PlainWhere<"RosterEntry">;
type EntryFilters = Omit<ReturnType<typeof ListEntriesQuery.parse>, "limit" | "cursor" | "count">;
type People = Pick<AccessDirectory, "people" | "of">;

const orders = {
  "-created_at": orderOf("createdAt", "desc"),
  created_at: orderOf("createdAt", "asc"),
  "-updated_at": orderOf("updatedAt", "desc"),
} as const satisfies Record<EntryFilters["sort"], object>;

/** More people than this are not looked for by name: SQLite takes 999 values in a statement. */
const maxNamed = 500;

/** What the filters of the list ask of an entry; those whose index finds few come first. */
function conditions(filters: EntryFilters, access: People): Condition<Where>[] {
  const { status, include_left: includeLeft, in_guild: inGuild, q, sort } = filters;
  const equal = { supervisorId: filters.supervisor_id, staffRole: filters.staff_role, department: filters.department };
  return [
    ...(q === undefined ? [] : [namedLike(q, access)]),
    ...Object.entries(equal).flatMap(([field, value]): Condition<Where>[] =>
      value === undefined ? [] : [{ where: { [field]: value }, ids: idsOf("RosterEntry", { [field]: [value] }) }],
    ),
    ...(status === undefined
      ? includeLeft === "true"
        ? []
        : [{ where: { status: { in: [...liveStatuses] } }, ids: idsOf("RosterEntry", { status: liveStatuses }) }]
      : [{ where: { status }, ids: idsOf("RosterEntry", { status: [status] }), ...(sort !== "-updated_at" && { inOrder: { status } }) }]),
    ...(inGuild === undefined ? [] : [{ where: { inGuild: inGuild === "true" } }]),
  ];
}

/** By what they are called now, in whatever case, and by what they were called when last looked at. */
function namedLike(q: string, access: People): Condition<Where> {
  const wanted = q.toLowerCase();
  const isNamed = (id: string): boolean =>
    access
      .of(id)
      .members.some(({ nick, globalName, username }) =>
        [nick, globalName, username].some((name) => name?.toLowerCase().startsWith(wanted) === true),
      );
  const named = access.people().filter(isNamed).slice(0, maxNamed);
  const beginning = beginningWith(q);
  return {
    where: { OR: [{ userId: { in: named } }, { userId: beginning }, { nickname: beginning }] },
    ids: either([
      ...(named.length === 0 ? [] : [idsOf("RosterEntry", { userId: named })]),
      idsOf("RosterEntry", { userId: beginning }),
      idsOf("RosterEntry", { nickname: beginning }),
    ]),
  };
}

export interface RosterEntries {
  /**
   * What happened, newest first by when it took effect; with `on` how things stood then, on one page.
   * @throws ProblemError validation_failed, invalid_cursor
   */
  history(call: Call, query: HistoryQuery): Promise<Page<LineView>>;
  /**
   * Put somebody on the roster without a request. Who was terminated comes back only at the hands of holders of roster.apply_fixes.
   * @throws ProblemError conflict_of_interest, hierarchy_violation, validation_failed, invalid_transition
   */
  create(call: Call, given: CreateEntryInput): Promise<EntryView>;
  /**
   * Change an entry, from now on or since an earlier day; what later lines of its history changed stays changed.
   * @throws ProblemError permission_denied, conflict_of_interest, hierarchy_violation, validation_failed, precondition_failed,
   * invalid_transition
   */
  update(call: Call, key: string, given: UpdateEntryInput, ifMatch?: number): Promise<EntryView>;
  /** Entries, the newest first by default; without a status, of those who have not left. @throws ProblemError invalid_cursor */
  list(call: Call, query: ListEntriesQuery): Promise<Page<EntryView>>;
  /** One entry; an id of nobody is an answer, too. @param key id of the entry or of its person, or `@me` */
  get(call: Call, key: string): Promise<OneEntryView>;
}

/** The list, as its cursors name it. */
const listName = "roster_list";

type Known = Pick<AccessDirectory, "of" | "role">;

/** The roster and its history, as staff and clients read and change it. */
export function createRosterEntries(deps: RosterEntriesDeps): RosterEntries {
  const { database, access, cursors, clock } = deps;

  async function shown(call: Call, views: readonly EntryView[]): Promise<EntryView[]> {
    const references = views.map(({ origin_reference }) => origin_reference);
    const hidden = await hiddenAmong(database.read, call, references, deps);
    return views.map((view) => visibleEntry(call, view, { access, hidden }));
  }

  const present = async (call: Call, rows: readonly RosterEntry[], known: Known = access): Promise<EntryView[]> =>
    shown(call, await viewsOf(database.read, rows, { access: known, now: clock.now() }));

  return {
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
