import type { Shown } from "../../sandbox/index.ts";

/** Frequent English words that no German sentence has. */
const words = [
  ..."the is are were been has have had does did not of this that these those with without your you yours we our they their them its it".split(
    " ",
  ),
  ..."and or but because if for from by to into at until before after than then there which what who whom whose where when while".split(
    " ",
  ),
  ..."can cannot could would should may might must no nobody somebody nothing none any every each other another only already again more most".split(
    " ",
  ),
  ..."request requests record records reason staff role roles user users case cases permission permissions evidence blacklist open opened".split(
    " ",
  ),
  ..."closed pending denied approved active expired suspended revoked yes true false created updated given taken reviewed warning member".split(
    " ",
  ),
];
const english = new RegExp(String.raw`(?<![\p{L}\d_/.-])(?:${words.join("|")})(?![\p{L}\d_/-]|\.[a-z*])`, "giu");
/** The English words in a German text. */
export const englishIn = (text: string): string[] => text.match(english) ?? [];

/** A value of a closed list as the program spells it. */
const spelled = /(?<![\p{L}\d/.])[a-z]+(?:_[a-z]+)+(?![\p{L}\d])/gu;

interface Part {
  label?: string;
  placeholder?: string;
  options?: readonly { label?: string; description?: string }[];
  components?: readonly Part[];
}

/** All that a person reads of a message: its text, embeds, buttons and menus. */
export function readable({ content, embeds, components }: Pick<Shown, "content" | "embeds" | "components">): string[] {
  const ofParts = (parts: readonly Part[]): (string | undefined)[] =>
    parts.flatMap(({ label, placeholder, options = [], components: inner = [] }) => [
      label,
      placeholder,
      ...options.flatMap((option) => [option.label, option.description]),
      ...ofParts(inner),
    ]);
  const ofEmbeds = embeds.flatMap(({ title, description, fields = [], footer, author }) => [
    author?.name,
    title,
    description,
    ...fields.flatMap(({ name, value }) => [name, value]),
    footer?.text,
  ]);
  return [content, ...ofEmbeds, ...ofParts(components as readonly Part[])].flatMap((text) =>
    text === undefined ? [] : text.replaceAll(/```[^]*?```/g, " ").split("\n"),
  );
}

/**
 * The lines of a German message that say something in English, outside of code spans, addresses and mentions.
 * @param written what people wrote and named, which is shown as it is
 */
export function englishLines(message: Pick<Shown, "content" | "embeds" | "components">, written: Iterable<string>): string[] {
  const texts = [...new Set([...written].flatMap((text) => text.split(/[\n,;]|\d{17,20}/).map(flat)))].filter((text) => text.length > 2);
  texts.sort((a, b) => b.length - a.length);
  return readable(message).flatMap((line) => {
    const ours = texts.reduce(withoutStart, texts.reduce(withoutText, flat(line)));
    const found = [...englishIn(ours), ...(ours.match(spelled) ?? [])];
    return found.length === 0 ? [] : [`${found.join(" ")} in: ${line}`];
  });
}

/** A line as plain text, without what no language changes. */
function flat(line: string): string {
  return (
    line
      .replace(/^-# [a-z_]+$/, "")
      // Which field of the request it is about.
      .replace(/^• [\w\\/]+: /, "")
      // Commands are called alike in every language.
      .replace(/^\/[a-z -]+(?= · )/, "")
      .replaceAll(/`[^`]*`/g, " ")
      .replaceAll(/<[@#t:/][^>]*>/g, " ")
      .replaceAll(/https?:\S+/g, " ")
      .replaceAll(/\\(.)/g, "$1")
      .replaceAll(/\s+/g, " ")
      // A word that is cut may be anything.
      .replaceAll(/\S*…/g, " ")
      .trim()
  );
}

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
const withoutText = (line: string, text: string): string => line.replaceAll(new RegExp(escaped(text), "giu"), " ");

/** So much of a text is enough to know it by, where it is cut. */
const known = 12;

/** The line without a text that is cut in it. */
function withoutStart(line: string, text: string): string {
  const wanted = text.toLowerCase();
  const at = text.length <= known ? -1 : line.toLowerCase().indexOf(wanted.slice(0, known));
  if (at < 0) return line;
  let end = at + known;
  while (end < line.length && line[end]?.toLowerCase() === wanted[end - at]) end += 1;
  return `${line.slice(0, at)} ${line.slice(end)}`;
}
