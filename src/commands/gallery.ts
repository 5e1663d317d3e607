import type { MessageParts } from "../kernel/message-parts.ts";
import { wordsOf } from "../kernel/message-text.ts";
import type { ListedLinkView } from "../kernel/listed-by.ts";
import type { VerbInput, Verbs } from "./verbs.ts";
import type { APIEmbed } from "discord.js";
import type { ReplyFile, Reply } from "../discord/command.ts";
import { escapeText } from "../discord/replies.ts";
import { mediaTypesOf, type RawAnswer, type RouteSpec } from "../operations/route.ts";
import type { Page } from "../kernel/page.ts";
import type { Wording } from "./entry.ts";
import { readOptional } from "./records.ts";
import { cut, lineText, momentOf, showView } from "./show.ts";
import { say, type Translate } from "../kit/say.ts";
import { Readable } from "node:stream";
import { ProblemError } from "../kernel/errors.ts";

const maxPieces = 10;
/** Of a message on its card, whose other parts need room as well. */
const maxWords = 3500;
/** Pictures of one message: they are fetched one after the other, and a message takes ten megabytes. */
const maxPictures = 4;
const maxBytes = 8 * 1024 * 1024;
const pictures: Readonly<Record<string, string>> = { "image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp" };

interface Part {
  position: number;
  name: string | null;
  mime: string;
  bytes: number;
  status: string;
}

/** A piece of evidence as its view has it. */
export interface Piece {
  id: string;
  kind: string;
  title: string | null;
  note: string | null;
  url: string | null;
  listed_links?: readonly ListedLinkView[] | undefined;
  record_ref: string | null;
  file: Part | null;
  message: { author_id: string; content: string | null; parts: MessageParts | null; attachments: Part[] } | null;
  sha256: string | null;
  captured_at: string;
  captured_by: string | null;
  verified: boolean;
  redacted_at: string | null;
}

export interface Gallery {
  embeds: APIEmbed[];
  files: ReplyFile[];
  /** There are more pieces than it holds. */
  hasMore: boolean;
}

/** The evidence of a record: pictures as pictures, the rest as lines. Empty for those who may not see it. */
export async function galleryOf(verbs: Verbs, operation: string, wording: Wording, input: VerbInput): Promise<Gallery> {
  const page = await readOptional<Page<Piece>>(verbs, operation, wording, { ...input, query: { limit: maxPieces } });
  if (page === undefined || page.data.length === 0) return { embeds: [], files: [], hasMore: false };
  const description = cut(page.data.map((piece) => pieceLine(piece, wording.t)).join("\n"), 4000);
  const files = await picturesOf(verbs, wording, page.data);
  const shown = files.map(({ name }) => ({ image: { url: `attachment://${name}` } }));
  return { embeds: [{ title: wording.t("label evidence"), description }, ...shown], files, hasMore: page.next_cursor !== null };
}

/** A piece as one line: what it is, what it holds, who kept it when. */
export function pieceLine(piece: Piece, t: Translate): string {
  const { kind, title, note, url, record_ref: reference, message, verified } = piece;
  const parts = [
    `**${t(`= ${kind}`)}**${verified ? " ✓" : ""}`,
    title === null ? undefined : escapeText(title),
    piece.redacted_at === null ? undefined : t("evidence redacted"),
    url === null ? undefined : escapeText(url),
    reference === null ? undefined : escapeText(reference),
    message === null ? undefined : `<@${message.author_id}>: ${lineText(cut(messageWords(message, t) ?? "–", 120))}`,
    note === null ? undefined : escapeText(cut(note, 120)),
    ...partsOf(piece).map((part) => partText(part, t)),
    ...(piece.listed_links ?? []).map((link) => listedText(link, t)),
    momentOf(piece.captured_at),
    piece.captured_by === null ? undefined : `<@${piece.captured_by}>`,
    `\`${piece.id}\``,
  ];
  return parts.filter((part) => part !== undefined).join(" · ");
}

/** Everything that a message showed, in words of the reader's language; undefined once redacted. */
function messageWords({ content, parts }: NonNullable<Piece["message"]>, t: Translate): string | undefined {
  return content === null ? undefined : wordsOf({ content, parts: parts ?? {} }, t);
}

/** A piece as a card, and under it what its message showed; the rest of a long one comes as a file. */
export function pieceReply(piece: Piece, t: Translate): Reply {
  const { message } = piece;
  if (message === null) return showView(piece, t);
  const words = messageWords(message, t) ?? "";
  const { content: _, parts: _parts, ...place } = message;
  const card = showView({ ...piece, message: { ...place, text: null } }, t);
  if (words === "") return card;
  const shown = cut(escapeText(words), maxWords);
  const whole = shown === escapeText(words) ? [] : [{ name: "message.txt", content: words }];
  return {
    ...card,
    embeds: [{ title: t("= message"), description: shown }, ...(card.embeds ?? [])],
    files: [...whole, ...(card.files ?? [])],
  };
}

/** That lists warn of a link. */
function listedText({ subject, listed_by: by }: ListedLinkView, t: Translate): string {
  const lists = [...new Set(by.map(({ list, number }) => `${list} (${number})`))].join(", ");
  return `**${t("evidence listed", { subject: escapeText(subject), lists: escapeText(lists) })}**`;
}

function partText({ name, bytes, status }: Part, t: Translate): string {
  const size = `${escapeText(name ?? "–")} (${sizeOf(bytes)})`;
  return status === "stored" ? size : `${size} – ${t(`= ${status}`)}`;
}

/** A size as people read it. */
export function sizeOf(bytes: number): string {
  if (bytes < 1024) return `${bytes.toString()} B`;
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

function partsOf({ file, message }: Piece): Part[] {
  return [...(file === null ? [] : [file]), ...(message?.attachments ?? [])];
}

async function picturesOf(verbs: Verbs, wording: Wording, pieces: readonly Piece[]): Promise<ReplyFile[]> {
  const found = pieces.flatMap((piece) => partsOf(piece).map((part) => ({ id: piece.id, part })));
  const files: ReplyFile[] = [];
  let left = maxBytes;
  for (const { id, part } of found) {
    const ending = pictures[part.mime];
    if (ending === undefined || part.status !== "stored" || part.bytes > left || files.length === maxPictures) continue;
    const answer = await readOptional<RawAnswer>(verbs, "downloadEvidence", wording, {
      params: { id, position: part.position.toString() },
    });
    if (answer === undefined) continue;
    // One that is not what was kept any more stands in the log; the record is shown without it.
    const content = await bytesOf(answer.body).catch(() => undefined);
    if (content === undefined) continue;
    left -= part.bytes;
    files.push({ name: `evidence-${(files.length + 1).toString()}.${ending}`, content });
  }
  return files;
}

/** A piece as a choice of an option. */
export function pieceName({ kind, title, file, captured_at: at }: Piece): string {
  return [kind, title ?? file?.name, at.slice(0, 10)].filter(Boolean).join(" · ");
}

/** A message of a bot takes files of ten megabytes in all. */
const maxRawBytes = 9 * 1024 * 1024;

const endings: Readonly<Record<string, string>> = { "text/csv": "csv", "application/x-ndjson": "ndjson", "application/json": "json" };

/** An answer that is a file: an export, evidence. @throws ProblemError unsupported_operation when it is too large for Discord */
export async function rawReply(answer: unknown, { operationId, success }: RouteSpec, t: Translate): Promise<Reply> {
  const { body, type = mediaTypesOf(success)[0], headers = {} } = answer as RawAnswer;
  const content = await bytesOf(body);
  const media = type.split(";")[0] ?? "";
  const disposition = headers["Content-Disposition"] ?? "";
  const real = /filename\*=UTF-8''([^;]+)/.exec(disposition)?.[1];
  const named = real === undefined ? /filename="([^"]+)"/.exec(disposition)?.[1] : decodeURIComponent(real);
  return { content: t("say file"), files: [{ name: named ?? `${operationId}.${endings[media] ?? "bin"}`, content }] };
}

/** @throws ProblemError unsupported_operation when it is too large for a message */
export async function bytesOf(body: RawAnswer["body"]): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body instanceof Readable ? body : [body]) {
    const piece = Buffer.from(part as Buffer | string);
    bytes += piece.length;
    if (bytes > maxRawBytes) {
      if (body instanceof Readable) body.destroy();
      throw new ProblemError("unsupported_operation", {
        detail: say("commands.this-is-too-large-for-a-message"),
      });
    }
    parts.push(piece);
  }
  return Buffer.concat(parts);
}
