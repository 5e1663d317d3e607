import { type APIEmbed, MessageFlags } from "discord-api-types/v10";
import { inEnglish, type Translate, worded } from "../kit/say.ts";
import type { Reply, Row } from "./command.ts";
import { cutText, isBlank } from "./cut-text.ts";
import { fitRows } from "./interactions/component-limits.ts";
import { fitEmbeds, fitFiles } from "./interactions/message-limits.ts";

const contentLimit = 2000;
const wholeFile = "answer.txt";
const nothing = "–";
const noteLimit = 500;
/** Characters that reorder text on screen, with which a reply could read as something else. */
const directionMarks = /[\u202a-\u202e\u2066-\u2069\u200e\u200f]/g;

/** Text of a user made safe to show: no formatting, no links, no mentions, no reordering. */
export function escapeText(text: string): string {
  return worded(text)
    .replace(directionMarks, "")
    .replace(/[\\*_`~|<>#[\]()@:+-]/g, "\\$&");
}

interface SentMessage {
  content: string;
  embeds: APIEmbed[];
  components: Row[];
  files: { name: string; attachment: Buffer }[];
  allowedMentions: { parse: [] };
}

/**
 * Fits a reply into Discord's limits; it never pings. Cut texts are marked, mentioned in a note, and attached in full as a file.
 */
export function messageOf(reply: Reply, t: Translate = inEnglish): SentMessage {
  const fitted = fitEmbeds(reply.embeds ?? []);
  const { rows, isCut: hasLostControls } = fitRows(reply.components ?? []);
  const isCut = fitted.isCut || reply.content.length > contentLimit;
  const { files, missing } = fitFiles([...(reply.files ?? []), ...(isCut ? [{ name: wholeFile, content: wholeOf(reply) }] : [])]);
  const hasWhole = isCut && !missing.includes(wholeFile);
  const notes = [
    ...(missing.length > 0 ? [cutText(t("door files-cut", { files: escapeText(missing.join(", ")) }), noteLimit)] : []),
    ...(hasLostControls ? [t("door controls-cut")] : []),
    ...(isCut ? [hasWhole ? t("door cut-file", { file: wholeFile }) : t("door cut")] : []),
  ];
  const content = noted(reply.content, notes);
  const isEmpty = isBlank(content) && fitted.embeds.length + rows.length + files.length === 0;
  return { content: isEmpty ? nothing : content, embeds: fitted.embeds, components: rows, files, allowedMentions: { parse: [] } };
}

/** The flags of a first answer. */
export const onlyForAsker = MessageFlags.Ephemeral;

/** The reply after an unexpected error: only the number to report. */
export function neutralReply(requestId: string, t: Translate = inEnglish): Reply {
  return { content: t("door failed", { number: requestId }) };
}

function noted(content: string, notes: readonly string[]): string {
  const note = notes.map((line) => `\n${line}`).join("");
  return cutText(content, contentLimit - note.length) + (isBlank(content) ? note.trimStart() : note);
}

/** All texts of a reply. */
function wholeOf({ content, embeds = [] }: Reply): string {
  const texts = embeds.flatMap(({ author, title, description, fields = [], footer }) => [
    author?.name,
    title,
    description,
    ...fields.map(({ name, value }) => `${name}: ${value}`),
    footer?.text,
  ]);
  return [content, ...texts].flatMap((text) => (text === undefined || isBlank(text) ? [] : [worded(text)])).join("\n\n");
}
