import type { Dialect } from "../../database/dialect.ts";
import type { AuditEntry } from "../../generated/sqlite/client.ts";

/** An entry as it is stored, no matter who stored it: what does not read as an entry should fails its hash. */
export interface StoredEntry {
  entry: AuditEntry;
  /** Absent once erased. `payload` is undefined where the text is no JSON. */
  details?: { salt: string; payload: unknown };
}

/** Answers the only column of every row, a JSON text. The statement holds no values of others. */
export type RowQuery = (sql: string) => Promise<readonly string[]>;

export interface EntryReader {
  /** The position of the last entry; 0 for an empty chain. */
  head(): Promise<number>;
  /** Entries after a position, at most to another one, in order. */
  slice(after: number, to: number, limit: number): Promise<StoredEntry[]>;
  /** Those of `slice` that say that they erased details. */
  erasing(after: number, to: number): Promise<StoredEntry[] | never[]>;
  /** Whether there is an entry with this hash. */
  knows(hash: string): Promise<boolean>;
  /** The first position with details and without an entry. */
  stray(): Promise<number | undefined>;
}

const texts = [
  ["id", "id"],
  ["action", "action"],
  ["outcome", "outcome"],
  ["actorId", "actor_id"],
  ["clientId", "client_id"],
  ["via", "via"],
  ["targetKind", "target_kind"],
  ["targetId", "target_id"],
  ["targetReference", "target_reference"],
  ["subjectUserId", "subject_user_id"],
  ["guildId", "guild_id"],
  ["requestId", "request_id"],
  ["permissionUsed", "permission_used"],
  ["payloadCommitment", "payload_commitment"],
  ["erased", "erased"],
  ["prevHash", "prev_hash"],
  ["hash", "hash"],
] as const;

/** What differs between the databases. */
const dialects = {
  sqlite: {
    text: (column: string) => `CAST(${column} AS TEXT)`,
    at: "CAST(e.at AS TEXT)",
    breakGlass: "CASE typeof(e.break_glass) WHEN 'integer' THEN e.break_glass ELSE CAST(e.break_glass AS TEXT) END",
    row: (columns: string) => `json_array(${columns})`,
  },
  postgres: {
    text: (column: string) => `${column}::text`,
    at: `to_char(e.at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
    breakGlass: "e.break_glass",
    row: (columns: string) => `json_build_array(${columns})::text`,
  },
} as const;

/**
 * Reads entries with their details, past the models, so that a row no model could read is a finding and no failure.
 * @param hasErased false for a copy of a database from before entries named what they erased
 */
export function createEntryReader(dialect: Dialect, query: RowQuery, hasErased = true): EntryReader {
  const { text, at, breakGlass, row } = dialects[dialect];
  const columns = texts.map(([, name]) => (name === "erased" && !hasErased ? "NULL" : text(`e.${name}`)));
  const chosen = row(["e.seq", at, breakGlass, text("p.salt"), text("p.payload"), ...columns].join(", "));
  const source = "audit_entries e LEFT JOIN audit_payloads p ON p.seq = e.seq";
  const select = async (where: string, limit: number): Promise<StoredEntry[]> =>
    (await query(`SELECT ${chosen} AS line FROM ${source} WHERE ${where} ORDER BY e.seq LIMIT ${limit.toString()}`)).map(storedEntry);
  const within = (after: number, to: number): string => `e.seq > ${after.toString()} AND e.seq <= ${to.toString()}`;

  return {
    async head(): Promise<number> {
      const [line = "[0]"] = await query(`SELECT ${row("COALESCE(MAX(e.seq), 0)")} AS line FROM audit_entries e`);
      return (JSON.parse(line) as [number])[0];
    },
    slice: (after: number, to: number, limit: number) => select(within(after, to), limit),
    erasing: async (after: number, to: number) => (hasErased ? select(`${within(after, to)} AND e.erased IS NOT NULL`, to - after) : []),
    async knows(hash: string): Promise<boolean> {
      if (!/^[0-9a-f]{64}$/.test(hash)) return false;
      return (await query(`SELECT ${row("e.seq")} AS line FROM audit_entries e WHERE e.hash = '${hash}'`)).length > 0;
    },
    async stray(): Promise<number | undefined> {
      const beyond = "p.seq < 1 OR p.seq > (SELECT COALESCE(MAX(seq), 0) FROM audit_entries)";
      const [line] = await query(`SELECT ${row("p.seq")} AS line FROM audit_payloads p WHERE ${beyond} ORDER BY p.seq LIMIT 1`);
      return line === undefined ? undefined : (JSON.parse(line) as [number])[0];
    },
  };
}

/** An entry under the names of its columns, as exports hold it. */
export function columnsOf({ seq, at, breakGlass, ...row }: AuditEntry): object {
  return { seq, at: at.toISOString(), break_glass: breakGlass, ...Object.fromEntries(texts.map(([name, column]) => [column, row[name]])) };
}

/** The entry of a line of an export. */
export function entryOfColumns(said: Readonly<Record<string, unknown>>): StoredEntry {
  const named = Object.fromEntries(texts.map(([name, column]) => [name, said[column] ?? null]));
  const entry = { ...named, seq: said["seq"], at: new Date(String(said["at"])), breakGlass: said["break_glass"] } as AuditEntry;
  return { entry, ...(typeof said["salt"] === "string" && { details: { salt: said["salt"], payload: said["payload"] } }) };
}

function storedEntry(line: string): StoredEntry {
  const [seq, at, breakGlass, salt, payload, ...rest] = JSON.parse(line) as [number, string, unknown, string | null, string, ...unknown[]];
  const named = Object.fromEntries(texts.map(([name], index) => [name, rest[index]]));
  const entry = { ...named, seq, at: new Date(at), breakGlass: breakGlass === 1 ? true : breakGlass === 0 ? false : breakGlass };
  return { entry: entry as AuditEntry, ...(salt !== null && { details: { salt, payload: parsed(payload) } }) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
