import { z } from "zod";
import { listQuery, Timestamp, UserRef, text } from "../../../kernel/fields.ts";

const visibilities = ["internal", "requester"] as const;
const body = text(1, 2000).meta({ example: "The second witness answered." });

export const CommentInput = z
  .strictObject({
    body,
    visibility: z
      .enum(visibilities)
      .optional()
      .meta({ description: "`requester`: whoever filed the request reads it, too; staff write `internal` ones unless they say so" }),
    reply_to: text(1, 64).optional().meta({ description: "Id of the comment of this request that is answered" }),
  })
  .meta({ id: "WorkflowCommentInput" });
export type CommentInput = z.input<typeof CommentInput>;

export const EditCommentInput = z.strictObject({ body }).meta({ id: "WorkflowCommentEdit" });
export type EditCommentInput = z.input<typeof EditCommentInput>;

export const CommentsQuery = z.strictObject(listQuery).meta({ id: "WorkflowCommentsQuery" });
export type CommentsQuery = z.input<typeof CommentsQuery>;

export const CommentView = z
  .object({
    id: z.string(),
    author: UserRef.nullable().meta({ description: "null: a key that acted for nobody" }),
    body: z.string(),
    visibility: z.enum(visibilities),
    reply_to: z.string().nullable(),
    created_at: Timestamp,
    edited_at: Timestamp.nullable(),
    revision: z.int(),
  })
  .meta({ id: "WorkflowComment", description: "A word on a request" });
export type CommentView = z.infer<typeof CommentView>;
