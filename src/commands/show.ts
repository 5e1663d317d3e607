import type { APIEmbed } from "discord.js";
import type { Reply } from "../discord/command.ts";
import { cutText } from "../discord/cut-text.ts";
import { escapeText } from "../discord/replies.ts";
import type { Operator } from "../config/config.ts";
import { permissionText, sentenceText } from "../discord/sentence.ts";
import { isSnowflake, parseDuration, snowflakeForm } from "../kernel/fields.ts";
import { choiceKeys } from "./texts.ts";
import { inJson, plainSentence, textFor, type Translate, isSaid } from "../kit/say.ts";
import { lengthText } from "./length-text.ts";

const limits = { fields: 25, name: 256, value: 1024, title: 256, all: 5500, line: 300, called: 100 } as const;
/** What a line leaves out of a view. */
export const namelessFields: ReadonlySet<string> = new Set(["id", "revision", "etag", "created_at", "updated_at"]);
/** What a card leaves out of a view. */
export const unshownFields: ReadonlySet<string> = new Set(["etag"]);
/** What a view is called by: the first of these that it has. */
export const titleFields = ["reference", "number", "callsign", "name", "display_name", "key", "id"] as const;
const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

/** Fields that hold the id of a person, or several. */
const peopleFields = /(?:^|_)(?:user_ids?|by|author|author_id|lead|team|requester|supervisor|supervisor_id)$/;
/** Fields that hold a length of time as it is typed. */
const lengthFields: ReadonlySet<string> = new Set([
  "appeal_until",
  "delete_messages",
  "due",
  "duration",
  "grace_period",
  "new_duration",
  "review_after",
]);
/** Fields that hold a sentence of the service. */
const sentenceFields: ReadonlySet<string> = new Set(["cause", "detail", "failure", "warning"]);
/** Fields that hold what people wrote: no word of it is one of ours. */
const writtenFields =
  /(?:^|_)(?:allegation|answer|availability|body|content|department|experience|grounds|labels?|message|name|nickname|notes?|question|reason|reason_\w+|summary|tags|terms|text|timezone|title)$/;
/** Fields that hold names which a community gives. */
const namedFields: ReadonlySet<string> = new Set<string>([
  ...titleFields,
  "demote_to",
  "pool",
  "position",
  "role",
  "rules",
  "staff_role",
  "template",
]);
const idInText = new RegExp(String.raw`\b${snowflakeForm}\b`);
/** Ids of ours, hashes, and the like. */
const opaque = /^[\w-]{32,}$/;
/** How keys are written, such as `senior_mod` or `cases.read`. */
const keyForm = /^[a-z][a-z\d]*(?:[._][a-z\d*]+)+$/;

type View = Readonly<Record<string, unknown>>;

/** A view as a card of its fields; what does not fit comes as a file. */
export function showView(view: unknown, t: Translate, title?: string): Reply {
  const fields = isView(view) ? fieldsOf(view, t) : [{ name: t("label value"), value: valueOf(view, t) }];
  const whole = title ?? titleOf(view);
  const shown: NonNullable<APIEmbed["fields"]> = [];
  let size = Math.min(whole.length, limits.title);
  for (const { name, value } of fields.slice(0, limits.fields)) {
    const field = { name: cut(name, limits.name), value: cut(value, limits.value) };
    size += field.name.length + field.value.length;
    if (size > limits.all) break;
    shown.push({ ...field, inline: field.value.length < 40 });
  }
  const embed: APIEmbed = { ...(whole !== "–" && { title: cut(whole, limits.title) }), fields: shown };
  const isShort = whole.length <= limits.title && shown.length === fields.length;
  const isCut = !isShort || fields.some(({ name, value }) => name.length > limits.name || value.length > limits.value);
  const files = isCut ? [{ name: "answer.json", content: inJson(view, 2) }] : [];
  return { content: isCut ? t("say in-file") : "", embeds: [embed], files };
}

/** A view as one line: what it is called, then its other facts. */
export function showLine(view: unknown, t: Translate): string {
  if (!isView(view)) return cut(valueOf(view, t), limits.line);
  const facts = Object.entries(view).filter(([name, value]) => !namelessFields.has(name) && isShort(value) && value !== titleValue(view));
  const told = facts.slice(0, 5).map(([name, value]) => `${labelOf(name, t)}: ${valueOf(value, t, name)}`);
  return cut([`**${cut(titleOf(view), limits.called)}**`, ...told].join(" · ").replaceAll(/\s*\n\s*/g, " "), limits.line);
}

/**
 * A value as people read it: times in the reader's own, lengths in words, people as mentions that alert nobody, values of closed lists in
 * the reader's language, keys to be copied, texts without formatting.
 * @param t names the fields of what stands in it; they are called as over HTTP by default
 * @param field that holds it
 */
export function valueOf(value: unknown, t?: Translate, field = ""): string {
  if (value === null || value === undefined || value === "") return "–";
  if (typeof value === "boolean") return value ? "✓" : "✗";
  if (typeof value === "number") return t !== undefined && field.endsWith("_seconds") ? lengthText(value, t) : value.toString();
  if (typeof value === "string") return t === undefined ? textOf(value) : fieldText(value, t, field);
  if (Array.isArray(value)) return value.length === 0 ? "–" : value.map((one) => valueOf(one, t, field)).join(", ");
  const view = value as View;
  const whom = view["discord_user_id"] ?? (typeof view["in_community"] === "boolean" ? view["id"] : undefined);
  if (typeof whom === "string") return mentionOf(whom);
  const named = titleValue(view);
  if (named !== undefined) return textOf(named);
  return Object.entries(view)
    .filter(([, inner]) => inner !== null && typeof inner !== "object")
    .map(
      ([name, inner]) => `${t === undefined ? escapeText(name.replaceAll("_", " ")) : `${labelOf(name, t)}:`} ${valueOf(inner, t, name)}`,
    )
    .join(", ");
}

function fieldText(text: string, t: Translate, field: string): string {
  if (isSaid(text)) return sentenceText(text, t);
  if (isSnowflake(text)) return peopleFields.test(field) ? `<@${text}>` : `\`${text}\``;
  const seconds = lengthFields.has(field) ? parseDuration(text) : undefined;
  if (seconds !== undefined) return lengthText(seconds, t);
  if (sentenceFields.has(field)) return sentenceText(text, t);
  // The service gives reasons, too.
  if (field === "reason") return escapeText(plainSentence(text, t));
  if (idInText.test(text)) return sentenceText(text, t);
  if (writtenFields.test(field) || namedFields.has(field)) return textOf(text);
  if (text.endsWith(".")) return sentenceText(text, t);
  return textFor(`= ${text}`, t) ?? permissionText(text, t) ?? (keyForm.test(text) || opaque.test(text) ? codeText(text) : textOf(text));
}

/** A key or an id to be copied; what no code span can hold is a text. */
export function codeText(key: string): string {
  return /^[\w.:*-]+$/.test(key) ? `\`${key}\`` : escapeText(key);
}

/** A moment as each reader's own client writes it; `R` is how long ago or ahead. */
export function momentOf(at: string | Date, style: "f" | "R" = "f"): string {
  return `<t:${Math.floor(new Date(at).getTime() / 1000).toString()}:${style}>`;
}

/** A text of a person as a part of one line: without formatting, and without line ends that would make a line of its own. */
export function lineText(text: string): string {
  return escapeText(text.replaceAll(/\s+/g, " "));
}

/** Whom the operator names, as a link where there is an address; undefined where nobody is named. */
export function contactText({ name, contact }: Operator): string | undefined {
  const mail = contact?.startsWith("mailto:") === true ? contact.slice("mailto:".length) : undefined;
  // Discord makes no link of an address of e-mail.
  if (mail !== undefined) return escapeText(name === null ? mail : `${name} (${mail})`);
  if (contact !== null) return `[${escapeText(name ?? contact)}](${contact})`;
  return name === null ? undefined : escapeText(name);
}

/** See `cutText`. */
export const cut = cutText;

/** Somebody as a mention that alerts nobody. What is no id is a text. */
export function mentionOf(id: string): string {
  return isSnowflake(id) ? `<@${id}>` : escapeText(id);
}

function textOf(text: string): string {
  if (time.test(text) && !Number.isNaN(Date.parse(text))) return momentOf(text);
  return isSnowflake(text) ? `\`${text}\`` : escapeText(text);
}

function fieldsOf(view: View, t: Translate): { name: string; value: string }[] {
  return Object.entries(view)
    .filter(
      ([name, value]) =>
        !unshownFields.has(name) &&
        value !== null &&
        value !== undefined &&
        value !== titleValue(view) &&
        !(Array.isArray(value) && value.length === 0),
    )
    .map(([name, value]) => ({ name: labelOf(name, t), value: valueOf(value, t, name) }));
}

export function labelOf(name: string, t: Translate): string {
  const text = textFor(`label ${name}`, t);
  if (text !== undefined) return text;
  const words = name.replaceAll("_", " ");
  return escapeText(words.charAt(0).toUpperCase() + words.slice(1));
}

function titleOf(view: unknown): string {
  const value = isView(view) ? titleValue(view) : undefined;
  if (value === undefined) return "–";
  return keyForm.test(value) ? codeText(value) : textOf(value);
}

function titleValue(view: View): string | undefined {
  // An id of ours is nothing to be called by.
  const name = titleFields.find((one) => typeof view[one] === "string" && view[one] !== "" && !uuid.test(view[one]));
  return name === undefined ? undefined : (view[name] as string);
}

function isView(value: unknown): value is View {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isShort(value: unknown): boolean {
  return (
    value !== null &&
    value !== undefined &&
    value !== "" &&
    (typeof value !== "object" || !Array.isArray(value)) &&
    JSON.stringify(value).length < 200
  );
}

/** A value of a closed list in the reader's language, or as it is; undefined for none. @param command whose own word for it comes first */
export function enumLabel(value: string, t: Translate, command?: string): string;
export function enumLabel(value: string | null | undefined, t: Translate, command?: string): string | undefined;
export function enumLabel(value: string | null | undefined, t: Translate, command = ""): string | undefined {
  if (value === null || value === undefined) return undefined;
  const [own, common] = choiceKeys(command, value).map((key) => textFor(key, t));
  return own ?? common ?? escapeText(value);
}
