import { z } from "zod";
import { route, type Route } from "../../../operations/route.ts";
import { NoteInput, NotesQuery, NoteVersionView, NoteView } from "./notes.schema.ts";
import { casesPolicy } from "../cases.policy.ts";
import { CaseKey } from "../cases.schema.ts";
import type { CasesService } from "../cases.service.ts";

const tags = ["cases"];
const params = z.object({ id: CaseKey });
const noteParams = z.object({ id: CaseKey, note_id: z.guid().meta({ description: "Id of the note" }) });
const example = { body: "Spoke with the reporter." };
const working = ["record_not_found", "conflict_of_interest", "hierarchy_violation", "invalid_transition"] as const;
const reading = ["record_not_found", "invalid_cursor", "unknown_parameter"] as const;

/** The HTTP door to notes of cases. */
export function casesNotesRoutes({ notes }: Pick<CasesService, "notes">): Route[] {
  return [
    route(
      {
        method: "post",
        path: "/cases/{id}/notes",
        operationId: "createCaseNote",
        tags,
        summary: "Add a note to a case",
        description: "A case that is closed takes none. Its author can change a note for 15 minutes.",
        access: { permission: casesPolicy.note },
        request: { params, body: NoteInput, example },
        success: { status: 201, shape: "single", schema: NoteView, description: "The note" },
        refusals: working,
      },
      ({ call, params: { id }, body }) => notes.add(call, id, body),
    ),
    route(
      {
        method: "get",
        path: "/cases/{id}/notes",
        operationId: "listCaseNotes",
        tags,
        summary: "List the notes of a case, newest first",
        access: { permission: casesPolicy.read },
        request: { params, query: NotesQuery },
        success: { status: 200, shape: "list", schema: NoteView, description: "A page of notes" },
        refusals: reading,
      },
      ({ call, params: { id }, query }) => notes.list(call, id, query),
    ),
    route(
      {
        method: "patch",
        path: "/cases/{id}/notes/{note_id}",
        operationId: "updateCaseNote",
        tags,
        summary: "Change one's own note",
        description: "Within 15 minutes, and nobody but its author. Every earlier text stays readable.",
        access: { permission: casesPolicy.note },
        request: { params: noteParams, body: NoteInput, example },
        success: { status: 200, shape: "single", schema: NoteView, description: "The changed note" },
        refusals: [...working, "precondition_failed"],
      },
      ({ call, params: { id, note_id: noteId }, body, ifMatch }) => notes.edit(call, id, noteId, body, ifMatch),
    ),
    route(
      {
        method: "get",
        path: "/cases/{id}/notes/{note_id}/history",
        operationId: "listCaseNoteHistory",
        tags,
        summary: "List every text a note has had, newest first",
        access: { permission: casesPolicy.read },
        request: { params: noteParams, query: NotesQuery },
        success: { status: 200, shape: "list", schema: NoteVersionView, description: "A page of texts" },
        refusals: reading,
      },
      ({ call, params: { id, note_id: noteId }, query }) => notes.history(call, id, noteId, query),
    ),
  ];
}
