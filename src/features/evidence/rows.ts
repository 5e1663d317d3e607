import { hash } from "node:crypto";
import type { EvidenceFile, EvidenceItem } from "../../generated/sqlite/client.ts";
import { isoOrNull } from "../../kernel/fields.ts";
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

/** A message as it is stored: who wrote it is an id, never a name. */
export interface StoredMessage {
  guild_id: string;
  channel_id: string;
  message_id: string;
  author_id: string;
  content: string | null;
  sent_at: string;
  edited_at: string | null;
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
    message: message === null ? null : { ...message, attachments: files },
    sha256: row.sha256,
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

function presentFile({ position, name, mime, bytes, sha256, status }: EvidenceFile): FilePart {
  return { position, name, mime, bytes, sha256, status: status as FilePart["status"] };
}

/** SHA-256 of what a piece says: of a text, an address or a reference the text itself, of a message its parts as JSON. */
export function contentHash(content: string): string {
  return hash("sha256", content);
}
