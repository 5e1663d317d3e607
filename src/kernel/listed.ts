/** Texts beyond this number are only counted. */
const longest = 10;

/** Some texts as one, for people: the first ten by name, the others as a number. */
export function listed(texts: readonly string[]): string {
  const more = texts.length > longest ? ` and ${(texts.length - longest).toString()} more` : "";
  return `${texts.slice(0, longest).join(", ")}${more}`;
}
