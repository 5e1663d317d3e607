import { say } from "../../../kit/say.ts";
import { walkDescription, WalkNotes } from "../../../kernel/keyset.ts";
import { z } from "zod";
import { routesFor, type Route } from "../../../operations/route.ts";
import { draftsPolicy } from "./drafts.policy.ts";
import { DismissDraftBody, DismissDraftQuery, DraftView, FiledDraftView, ListDraftsQuery } from "./drafts.schema.ts";
import type { DraftsService } from "./drafts.service.ts";
import { idPattern } from "../../../kernel/fields.ts";

const { del, get, post } = routesFor("workflows");
const path = "/workflows/drafts";
const params = z.object({
  id: z
    .string()
    .regex(idPattern, say("workflows.name-the-draft-by-its-id"))
    .transform((id) => id.toLowerCase())
    .meta({ description: "Id of the draft", example: "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f" }),
});
const FileDraftBody = z
  .strictObject({
    payload: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({ description: "Fields of the request that replace or complete the suggested ones, by the rules of its kind" }),
  })
  .meta({ id: "FileDraftBody" });

const example = {
  id: "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f",
  type: "punishment" as const,
  status: "open" as const,
  payload: { user_id: "80351110224678912", action: "probation", reason: "3 points are in force; from 3 on, probation is suggested." },
  subject: { kind: "user" as const, id: "80351110224678912" },
  cause: "3 points are in force; from 3 on, probation is suggested.",
  cause_reference: "CASE-000001",
  filed_reference: null,
  ended: null,
  created_at: "2026-11-20T10:00:00.000Z",
  revision: 1,
};
const ended = { at: "2026-11-20T11:00:00.000Z", by: "80351110224678914" };

/** HTTP routes for suggested requests. */
export function draftsRoutes(drafts: DraftsService): Route[] {
  return [...readRoutes(drafts), ...endRoutes(drafts)];
}

function readRoutes(drafts: DraftsService): Route[] {
  return [
    get(path, "listRequestDrafts", {
      summary: "List suggested requests, newest first",
      description: walkDescription,
      access: { permission: draftsPolicy.read },
      request: { query: ListDraftsQuery },
      success: { status: 200, shape: "list", schema: DraftView, notes: WalkNotes, description: "A page of suggested requests", example },
      refusals: ["invalid_cursor", "unknown_parameter"],
      handle: ({ call, query }) => drafts.list(call, query),
    }),
    get(`${path}/{id}`, "getRequestDraft", {
      summary: "Read a suggested request",
      access: { permission: draftsPolicy.read },
      request: { params },
      success: { status: 200, shape: "single", schema: DraftView, description: "The suggested request", example },
      refusals: ["record_not_found"],
      handle: ({ call, params: { id } }) => drafts.get(call, id),
    }),
  ];
}

function endRoutes(drafts: DraftsService): Route[] {
  return [
    post(`${path}/{id}/file`, "fileRequestDraft", {
      summary: "File a suggested request",
      description:
        "It is filed as the acting user, by every rule of a filing: `workflows.<type>.create` is needed besides. Fields that are sent replace the suggested ones; whom it is about stays.",
      access: { permission: draftsPolicy.read },
      request: {
        params,
        body: FileDraftBody,
        bodyOptional: true,
        example: { payload: { reason: "Three warnings within a week, the last one today." } },
      },
      success: {
        status: 201,
        shape: "single",
        schema: FiledDraftView,
        description: "The request is pending, the draft filed",
        example: {
          draft: { ...example, status: "filed", filed_reference: "PUN-REQ-000001", ended, revision: 2 },
          request: {
            success: true,
            id: "0199f3a0-0000-7000-8000-000000000000",
            reference: "PUN-REQ-000001",
            status: "pending",
            warnings: [],
            effects_preview: [],
          },
        },
      },
      refusals: ["record_not_found", "precondition_failed", "invalid_transition", "duplicate_open", "cooldown"],
      handle: ({ call, params: { id }, body, ifMatch }) => drafts.file(call, id, body.payload ?? {}, ifMatch),
    }),
    del(`${path}/{id}`, "dismissRequestDraft", {
      summary: "Dismiss a suggested request",
      description: "It stays readable. The reason stands in the body or in `?reason=`.",
      access: { permission: draftsPolicy.dismiss },
      request: {
        params,
        query: DismissDraftQuery,
        body: DismissDraftBody,
        bodyOptional: true,
        example: { reason: "Talked it over with them; a warning was enough." },
      },
      success: {
        status: 200,
        shape: "single",
        schema: DraftView,
        description: "The dismissed draft",
        example: { ...example, status: "dismissed", ended, revision: 2 },
      },
      refusals: ["record_not_found", "precondition_failed", "invalid_transition"],
      handle: ({ call, params: { id }, query, body, ifMatch }) => drafts.dismiss(call, id, { ...query, ...body }, ifMatch),
    }),
  ];
}
