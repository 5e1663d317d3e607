import type { ReadClient } from "../../database/database.ts";
import type { TimelineKind } from "./timeline.schema.ts";

/** A place between two entries: the last one shown. */
export interface Place {
  at: Date;
  /** Name of its source. */
  source: string;
  /** Its row there. */
  row: string;
}

/** What a source is asked for. */
export interface Asked {
  /** The accounts, that of the path first. */
  userIds: readonly string[];
  /** Only what comes after this place, looking back in time. */
  after?: Place | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
  /** Ids of the requests the caller may not know of. */
  hidden: readonly string[];
  /** Ids of the requests and the cases about them, without the hidden requests; absent: there are too many to name. */
  requestIds?: readonly string[];
  caseIds?: readonly string[];
  /** The cases the caller may see, in the words of the database. */
  visibleCases: object;
  /** Whether the records behind matches may be named to the caller. */
  namesRecords: boolean;
  /** Whether linked accounts may be named to the caller. */
  namesAccounts: boolean;
}

/** One thing that happened, as its source tells it. */
export interface Entry extends Place {
  kind: TimelineKind;
  event: string;
  userId: string;
  summary: string;
  reference?: string | null;
  recordId?: string | null;
  actorId?: string | null;
}

/** Where entries of one kind come from. */
export interface Source {
  name: string;
  kind: TimelineKind;
  /** The newest entries after the place, at most `take`. */
  read(db: ReadClient, asked: Asked, take: number): Promise<Entry[]>;
  /** How many there are in all, wherever the place. */
  count(db: ReadClient, asked: Asked): Promise<number>;
}

/** The rows to read, as the database's client takes it. */
interface Query {
  where: object;
  orderBy: object[];
  take: number;
}

/** A table as a source: what in it is an entry, when it happened, and what it says. */
export interface SourceSpec<Row> {
  name: string;
  kind: TimelineKind;
  find: (db: ReadClient, query: Query) => Promise<Row[]>;
  total: (db: ReadClient, query: { where: object }) => Promise<number>;
  /** The column that says when; rows without a time are no entries. */
  time: string & keyof Row;
  /** Which rows are about the people asked for. */
  about: (asked: Asked) => object;
  /** What names a row and orders rows of the same time. */
  key: Key<Row>;
  tell: (row: Row, asked: Asked) => Omit<Entry, "at" | "kind" | "row" | "source">;
}

interface Key<Row> {
  of: (row: Row) => string;
  /** Rows that are named by less. */
  below: (row: string) => object;
  order: object[];
}

/** Rows that have an id of their own. */
export const byId: Key<{ id: string }> = { of: ({ id }) => id, below: (id) => ({ id: { lt: id } }), order: [{ id: "desc" }] };

/** Later than anything happens. */
const endOfTime = new Date("9999-01-01T00:00:00.000Z");

/** A source of one table. */
export function sourceOf<Row>(spec: SourceSpec<Row>): Source {
  const { name, kind, time, key, about, tell } = spec;
  const within = (asked: Asked): object[] => [
    about(asked),
    { [time]: { lt: asked.to ?? endOfTime, ...(asked.from !== undefined && { gte: asked.from }) } },
  ];
  return {
    name,
    kind,
    async read(db, asked, take) {
      const where = { AND: [...within(asked), ...beyond(name, time, key, asked.after)] };
      const orderBy = [{ [time]: "desc" }, ...key.order];
      const rows = await spec.find(db, { where, orderBy, take });
      return rows.map((row) => ({ ...tell(row, asked), at: row[time] as Date, kind, source: name, row: key.of(row) }));
    },
    count: (db, asked) => spec.total(db, { where: { AND: within(asked) } }),
  };
}

/** {@link newestFirst} in the words of the database: entries of one time are in the order of their sources, then of their rows. */
function beyond<Row>(name: string, time: string, key: Key<Row>, after: Place | undefined): object[] {
  if (after === undefined) return [];
  if (name !== after.source) return [{ [time]: name < after.source ? { lte: after.at } : { lt: after.at } }];
  return [{ OR: [{ [time]: { lt: after.at } }, { AND: [{ [time]: after.at }, key.below(after.row)] }] }];
}

/** The one order of all entries, whatever their source. */
export function newestFirst(a: Place, b: Place): number {
  return b.at.getTime() - a.at.getTime() || compare(b.source, a.source) || compare(b.row, a.row);
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
