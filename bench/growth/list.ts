import type { Insert } from "../../src/database/tx.ts";

/** What is stored, and the lists that are read out of it. */
export interface GrowthStore {
  /** Who asks besides the owner, who sees everything: staff of this level. */
  ordinary: "admin" | "senior" | "moderator" | "viewer";
  /** Entries for each one of the size; 1 by default. */
  entriesPerSize?: number;
  /** The rows that one entry is stored in, a table after those it refers to. */
  rowsOf(index: number, entries: number, people: People): readonly Insert[];
  /** Where the counters stand afterwards, by name. */
  counters?(entries: number): Readonly<Record<string, number>>;
  lists: readonly GrowthList[];
}

/** One list of the service, whose cost may not grow with what is stored. */
export interface GrowthList {
  /** As the document has it. */
  path: string;
  /** The path that is asked, where the document's has placeholders. */
  asked?: string;
  cases: readonly GrowthCase[];
}

/** Ids of those who ask. */
export interface People {
  owner: string;
  ordinary: string;
}

export interface GrowthCase {
  /** What is asked, without `?`; a filter that depends on the store or on who asks is a function. */
  query: string | ((entries: number, people: People) => string);
  /** What the values are like: no hits, few hits, half of all rows. */
  note?: string;
  /** The page in the middle of the list, or twenty thousand entries down, is measured and not the first one. */
  isDeep?: true;
  /** The other one lacks the permission. */
  isForOwner?: true;
}

/** Says what the case asks, for its row of the table. */
export function nameOf({ query, note, isDeep }: GrowthCase, entries: number, people: People): string {
  const asked = typeof query === "string" ? query : query(entries, people);
  const text = asked === "" ? "(no filter)" : decodeURIComponent(asked);
  return [text, ...(note === undefined ? [] : [`(${note})`]), ...(isDeep === true ? ["(deep page)"] : [])].join(" ");
}

export function queryOf({ query }: GrowthCase, entries: number, people: People): string {
  return typeof query === "string" ? query : query(entries, people);
}

interface Parameter {
  name: string;
  in: string;
  schema?: { enum?: readonly string[] };
}

/** The parameters that every list has; a total is counted, which takes time in proportion to what is counted. */
const paging = new Set(["limit", "cursor", "count"]);

/** @returns what the document offers and no case asks: a filter without a case, a sort order without a case */
export function missingCases(list: GrowthList, document: object): string[] {
  const { paths } = document as { paths: Record<string, { get?: { parameters?: readonly Parameter[] } } | undefined> };
  const get = paths[list.path]?.get;
  if (get === undefined) return [`the document has no GET ${list.path}`];
  const people: People = { owner: "1", ordinary: "2" };
  const asked = list.cases.map((one) => new URLSearchParams(queryOf(one, 1000, people)));
  return (get.parameters ?? []).flatMap((parameter) => {
    if (parameter.in !== "query" || paging.has(parameter.name)) return [];
    const values = parameter.name === "sort" ? (parameter.schema?.enum ?? []) : [undefined];
    const lacks = values.filter(
      (value) => !asked.some((one) => (value === undefined ? one.has(parameter.name) : one.get("sort") === value)),
    );
    return lacks.map((value) => `GET ${list.path} has no case for ${parameter.name}${value === undefined ? "" : `=${value}`}`);
  });
}
