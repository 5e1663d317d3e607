import { z } from "zod";
import { listQuery, Timestamp, text } from "../../../kernel/fields.ts";

export const NoteInput = z
  .strictObject({ body: text(1, 4000).meta({ description: "What is to be kept in words", example: "Spoke with the reporter." }) })
  .meta({ id: "CaseNoteInput" });
export type NoteInput = z.input<typeof NoteInput>;

export const NotesQuery = z.strictObject(listQuery).meta({ id: "CaseNotesQuery" });
export type NotesQuery = z.input<typeof NotesQuery>;

const person = z.string().nullable();

export const NoteView = z
  .object({
    id: z.string(),
    body: z.string(),
    author: person,
    created_at: Timestamp,
    edited_at: Timestamp.nullable(),
    editable_until: Timestamp.meta({ description: "Until then its author, and nobody else, may change it" }),
    revision: z.int(),
  })
  .meta({ id: "CaseNote" });
export type NoteView = z.infer<typeof NoteView>;

export const NoteVersionView = z
  .object({ revision: z.int(), body: z.string(), changed_by: person, changed_at: Timestamp })
  .meta({ id: "CaseNoteVersion", description: "One text that a note has had" });
export type NoteVersionView = z.infer<typeof NoteVersionView>;
