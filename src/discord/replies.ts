import { MessageFlags, type APIEmbed } from "discord.js";
import { ZodError } from "zod";
import { ProblemError, problems } from "../kernel/errors.ts";
import type { Reply, Row } from "./command.ts";
import { cutText, isBlank } from "./cut-text.ts";
import { fitRows } from "./limits-components.ts";
import { fitEmbeds } from "./limits-embeds.ts";
import { fitFiles } from "./limits-files.ts";
import { englishWords, type Words } from "./words.ts";

const contentLimit = 2000;
const wholeFile = "answer.txt";
const nothing = "–";
const noteLimit = 500;
/** Characters that reorder text on screen could make a reply read as something else. */
const directionMarks = /[\u202a-\u202e\u2066-\u2069\u200e\u200f]/g;

/** Text of a user made safe to show: no formatting, no links, no mentions, no reordering. */
export function escapeText(text: string): string {
  return text.replace(directionMarks, "").replace(/[\\*_`~|<>#[\]()@:+-]/g, "\\$&");
}

interface SentMessage {
  content: string;
  embeds: APIEmbed[];
  components: Row[];
  files: { name: string; attachment: Buffer }[];
  allowedMentions: { parse: [] };
}

/**
 * The reply as Discord takes it: within all its limits, and nobody is ever pinged. What had to be cut is marked, said in a note, and
 * comes whole in a file.
 */
export function messageOf(reply: Reply, words: Words = englishWords): SentMessage {
  const fitted = fitEmbeds(reply.embeds ?? []);
  const { rows, isCut: hasLostControls } = fitRows(reply.components ?? []);
  const isCut = fitted.isCut || reply.content.length > contentLimit;
  const { files, missing } = fitFiles([...(reply.files ?? []), ...(isCut ? [{ name: wholeFile, content: wholeOf(reply) }] : [])]);
  const hasWhole = isCut && !missing.includes(wholeFile);
  const notes = [
    ...(missing.length > 0 ? [cutText(words("door files-cut", { files: escapeText(missing.join(", ")) }), noteLimit)] : []),
    ...(hasLostControls ? [words("door controls-cut")] : []),
    ...(isCut ? [hasWhole ? words("door cut-file", { file: wholeFile }) : words("door cut")] : []),
  ];
  const content = noted(reply.content, notes);
  const isEmpty = isBlank(content) && fitted.embeds.length + rows.length + files.length === 0;
  return { content: isEmpty ? nothing : content, embeds: fitted.embeds, components: rows, files, allowedMentions: { parse: [] } };
}

/** The flags of a first answer. */
export const onlyForAsker = MessageFlags.Ephemeral;

/** The one translation of a refusal into a reply; undefined when the error is not a refusal and has to be logged. */
export function refusalReply(error: unknown, words: Words = englishWords): Reply | undefined {
  if (error instanceof ZodError) return refusalReply(problemOf(error), words);
  if (!(error instanceof ProblemError)) return undefined;
  const lines = [`${titleOf(error, words)}.`];
  if (error.detail !== undefined) lines.push(escapeText(error.detail));
  for (const { pointer, detail } of error.errors ?? []) lines.push(`• ${escapeText(pointer.slice(1))}: ${escapeText(detail)}`);
  if (error.retryAfter !== undefined)
    lines.push(words("door wait", { at: `<t:${(Math.ceil(Date.now() / 1000) + error.retryAfter).toString()}:R>` }));
  lines.push(`-# ${error.code}`);
  return { content: lines.join("\n") };
}

/** What a person reads after an unexpected error: nothing but the number to report. */
export function neutralReply(requestId: string, words: Words = englishWords): Reply {
  return { content: words("door failed", { number: requestId }) };
}

/** Other languages may have the titles of refusals among their texts. */
function titleOf({ code }: ProblemError, words: Words): string {
  const key = `problem ${code}`;
  const title = words(key);
  return title === key ? problems[code].title : title;
}

function problemOf(error: ZodError): ProblemError {
  const errors = error.issues.map((issue) => ({
    pointer: `/${issue.path.join("/")}`,
    in: "body" as const,
    code: issue.code,
    detail: issue.message,
  }));
  return new ProblemError("validation_failed", { errors });
}

function noted(content: string, notes: readonly string[]): string {
  const note = notes.map((line) => `\n${line}`).join("");
  return cutText(content, contentLimit - note.length) + (isBlank(content) ? note.trimStart() : note);
}

/** Every text of a reply, for reading it whole. */
function wholeOf({ content, embeds = [] }: Reply): string {
  const texts = embeds.flatMap(({ author, title, description, fields = [], footer }) => [
    author?.name,
    title,
    description,
    ...fields.map(({ name, value }) => `${name}: ${value}`),
    footer?.text,
  ]);
  return [content, ...texts].filter((text) => !isBlank(text)).join("\n\n");
}
