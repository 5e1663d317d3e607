import { z } from "zod";
import { routesFor, withContentEtag, type Route } from "../../../operations/route.ts";
import { CommentInput, CommentsQuery, CommentView, EditCommentInput } from "./comments.schema.ts";
import type { CommentsService } from "./comments.service.ts";
import { GetParams, readingAccess } from "../requests/workflows.routes.ts";

const { get, patch, post } = routesFor("workflows");
const path = "/workflows/{type}/{id}/comments";
const EditParams = GetParams.extend({ comment_id: z.string().min(1).max(64).meta({ description: "Id of the comment" }) });
const example = {
  id: "0199f3a0-0000-7000-8000-000000000000",
  author: { id: "80351110224678912", in_community: true },
  body: "The second witness answered.",
  visibility: "internal" as const,
  reply_to: null,
  created_at: "2026-11-20T10:00:00.000Z",
  edited_at: null,
  revision: 1,
};

/** HTTP routes for what is said about requests. */
export function commentsRoutes(workflows: { comments: CommentsService }): Route[] {
  return [
    get(path, "listWorkflowComments", {
      summary: "List the comments on a request, oldest first",
      description: "Whoever filed or joined the request, and whoever is partial in it, reads those that are meant for its requester.",
      access: readingAccess,
      request: { params: GetParams, query: CommentsQuery },
      success: { status: 200, shape: "list", schema: CommentView, description: "A page of comments", example },
      refusals: ["record_not_found", "invalid_cursor", "unknown_parameter"],
      handle: ({ call, params: { type, id }, query }) => workflows.comments.list(call, type, id, query),
    }),
    post(path, "addWorkflowComment", {
      summary: "Comment on a request",
      description:
        "Staff with workflows.read write among themselves, those with workflows.review also to the requester. Whoever filed or joined the request writes to staff, until 30 days after its end.",
      access: readingAccess,
      request: { params: GetParams, body: CommentInput, example: { body: "The second witness answered." } },
      success: { status: 201, shape: "single", schema: CommentView, description: "The new comment", example },
      refusals: ["record_not_found", "conflict_of_interest", "invalid_transition"],
      handle: async ({ call, params: { type, id }, body }) => withContentEtag(await workflows.comments.add(call, type, id, body)),
    }),
    patch(`${path}/{comment_id}`, "editWorkflowComment", {
      summary: "Change one's own comment within 15 minutes",
      access: readingAccess,
      request: { params: EditParams, body: EditCommentInput, example: { body: "Both witnesses answered." } },
      success: { status: 200, shape: "single", schema: CommentView, description: "The comment", example },
      refusals: ["record_not_found", "conflict_of_interest", "precondition_failed", "invalid_transition"],
      handle: async ({ call, params: { type, id, comment_id: commentId }, body, ifMatch }) =>
        withContentEtag(await workflows.comments.edit(call, type, id, commentId, body, ifMatch)),
    }),
  ];
}
