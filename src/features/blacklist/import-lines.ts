import { shownValue } from "../../kernel/foreign.ts";
import { parsingSlices } from "../../kernel/time-slices.ts";

/** A line of a text, with what ended it, so that lines can be put together again. */
export interface TextLine {
  /** The first is 1. */
  line: number;
  text: string;
  end: string;
  /** It was longer than a line may be; `text` is only its beginning. */
  isTooLong: boolean;
}

/** Characters of one line; a longer one is read over, not kept. */
export const maxLine = 256 * 1024;
/** Characters of a longer one that are kept. */
const keptOfLong = 1000;

/** The physical lines of a text that comes in pieces: whatever system wrote their ends. Others get their turn while a large text is read. */
export async function* linesOf(pieces: AsyncIterable<string> | Iterable<string>): AsyncGenerator<TextLine> {
  let line = 1;
  let rest = "";
  /** Of a line that is longer than one may be. */
  let beginning: string | undefined;
  const slices = parsingSlices();
  const take = (text: string, end: string): TextLine => {
    if (beginning === undefined && text.length > maxLine) beginning = text.slice(0, keptOfLong);
    const taken = { line, text: beginning ?? text, end, isTooLong: beginning !== undefined };
    line += 1;
    beginning = undefined;
    return taken;
  };
  for await (const piece of pieces) {
    const text = rest + piece;
    let from = 0;
    for (const { 0: end, index } of text.matchAll(/\r\n|\n|\r/g)) {
      // The other half of a line's end may come with the next piece.
      if (end === "\r" && index === text.length - 1) break;
      yield take(text.slice(from, index), end);
      if (slices.isSpent()) await slices.next();
      from = index + end.length;
    }
    rest = text.slice(from);
    const half = rest.endsWith("\r") ? "\r" : "";
    if (rest.length - half.length > maxLine) {
      beginning ??= rest.slice(0, keptOfLong);
      rest = half;
    }
  }
  const last = rest.endsWith("\r") ? "\r" : "";
  if (rest !== "" || beginning !== undefined) yield take(rest.slice(0, rest.length - last.length), last);
}

/** What stands in one line of an import, or why it cannot be read. */
export interface SourceLine {
  line: number;
  value?: unknown;
  errors?: readonly LineError[];
  /** Of a line that cannot be read: its beginning, as it can be shown. */
  text?: string;
}

/** What is wrong with a line. `pointer` is the field, such as `/severity`; empty for the line as a whole. */
export interface LineError {
  pointer: string;
  code: string;
  detail: string;
  /** What stands there, as it can be shown. */
  value?: string;
}

/** A line that cannot be read at all. */
export function unreadable(line: number, detail: string, text = ""): SourceLine {
  return { line, errors: [{ pointer: "", code: "malformed", detail }], ...(text !== "" && { text: shownValue(text) }) };
}
