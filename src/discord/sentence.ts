import { snowflakeForm } from "../kernel/fields.ts";
import { catalog } from "../kernel/permissions.ts";
import { type Translate, readSaid, worded } from "../kit/say.ts";
import { escapeText } from "./replies.ts";

/** A word of a sentence that Discord can show better than as it stands. */
interface Shape {
  pattern: string;
  /** Undefined leaves the word as it is. */
  show(found: string, t: Translate): string | undefined;
}

const titles = new Map<string, string>(catalog.map(({ key, label }) => [key, label]));

const shapes: readonly Shape[] = [
  // Names of fields are written as code.
  { pattern: "`[^`\n]+`", show: (found) => found },
  {
    pattern: String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`,
    show: (found) => `<t:${Math.floor(Date.parse(found) / 1000).toString()}:f>`,
  },
  // Discord has no mention of a server.
  { pattern: String.raw`(?<=\b(?:[Ss]ervers?|[Gg]uild)\s)${snowflakeForm}\b`, show: (found) => `\`${found}\`` },
  { pattern: String.raw`\b${snowflakeForm}\b`, show: (found) => `<@${found}>` },
  { pattern: String.raw`\b[A-Z]{2,}(?:-[A-Z]+)*-\d{4,}\b`, show: (found) => `\`${found}\`` },
  {
    pattern: String.raw`\b[a-z]+(?:[._-][a-z]+)+\b`,
    show: (found, t) => permissionText(found, t) ?? valueText(found, t) ?? (found.includes("_") ? `\`${found}\`` : undefined),
  },
];
const word = new RegExp(shapes.map(({ pattern }) => `(${pattern})`).join("|"), "g");

/** A permission as its title and its key, such as *Open cases* (`cases.open`); undefined when there is none of this key. */
export function permissionText(key: string, t: Translate): string | undefined {
  const title = permissionTitle(key, t);
  return title === undefined ? undefined : `*${escapeText(title)}* (\`${key}\`)`;
}

/** What a permission is called in the reader's language, without formatting. */
export function permissionTitle(key: string, t: Translate): string | undefined {
  const label = titles.get(key);
  const own = `permission ${key}` as const;
  const title = t(own);
  return label === undefined || title === own ? label : title;
}

/** A permission as its title and its key, or only its key where the catalog lacks it. */
export function permissionName(key: string, t: Translate): string {
  return permissionText(key, t) ?? `\`${key.replaceAll("`", "")}\``;
}

/** A value of a closed list, such as `in_review`, in words. */
function valueText(value: string, t: Translate): string | undefined {
  const text = t(`= ${value}`);
  return text === value ? undefined : escapeText(text);
}

/** What somebody with a permission can do, as a part of a sentence: "open cases" in English. */
export function taskText(key: string, t: Translate): string {
  const label = titles.get(key) ?? key;
  const title = permissionTitle(key, t) ?? key;
  // Other languages write some words with a capital.
  return escapeText(title === label ? title.charAt(0).toLowerCase() + title.slice(1) : title);
}

/**
 * A sentence of the service (the detail of a refusal, what an effect did, a finding) as Discord shows it best, in the reader's language:
 * people as mentions, times in the reader's time zone, permissions by their titles; no other formatting.
 * @param sentence as it is said, or in English, as earlier versions stored it
 */
export function sentenceText(sentence: string, t: Translate): string {
  const text = (written: string): string => shapedText(written, t);
  return worded(readSaid(sentence) ?? sentence, {
    t,
    text,
    own: text,
    server: (id) => `\`${id}\``,
    term: (value) => termText(value, t) ?? text(value),
  });
}

function shapedText(said: string, t: Translate): string {
  let text = "";
  let end = 0;
  for (const match of said.matchAll(word)) {
    const shape = shapes[match.slice(1, shapes.length + 1).findIndex((group) => group !== undefined)];
    const shown = shape?.show(match[0], t);
    if (shown === undefined) continue;
    text += escapeText(said.slice(end, match.index)) + shown;
    end = match.index + match[0].length;
  }
  return text + escapeText(said.slice(end));
}

/** A value of a closed list, or a permission. In English most are the word itself. */
function termText(value: string, t: Translate): string | undefined {
  const isWord = t("language") === "en" && !/[._-]/.test(value);
  return permissionText(value, t) ?? (isWord ? undefined : (valueText(value, t) ?? valueText(value.toLowerCase(), t)));
}
