import { DiscordAPIError } from "discord.js";
import { ProblemError } from "../kernel/errors.ts";
import { cutText } from "./cut-text.ts";

/** Why Discord does not take the commands, for a log or a terminal. */
export interface CommandRefusal {
  status: number;
  code: number | string;
  reason: string;
  /** Each command with the option and the field that is wrong, such as `/case open reason description: Must be …`. */
  commands: string[];
}

const mostLines = 20;
const mostCharacters = 200;
/** Lists whose elements have names of their own. */
const named = new Set(["options", "choices"]);
const menus: Readonly<Record<number, string>> = { 2: "user menu", 3: "message menu" };

/** Discord's refusal of a call about commands (4xx), which the same call would meet again; undefined for any other failure. */
export function commandRefusal(error: unknown): CommandRefusal | undefined {
  const cause = error instanceof ProblemError ? error.cause : error;
  if (!(cause instanceof DiscordAPIError)) return undefined;
  const { status, code, rawError, requestBody } = cause;
  const tree = "errors" in rawError ? rawError.errors : undefined;
  const sent = requestBody.json;
  const lines = linesOf(tree, sent, Array.isArray(sent) ? [] : [labelOf(sent)]);
  const more = lines.length - mostLines;
  return {
    status,
    code,
    reason: cutText("message" in rawError ? rawError.message : rawError.error, mostCharacters),
    commands: more > 0 ? [...lines.slice(0, mostLines), `… and ${more.toString()} more`] : lines,
  };
}

/** Walks the tree of errors beside what was sent: Discord counts commands and options where a person knows their names. */
function linesOf(tree: unknown, sent: unknown, path: readonly string[]): string[] {
  return fieldsOf(tree).flatMap(([key, below]) => {
    if (key === "_errors") return errorsOf(below).map((text) => cutText(`${path.join(" ")}: ${text}`, mostCharacters));
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
