import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Table, verdict } from "./benchmark.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));
/** Where the figures of a benchmark are, if not with the others. */
const documents: Readonly<Record<string, string>> = { cluster: "docs/scaling.md" };

/**
 * Put what a benchmark measured into the document, between the two comments that carry its name, and its picture where that belongs.
 * @throws Error when the document has no place for it
 */
export async function writeTable(name: string, table: Table): Promise<void> {
  const { picture } = table;
  const document = documents[name] ?? "docs/performance.md";
  await writeFile(`${root}${document}`, placeTable(await readFile(`${root}${document}`, "utf8"), name, table));
  await run(`${root}node_modules/.bin/oxfmt`, [document], { cwd: root });
  if (picture !== undefined) await writeFile(`${root}${picture.path}`, picture.svg);
}

/** @returns the text with the table in the place of an earlier one */
export function placeTable(text: string, name: string, { columns, rows, goals, note }: Table): string {
  const [begin, end] = [`<!-- bench ${name} -->`, `<!-- /bench ${name} -->`];
  const [before, rest] = split(text, begin);
  const [, after] = split(rest, end);
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const lines = [columns, columns.map((_, index) => (index === 0 ? "---" : "--:")), ...rows].map(line);
  const parts = [note, lines.join("\n"), goals.map((goal) => `- ${verdict(goal)}`).join("\n")].filter((part) => part !== undefined);
  return `${before}${[begin, ...parts, end].join("\n\n")}${after}`;
}

function split(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  if (at === -1) throw new Error(`The document has no ${mark}: without it there is no place for the figures.`);
  return [text.slice(0, at), text.slice(at + mark.length)];
}
