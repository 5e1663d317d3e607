import type { GivenFile, VerbInput, Verbs } from "../../../commands/verbs.ts";
import { refusalText } from "../../../discord/refusal.ts";
import { escapeText } from "../../../discord/replies.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import { annotated } from "../../../operations/route.ts";
import type { Entry, CommandInput, OptionSpec, PressSpec, Reply, Wording } from "../../../commands/entry.ts";
import { type Piece, pieceLine, pieceReply } from "../../../commands/gallery.ts";
import { picked, textIn } from "../../../commands/input.ts";
import { numberIn, readOptional } from "../../../commands/records.ts";
import { cut } from "../../../commands/show.ts";

const fileOptions = ["file", "file-2", "file-3"] as const;
const note = { name: "note" } as const;
const title = { name: "title" } as const;
const ways = [...fileOptions, "files", "link", "message", "reference", "note"] as const;

interface EvidencePlace {
  command: string;
  /** The option that names the record. */
  record: OptionSpec;
  /** Of the operations: `addCaseEvidence`. */
  name: "Case" | "Blacklist";
  /** Which source completes a piece. */
  pieces: string;
  /** How buttons lead to the list of them. */
  press: PressSpec;
}

/** Files of all options and of the form, in their order. */
export function filesIn({ files }: CommandInput): GivenFile[] {
  return [...fileOptions, "files"].flatMap((name) => files[name] ?? []);
}

/** One piece of evidence, of whatever was given. @param file of several: which one */
export function pieceInput(given: CommandInput, params: VerbInput["params"], file = filesIn(given)[0]): VerbInput {
  const about = picked(given, "title", "note", "confidential");
  const [link, message, reference] = ["link", "message", "reference"].map((name) => textIn(given, name));
  const kind =
    file !== undefined
      ? "file"
      : message !== undefined
        ? "message"
        : link !== undefined
          ? "link"
          : reference !== undefined
            ? "record"
            : "text";
  // A piece is one thing: what else was given is refused instead of lost.
  const body = { kind, ...about, url: link, message_url: message, record_ref: reference };
  return { ...(params !== undefined && { params }), body, ...(file !== undefined && { file }) };
}

/** The pieces that were kept, the further files one after the other; what could not be kept is named with the reason. */
export async function keptPieces(
  first: Piece,
  { t, call, given }: Wording,
  verbs: Verbs,
  operation: string,
  params: VerbInput["params"],
): Promise<Reply> {
  const lines = [pieceLine(first, t)];
  for (const file of filesIn(given).slice(1)) {
    try {
      const { view } = annotated(await verbs.run(operation, call, pieceInput(given, params, file)));
      lines.push(pieceLine(view as Piece, t));
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      lines.push(t("evidence lost", { name: escapeText(cut(file.name, 100)), code: error.code, detail: refusalText(error, t) }));
    }
  }
  return { content: t("evidence kept"), embeds: [{ description: cut(lines.join("\n"), 4000) }] };
}

/** The commands for the evidence of a sort of record. */
export function evidenceEntries({ command, record, name, pieces, press }: EvidencePlace): Entry[] {
  const at = (given: CommandInput) => ({ id: textIn(given, record.name) ?? "" });
  const piece: OptionSpec = { name: "piece", kind: "text", required: true, completes: pieces, max: 40 };
  const pieceAt = (given: CommandInput) => ({ id: textIn(given, "piece") ?? "" });
  return [
    {
      command,
      path: "evidence",
      operation: `add${name}Evidence`,
      options: [
        record,
        ...fileOptions.map((option): OptionSpec => ({ name: option, kind: "file" })),
        { ...title, kind: "text" },
        { ...note, kind: "text" },
        { name: "link", kind: "text", max: 2000 },
        { name: "message", kind: "text", max: 200 },
        { name: "reference", kind: "text", max: 100 },
        { name: "confidential", kind: "boolean" },
      ],
      form: [
        { name: "files", kind: "files", max: 5 },
        { ...title, kind: "line" },
        { ...note, kind: "paragraph" },
      ],
      formWhen: ({ values, files }) => ways.every((way) => values[way] === undefined && files[way] === undefined),
      input: (given) => pieceInput(given, at(given)),
      show: (view: Piece, wording, verbs) => keptPieces(view, wording, verbs, `add${name}Evidence`, at(wording.given)),
    },
    {
      command,
      path: "files",
      operation: `list${name}Evidence`,
      options: [record],
      input: (given) => ({ params: at(given) }),
      line: (view: Piece, { t }) => pieceLine(view, t),
      press,
    },
    {
      command,
      path: "piece",
      operation: "getEvidence",
      options: [record, piece],
      input: (given) => ({ params: pieceAt(given) }),
      show: (view: Piece, { t }) => pieceReply(view, t),
    },
    {
      command,
      path: "file",
      operation: "downloadEvidence",
      options: [record, piece, { name: "position", kind: "integer", min: 0, max: 99 }],
      input: (given) => ({ params: { ...pieceAt(given), position: (numberIn(given, "position") ?? 0).toString() } }),
    },
    {
      command,
      path: "redact",
      operation: "redactEvidence",
      options: [record, piece, { name: "reason", kind: "text" }],
      form: [{ name: "reason", kind: "paragraph", required: true }],
      input: (given) => ({ params: pieceAt(given), body: picked(given, "reason"), revision: numberIn(given, "revision") }),
      async asks(wording, verbs) {
        const ask = wording.t("evidence redact ask");
        const view = await readOptional<Piece & { revision: number }>(verbs, "getEvidence", wording, { params: pieceAt(wording.given) });
        return view === undefined ? ask : { content: `${ask}\n${pieceLine(view, wording.t)}`, about: { revision: view.revision } };
      },
    },
  ];
}
