import { z } from "zod";
import type { Position } from "./page.ts";

/** What a page says that ended before it was full although the list goes on. */
export const WalkNotes = z.object({
  examined: z.int().positive().optional().meta({
    description: "Present where the page ended before it was full: how many entries it looked at. `page.next_cursor` goes on from there",
  }),
});

/** For the descriptions of routes whose lists have it. */
export const walkDescription =
  "Where no index leads to what the filters find, a page looks at 2,000 entries at most. It can then be shorter than `limit`, or empty, and `meta.examined` says so; `page.next_cursor` goes on from there.";

type Direction = "asc" | "desc";
/** A condition on rows, which fits what the client takes for any model. */
type Where = Record<string, never>;

/** An order of a list: by one column without empty values, then by id. An index of both columns is walked in it, from any position. */
export interface Order<Column extends string> {
  column: Column;
  direction: Direction;
  orderBy: [Record<Column, Direction>, { id: Direction }];
  of(row: Record<Column, Date | string> & { id: string }): Position;
  /** What the column holds at a position. */
  valueOf(position: Position): Date | string;
  /** What stands after a position. The first condition follows from the second: with it both databases enter the index at the position. */
  after(position: Position): Where;
}

/** @param kind what the column holds: times or texts */
export function orderOf<Column extends string>(column: Column, direction: Direction, kind: "times" | "texts" = "times"): Order<Column> {
  const onwards = direction === "asc" ? "gt" : "lt";
  const valueOf = ([value]: Position): Date | string => (kind === "times" ? new Date(value) : String(value));
  return {
    column,
    direction,
    orderBy: [{ [column]: direction } as Record<Column, Direction>, { id: direction }],
    of(row) {
      const value: Date | string = row[column];
      return [value instanceof Date ? value.toISOString() : value, row.id];
    },
    valueOf,
    after(position) {
      const [value, id] = [valueOf(position), position[1]];
      return {
        [column]: { [`${onwards}e`]: value },
        OR: [{ [column]: { [onwards]: value } }, { id: { [onwards]: id } }],
      } as unknown as Where;
    },
  };
}

/** The order of most lists. */
export const newestFirst = orderOf("createdAt", "desc");
