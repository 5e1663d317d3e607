import type { ReadClient, TransactionClient } from "../../../database/database.ts";
import type { Where } from "../../../database/where.ts";
import type { RequestDraft } from "../../../generated/sqlite/client.ts";
import { jsonObject } from "../../../kernel/parsing.ts";
import type { Call } from "../../../kernel/call.ts";
import type { DraftStatus, DraftView } from "./drafts.schema.ts";
import { kindOf } from "../kinds/kinds.ts";
import { visibleSuggestion } from "../requests/visibility.ts";

/** Permissions of this feature; filing needs the one to create such a request besides. */
export const draftsPolicy = { read: "workflows.read", dismiss: "workflows.review", suggest: "system.act" } as const;

export type DraftWhere = Where<"RequestDraft">;

/** A feature whose records suggest requests, and that has records not everybody may know of. */
export interface DraftCauses {
  /** Every draft but those of its records that a caller may not know of, in the words of the database. */
  knownWhere(call: Call): Promise<DraftWhere>;
  /** The permission that being told of a record needs beyond the usual one, if any. */
  permissionFor(db: ReadClient | TransactionClient, reference: string): Promise<string | undefined>;
}

export function presentDraft(row: RequestDraft): DraftView {
  const type = kindOf(row.type);
  if (type === undefined) throw new Error(`the draft ${row.id} suggests a request of no kind: ${row.type}`);
  return {
    id: row.id,
    type,
    status: row.status as DraftStatus,
    payload: jsonObject(row.payload),
    subject: { kind: row.subjectKind as DraftView["subject"]["kind"], id: row.subjectId },
    cause: row.cause,
    cause_reference: row.causeReference,
    filed_reference: row.filedReference,
    ended: row.endedAt === null ? null : { at: row.endedAt.toISOString(), by: row.endedBy },
    created_at: row.createdAt.toISOString(),
    revision: row.revision,
  };
}

/** A draft without what of its request this caller may not read. */
export function visibleDraft(call: Call, view: DraftView): DraftView {
  return { ...view, payload: visibleSuggestion(call, view.type, view.payload) };
}
