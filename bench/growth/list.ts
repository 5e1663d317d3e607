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

interface Document {
  paths: Readonly<Record<string, { get?: { parameters?: readonly (Parameter | { $ref: string })[] } } | undefined>>;
  components?: { parameters?: Readonly<Record<string, Parameter>> };
}

/** The parameters of a path's GET, wherever the document has them; undefined: it has no such GET. */
function parametersOf(document: object, path: string): Parameter[] | undefined {
  const { paths, components } = document as Document;
  return paths[path]?.get?.parameters?.map((parameter) => {
    const found = "$ref" in parameter ? components?.parameters?.[parameter.$ref.split("/").at(-1) ?? ""] : parameter;
    if (found === undefined)
      throw new Error(`GET ${path} has a parameter that the document does not explain: ${JSON.stringify(parameter)}`);
    return found;
  });
}

/**
 * Lists that are not measured: what belongs to `one` record or person; the `few` things that are set up by hand or exist once for each
 * member of the staff or waits to be done; `ended` slots of callsigns, which the list reads past.
 */
const withoutCases: Readonly<Record<string, "one" | "few" | "ended">> = {
  "/users/{discord_user_id}/servers": "one",
  "/users/{discord_user_id}/matches": "one",
  "/users/{discord_user_id}/clearances": "one",
  "/users/{discord_user_id}/native-actions": "one",
  "/users/{discord_user_id}/links": "one",
  "/users/{discord_user_id}/timeline": "one",
  "/users/{discord_user_id}/strikes": "one",
  "/servers/{id}/agreements": "one",
  "/servers/{id}/incidents": "one",
  "/blacklist/{id}/history": "one",
  "/blacklist/{id}/evidence": "one",
  "/cases/{id}/timeline": "one",
  "/cases/{id}/notes": "one",
  "/cases/{id}/notes/{note_id}/history": "one",
  "/cases/{id}/actions": "one",
  "/cases/{id}/evidence": "one",
  "/workflows/{type}/{website_id}/evidence": "one",
  "/workflows/{type}/{id}/comments": "one",
  "/workflows/{type}/{id}/history": "one",
  "/roster/audits/{id}/findings": "one",
  "/staff": "few",
  "/staffroles": "few",
  "/permissions/catalog": "few",
  "/permissions/roles": "few",
  "/keys": "few",
  "/channels": "few",
  "/guilds/{guild_id}/exemptions": "few",
  "/guilds/{guild_id}/list-actions": "few",
  "/lists": "few",
  "/lists/{id}/entries": "one",
  "/webhooks": "few",
  "/webhooks/{id}/deliveries": "one",
  "/confirmations": "few",
  "/cases/templates": "few",
  "/workflows/policies": "few",
  "/roster/audits": "few",
  "/callsigns/pools": "few",
  "/callsigns/repairs": "few",
  "/callsigns": "ended",
};

/** @returns the lists of the document that have neither cases nor a reason to have none, and those with a reason that are no lists or have cases */
export function forgottenLists(lists: readonly GrowthList[], document: object): string[] {
  const all = Object.keys((document as Document).paths).filter((path) =>
    parametersOf(document, path)?.some(({ name }) => name === "cursor"),
  );
  const measured = new Set(lists.map(({ path }) => path));
  return [
    ...all.filter((path) => !measured.has(path) && withoutCases[path] === undefined).map((path) => `GET ${path} has no case`),
    ...Object.keys(withoutCases).flatMap((path) =>
      all.includes(path) && !measured.has(path) ? [] : [`GET ${path} is no list without cases`],
    ),
  ];
}

/** The parameters that every list has; a total is counted, which takes time in proportion to what is counted. */
const paging = new Set(["limit", "cursor", "count"]);

/** @returns what the document offers and no case asks: a filter without a case, a sort order without a case */
export function missingCases(list: GrowthList, document: object): string[] {
  const parameters = parametersOf(document, list.path);
  if (parameters === undefined) return [`the document has no GET ${list.path}`];
  const people: People = { owner: "1", ordinary: "2" };
  const asked = list.cases.map((one) => new URLSearchParams(queryOf(one, 1000, people)));
  return parameters.flatMap((parameter) => {
    if (parameter.in !== "query" || paging.has(parameter.name)) return [];
    const values = parameter.name === "sort" ? (parameter.schema?.enum ?? []) : [undefined];
    const lacks = values.filter(
      (value) => !asked.some((one) => (value === undefined ? one.has(parameter.name) : one.get("sort") === value)),
    );
    return lacks.map((value) => `GET ${list.path} has no case for ${parameter.name}${value === undefined ? "" : `=${value}`}`);
  });
}
