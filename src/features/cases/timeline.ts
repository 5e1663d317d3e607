import { say } from "../../kit/say.ts";
import { z } from "zod";
import { jsonObject } from "../../kernel/parsing.ts";
import type { Database } from "../../database/database.ts";
import type { AuditEntry } from "../../generated/sqlite/client.ts";
import { can, requirePermission, type Call } from "../../kernel/call.ts";
import { listQuery, Timestamp } from "../../kernel/fields.ts";
import { toPage, withTotal, type Cursors, type Page } from "../../kernel/page.ts";
import { casesPolicy } from "./cases.policy.ts";
import { findVisible, type CaseRecords } from "./records.ts";

export const CaseTimelineQuery = z.strictObject(listQuery).meta({ id: "CaseTimelineQuery" });
export type CaseTimelineQuery = z.input<typeof CaseTimelineQuery>;

export const CaseTimelineEntryView = z
  .object({
    id: z.string(),
    at: Timestamp,
    event: z.string().meta({ description: "What happened", example: "closed" }),
    summary: z.string().meta({ description: "The same in plain words" }),
    actor_id: z.string().optional().meta({ description: "Who did it; absent for the service itself" }),
    reason: z.string().optional(),
    fields: z.array(z.string()).optional().meta({ description: "Which fields changed" }),
    evidence_id: z.string().optional(),
  })
  .meta({ id: "CaseTimelineEntry", description: "One thing that happened in a case" });
export type CaseTimelineEntryView = z.infer<typeof CaseTimelineEntryView>;

/** What audited actions mean for a case: the event, and the same in plain words. */
const timelineLines: Readonly<Record<string, readonly [event: string, summary: string]>> = {
  "case.open": ["opened", say("cases.the-case-was-opened")],
  "case.update": ["changed", say("cases.the-case-was-changed")],
  "case.note": ["note", say("cases.a-note-was-written")],
  "case.note_edit": ["note_edited", say("cases.a-note-was-changed-by-its-author")],
  "case.link": ["linked", say("cases.it-was-linked-with-another-record")],
  "case.unlink": ["unlinked", say("cases.a-link-was-taken-back")],
  "case.action": ["action", say("cases.an-action-was-recorded")],
  "case.action_void": ["action_voided", say("cases.an-action-was-voided")],
  "case.action_restore": ["action_restored", say("cases.a-voided-action-counts-again")],
  "case.action_change": ["action_changed", say("cases.what-an-action-counts-for-was-changed")],
  "evidence.add": ["evidence", say("cases.evidence-was-added")],
  "evidence.redact": ["evidence_redacted", say("cases.the-content-of-evidence-was-removed")],
  "case.close": ["closed", say("cases.the-case-was-closed")],
  "case.reopen": ["reopened", say("cases.the-case-was-opened-again")],
  "case.archive": ["archived", say("cases.the-case-was-archived-its-retention-was")],
  "case.delete": ["deleted", say("cases.the-case-was-put-into-the-bin")],
  "case.restore": ["restored", say("cases.the-case-came-back-from-the-bin")],
};
const statusChanged = ["status", say("cases.the-case-moved-to-another-status")] as const;

/** What happened in a case, as the audit has it. */
export function createCaseTimeline({ database, records, cursors }: { database: Database; records: CaseRecords; cursors: Cursors }) {
  const { read } = database;

  /** Positions of what the audit says of the confidential evidence of a case, or of evidence that it no longer names. */
  async function hiddenEntries(caseId: string): Promise<number[]> {
    const where = { recordKind: "case", recordId: caseId, isConfidential: true };
    const pieces = new Set((await read.evidenceItem.findMany({ where, select: { id: true } })).map(({ id }) => id));
    if (pieces.size === 0) return [];
    const about = { targetKind: "case", targetId: caseId, action: { in: ["evidence.add", "evidence.redact"] } };
    const seqs = (await read.auditEntry.findMany({ where: about, select: { seq: true } })).map(({ seq }) => seq);
    const entries = await read.auditPayload.findMany({ where: { seq: { in: seqs } } });
    const evidenceAt = new Map(entries.map(({ seq, payload }) => [seq, evidenceOf(payload)]));
    return seqs.filter((seq) => pieces.has(evidenceAt.get(seq) ?? "") || evidenceAt.get(seq) === undefined);
  }

  return {
    /** Newest first. @throws ProblemError record_not_found */
    async timeline(call: Call, key: string, query: CaseTimelineQuery): Promise<Page<CaseTimelineEntryView>> {
      requirePermission(call, casesPolicy.read);
      const { id: caseId } = await findVisible(database, await records.viewerOf(call, read), key);
      const { limit, cursor, count } = CaseTimelineQuery.parse(query);
      const before = cursor === undefined ? undefined : Number(cursors.decode("case_timeline", { caseId }, cursor)[0]);
      const hidden = can(call, casesPolicy.confidential) ? [] : await hiddenEntries(caseId);
      const where = {
        targetKind: "case",
        targetId: caseId,
        outcome: "ok",
        action: { in: Object.keys(timelineLines) },
        NOT: { seq: { in: hidden } },
      };
      const rows = await read.auditEntry.findMany({
        where: { ...where, ...(before !== undefined && { seq: { lt: before } }) },
        orderBy: { seq: "desc" },
        take: limit + 1,
      });
      const payloads = await read.auditPayload.findMany({ where: { seq: { in: rows.map(({ seq }) => seq) } } });
      const details = new Map(payloads.map(({ seq, payload }) => [seq, payload]));
      const page = toPage(
        rows,
        limit,
        (row) => presentEntry(row, details.get(row.seq)),
        (last) => cursors.encode("case_timeline", { caseId }, [last.seq, last.id]),
      );
      return withTotal(page, { count }, () => read.auditEntry.count({ where }));
    },
  };
}

/**
 * Names of fields and reasons, never what was written: that is read from the case.
 * @param details what the entry says beyond that it happened; undefined once erased
 */
function presentEntry({ id, at, action, actorId }: AuditEntry, details: unknown): CaseTimelineEntryView {
  const { reason, after } = jsonObject(details);
  const fields = action === "case.update" ? Object.keys(jsonObject(after)) : [];
  const [event, summary] = fields.includes("status") ? statusChanged : (timelineLines[action] ?? [action, action]);
  const evidenceId = evidenceOf(details);
  return {
    id,
    at: at.toISOString(),
    event,
    summary,
    ...(actorId !== null && { actor_id: actorId }),
    ...(typeof reason === "string" && { reason }),
    ...(fields.length > 0 && { fields }),
    ...(evidenceId !== undefined && { evidence_id: evidenceId }),
  };
}

function evidenceOf(details: unknown): string | undefined {
  const id = jsonObject(jsonObject(details)["after"])["evidence_id"];
  return typeof id === "string" ? id : undefined;
}
