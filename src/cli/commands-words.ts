import type { Change, Detail, Difference } from "../discord/registration/compare.ts";

const mostLines = 100;
const mostCharacters = 80;
const signs = { new: "+", changed: "~", gone: "-" } as const;
const kinds: Readonly<Record<number, string>> = { 1: "slash", 2: "user", 3: "message" };

/** No name can steer a terminal. */
export function printable(text: string): string {
  return text.replace(/\p{C}/gu, "?");
}

/** `/case`, or a menu by what it is on. */
export function nameOf({ type, name }: Pick<Change, "type" | "name">): string {
  return printable(type === 1 ? `/${name}` : `${kinds[type] ?? type.toString()} menu "${name}"`);
}

export function lineOf(change: Change): string {
  return `${signs[change.kind]} ${nameOf(change)}`;
}

/** A line for every command that is new or gone, and one for every field that changed. */
export function differenceInWords({ changes }: Difference): string[] {
  const lines = changes.flatMap((change) =>
    change.kind === "changed" ? change.details.map((detail) => `${lineOf(change)} ${detailInWords(detail)}`) : [lineOf(change)],
  );
  const more = lines.length - mostLines;
  return more > 0 ? [...lines.slice(0, mostLines), `… and ${more.toString()} more`] : lines;
}

export function sumInWords({ changes, unchanged, foreign }: Difference): string {
  const count = (kind: Change["kind"]): string => changes.filter((change) => change.kind === kind).length.toString();
  const left = foreign === 0 ? "" : ` ${foreign.toString()} that Discord made by itself stays.`;
  if (changes.length === 0) return `Nothing differs; commands as they should be: ${unchanged.toString()}.${left}`;
  return `New: ${count("new")}, changed: ${count("changed")}, gone: ${count("gone")}, as they should be: ${unchanged.toString()}.${left}`;
}

/** For scripts: every detail, however many. */
export function changesAsJson({ changes, unchanged }: Difference, guildId: string | undefined): string {
  const commands = changes.map((change) => ({
    change: change.kind,
    type: kinds[change.type] ?? change.type.toString(),
    name: change.name,
    ...(change.kind === "changed" && { details: change.details }),
  }));
  return JSON.stringify({ guild_id: guildId ?? null, equal: changes.length === 0, unchanged, commands }, null, 2);
}

function detailInWords({ path, field, before, after }: Detail): string {
  return `${printable([...path, field].join(" "))}: ${valueInWords(before)} -> ${valueInWords(after)}`;
}

function valueInWords(value: unknown): string {
  if (value === null || value === undefined) return "none";
  const text = printable(JSON.stringify(value));
  return text.length > mostCharacters ? `${text.slice(0, mostCharacters - 1)}…` : text;
}
