import type { PermissionKey } from "../../../kernel/permissions.ts";
import type { ReadClient, TransactionClient, Tx } from "../../../database/database.ts";
import type { Selects } from "../../../database/models.ts";
import { conditionOf } from "../../../database/where.ts";
import { toJson } from "../../../kernel/parsing.ts";
import { Prisma, type RequestDraft } from "../../../generated/sqlite/client.ts";
import type { Call } from "../../../kernel/call.ts";
import { ProblemError, recordNotFound } from "../../../kernel/errors.ts";
import { uuid7 } from "../../../kernel/ids.ts";
import { beginningWith } from "../../../kernel/words.ts";
import type { WorkflowKind } from "../../../kernel/vocabulary.ts";
import { requireRevision } from "../../../kernel/revision.ts";
import type { AuditService } from "../../audit/audit.service.ts";
import type { EventsService } from "../../events/events.service.ts";
import { draftsPolicy, presentDraft, type DraftCauses, type DraftWhere } from "./drafts.policy.ts";
import type { DraftView } from "./drafts.schema.ts";

/** A request that something suggests. */
export interface Suggestion {
  type: WorkflowKind;
  /** What is known of the request, named as its payload names it. */
  payload: Readonly<Record<string, unknown>>;
  subject: { kind: "user" | "server"; id: string };
  /** Why, in words that everybody who reads requests may read. */
  cause: string;
  causeReference?: string | undefined;
  /** The number of the case that suggests it. */
  caseNumber?: number | undefined;
  /** What it is suggested for: nothing is suggested twice for the same while one is open. */
  openKey: string;
}

interface Note {
  verb: "suggest" | "file" | "dismiss";
  permission: PermissionKey;
  reason?: string;
}

/** A draft that the caller may know of. @throws ProblemError record_not_found */
export async function findKnown(db: Selects, id: string, known: DraftWhere): Promise<RequestDraft> {
  const [row] = await db.$select("RequestDraft", Prisma.sql`WHERE ${conditionOf("RequestDraft", { AND: [{ id }, known] })}`);
  if (row === undefined) throw recordNotFound();
  return row;
}

export type DraftRecords = ReturnType<typeof createDraftRecords>;

/** The rows of suggested requests, written together with what tells of them. */
export function createDraftRecords({ audit, events }: { audit: Pick<AuditService, "record">; events: Pick<EventsService, "emit"> }) {
  const causes: DraftCauses[] = [];

  async function recordChange(tx: Tx, row: RequestDraft, note: Note): Promise<DraftView> {
    const view = presentDraft(row);
    audit.record(tx, {
      action: `request_draft.${note.verb}`,
      target: { kind: "request_draft", id: row.id, ...(row.causeReference !== null && { reference: row.causeReference }) },
      ...(row.subjectKind === "user" && { subjectUserId: row.subjectId }),
      ...(note.reason !== undefined && { reason: note.reason }),
      after: { type: row.type, status: row.status, ...(row.filedReference !== null && { filed_reference: row.filedReference }) },
      permission: note.permission,
    });
    const permission = await permissionFor(tx, row.causeReference);
    const data = { draft_id: row.id, type: row.type, status: row.status, filed_reference: row.filedReference };
    events.emit(tx, { type: "request_draft.changed", data, ...(permission !== undefined && { permission }) });
    return view;
  }

  async function permissionFor(tx: Tx, reference: string | null): Promise<string | undefined> {
    if (reference === null) return undefined;
    for (const cause of causes) {
      const permission = await cause.permissionFor(tx.db, reference);
      if (permission !== undefined) return permission;
    }
    return undefined;
  }

  /** File or dismiss an open draft that is held under its lock. */
  async function end(tx: Tx, row: RequestDraft, changes: { status: "filed" | "dismissed"; filedReference?: string }, note: Note) {
    const data = { ...changes, openKey: null, endedBy: tx.call.actor?.id ?? null, endedAt: tx.now, revision: row.revision + 1 };
    return recordChange(tx, await tx.db.requestDraft.update({ where: { id: row.id }, data }), note);
  }

  /**
   * Dismiss what is suggested for some keys inside another feature's transaction, because its ground is gone.
   * @returns how many were open
   */
  async function dismissInTx(tx: Tx, openKeys: readonly string[], reason: string): Promise<number> {
    const found = await tx.db.requestDraft.findMany({
      where: { openKey: { in: [...openKeys] } },
      select: { id: true },
      orderBy: { id: "asc" },
    });
    // Every lock before the first change, in one order: two who dismiss the same never wait for each other.
    for (const { id } of found) await tx.lock(`draft:${id}`);
    const rows = await tx.db.requestDraft.findMany({
      where: { id: { in: found.map(({ id }) => id) }, status: "open" },
      orderBy: { id: "asc" },
    });
    const note = { verb: "dismiss", permission: draftsPolicy.suggest, reason } as const;
    for (const row of rows) {
      const data = { status: "dismissed", openKey: null, endedBy: null, endedAt: tx.now, revision: row.revision + 1 };
      await recordChange(tx, await tx.db.requestDraft.update({ where: { id: row.id }, data }), note);
    }
    return rows.length;
  }

  return {
    end,

    /** Hide drafts from callers who may not know what they come of. Each feature whose records suggest requests registers its own, at start. */
    registerCause(cause: DraftCauses): void {
      causes.push(cause);
    },

    /** The drafts a caller may know of, in the words of the database. */
    knownWhere: async (call: Call): Promise<DraftWhere> => ({
      AND: await Promise.all(causes.map((cause) => cause.knownWhere(call))),
    }),

    /** Read an open draft to end it: under its lock, in the revision the caller knows. @throws ProblemError */
    async open(tx: Tx, id: string, { ifMatch, action, known }: { ifMatch?: number | undefined; action: string; known: DraftWhere }) {
      await tx.lock(`draft:${id}`);
      const row = await findKnown(tx.db, id, known);
      requireRevision(ifMatch, row.revision);
      if (row.status !== "open") throw new ProblemError("invalid_transition", { extra: { from: row.status, action, allowed: [] } });
      return row;
    },

    /**
     * Suggest a request inside another feature's transaction: nothing twice for the same while one is open.
     * @returns null when it is suggested already
     */
    async suggestInTx(tx: Tx, suggestion: Suggestion): Promise<DraftView | null> {
      const { type, payload, subject, cause, causeReference, caseNumber, openKey } = suggestion;
      await tx.lock(`draft-key:${openKey}`);
      if ((await tx.db.requestDraft.findUnique({ where: { openKey } })) !== null) return null;
      const row = await tx.db.requestDraft.create({
        data: {
          id: uuid7(tx.now.getTime()),
          type,
          payload: toJson(payload),
          subjectKind: subject.kind,
          subjectId: subject.id,
          cause,
          causeReference: causeReference ?? null,
          caseNumber: caseNumber ?? null,
          openKey,
          status: "open",
          createdAt: tx.now,
        },
      });
      return recordChange(tx, row, { verb: "suggest", permission: draftsPolicy.suggest, reason: cause });
    },

    /** What is suggested now for keys that begin alike, in order. */
    async openKeys(db: Pick<ReadClient | TransactionClient, "requestDraft">, start: string): Promise<string[]> {
      const where = { openKey: beginningWith(start) };
      const rows = await db.requestDraft.findMany({ where, select: { openKey: true }, orderBy: { openKey: "asc" } });
      return rows.flatMap(({ openKey }) => (openKey === null ? [] : [openKey]));
    },

    dismissInTx,

    /** Delete every draft that a record suggested, as the record is deleted permanently and drafts quote it. Open ones are dismissed first. */
    async dropInTx(tx: Tx, causeReference: string, reason: string): Promise<void> {
      const open = await tx.db.requestDraft.findMany({ where: { causeReference, status: "open" }, select: { openKey: true } });
      const keys = open.flatMap(({ openKey }) => openKey ?? []);
      await dismissInTx(tx, keys, reason);
      await tx.db.requestDraft.deleteMany({ where: { causeReference } });
    },
  };
}
