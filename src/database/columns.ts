import { tables } from "../generated/tables.ts";
import type { Model } from "./models.ts";

/** The columns of a model by its fields: what each is called in the table, and its type in the schema. */
export type Columns = Readonly<Record<string, readonly [column: string, type: string]>>;

export const columnsOf = (model: Model): Columns => tables[model].columns;
