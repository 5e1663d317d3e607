import { translator, type Translate } from "../kit/say.ts";
import type { Operator } from "../config/config.ts";
import { header, type RequestInfo } from "../http/context.ts";
import { languageNamed, negotiateLanguage, type Language } from "./language.ts";

/** Where the pages live, and who runs them. */
export interface Publisher {
  /** Origin and path prefix of the pages, without a slash at the end. */
  publicUrl: () => string;
  operator: Operator;
}

/** Who reads a page: in which language, and what every page needs to know. */
export interface Reader {
  language: Language;
  /** The language that was asked for, kept from page to page; undefined where the browser's own counts. */
  chosen: Language | undefined;
  t: Translate;
  /** Path prefix of the pages, "" at the root. */
  base: string;
  operator: Operator;
  /** Whether the page can be read again in another language; what a form answers cannot. */
  canSwitch: boolean;
}

/**
 * The reader of a request. `?locale=` decides, then what the page knows of the person, then the browser's `Accept-Language`.
 * @param known language tag of the person, as a session has it
 */
export function readerOf(request: RequestInfo, publisher: Publisher, known?: string | null): Reader {
  const chosen = languageNamed(new URLSearchParams(request.search).get("locale")) ?? languageNamed(known);
  const language = chosen ?? negotiateLanguage(header(request, "accept-language") ?? "");
  const { operator } = publisher;
  return { language, chosen, t: translator(language), base: baseOf(publisher), operator, canSwitch: request.method === "GET" };
}

/** Path prefix of the pages, "" at the root. */
export function baseOf({ publicUrl }: Pick<Publisher, "publicUrl">): string {
  return new URL(publicUrl()).pathname.replace(/\/$/, "");
}

/** The address of another page, in the language that was asked for on this one. */
export function linkTo({ base, chosen }: Reader, path: string): string {
  return `${base}${path}${chosen === undefined ? "" : `?locale=${chosen}`}`;
}
