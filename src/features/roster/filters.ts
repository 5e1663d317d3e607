import { either, idsOf, type Condition } from "../../database/walk.ts";
import type { Where as PlainWhere } from "../../database/where.ts";
import { orderOf } from "../../kernel/keyset.ts";
import { beginningWith } from "../../kernel/words.ts";
import type { AccessDirectory } from "../permissions/access/access-directory.ts";
import type { ListEntriesQuery } from "./roster.schema.ts";
import { liveStatuses } from "./states.ts";

type Where = PlainWhere<"RosterEntry">;
export type EntryFilters = Omit<ReturnType<typeof ListEntriesQuery.parse>, "limit" | "cursor" | "count">;
type People = Pick<AccessDirectory, "people" | "of">;

export const orders = {
  "-created_at": orderOf("createdAt", "desc"),
  created_at: orderOf("createdAt", "asc"),
  "-updated_at": orderOf("updatedAt", "desc"),
} as const satisfies Record<EntryFilters["sort"], object>;

/** More people than this are not looked for by name: SQLite takes 999 values in a statement. */
const maxNamed = 500;

/** What the filters of the list ask of an entry; those whose index finds few come first. */
export function conditions(filters: EntryFilters, access: People): Condition<Where>[] {
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
