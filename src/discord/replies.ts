import { MessageFlags, type InteractionEditReplyOptions } from "discord.js";
import { ZodError } from "zod";
import { ProblemError, problems } from "../kernel/errors.ts";
import type { Reply } from "./command.ts";

const contentLimit = 2000;
const cutNote = "\n… (cut: the full text is too long for a message)";
/** Characters that reorder text on screen could make a reply read as something else. */
const directionMarks = /[\u202a-\u202e\u2066-\u2069\u200e\u200f]/g;

/** Text of a user made safe to show: no formatting, no links, no mentions, no reordering. */
export function escapeText(text: string): string {
  return text.replace(directionMarks, "").replace(/[\\*_`~|<>#[\]()@:+-]/g, "\\$&");
}

/** The reply as Discord takes it; nobody is ever pinged. */
export function messageOf({ content, embeds = [], files = [] }: Reply): InteractionEditReplyOptions {
  return {
    content: cut(content),
    embeds: [...embeds],
    files: files.map((file) => ({ name: file.name, attachment: Buffer.from(file.content) })),
    allowedMentions: { parse: [] },
  };
}

/** The flags of a first answer. */
export const onlyForAsker = MessageFlags.Ephemeral;

/** The one translation of a refusal into a reply; undefined when the error is not a refusal and has to be logged. */
export function refusalReply(error: unknown): Reply | undefined {
  if (error instanceof ZodError) return refusalReply(problemOf(error));
  if (!(error instanceof ProblemError)) return undefined;
  const lines = [`${problems[error.code].title}.`];
  if (error.detail !== undefined) lines.push(escapeText(error.detail));
  for (const { pointer, detail } of error.errors ?? []) lines.push(`• ${escapeText(pointer.slice(1))}: ${escapeText(detail)}`);
  if (error.retryAfter !== undefined) lines.push(`Try again in ${error.retryAfter.toString()} s.`);
  lines.push(`-# ${error.code}`);
  return { content: lines.join("\n") };
}

/** What a person reads after an unexpected error: nothing but the number to report. */
export function neutralReply(requestId: string): Reply {
  return { content: `Something went wrong here. If you report it, name this number: ${requestId}` };
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

function cut(text: string): string {
  if (text.length <= contentLimit) return text;
  const kept = text.slice(0, contentLimit - cutNote.length);
  return kept.replace(/[\ud800-\udbff]$/, "") + cutNote;
}
