import { say } from "../../kit/say.ts";
import type { Changes } from "./bulk.ts";
import { severities } from "../../kernel/vocabulary.ts";
import { z } from "zod";
import type { Tx } from "../../database/database.ts";
import type { BlacklistRecord, Prisma } from "../../generated/sqlite/client.ts";
import { listed } from "../../kernel/words.ts";
import type { Undone } from "../../kernel/undo.ts";
import { numbersFor, presentRecord } from "./blacklist.policy.ts";
import { canonical } from "./same.ts";
import type { BlacklistView } from "./blacklist.schema.ts";

/**
 * What is needed to take a change of a record back: the record and its revisions around the change. What its fields were stands in
 * its history, so that nothing of a record is kept where erasing the record does not reach it.
 */
export const BlacklistUndo = z.strictObject({
  record_id: z.string(),
  what: z.enum(["create", "change", "revoke"]),
  /** 0 where the change made the record. */
  before: z.int().nonnegative(),
  after: z.int().positive(),
});
export type BlacklistUndo = z.infer<typeof BlacklistUndo>;

/** What became of an attempt to take a change of a record back. */
export interface UndoneRecord extends Undone {
  /** The record as it is now; null once it was erased. */
  row: BlacklistRecord | null;
}

/** The fields that are put back, and the columns that hold them. */
const columns: { readonly [Field in keyof BlacklistView]?: (view: BlacklistView) => Changes } = {
  server_ids: (view) => ({ serverIds: view.server_ids }),
  severity: ({ severity }) => ({ severity, severityOrder: severities.indexOf(severity) }),
  reason_public: (view) => ({ reasonPublic: view.reason_public }),
  reason_internal: (view) => ({ reasonInternal: view.reason_internal ?? null }),
  recommended_action: (view) => ({ recommendedAction: view.recommended_action }),
  include_alts: ({ include_alts: includeAlts }) => (includeAlts === undefined ? {} : { includeAlts }),
  evidence: (view) => ({ evidence: view.evidence as Prisma.InputJsonValue[] }),
  tags: (view) => ({ tags: view.tags }),
  approved_by: (view) => ({ approvedBy: view.approved_by }),
  starts_at: (view) => ({ startsAt: new Date(view.starts_at) }),
  expires_at: (view) => ({ expiresAt: timeOf(view.expires_at) }),
  review_at: (view) => ({ reviewAt: timeOf(view.review_at) }),
};

/** What taking a change back writes; the names of fields that somebody changed since, which stay. */
export interface Restoring {
  changes: Changes;
  kept: readonly string[];
}

/**
 * What takes a change of a record back, field by field.
 * @returns null when the history of the record is gone
 */
export async function restoringOf(tx: Tx, row: BlacklistRecord, { before, after }: BlacklistUndo): Promise<Restoring | null> {
  const [was, written] = [await versionOf(tx, row.id, before), await versionOf(tx, row.id, after)];
  if (was === null || written === null) return null;
  const is = presentRecord(row, tx.now, await numbersFor(tx.db, [row]));
  const isSame = (one: BlacklistView, other: BlacklistView, field: keyof BlacklistView) =>
    canonical(one[field]) === canonical(other[field]);
  const changed = (Object.keys(columns) as (keyof BlacklistView)[]).filter((field) => !isSame(was, written, field));
  const restored = changed.filter((field) => isSame(is, written, field) && !(field === "starts_at" && isOverBefore(was, is)));
  const changes: Changes = Object.assign({}, ...restored.map((field) => columns[field]?.(was)));
  const isScheduled = restored.includes("starts_at") && row.status !== "suspended" && new Date(was.starts_at) > tx.now;
  return {
    changes: { ...changes, ...(isScheduled && { status: "scheduled" }) },
    kept: changed.filter((field) => !restored.includes(field)),
  };
}

/** How an attempt went, in words: all of it, or all but what somebody changed since. */
export function resultOf(kept: readonly string[]): Undone {
  if (kept.length === 0) return { restored: true, detail: say("blacklist.the-record-is-as-it-was-before") };
  return { restored: false, detail: say("blacklist.what-was-changed-since-stays-as-it", { kept: listed(kept) }) };
}

async function versionOf(tx: Tx, recordId: string, revision: number): Promise<BlacklistView | null> {
  const row = await tx.db.blacklistVersion.findUnique({ where: { recordId_revision: { recordId, revision } } });
  return row === null ? null : (row.snapshot as unknown as BlacklistView);
}

/** Whether the end that a record has now comes before the start it had then. */
function isOverBefore(was: BlacklistView, { expires_at: end }: BlacklistView): boolean {
  return end !== null && new Date(end) <= new Date(was.starts_at);
}

function timeOf(at: string | null): Date | null {
  return at === null ? null : new Date(at);
}
