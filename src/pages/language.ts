import { parseAccept } from "hono/utils/accept";

/** The languages of the pages. The first stands in for every other one. */
export const pageLanguages = ["en", "de"] as const;
export type Language = (typeof pageLanguages)[number];

/** The language that a tag such as `de-AT` asks for; undefined where the pages lack it. */
export function languageNamed(tag: string | null | undefined): Language | undefined {
  const [name = ""] = (tag ?? "").toLowerCase().split("-");
  return pageLanguages.find((one) => one === name);
}

/** The language that a browser prefers by its `Accept-Language` header (RFC 9110 §12.5.4). */
export function negotiateLanguage(accepted: string): Language {
  const ranges = parseAccept(accepted);
  const isNamed = (one: Language): boolean => ranges.some(({ type }) => languageNamed(type) === one);
  for (const { type, q } of ranges) {
    const language = type === "*" ? pageLanguages.find((one) => !isNamed(one)) : languageNamed(type);
    if (language !== undefined && q > 0) return language;
  }
  return pageLanguages[0];
}

/** An OAuth `state` that brings the chosen language back from Discord. */
export function stateIn(language: Language | undefined, state: string): string {
  return language === undefined ? state : `${state}.${language}`;
}

/** The language that {@link stateIn} put into a state. */
export function languageOfState(state: string | undefined): Language | undefined {
  return pageLanguages.find((one) => state?.endsWith(`.${one}`) === true);
}
