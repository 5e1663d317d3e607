import { DiscordAPIError } from "discord.js";
import { ProblemError } from "../../kernel/errors.ts";
import { cutText } from "../cut-text.ts";

/** Why Discord refuses the commands, for a log or a terminal. */
export interface CommandRefusal {
  status: number;
  code: number | string;
  reason: string;
  /** Each wrong field with its command and option, such as `/case open reason description: Must be …`. */
  commands: string[];
}

const maxLines = 20;
const maxCharacters = 200;
/** Lists whose elements have names of their own. */
const named = new Set(["options", "choices"]);
const menus: Readonly<Record<number, string>> = { 2: "user menu", 3: "message menu" };

/** The details of Discord's refusal (4xx) of a call about commands, which repeating would not change; undefined for other failures. */
export function commandRefusal(error: unknown): CommandRefusal | undefined {
  const cause = error instanceof ProblemError ? error.cause : error;
  if (!(cause instanceof DiscordAPIError)) return undefined;
  const { status, code, rawError, requestBody } = cause;
  const tree = "errors" in rawError ? rawError.errors : undefined;
  const sent = requestBody.json;
  const lines = linesOf(tree, sent, Array.isArray(sent) ? [] : [labelOf(sent)]);
  const more = lines.length - maxLines;
  return {
    status,
    code,
    reason: cutText("message" in rawError ? rawError.message : rawError.error, maxCharacters),
    commands: more > 0 ? [...lines.slice(0, maxLines), `… and ${more.toString()} more`] : lines,
  };
}

/** Walks the tree of errors together with the request, because Discord names commands and options by their index only. */
function linesOf(tree: unknown, sent: unknown, path: readonly string[]): string[] {
  return fieldsOf(tree).flatMap(([key, below]) => {
    if (key === "_errors") return errorsOf(below).map((text) => cutText(`${path.join(" ")}: ${text}`, maxCharacters));
    const part: unknown = Object(sent)[key];
    const step = Array.isArray(sent) ? [path.length === 0 ? labelOf(part) : nameOf(part, key)] : named.has(key) ? [] : [key];
    return linesOf(below, part, [...path, ...step]);
  });
}

function errorsOf(errors: unknown): string[] {
  return (Array.isArray(errors) ? errors : []).map((one: unknown) => {
    const { message, code } = Object.fromEntries(fieldsOf(one));
    return `${String(message)} (${String(code)})`;
  });
}

function labelOf(command: unknown): string {
  const { type } = Object.fromEntries(fieldsOf(command));
  const menu = menus[Number(type)];
  const name = nameOf(command, "commands");
  return menu === undefined ? `/${name}` : `${menu} "${name}"`;
}

function nameOf(thing: unknown, otherwise: string): string {
  const { name } = Object.fromEntries(fieldsOf(thing));
  return typeof name === "string" ? name : otherwise;
}

function fieldsOf(thing: unknown): [string, unknown][] {
  return typeof thing === "object" && thing !== null ? Object.entries(thing) : [];
}
