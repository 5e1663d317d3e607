import { hash } from "node:crypto";
import type { EvidenceFile, EvidenceItem } from "../../generated/sqlite/client.ts";
import { canonicalJson } from "../../kernel/canonical-json.ts";
import type { MessageParts } from "../../kernel/message-parts.ts";
import { wordsOf } from "../../kernel/message-text.ts";
import { isoOrNull } from "../../kernel/fields.ts";
import { keyedHash, randomToken } from "../../kernel/secrets.ts";
import type { Host, HostKind } from "./hosts.ts";
import type { EvidenceView, FilePart } from "./evidence.schema.ts";

/** A piece with the record it belongs to. */
export interface FoundPiece {
  row: Piece;
  kind: HostKind;
  host: Host;
}

/** A piece with its files. */
export type Piece = EvidenceItem & { files: EvidenceFile[] };
export const whole = { files: { orderBy: { position: "asc" } } } as const;

/** A message as it is stored: people are ids, never names. */
export interface StoredMessage {
  guild_id: string;
  channel_id: string;
  message_id: string;
  author_id: string;
  content: string | null;
  sent_at: string;
  edited_at: string | null;
  /** Absent once redacted, and of messages that an earlier version kept. */
  parts?: MessageParts;
}

export function presentPiece(row: Piece, host: Pick<Host, "id" | "reference">): EvidenceView {
  const files = row.files.map(presentFile);
  const message = row.message as unknown as StoredMessage | null;
  return {
    id: row.id,
    kind: row.kind as EvidenceView["kind"],
    record: { kind: row.recordKind as HostKind, id: host.id, reference: host.reference },
    title: row.title,
    note: row.note,
    url: row.url,
    record_ref: row.recordRef,
    file: row.kind === "file" ? (files[0] ?? null) : null,
    message: message === null ? null : presentMessage(message, files),
    sha256: contentHash(row),
    salt: row.salt,
    commitment: row.commitment,
    captured_at: row.capturedAt.toISOString(),
    captured_by: row.capturedBy,
    verified: row.isVerified,
    visibility: row.isConfidential ? "confidential" : "staff",
    redacted_at: isoOrNull(row.redactedAt),
    redacted_by: row.redactedBy,
    redact_reason: row.redactReason,
    revision: row.revision,
  };
}

function presentMessage(message: StoredMessage, attachments: FilePart[]): NonNullable<EvidenceView["message"]> {
  const { content, parts } = message;
  const text = content === null ? null : wordsOf({ content, parts: parts ?? {} });
  return { ...message, text, parts: parts ?? null, attachments };
}

function presentFile({ position, name, mime, bytes, sha256, status }: EvidenceFile): FilePart {
  return { position, name, mime, bytes, sha256, status: status as FilePart["status"] };
}

type Content = Pick<EvidenceItem, "kind" | "note" | "url" | "recordRef" | "message"> & { files: readonly FileFacts[] };
type FileFacts = Pick<EvidenceFile, "name" | "bytes" | "sha256">;

/**
 * SHA-256 of what a piece holds now, as hex: of a file its bytes, of a text, an address or a reference the text itself, of a message its
 * parts as JSON. Null once redacted. It is made when it is asked for and stored nowhere but for the bytes of files, as nearly everything
 * that people write is short enough to be guessed by its hash.
 */
function contentHash({ kind, note, url, recordRef, message, files }: Content): string | null {
  if (kind === "file") return files[0]?.sha256 ?? null;
  const content = kind === "message" ? messageText(message as unknown as StoredMessage, files) : (url ?? recordRef ?? note);
  return content === null ? null : hash("sha256", content);
}

function messageText(message: StoredMessage, files: readonly FileFacts[]): string | null {
  if (message.content === null) return null;
  const { guild_id, channel_id, message_id, author_id, content, sent_at, edited_at, parts } = message;
  const attachments = files.map(({ name, bytes, sha256 }) => ({ name, bytes, sha256 }));
  const text = JSON.stringify({ guild_id, channel_id, message_id, author_id, content, sent_at, edited_at, attachments });
  // PostgreSQL gives parts back with their fields in another order.
  return parts === undefined ? text : text + canonicalJson(parts);
}

/** What binds a piece to its content without saying what it is: the HMAC of its hash under a key of its own, which goes when it is redacted. */
export function committed(content: Content): Pick<EvidenceItem, "salt" | "commitment"> {
  const salt = randomToken();
  return { salt, commitment: keyedHash(Buffer.from(salt, "base64url"), contentHash(content) ?? "") };
}
