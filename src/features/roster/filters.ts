import type { Prisma } from "../../generated/sqlite/client.ts";
import type { Position } from "../../kernel/page.ts";
import { beginningWith } from "../../kernel/words.ts";
import type { Standings } from "../permissions/standing/standing.ts";
import type { ListEntriesQuery } from "./roster.schema.ts";
import { liveStatuses } from "./states.ts";

type Where = Prisma.RosterEntryWhereInput;
export type EntryFilters = Omit<ReturnType<typeof ListEntriesQuery.parse>, "limit" | "cursor" | "count">;

/** More people than this are not looked for by name. */
const mostNamed = 1000;

/** The database's words for the filters of the list. */
export function entriesWhere(filters: EntryFilters, standing: Pick<Standings, "people" | "of">, position?: Position): Where {
  const { status, include_left: includeLeft, staff_role: staffRole, department, supervisor_id: supervisorId, in_guild: inGuild } = filters;
  const equal = { status, staffRole, department, supervisorId };
  const all: Where[] = [Object.fromEntries(Object.entries(equal).filter(([, value]) => value !== undefined))];
  if (status === undefined && includeLeft !== "true") all.push({ status: { in: [...liveStatuses] } });
  if (inGuild !== undefined) all.push({ inGuild: inGuild === "true" });
  if (filters.q !== undefined) all.push(namedLike(filters.q, standing));
  if (position !== undefined) all.push(beyond(filters.sort, position));
  return { AND: all };
}

/** By what they are called now, in whatever case, and by what they were called when last looked at. */
function namedLike(q: string, standing: Pick<Standings, "people" | "of">): Where {
  const wanted = q.toLowerCase();
  const isNamed = (id: string): boolean =>
    standing
      .of(id)
      .members.some(({ nick, globalName, username }) =>
        [nick, globalName, username].some((name) => name?.toLowerCase().startsWith(wanted) === true),
      );
  const named = standing.people().filter(isNamed).slice(0, mostNamed);
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
