import { Prisma } from "../generated/sqlite/client.ts";
import { tables } from "../generated/tables.ts";
import type { Insert, Tx } from "./tx.ts";

type Value = string | number | boolean | Date | null | object;

/** Values of one statement; SQLite takes 32,766. */
const valuesAtOnce = 12_000;

/**
 * Insert many rows in few statements. The client's own `createMany` takes ten times as long and more for rows in hundreds.
 * @param rows all with the same fields; lists and objects are stored as JSON
 */
export async function insertRows(tx: Tx, model: Insert["model"], rows: readonly object[]): Promise<void> {
  await insertAll(tx, [{ model, rows }]);
}

/**
 * Insert rows of several tables, a table after those it refers to. On PostgreSQL everything is one statement, as long as its values fit:
 * each round trip keeps others waiting for what the transaction holds.
 * @param more statements that change other rows than those, in the same go
 */
export async function insertAll(tx: Tx, inserts: readonly Insert[], more: readonly Prisma.Sql[] = []): Promise<void> {
  const statements = [...inserts.flatMap(partsOf), ...more];
  const [only] = statements;
  const values = statements.reduce((sum, statement) => sum + statement.values.length, 0);
  if (tx.dialect === "sqlite" || statements.length < 2 || values > valuesAtOnce) {
    for (const statement of statements) await tx.db.$executeRaw(statement);
    return;
  }
  const parts = statements.slice(1).map((statement, index) => Prisma.sql`${Prisma.raw(`part${index.toString()}`)} AS (${statement})`);
  await tx.db.$executeRaw`WITH ${Prisma.join(parts)} ${only}`;
}

function partsOf({ model, rows }: Insert): Prisma.Sql[] {
  const [first] = rows;
  const { table } = tables[model];
  const columns: Readonly<Record<string, readonly [column: string, type: string]>> = tables[model].columns;
  if (first === undefined) return [];
  const fields = Object.keys(first);
  const names = Prisma.raw(fields.map((field) => `"${columns[field]?.[0] ?? field}"`).join(", "));
  const size = Math.max(1, Math.floor(valuesAtOnce / fields.length));
  const parts: Prisma.Sql[] = [];
  for (let from = 0; from < rows.length; from += size) {
    const some = rows.slice(from, from + size) as readonly Record<string, Value>[];
    const values = some.map((row) => Prisma.sql`(${Prisma.join(fields.map((field) => stored(row[field] as Value)))})`);
    parts.push(Prisma.sql`INSERT INTO ${Prisma.raw(`"${table}"`)} (${names}) VALUES ${Prisma.join(values)}`);
  }
  return parts;
}

function stored(value: Value): Value {
  return typeof value === "object" && value !== null && !(value instanceof Date) ? JSON.stringify(value) : value;
}
