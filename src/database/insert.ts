import { Prisma } from "../generated/sqlite/client.ts";
import { tables } from "../generated/tables.ts";
import { columnsOf } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import type { Insert, Tx } from "./tx.ts";

type Value = string | number | boolean | Date | null | object;

/** Values of one statement. SQLite, which takes 32,766, keeps the event loop to itself meanwhile. */
const valuesAtOnce: Readonly<Record<Dialect, number>> = { sqlite: 1500, postgres: 12_000 };
/** Rows that go to PostgreSQL in one statement with those of other tables. */
const rowsAtOnce = 1000;

/**
 * Insert many rows in few statements. The client's own `createMany` takes ten times as long and more for rows in hundreds.
 * @param rows all with the same fields; lists and objects are stored as JSON
 */
export async function insertRows(tx: Tx, model: Insert["model"], rows: readonly object[]): Promise<void> {
  await insertAll(tx, [{ model, rows }]);
}

/**
 * Insert rows of several tables, a table after those it refers to. On PostgreSQL everything is one statement, as long as its rows are few:
 * each round trip keeps others waiting for what the transaction holds.
 * @param more statements that change other rows than those, in the same go
 */
export async function insertAll(tx: Tx, inserts: readonly Insert[], more: readonly Prisma.Sql[] = []): Promise<void> {
  const statements = [...inserts.flatMap((insert) => partsOf(tx.dialect, insert)), ...more];
  const [only] = statements;
  const rows = inserts.reduce((sum, insert) => sum + insert.rows.length, 0);
  if (tx.dialect === "sqlite" || statements.length < 2 || rows > rowsAtOnce) {
    await Promise.all(statements.map((statement) => tx.db.$executeRaw(statement)));
    return;
  }
  const parts = statements.slice(1).map((statement, index) => Prisma.sql`${Prisma.raw(`part${index.toString()}`)} AS (${statement})`);
  await tx.db.$executeRaw`WITH ${Prisma.join(parts)} ${only}`;
}

function partsOf(dialect: Dialect, { model, rows }: Insert): Prisma.Sql[] {
  const [first] = rows;
  if (first === undefined) return [];
  const { table } = tables[model];
  const known = columnsOf(model);
  const columns = Object.keys(first).map((field): Column => {
    const [name, type] = known[field] ?? [field, "String"];
    return { field, name, type };
  });
  const start = Prisma.raw(`INSERT INTO "${table}" (${columns.map(({ name }) => `"${name}"`).join(", ")}) `);
  const size = Math.max(1, Math.floor(valuesAtOnce[dialect] / columns.length));
  const parts: Prisma.Sql[] = [];
  for (let from = 0; from < rows.length; from += size) {
    const some = rows.slice(from, from + size) as readonly Record<string, Value>[];
    parts.push(Prisma.sql`${start}${sources[dialect](columns, some)}`);
  }
  return parts;
}

type Source = (columns: readonly Column[], rows: readonly Record<string, Value>[]) => Prisma.Sql;
interface Column {
  field: string;
  name: string;
  type: string;
}

/** What PostgreSQL reads a field as. JSON is text until it is stored, so that its null is not taken for none. */
const postgresTypes: Readonly<Record<string, string>> = {
  String: "text",
  Int: "integer",
  BigInt: "bigint",
  Boolean: "boolean",
  DateTime: "timestamp(3)",
  Json: "text",
};

/** On PostgreSQL the same text however many rows there are, so that the statement is prepared once. */
const sources: Readonly<Record<Dialect, Source>> = {
  sqlite: (columns, rows) => {
    const values = rows.map((row) => Prisma.sql`(${Prisma.join(columns.map(({ field }) => stored(row[field] as Value)))})`);
    return Prisma.sql`VALUES ${Prisma.join(values)}`;
  },
  postgres: (columns, rows) => {
    const lines = rows.map((row) => Object.fromEntries(columns.map(({ field, name }) => [name, stored(row[field] as Value)])));
    const shape = columns.map(({ name, type }) => `"${name}" ${postgresTypes[type] ?? "text"}`).join(", ");
    const names = columns.map(({ name, type }) => (type === "Json" ? `"${name}"::jsonb` : `"${name}"`)).join(", ");
    return Prisma.sql`SELECT ${Prisma.raw(names)} FROM json_to_recordset(${JSON.stringify(lines)}::json) AS row(${Prisma.raw(shape)})`;
  },
};

function stored(value: Value): Value {
  return typeof value === "object" && value !== null && !(value instanceof Date) ? JSON.stringify(value) : value;
}
