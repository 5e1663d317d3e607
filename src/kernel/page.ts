import { createHmac, timingSafeEqual } from "node:crypto";
import { ProblemError } from "./errors.ts";
import type { ListQuery } from "./fields.ts";

/** One page of a list, as service methods return it; the HTTP API wraps it into the list envelope. */
export interface Page<T> {
  data: T[];
  limit: number;
  next_cursor: string | null;
  /** Present only when the caller asked for a count. */
  total?: number;
  meta?: { as_of: string | null; stale: boolean };
  /** Further members of `meta`, as the `notes` of the list's route describe them. */
  notes?: Readonly<Record<string, unknown>>;
}

/** A keyset position: the sort value and the id of the last entry shown. */
export type Position = readonly [sort: string | number, id: string];

/** Makes and reads cursors that are authenticated and bound to the list and filters they were made for. */
export interface Cursors {
  encode(list: string, filters: object, position: Position): string;
  /** @throws ProblemError invalid_cursor when the text is not a cursor of this list with these filters */
  decode(list: string, filters: object, cursor: string): Position;
}

/** @param secret any stable secret of the installation; cursors of another secret are refused */
export function createCursors(secret: Buffer): Cursors {
  const sign = (list: string, filters: object, body: string): Buffer =>
    createHmac("sha256", secret)
      .update(`cursor\n${list}\n${canonical(filters)}\n${body}`)
      .digest()
      .subarray(0, 16);
  return {
    encode(list, filters, position) {
      const body = Buffer.from(JSON.stringify(position)).toString("base64url");
      return `${body}.${sign(list, filters, body).toString("base64url")}`;
    },
    decode(list, filters, cursor) {
      const [body = "", signature = ""] = cursor.split(".");
      const given = Buffer.from(signature, "base64url");
      const wanted = sign(list, filters, body);
      if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) throw new ProblemError("invalid_cursor");
      return JSON.parse(Buffer.from(body, "base64url").toString()) as Position;
    },
  };
}

/**
 * Cut a page out of `limit + 1` rows and make the next cursor from the last row shown.
 */
export function toPage<Row, View>(
  rows: readonly Row[],
  limit: number,
  present: (row: Row) => View,
  cursorOf: (last: Row) => string,
): Page<View> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return { data: shown.map(present), limit, next_cursor: rows.length > limit && last !== undefined ? cursorOf(last) : null };
}

/**
 * Add the number of entries on all pages, if the query asks for it.
 * @param count counts what the filters match for this caller, whatever the cursor; runs only when asked
 */
export async function withTotal<T>(
  page: Page<T>,
  { count: asked }: Pick<ListQuery, "count">,
  count: () => number | Promise<number>,
): Promise<Page<T>> {
  return asked === "true" ? { ...page, total: await count() } : page;
}

/** How a list is ordered: what a position in it is made of, and the condition on rows that stand after one. */
export interface Keyset<Row, Where> {
  of(row: Row): Position;
  after(position: Position): Where;
}

export interface ListPageOptions<Row, View, Where> {
  cursors: Cursors;
  /** The list's name and the filters its cursors are bound to. */
  list: string;
  filters: object;
  query: Pick<ListQuery, "count"> & { limit: number; cursor?: string | undefined };
  keyset: Keyset<NoInfer<Row>, Where>;
  /** Reads at most `take` rows in the order of the keyset; `after` is a condition to be met besides the filters. */
  find(page: { after: Where | Record<string, never>; take: number }): Promise<readonly Row[]>;
  /** Counts what the filters match for this caller on all pages; called only when the query asks for it. */
  count(): number | Promise<number>;
  present(row: Row): View;
}

/** One page of a keyset list. @throws ProblemError invalid_cursor */
export async function listPage<Row, View, Where>(options: ListPageOptions<Row, View, Where>): Promise<Page<View>> {
  const { cursors, list, filters, query, keyset, find, count, present } = options;
  const after = query.cursor === undefined ? {} : keyset.after(cursors.decode(list, filters, query.cursor));
  const rows = await find({ after, take: query.limit + 1 });
  const page = toPage(rows, query.limit, present, (last) => cursors.encode(list, filters, keyset.of(last)));
  return withTotal(page, query, count);
}

/** Paging parameters are left out: a page size may change between pages. */
function canonical(filters: object): string {
  const entries = Object.entries(filters).filter(
    ([key, value]) => value !== undefined && key !== "cursor" && key !== "limit" && key !== "count",
  );
  return JSON.stringify(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
