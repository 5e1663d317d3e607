import { z } from "zod";
import { listQuery, Snowflake, Timestamp, text } from "../../../kernel/fields.ts";
import { workflowKinds } from "../../../kernel/vocabulary.ts";
import { CreationAnswer } from "../requests/workflows.schema.ts";

export const draftStatuses = ["open", "filed", "dismissed"] as const;
export type DraftStatus = (typeof draftStatuses)[number];

const DismissReason = text(3, 1000).meta({ description: "Why it is not filed; kept in the audit" });
export const DismissDraftInput = z.strictObject({ reason: DismissReason });
export const DismissDraftBody = z.strictObject({ reason: DismissReason.optional() }).meta({ id: "DismissDraftBody" });
export const DismissDraftQuery = z.object({ reason: DismissReason.optional() });

export const ListDraftsQuery = z
  .strictObject({
    ...listQuery,
    status: z
      .enum([...draftStatuses, "all"])
      .default("open")
      .meta({ description: "Those that wait for somebody, those that ended one way or the other, or all" }),
    type: z.enum(workflowKinds).optional().meta({ description: "Only suggested requests of this kind" }),
    subject: Snowflake.optional().meta({ description: "Only those about this user or server" }),
  })
  .meta({ id: "ListDraftsQuery" });
export type ListDraftsQuery = z.input<typeof ListDraftsQuery>;

export const DraftView = z
  .object({
    id: z.string(),
    type: z.enum(workflowKinds),
    status: z.enum(draftStatuses),
    payload: z.record(z.string(), z.unknown()).meta({ description: "What is known already of the request to file" }),
    subject: z.object({ kind: z.enum(["user", "server"]), id: Snowflake }),
    cause: z.string().meta({ description: "Why it is suggested" }),
    cause_reference: z.string().nullable().meta({ description: "What suggests it, such as a case" }),
    filed_reference: z.string().nullable().meta({ description: "The request it became" }),
    ended: z
      .object({ at: Timestamp, by: z.string().nullable() })
      .nullable()
      .meta({ description: "When it was filed or dismissed and by whom; nobody: its ground was gone" }),
    created_at: Timestamp,
    revision: z.int().positive(),
  })
  .meta({ id: "RequestDraft", description: "A request that something suggests: it waits until a person files or dismisses it" });
export type DraftView = z.infer<typeof DraftView>;

export const FiledDraftView = z.object({ draft: DraftView, request: CreationAnswer }).meta({ id: "FiledRequestDraft" });
export type FiledDraftView = z.infer<typeof FiledDraftView>;
