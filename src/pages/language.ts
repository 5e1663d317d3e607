import { parseAccept } from "hono/utils/accept";
import { languages } from "../kit/say.ts";

/** A language of the texts, by its name there. */
export type Language = string;
/** Stands in for every language that there are no texts in. */
const fallback = "en";

/** The language that a tag such as `de-AT` asks for; undefined where the pages lack it. */
export function languageNamed(tag: string | null | undefined): Language | undefined {
  const [name = ""] = (tag ?? "").toLowerCase().split("-");
  return Object.keys(languages).find((one) => one === name);
}

/** The language that a browser prefers by its `Accept-Language` header (RFC 9110 §12.5.4). */
export function negotiateLanguage(accepted: string): Language {
  const ranges = parseAccept(accepted);
  const isNamed = (one: Language): boolean => ranges.some(({ type }) => languageNamed(type) === one);
  for (const { type, q } of ranges) {
    const language = type === "*" ? Object.keys(languages).find((one) => !isNamed(one)) : languageNamed(type);
    if (language !== undefined && q > 0) return language;
  }
  return fallback;
}

/** An OAuth `state` that brings the chosen language back from Discord. */
export function stateIn(language: Language | undefined, state: string): string {
  return language === undefined ? state : `${state}.${language}`;
}

/** The language that {@link stateIn} put into a state. */
export function languageOfState(state: string | undefined): Language | undefined {
  return Object.keys(languages).find((one) => state?.endsWith(`.${one}`) === true);
}
