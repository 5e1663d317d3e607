import { say } from "../../kit/say.ts";
import { parsingSlices } from "../../kernel/time-slices.ts";
import { linesOf, maxLine, unreadable, type SourceLine } from "./import-lines.ts";

type Pieces = AsyncIterable<string> | Iterable<string>;
/** Characters that are looked at between two looks at the clock. */
const partLength = 4096;
const tooLong = say("blacklist.the-record-is-longer-than-256-kib");

/** One record of JSON in each line. Empty lines are passed over. */
export async function* readNdjson(pieces: Pieces): AsyncGenerator<SourceLine> {
  for await (const { line, text, isTooLong } of linesOf(withoutMark(pieces))) {
    if (isTooLong) yield unreadable(line, tooLong, text);
    else if (text.trim() !== "") yield parsed(line, text);
  }
}

/** The records of a JSON array, or of `{"records": […]}`, one by one; `line` is its place in the list, from 1. */
export async function* readJsonArray(pieces: Pieces): AsyncGenerator<SourceLine> {
  const walk = createWalk();
  const slices = parsingSlices();
  for await (const piece of withoutMark(pieces)) {
    for (let from = 0; from < piece.length; from += partLength) {
      yield* walk.take(piece.slice(from, from + partLength));
      if (slices.isSpent()) await slices.next();
    }
  }
  if (!walk.isDone()) yield unreadable(walk.place(), say("blacklist.this-is-no-list-of-records-in"));
}

async function* withoutMark(pieces: Pieces): AsyncGenerator<string> {
  let isFirst = true;
  for await (const piece of pieces) {
    if (piece === "") continue;
    yield isFirst ? piece.replace(/^\ufeff/, "") : piece;
    isFirst = false;
  }
}

function parsed(line: number, text: string): SourceLine {
  try {
    return { line, value: JSON.parse(text) as unknown };
  } catch {
    return unreadable(line, say("blacklist.this-is-not-valid-json"), text);
  }
}

/** Where a walk through the text of a list stands. */
interface Place {
  /** Of the record that is being read, from 1. */
  place: number;
  /** Brackets open inside the record. */
  depth: number;
  isInText: boolean;
  isEscaped: boolean;
  record: string;
}

/** Cuts the text of a list into the texts of its records, looking at brackets and quotation marks alone. */
function createWalk() {
  const at: Place = { place: 1, depth: 0, isInText: false, isEscaped: false, record: "" };
  let head = "";
  let state: "before" | "inside" | "done" | "broken" = "before";

  function* finish(): Generator<SourceLine> {
    const text = at.record.trim();
    if (text === "") return;
    yield text.length > maxLine ? unreadable(at.place, tooLong, text) : parsed(at.place, text);
    at.record = "";
    at.place += 1;
  }

  function* step(character: string): Generator<SourceLine> {
    if (at.depth === 0 && !at.isInText && (character === "," || character === "]")) {
      yield* finish();
      if (character === "]") state = "done";
      return;
    }
    if (at.record === "" && /\s/.test(character)) return;
    // One character more than a record may have tells that it is too long; the rest is not kept.
    if (at.record.length <= maxLine) at.record += character;
    follow(at, character);
  }

  return {
    place: () => at.place,
    isDone: () => state === "done",
    *take(piece: string): Generator<SourceLine> {
      for (const character of piece) {
        if (state === "inside") yield* step(character);
        else if (state === "before") {
          head += character;
          if (character === "[") state = /^\s*(\{\s*"records"\s*:\s*)?\[$/.test(head) ? "inside" : "broken";
          else if (head.length > 1000) state = "broken";
        }
      }
    },
  };
}

function follow(at: Place, character: string): void {
  if (at.isInText) {
    if (at.isEscaped) at.isEscaped = false;
    else if (character === "\\") at.isEscaped = true;
    else if (character === '"') at.isInText = false;
    return;
  }
  if (character === '"') at.isInText = true;
  else if (character === "{" || character === "[") at.depth += 1;
  else if (character === "}" || character === "]") at.depth -= 1;
}
