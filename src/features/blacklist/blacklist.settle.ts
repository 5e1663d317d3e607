import type { Tx } from "../../database/database.ts";
import type { BlacklistRecord } from "../../generated/sqlite/client.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { EventsService } from "../events/events.service.ts";
import type { EventType } from "../events/events.types.ts";
import type { MatchChanges, MatchesService } from "../intelligence/matches.service.ts";
import type { Standings } from "../permissions/standing.ts";
import type { Change } from "./blacklist.feed.ts";
import { createFeed } from "./blacklist.feed.ts";
import { confidentialFields, presentRecord, referenceOf, toMatchRecord } from "./blacklist.policy.ts";
import type { ChangeNote } from "./blacklist.records.ts";
import type { BlacklistView } from "./blacklist.schema.ts";
import { wordRows } from "./blacklist.words.ts";

/** What happens to records: the audit's name for it, the feed's, and the event that tells of it. */
export const blacklistActions = {
  "blacklist.create": { what: "created", event: "blacklist.created" },
  "blacklist.merge": { what: "updated", event: "blacklist.updated" },
  "blacklist.update": { what: "updated", event: "blacklist.updated" },
  "blacklist.start": { what: "started", event: "blacklist.updated" },
  "blacklist.supersede": { what: "superseded", event: "blacklist.updated" },
  "blacklist.revoke": { what: "revoked", event: "blacklist.revoked" },
  "blacklist.expire": { what: "expired", event: "blacklist.expired" },
} as const satisfies Record<string, { what: Change["what"]; event: EventType }>;
export type BlacklistAction = keyof typeof blacklistActions;

export interface SettlingDeps {
  audit: AuditService;
  events: Pick<EventsService, "emit">;
  matches: Pick<MatchesService, "applyRecord">;
  standing: Pick<Standings, "noteRecord">;
}

/** A record that was written, with what it was before. */
export interface Written {
  before: BlacklistRecord | null;
  row: BlacklistRecord;
  note: ChangeNote;
}

/** @returns brings everything that follows from written records in step: versions, words, feed, audit, events, standing, matches */
export function createSettling({ audit, events, matches, standing }: SettlingDeps) {
  const feed = createFeed();

  return async function settleAll(tx: Tx, written: readonly Written[]): Promise<MatchChanges> {
    const views = written.map(({ row }) => presentRecord(row, tx.now));
    const changedBy = tx.call.actor?.id ?? null;
    await tx.db.blacklistVersion.createMany({
      data: written.map(({ row }, index) => ({
        recordId: row.id,
        revision: row.revision,
        snapshot: views[index] as object,
        changedBy,
        changedAt: tx.now,
      })),
    });
    await keepWords(tx, written);
    const sum: MatchChanges = { added: 0, changed: 0, removed: 0 };
    for (const [index, { before, row, note }] of written.entries()) {
      const { what, event } = blacklistActions[note.action];
      feed(tx, { recordId: row.id, number: row.number, revision: row.revision, what, kind: row.kind, category: row.category });
      audit.record(tx, {
        action: note.action,
        target: { kind: "blacklist", id: row.id, reference: referenceOf(row) },
        ...(row.kind === "user" && { subjectUserId: row.subjectId }),
        ...(note.reason !== undefined && { reason: note.reason }),
        ...difference(before === null ? {} : presentRecord(before, tx.now), views[index] as BlacklistView),
        permission: note.permission,
      });
      events.emit(tx, {
        type: event,
        data: { id: row.id, number: referenceOf(row), kind: row.kind, status: row.status, severity: row.severity },
      });
      tx.afterCommit(() => standing.noteRecord(row));
      const done = await matches.applyRecord(tx, toMatchRecord(row, tx.now));
      sum.added += done.added;
      sum.changed += done.changed;
      sum.removed += done.removed;
    }
    return sum;
  };
}

/** Only texts that changed are taken apart again. */
async function keepWords(tx: Tx, written: readonly Written[]): Promise<void> {
  const changed = written.filter(({ before, row }) => before === null || textOf(before) !== textOf(row));
  const known = changed.flatMap(({ before }) => (before === null ? [] : [before.id]));
  if (known.length > 0) await tx.db.blacklistWord.deleteMany({ where: { recordId: { in: known } } });
  const rows = changed.flatMap(({ row }) => wordRows(row));
  if (rows.length > 0) await tx.db.blacklistWord.createMany({ data: rows });
}

function textOf({ reasonPublic, reasonInternal, subjectName, tags }: BlacklistRecord): string {
  return JSON.stringify([reasonPublic, reasonInternal, subjectName, tags]);
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
