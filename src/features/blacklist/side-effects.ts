import type { PermissionKey } from "../../kernel/permissions.ts";
import type { Tx } from "../../database/database.ts";
import type { Series } from "../../database/tx.ts";
import type { BlacklistRecord } from "../../generated/sqlite/client.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { EventsService } from "../events/events.service.ts";
import type { EventType } from "../events/types.ts";
import type { Concerned, MatchChanges, MatchesService } from "../intelligence/matches/matches.service.ts";
import type { ListChecks } from "../lists/checks.ts";
import type { AccessDirectory } from "../permissions/access/access-directory.ts";
import { confidentialFields, numbersFor, presentRecord, referenceOf, toMatchRecord } from "./blacklist.policy.ts";
import type { BlacklistView } from "./blacklist.schema.ts";
import { textOf, wordRows } from "./changes.ts";

export interface ChangeNote {
  action: BlacklistAction;
  permission: PermissionKey;
  reason?: string | undefined;
}

/** What happens to records: the audit's name for it, the feed's, and the event that tells of it. */
export const blacklistActions = {
  "blacklist.create": { what: "created", event: "blacklist.created" },
  "blacklist.merge": { what: "updated", event: "blacklist.updated" },
  "blacklist.update": { what: "updated", event: "blacklist.updated" },
  "blacklist.start": { what: "started", event: "blacklist.updated" },
  "blacklist.supersede": { what: "superseded", event: "blacklist.updated" },
  "blacklist.suspend": { what: "updated", event: "blacklist.updated" },
  "blacklist.resume": { what: "updated", event: "blacklist.updated" },
  "blacklist.restore": { what: "updated", event: "blacklist.updated" },
  "blacklist.revoke": { what: "revoked", event: "blacklist.revoked" },
  "blacklist.expire": { what: "expired", event: "blacklist.expired" },
} as const satisfies Record<string, { what: Change["what"]; event: EventType }>;
export type BlacklistAction = keyof typeof blacklistActions;

export interface SideEffectDeps {
  audit: AuditService;
  events: Pick<EventsService, "emit">;
  matches: Pick<MatchesService, "lock" | "concernedBy" | "applyRecord" | "applyRecords">;
  access: Pick<AccessDirectory, "noteRecord">;
  listChecks: Pick<ListChecks, "insertOf">;
}

/** A record that was changed, with what it was before; null: it is new, and is inserted with what follows from it. */
export interface Written {
  before: BlacklistRecord | null;
  row: BlacklistRecord;
  note: ChangeNote;
}

export interface SideEffectOptions {
  /** Whether there is an event for every record; true by default. A caller that says no emits one event for all of them. */
  tellsEach?: boolean;
  /** Whom the one record concerns, which is new, as {@link MatchesService.concernedBy} has read it. */
  concerned?: Concerned;
}

/** @returns inserts new records, and brings everything that follows from written records in step: versions, words, feed, audit, events, access, matches */
export function createSideEffects({ audit, events, matches, access, listChecks }: SideEffectDeps) {
  return async function applySideEffects(
    tx: Tx,
    written: readonly Written[],
    { tellsEach = true, concerned }: SideEffectOptions = {},
  ): Promise<MatchChanges> {
    const numbers = await numbersFor(
      tx.db,
      written.map(({ row }) => row),
    );
    const views = written.map(({ row }) => presentRecord(row, tx.now, numbers));
    const changedBy = tx.call.actor?.id ?? null;
    const versions = written.map(({ row: { id, revision } }, index) => {
      return { recordId: id, revision, snapshot: views[index] as object, changedBy, changedAt: tx.now };
    });
    tx.insert([
      { model: "BlacklistRecord", rows: written.flatMap(({ before, row }) => (before === null ? [row] : [])) },
      { model: "BlacklistVersion", rows: versions },
      { model: "BlacklistWord", rows: await wordsToKeep(tx, written) },
      listChecks.insertOf(tx, [...new Set(written.flatMap(({ row }) => (row.kind === "user" ? [row.subjectId] : [])))]),
    ]);
    for (const [index, { before, row, note }] of written.entries()) {
      const { what, event } = blacklistActions[note.action];
      // Anyone who follows only the category that the record leaves is told, too.
      for (const category of new Set([before?.category ?? row.category, row.category]))
        tx.append(feed, { recordId: row.id, number: row.number, revision: row.revision, what, kind: row.kind, category });
      audit.record(tx, {
        action: note.action,
        target: { kind: "blacklist", id: row.id, reference: referenceOf(row) },
        ...(row.kind === "user" && { subjectUserId: row.subjectId }),
        ...(note.reason !== undefined && { reason: note.reason }),
        ...difference(before === null ? {} : presentRecord(before, tx.now, numbers), views[index] as BlacklistView),
        permission: note.permission,
      });
      if (tellsEach) {
        const data = { id: row.id, number: referenceOf(row), kind: row.kind, status: row.status, severity: row.severity };
        events.emit(tx, { type: event, data });
      }
      tx.afterCommit(() => access.noteRecord(row));
    }
    const [first, ...more] = written.map(({ row }) => toMatchRecord(row, tx.now));
    if (first === undefined) return { added: 0, changed: 0, removed: 0 };
    return more.length === 0 ? matches.applyRecord(tx, first, concerned) : matches.applyRecords(tx, [first, ...more]);
  };
}

/** The words of texts that are new or have changed; those of the earlier ones go. */
async function wordsToKeep(tx: Tx, written: readonly Written[]): Promise<object[]> {
  const changed = written.filter(({ before, row }) => before === null || textOf(before) !== textOf(row));
  const known = changed.flatMap(({ before }) => (before === null ? [] : [before.id]));
  if (known.length > 0) await tx.db.blacklistWord.deleteMany({ where: { recordId: { in: known } } });
  return changed.flatMap(({ row }) => wordRows(row));
}

/** The changed fields before and after. Confidential ones are named, never shown. */
function difference(before: Partial<BlacklistView>, after: BlacklistView): { before: object; after: object } {
  const silent = new Set(["revision", "history_count", "updated_at"]);
  const was: Record<string, unknown> = {};
  const is: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(after)) {
    const earlier = before[key as keyof BlacklistView];
    if (silent.has(key) || JSON.stringify(earlier) === JSON.stringify(value)) continue;
    if (earlier !== undefined) was[key] = confidentialFields.has(key) ? "(hidden)" : earlier;
    is[key] = confidentialFields.has(key) ? "(hidden)" : value;
  }
  return { before: was, after: is };
}

/** One change of a record, as the feed keeps it. */
export interface Change {
  recordId: string;
  number: number;
  revision: number;
  what: "created" | "updated" | "started" | "superseded" | "revoked" | "expired" | "purged";
  kind: string;
  category: string | null;
}

/** The feed of changes, in the order of commits. */
export const feed: Series<Change> = {
  name: "blacklist_changes",
  rowsOf({ now }, changes, last) {
    const rows = changes.map((one, index) => ({ ...one, seq: last.number + 1 + index, at: now }));
    return { inserts: [{ model: "BlacklistChange", rows }] };
  },
};
