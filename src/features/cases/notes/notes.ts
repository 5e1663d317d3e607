import { say } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import type { PermissionKey } from "../../../kernel/permissions.ts";
import type { Tx } from "../../../database/database.ts";
import { insertRows } from "../../../database/insert.ts";
import type { CaseNote, CaseNoteVersion } from "../../../generated/sqlite/client.ts";
import { requirePermission, requireWrite, type Call } from "../../../kernel/call.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { ProblemError, recordNotFound } from "../../../kernel/errors.ts";
import { isoOrNull } from "../../../kernel/fields.ts";
import { uuid7 } from "../../../kernel/ids.ts";
import { newestFirst } from "../../../kernel/keyset.ts";
import { listPage, toPage, withTotal, type Page } from "../../../kernel/page.ts";
import { requireRevision } from "../../../kernel/revision.ts";
import { NoteInput, NotesQuery as Query, type NotesQuery, type NoteVersionView, type NoteView } from "./notes.schema.ts";
import { casesPolicy, type WholeCase } from "../cases.policy.ts";
import { findVisible, keepWords, wordRows, type CaseRecords } from "../records.ts";

/** How long an author may change what they wrote. */
const editSeconds = 15 * 60;

export interface CaseNotesDeps extends Deps<"database" | "cursors"> {
  records: CaseRecords;
}

/** What staff wrote about a case: kept as it was written, and after the edit window permanently. */
export function createCaseNotes({ database, records, cursors }: CaseNotesDeps) {
  async function visibleCase(call: Call, key: string): Promise<WholeCase> {
    requirePermission(call, casesPolicy.read);
    return findVisible(database, await records.viewerOf(call, database.read), key);
  }

  async function addNote(
    tx: Tx,
    row: WholeCase,
    body: string,
    authorId: string | null,
    permission: PermissionKey = casesPolicy.note,
  ): Promise<CaseNote> {
    const id = uuid7(tx.now.getTime());
    const note: CaseNote = { id, caseId: row.id, body, authorId, createdAt: tx.now, editedAt: null, revision: 1 };
    tx.insert([
      { model: "CaseNote", rows: [note] },
      { model: "CaseNoteVersion", rows: [versionOf(tx, note, authorId)] },
      { model: "CaseWord", rows: wordRows(row.id, id, body) },
    ]);
    await records.touch(tx, row, { action: "case.note", permission, after: { note_id: id, body } });
    return note;
  }

  return {
    addNote,

    /** @throws ProblemError record_not_found, conflict_of_interest, hierarchy_violation, invalid_transition */
    async add(call: Call, key: string, given: NoteInput): Promise<NoteView> {
      requireWrite(call, casesPolicy.note);
      const { body } = NoteInput.parse(given);
      return await database.write(call, async (tx) => {
        const row = await records.open(tx, key, casesPolicy.note, { move: "note" });
        return presentNote(await addNote(tx, row, body, call.actor?.id ?? null));
      });
    },

    /**
     * Change one's own note within the edit window. The text it had is kept.
     * @throws ProblemError record_not_found, permission_denied (another person's), precondition_failed, invalid_transition (the window is over)
     */
    async edit(call: Call, key: string, noteId: string, given: NoteInput, ifMatch?: number): Promise<NoteView> {
      requireWrite(call, casesPolicy.note);
      const { body } = NoteInput.parse(given);
      return await database.write(call, async (tx) => {
        const row = await records.open(tx, key, casesPolicy.note, { move: "note_edit" });
        const note = await tx.db.caseNote.findFirst({ where: { id: noteId.toLowerCase(), caseId: row.id } });
        if (note === null) throw recordNotFound();
        requireEditable(tx, note, ifMatch);
        if (note.body === body) return presentNote(note);
        const data = { body, editedAt: tx.now, revision: note.revision + 1 };
        const edited = await tx.db.caseNote.update({ where: { id: note.id }, data });
        await insertRows(tx, "CaseNoteVersion", [versionOf(tx, edited, call.actor?.id ?? null)]);
        await keepWords(tx, row.id, note.id, body);
        await records.touch(tx, row, {
          action: "case.note_edit",
          permission: casesPolicy.note,
          before: { note_id: note.id, body: note.body },
          after: { note_id: note.id, body },
        });
        return presentNote(edited);
      });
    },

    /** Notes of a case, newest first. */
    async list(call: Call, key: string, query: NotesQuery): Promise<Page<NoteView>> {
      const { id: caseId } = await visibleCase(call, key);
      const { limit, cursor, count } = Query.parse(query);
      return listPage({
        cursors,
        list: "case_notes",
        filters: { caseId },
        query: { limit, cursor, count },
        keyset: newestFirst,
        find: ({ after, take }) =>
          database.read.caseNote.findMany({ where: { AND: [{ caseId }, after] }, orderBy: newestFirst.orderBy, take }),
        count: () => database.read.caseNote.count({ where: { caseId } }),
        present: presentNote,
      });
    },

    /** Every text a note has had, newest first. @throws ProblemError record_not_found */
    async history(call: Call, key: string, noteId: string, query: NotesQuery): Promise<Page<NoteVersionView>> {
      const { id: caseId } = await visibleCase(call, key);
      const { limit, cursor, count } = Query.parse(query);
      const note = await database.read.caseNote.findFirst({ where: { id: noteId.toLowerCase(), caseId }, select: { id: true } });
      if (note === null) throw recordNotFound();
      const bound = { noteId: note.id };
      const below = cursor === undefined ? undefined : Number(cursors.decode("case_note_history", bound, cursor)[0]);
      const rows = await database.read.caseNoteVersion.findMany({
        where: { ...bound, ...(below !== undefined && { revision: { lt: below } }) },
        orderBy: { revision: "desc" },
        take: limit + 1,
      });
      const page = toPage(
        rows,
        limit,
        ({ revision, body, changedBy, changedAt }) => ({ revision, body, changed_by: changedBy, changed_at: changedAt.toISOString() }),
        (last) => cursors.encode("case_note_history", bound, [last.revision, note.id]),
      );
      return withTotal(page, { count }, () => database.read.caseNoteVersion.count({ where: bound }));
    },
  };
}

/** @throws ProblemError permission_denied, precondition_failed, invalid_transition */
function requireEditable(tx: Tx, note: CaseNote, ifMatch: number | undefined): void {
  const actor = tx.call.actor?.id;
  if (actor === undefined || note.authorId !== actor) {
    throw new ProblemError("permission_denied", { detail: say("cases.nobody-but-its-author-changes-a-note") });
  }
  requireRevision(ifMatch, note.revision);
  if (tx.now >= addSeconds(note.createdAt, editSeconds)) {
    throw new ProblemError("invalid_transition", {
      detail: say("cases.the-time-in-which-a-note-can"),
      extra: { from: "kept", action: "note_edit", allowed: ["note"] },
    });
  }
}

function versionOf({ now }: Tx, { id, revision, body }: CaseNote, changedBy: string | null): CaseNoteVersion {
  return { noteId: id, revision, body, changedBy, changedAt: now };
}

function presentNote(note: CaseNote): NoteView {
  return {
    id: note.id,
    body: note.body,
    author: note.authorId,
    created_at: note.createdAt.toISOString(),
    edited_at: isoOrNull(note.editedAt),
    editable_until: addSeconds(note.createdAt, editSeconds).toISOString(),
    revision: note.revision,
  };
}
