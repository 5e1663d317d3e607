import type { AttachmentSource, FetchedAttachment, FetchedMessage, MessageSource, NoMessage } from "../../kernel/discord-port.ts";
import { fieldError, ProblemError } from "../../kernel/errors.ts";
import { fileProblem } from "../../kernel/files.ts";
import { messageOfUrl, type ParsedEvidence } from "./evidence.schema.ts";
import type { EvidenceFiles } from "./files.ts";
import type { LooseFile } from "./stores/store.ts";
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { fileTypeFromBuffer } from "file-type";
import { say } from "../../kit/say.ts";
import { writtenKinds, type CommonParts } from "../../kernel/message-parts.ts";

/** Why there is no message, and what helps. */
const whyNone: Readonly<Record<NoMessage, string>> = {
  channel_hidden: say("evidence.there-is-no-such-channel-in-a"),
  history_hidden: say("evidence.the-bot-may-not-read-messages-in"),
  message_gone: say("evidence.there-is-no-such-message-in-this"),
};

const hidden = say("evidence.discord-does-not-show-the-bot-what");
const nothing = say("evidence.this-message-is-empty-it-has-no");
const unsure = say("evidence.discord-shows-nothing-of-this-message-that");

/**
 * A message that holds something to keep. Where Discord hides its text from the bot and something else is left, that is named.
 * @throws ProblemError validation_failed with the reason why there is nothing to keep
 */
async function requireContent(message: FetchedMessage, source: MessageSource, pointer: string): Promise<FetchedMessage> {
  const { parts } = message;
  if (message.content !== "" || showsText(parts) || (parts.forwards ?? []).some((one) => hasText(one) || showsText(one))) return message;
  const isShown = await source.isContentShown();
  if (holdsMore(parts)) {
    if (isShown !== false) return message;
    return { ...message, parts: { ...parts, gaps: [...(parts.gaps ?? []), { at: "/content", why: "hidden" }] } };
  }
  if (isShown === false) throw fieldError(pointer, "empty_message", hidden);
  const { kind } = parts;
  if (kind !== undefined && !writtenKinds.has(kind))
    throw fieldError(pointer, "empty_message", say("evidence.system-message", { kind: kind.replaceAll("_", " ") }));
  throw fieldError(pointer, "empty_message", isShown === undefined ? unsure : nothing);
}

const hasText = ({ content = "" }: { content?: string | undefined }): boolean => content !== "";
const isThere = (list: readonly unknown[] | undefined): boolean => (list?.length ?? 0) > 0;

/** Parts that Discord shows a bot only with the message content intent. */
function showsText({ attachments, embeds, components, poll }: CommonParts): boolean {
  return isThere(attachments) || isThere(embeds) || isThere(components) || poll !== undefined;
}

/** Parts that Discord always shows, and that are worth keeping by themselves. */
function holdsMore(parts: FetchedMessage["parts"]): boolean {
  const { kind, reply_to: reply, stickers, forwards, activity, call, thread, role_subscription: sold, purchase, theme, gaps } = parts;
  const isUnread = (gaps ?? []).some(({ why }) => why === "unread" || why === "unknown");
  return (
    isThere(stickers) ||
    (forwards ?? []).some((one) => isThere(one.stickers)) ||
    [activity, call, thread, sold, purchase, theme].some((part) => part !== undefined) ||
    // The first message of a thread is what it was started from.
    (kind === "thread_starter_message" && reply !== undefined && (hasText(reply) || showsText(reply))) ||
    isUnread
  );
}

/** What is known of a file before its row is written. */
export interface FileDraft {
  name: string;
  mime: string;
  bytes: number;
  sha256: string | null;
  status: "stored" | "missing" | "too_large";
}

/** How the service reaches Discord. */
export interface Capturing {
  messages: MessageSource;
  attachments: AttachmentSource;
}

/** For all attachments of a message together, in milliseconds. */
const deadlineMs = 30_000;
const unknownType = "application/octet-stream";

interface CaptureDeps {
  files: EvidenceFiles;
  maxBytes: number;
  discord: Capturing;
}

/** Keeps files: those that were sent, and those of messages the service fetches itself. */
export function createCapture({ files: kept, maxBytes, discord }: CaptureDeps) {
  /** @param pins gathers what ends the pins of the files */
  async function keep(file: LooseFile, name: string, pins: (() => void)[]): Promise<FileDraft> {
    const mime = await sniffType(file.path);
    pins.push(kept.pin(file.sha256));
    await kept.keep(file);
    return { name: cleanName(name), mime, bytes: file.bytes, sha256: file.sha256, status: "stored" };
  }

  async function attachment({ name, bytes, url }: FetchedAttachment, from: AttachmentSource, signal: AbortSignal, pins: (() => void)[]) {
    const lost = (status: "missing" | "too_large"): FileDraft => ({
      name: cleanName(name),
      mime: unknownType,
      bytes,
      sha256: null,
      status,
    });
    if (bytes > maxBytes) return lost("too_large");
    const source = await from.open(url, signal);
    if (source === undefined) return lost("missing");
    try {
      return await keep(await kept.receive(source, maxBytes, signal), name, pins);
    } catch (error) {
      const problem = fileProblem(error);
      if (problem instanceof ProblemError && problem.code !== "body_too_large") throw problem;
      return lost(problem instanceof ProblemError ? "too_large" : "missing");
    }
  }

  return {
    keep,

    /**
     * Fetch a message and its attachments. One that cannot be had stays as a name and a size.
     * @throws ProblemError validation_failed when the bot or the viewer does not see the message; discord_unavailable; storage_full
     */
    async message(
      input: Extract<ParsedEvidence, { kind: "message" }>,
      viewerId: string | null,
      pins: (() => void)[],
    ): Promise<{ message: FetchedMessage; files: FileDraft[] }> {
      const { channel_id: channel, message_id: id } = input.message ?? messageOfUrl(input.message_url ?? "");
      const pointer = input.message === undefined ? "/message_url" : "/message/message_id";
      const found = await discord.messages.fetch(channel, id, viewerId);
      if (typeof found === "string") throw fieldError(pointer, "not_found", whyNone[found]);
      const message = await requireContent(found, discord.messages, pointer);
      const signal = AbortSignal.timeout(deadlineMs);
      const files: FileDraft[] = [];
      for (const one of message.files) files.push(await attachment(one, discord.attachments, signal, pins));
      return { message, files };
    },
  };
}

/** Enough of the beginning for every known signature; no more, so that nothing packed is unpacked. */
const beginning = 4100;

/** What the bytes of a file look like: a known type, text in UTF-8, or unknown bytes. What its sender says does not count. */
export async function sniffType(path: string): Promise<string> {
  const known = await fileTypeFromBuffer(await readBeginning(path)).catch(() => undefined);
  if (known !== undefined) return known.mime;
  return (await isText(path)) ? "text/plain" : "application/octet-stream";
}

async function readBeginning(path: string): Promise<Buffer> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(beginning), 0, beginning, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

async function isText(path: string): Promise<boolean> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>) {
      if (chunk.includes(0)) return false;
      decoder.decode(chunk, { stream: true });
    }
    decoder.decode();
    return true;
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
}

const maxLength = 255;
/** What a file may not be called: parts of paths, controls, and marks that turn the direction of a text around. */
const unwanted = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}"*:<>?|]/gu;

/** A name a client gave a file, fit to be shown and saved: the last part of a path, without what deceives, at most 255 characters. */
export function cleanName(given: string): string {
  const [last = ""] = given.split(/[/\\]/).toReversed();
  const clean = last
    .replace(unwanted, "")
    .trim()
    .replace(/^\.+/, "")
    .replace(/[. ]+$/, "")
    .trim();
  return shorten(clean) || "file";
}

/** The end of a name says what it is: it stays. */
function shorten(name: string): string {
  const characters = Array.from(name);
  if (characters.length <= maxLength) return name;
  const dot = characters.lastIndexOf(".");
  const ending = dot > 0 && characters.length - dot <= 12 ? characters.slice(dot) : [];
  return [...characters.slice(0, maxLength - ending.length), ...ending].join("");
}

/** `Content-Disposition` of a download: a name every client reads, and the real one (RFC 6266, RFC 8187). */
export function attachmentHeader(name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, "_");
  const encoded = encodeURIComponent(name).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
