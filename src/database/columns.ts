import { tables } from "../generated/tables.ts";
import type { Model } from "./models.ts";

/** The columns of a model by its fields: what each is called in the table, and its type in the schema. */
export type Columns = Readonly<Record<string, readonly [column: string, type: string]>>;

/** The relations of a model by its fields: how many there are, the other model, and the fields that are equal, there and here. */
export type Relations = Readonly<Record<string, readonly [many: "one" | "many", model: Model, there: string, here: string]>>;

export const relationsOf = (model: Model): Relations => tables[model].relations;
export const columnsOf = (model: Model): Columns => tables[model].columns;
