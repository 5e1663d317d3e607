import { stringify } from "csv-stringify/sync";
import type { Control, Reply, ReplyFile, Row } from "../discord/command.ts";
import { cutText } from "../discord/cut-text.ts";
import type { Call } from "../kernel/call.ts";
import { ProblemError } from "../kernel/errors.ts";
import type { Page } from "../kernel/page.ts";
import type { CommandInput, Wording } from "./entry.ts";
import type { PendingInteraction, PendingInteractions } from "./pending-interactions.ts";
import { pickRow } from "./press.ts";
import { showLine } from "./show.ts";
import type { CommandTable } from "./table.ts";
import { worded, inJson, textFor, type Translate } from "../kit/say.ts";
import type { Verbs } from "./verbs.ts";

const pageSize = 10;
/** A file of a list holds at most so many lines, read in pages of so many. */
const maxLines = 5000;
const readAtOnce = 200;
/** Of the button to the first page. */
const start = "start";
/** Longest text of a page; a message takes 4,096 in a card. */
const maxLength = 4000;

type Kind = "csv" | "json";

const written: Readonly<Record<Kind, (views: readonly unknown[]) => string>> = {
  csv: table,
  json: (views) => inJson(views, 2),
};

interface ListsDeps extends Pick<CommandTable, "entryOf"> {
  verbs: Verbs;
  kept: PendingInteractions;
  wordingOf: (language: string, call: Call, given: CommandInput) => Wording;
}

/** Lists in pages, with all of it as a file. */
export function createLists({ entryOf, verbs, kept, wordingOf }: ListsDeps) {
  async function ask(asked: PendingInteraction, call: Call, limit: number, cursor: string | undefined): Promise<Page<unknown>> {
    const entry = entryOf(asked.entry);
    const input = entry.input(asked.given, call);
    const query = { ...input.query, limit, ...(cursor !== undefined && { cursor }) };
    return (await verbs.run(entry.operationFor?.(asked.given) ?? entry.operation, call, { ...input, query })) as Page<unknown>;
  }

  async function page(asked: PendingInteraction, at: number, wording: Wording): Promise<Reply> {
    const { t } = wording;
    const entry = entryOf(asked.entry);
    const limit = entry.lines ?? pageSize;
    const { data, next_cursor: next, notes = {} } = await ask(asked, wording.call, limit, asked.cursors[at]);
    const own = entry.note?.(notes as Record<string, never>, wording) ?? "";
    const note = own === "" && next !== null && data.length < limit ? examinedNote(notes, t) : own;
    // A search may have found nothing yet, and go on.
    if (data.length === 0 && at === 0 && next === null) return { content: [note, nothingIn(asked.entry, t)].join("\n").trim() };
    const earlier = at === 0 ? [undefined] : asked.cursors.slice(0, at + 1);
    const cursors = [...earlier, ...(next === null ? [] : [next])];
    const lines = data.map((view) => (entry.line === undefined ? showLine(view, t) : entry.line(view as never, wording)));
    const key = kept.keep({ ...asked, cursors });
    const description = cutLines(lines);
    const isShort = data.length <= 3 && !description.includes("…");
    const embed = { description, footer: { text: t("say page", { page: at + 1 }) } };
    const isWhole = at === 0 && next === null;
    const paging = isWhole && isShort ? [] : [row(key, at, next !== null, t)];
    const picks = (entry.picks ?? []).flatMap((pick) => pickRow(pick, data, wording) ?? []);
    const rows = entry.rows?.(data as never[], wording) ?? [];
    return { content: note, embeds: [embed], components: [...rows, ...paging, ...picks] };
  }

  /** All of a list, or as much of it as a file holds. */
  async function everything(asked: PendingInteraction, call: Call): Promise<{ views: readonly unknown[]; isCut: boolean }> {
    const all: unknown[] = [];
    let cursor: string | undefined;
    do {
      const found = await ask(asked, call, readAtOnce, cursor);
      all.push(...found.data);
      cursor = found.next_cursor ?? undefined;
    } while (cursor !== undefined && all.length < maxLines);
    return { views: all.slice(0, maxLines), isCut: cursor !== undefined || all.length > maxLines };
  }

  async function files(
    asked: PendingInteraction,
    { call, t }: Pick<Wording, "call" | "t">,
    kinds: readonly Kind[] = ["csv", "json"],
  ): Promise<Reply> {
    const { views, isCut } = await everything(asked, call);
    const name = asked.entry.replaceAll(" ", "-");
    const content = isCut ? t("say file-cut", { count: maxLines }) : t("say file");
    return { content, files: kinds.map((kind): ReplyFile => ({ name: `${name}.${kind}`, content: written[kind](views) })) };
  }

  const control: Control = {
    name: "ls",
    updates: ([, word = ""]) => word !== "csv" && word !== "json",
    async run([key = "", word = ""], call, interaction) {
      const asked = kept.find(key, interaction.user.id);
      const wording = wordingOf(interaction.locale, call, asked.given);
      if (word === "csv" || word === "json") return await files(asked, wording, [word]);
      const at = word === start ? 0 : Number(word);
      if (!Number.isInteger(at) || at < 0 || at >= asked.cursors.length) throw new ProblemError("invalid_transition");
      return await page(asked, at, wording);
    },
  };
  return { page, files, controls: [control] };
}

/** Of a page that ended before it was full, although the list goes on. */
function examinedNote({ examined: count }: { examined?: unknown }, t: Translate): string {
  return typeof count === "number" ? t("say examined", { count }) : "";
}

/** A list without lines may have words of its own. */
function nothingIn(entry: string, t: Translate): string {
  return textFor(`empty ${entry}`, t) ?? t("say nothing-found");
}

function row(key: string, at: number, hasMore: boolean, t: Translate): Row {
  const button = (word: string, label: string, disabled = false) =>
    ({ type: 2, style: 2, label, custom_id: `ls:${key}:${word}`, disabled }) as const;
  return {
    type: 1,
    components: [
      // Two buttons of one message never share a custom id.
      button(start, "⏮", at < 2),
      button(at === 0 ? "first" : (at - 1).toString(), "◀", at === 0),
      button((at + 1).toString(), "▶", !hasMore),
      button("csv", t("button csv")),
      button("json", t("button json")),
    ],
  };
}

/** As many lines as a page has room for; of what is left out, and of a long first line, there is a mark. */
function cutLines(lines: readonly string[]): string {
  let text = "";
  for (const line of lines) {
    const longer = text === "" ? line : `${text}\n${line}`;
    if (longer.length > maxLength) return text === "" ? cutText(line, maxLength) : `${text}\n…`;
    text = longer;
  }
  return text;
}

/** Cells that a spreadsheet would take for a formula are marked as text. */
function table(views: readonly unknown[]): string {
  const rows = views.map((view) => view as Record<string, unknown>);
  const columns = [...new Set(rows.flatMap((view) => Object.keys(view)))];
  const cell = (value: unknown): string => (typeof value === "object" && value !== null ? inJson(value) : worded(String(value ?? "")));
  return stringify([columns, ...rows.map((view) => columns.map((column) => cell(view[column])))], { escape_formulas: true });
}
