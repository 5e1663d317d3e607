import { walkDescription, WalkNotes } from "../../kernel/keyset.ts";
import { z } from "zod";
import { routesFor, withContentEtag, type Route } from "../../operations/route.ts";
import { casesLifeRoutes } from "./life.routes.ts";
import { casesPolicy } from "./cases.policy.ts";
import { CaseKey, CaseView, CreateCaseInput, ListCasesQuery, UpdateCaseInput } from "./cases.schema.ts";
import type { CasesService } from "./cases.service.ts";
import { NoteInput, NotesQuery, NoteVersionView, NoteView } from "./notes/notes.schema.ts";
import { PutTemplateInput, TemplateKey, TemplatesQuery, TemplateView } from "./templates/templates.ts";

const { del, get, patch, post, put } = routesFor("cases");
const params = z.object({ id: CaseKey });
const single = { status: 200, shape: "single", schema: CaseView } as const;

/** HTTP routes for cases. */
export function casesRoutes(cases: CasesService): Route[] {
  // Templates first: their address would be taken for that of a case.
  return [...casesTemplatesRoutes(cases), ...coreRoutes(cases), ...casesLifeRoutes(cases), ...casesNotesRoutes(cases)];
}

function coreRoutes(cases: CasesService): Route[] {
  return [
    post("/cases", "createCase", {
      summary: "Open a case",
      description:
        "What is not sent comes from the template, if one is named. Open requests about the same subjects are offered in `suggestions`. Nobody opens a case about themselves, or about staff of equal or higher rank.",
      access: { permission: casesPolicy.create },
      request: {
        body: CreateCaseInput,
        example: { title: "Raid on the lobby", type: "general", subjects: [{ kind: "user", id: "80351110224678912" }], labels: ["raid"] },
      },
      success: { status: 201, shape: "single", schema: CaseView, description: "The new case" },
      refusals: ["conflict_of_interest", "hierarchy_violation"],
      handle: async ({ call, body }) => withContentEtag(await cases.create(call, body)),
    }),
    get("/cases", "listCases", {
      summary: "List cases, newest first",
      description: `Those the caller opened, leads or is in the team of; all that are not confidential with \`cases.read_all\`. ${walkDescription}`,
      access: { permission: casesPolicy.read },
      request: { query: ListCasesQuery },
      success: { status: 200, shape: "list", schema: CaseView, notes: WalkNotes, description: "A page of cases" },
      refusals: ["invalid_cursor", "unknown_parameter"],
      handle: ({ call, query }) => cases.list(call, query),
    }),
    get("/cases/{id}", "getCase", {
      summary: "Read one case",
      access: { permission: casesPolicy.read },
      request: { params },
      success: { ...single, description: "The case" },
      refusals: ["record_not_found"],
      handle: async ({ call, params: { id } }) => withContentEtag(await cases.get(call, id)),
    }),
    patch("/cases/{id}", "updateCase", {
      summary: "Change a case",
      description:
        "Fields that are not sent stay; lists are sent whole. A closed case takes only `status`, `confidential` and `retention_until`. Lifting confidentiality needs `cases.confidential`.",
      access: { permission: casesPolicy.update },
      request: { params, body: UpdateCaseInput, example: { status: "active", priority: "high" } },
      success: { ...single, description: "The changed case" },
      refusals: ["record_not_found", "precondition_failed", "invalid_transition", "conflict_of_interest", "hierarchy_violation"],
      handle: async ({ call, params: { id }, body, ifMatch }) => withContentEtag(await cases.update(call, id, body, ifMatch)),
    }),
  ];
}

const noteParams = z.object({ id: CaseKey, note_id: z.guid().meta({ description: "Id of the note" }) });
const example = { body: "Spoke with the reporter." };
const working = ["record_not_found", "conflict_of_interest", "hierarchy_violation", "invalid_transition"] as const;
const reading = ["record_not_found", "invalid_cursor", "unknown_parameter"] as const;

/** HTTP routes for notes of cases. */
export function casesNotesRoutes({ notes }: Pick<CasesService, "notes">): Route[] {
  return [
    post("/cases/{id}/notes", "createCaseNote", {
      summary: "Add a note to a case",
      description: "A case that is closed takes none. Its author can change a note for 15 minutes.",
      access: { permission: casesPolicy.note },
      request: { params, body: NoteInput, example },
      success: { status: 201, shape: "single", schema: NoteView, description: "The note" },
      refusals: working,
      handle: ({ call, params: { id }, body }) => notes.add(call, id, body),
    }),
    get("/cases/{id}/notes", "listCaseNotes", {
      summary: "List the notes of a case, newest first",
      access: { permission: casesPolicy.read },
      request: { params, query: NotesQuery },
      success: { status: 200, shape: "list", schema: NoteView, description: "A page of notes" },
      refusals: reading,
      handle: ({ call, params: { id }, query }) => notes.list(call, id, query),
    }),
    patch("/cases/{id}/notes/{note_id}", "updateCaseNote", {
      summary: "Change one's own note",
      description: "Within 15 minutes, and nobody but its author. Every earlier text stays readable.",
      access: { permission: casesPolicy.note },
      request: { params: noteParams, body: NoteInput, example },
      success: { status: 200, shape: "single", schema: NoteView, description: "The changed note" },
      refusals: [...working, "precondition_failed"],
      handle: ({ call, params: { id, note_id: noteId }, body, ifMatch }) => notes.edit(call, id, noteId, body, ifMatch),
    }),
    get("/cases/{id}/notes/{note_id}/history", "listCaseNoteHistory", {
      summary: "List every text a note has had, newest first",
      access: { permission: casesPolicy.read },
      request: { params: noteParams, query: NotesQuery },
      success: { status: 200, shape: "list", schema: NoteVersionView, description: "A page of texts" },
      refusals: reading,
      handle: ({ call, params: { id, note_id: noteId }, query }) => notes.history(call, id, noteId, query),
    }),
  ];
}

const templateParams = z.object({ key: TemplateKey });
const templateAnswer = { status: 200, shape: "single", schema: TemplateView } as const;

/** HTTP routes for templates of cases. */
export function casesTemplatesRoutes({ templates }: Pick<CasesService, "templates">): Route[] {
  return [
    get("/cases/templates", "listCaseTemplates", {
      summary: "List what cases can begin with",
      access: { permission: casesPolicy.read },
      request: { query: TemplatesQuery },
      success: { status: 200, shape: "list", schema: TemplateView, description: "A page of templates, in the order of their keys" },
      refusals: ["invalid_cursor", "unknown_parameter"],
      handle: ({ call, query }) => templates.list(call, query),
    }),
    get("/cases/templates/{key}", "getCaseTemplate", {
      summary: "Read one template",
      access: { permission: casesPolicy.read },
      request: { params: templateParams },
      success: { ...templateAnswer, description: "The template" },
      refusals: ["record_not_found"],
      handle: ({ call, params: { key } }) => templates.get(call, key),
    }),
    put("/cases/templates/{key}", "putCaseTemplate", {
      summary: "Create or replace a template",
      description: "Send the whole template.",
      access: { permission: casesPolicy.templates },
      request: {
        params: templateParams,
        body: PutTemplateInput,
        example: { title: "Harassment report", type: "investigation", labels: ["harassment"], priority: "high", due: "P7D" },
      },
      success: { ...templateAnswer, description: "The template as it stands now" },
      refusals: ["precondition_failed"],
      handle: ({ call, params: { key }, body, ifMatch }) => templates.put(call, key, body, ifMatch),
    }),
    del("/cases/templates/{key}", "deleteCaseTemplate", {
      summary: "Delete a template",
      description: "Cases opened from it stay as they are.",
      access: { permission: casesPolicy.templates },
      request: { params: templateParams },
      success: { ...templateAnswer, description: "The template as it was" },
      refusals: ["record_not_found", "precondition_failed"],
      handle: ({ call, params: { key }, ifMatch }) => templates.remove(call, key, ifMatch),
    }),
  ];
}
