import { isDeepStrictEqual } from "node:util";
import type { Tx } from "../../../database/database.ts";
import { registry } from "./registry.ts";
import type { Column, Model, Redaction } from "./types.ts";

/**
 * Whose data goes. With `before` only what is older: a deletion that is caught up with must not take what was given since.
 */
export interface WipeTarget {
  userId: string;
  before?: Date;
}

type Where = Readonly<Record<string, unknown>>;
type Columns = Readonly<Record<string, Column>>;

/** What is asked of the rows of any model here. */
interface Rows {
  findMany(query: { where: Where }): Promise<({ id: string } & Record<string, unknown>)[]>;
  update(change: { where: { id: string }; data: object }): Promise<unknown>;
  updateMany(change: { where: Where; data: object }): Promise<{ count: number }>;
  deleteMany(which: { where: Where }): Promise<{ count: number }>;
}

/**
 * Erase every text about a person that the registry says a redaction erases, but for what services erase themselves.
 * @returns in how many places
 */
export async function eraseTexts(tx: Tx, { userId, before }: WipeTarget): Promise<number> {
  tx.erases();
  let count = 0;
  for (const model of Object.keys(registry) as Model[]) {
    const entry = registry[model];
    if (!("about" in entry) || typeof entry.about === "string") continue;
    const where = entry.about(userId, before === undefined ? {} : { lte: before }) as Where;
    const place = { rows: rowsOf(tx, model), where, userId, revision: entry.isRevised === true ? { revision: { increment: 1 } } : {} };
    count += await eraseIn(place, entry.columns);
  }
  return count;
}

interface Place {
  rows: Rows;
  where: Where;
  userId: string;
  revision: object;
}

async function eraseIn(place: Place, columns: Columns): Promise<number> {
  const texts = Object.entries(columns).flatMap(([name, column]) => (typeof column === "string" ? [] : [{ name, ...column }]));
  if (texts.some(({ redaction }) => redaction === "row")) return (await place.rows.deleteMany({ where: place.where })).count;
  let count = 0;
  for (const { name, redaction } of texts) count += await eraseColumn(place, name, redaction);
  return count;
}

async function eraseColumn(place: Place, name: string, redaction: Redaction): Promise<number> {
  const { rows, where, userId, revision } = place;
  if (typeof redaction === "string" || "stays" in redaction) return 0;
  if ("becomes" in redaction) {
    const { becomes } = redaction;
    const filled = becomes === null ? { [name]: { not: null } } : {};
    return (await rows.updateMany({ where: { AND: [where, filled] }, data: { [name]: becomes, ...revision } })).count;
  }
  let count = 0;
  for (const row of await rows.findMany({ where })) {
    const value = redaction.loses(row[name], userId);
    if (isDeepStrictEqual(value, row[name])) continue;
    await rows.update({ where: { id: row.id }, data: { [name]: value, ...revision } });
    count += 1;
  }
  return count;
}

/** The client has a table for each model, under its name with a small first letter. */
function rowsOf({ db }: Tx, model: Model): Rows {
  const tables = db as unknown as Readonly<Record<string, Rows>>;
  const rows = tables[model.charAt(0).toLowerCase() + model.slice(1)];
  if (rows === undefined) throw new Error(`there is no table of ${model}`);
  return rows;
}
