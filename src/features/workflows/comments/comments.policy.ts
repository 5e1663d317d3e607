import type { WorkflowComment } from "../../../generated/sqlite/client.ts";
import type { GuildState } from "../../../discord/guild-state.ts";
import { jsonObject } from "../../../kernel/parsing.ts";
import { can, type Call } from "../../../kernel/call.ts";
import { isoOrNull } from "../../../kernel/fields.ts";
import type { WorkflowKind } from "../../../kernel/vocabulary.ts";
import type { CommentView } from "./comments.schema.ts";
import { isOpenStatus } from "../state/table.ts";
import { kinds } from "../kinds/kinds.ts";
import { isRequester, readPermission, statusAt, type ReadRequest, type Request } from "../requests/workflows.policy.ts";
import { userRef } from "../requests/presenter.ts";

/** As what somebody meets a request they may read: of those who decide, as its requester or a participant, or as otherwise partial. */
export type Side = "staff" | "requester" | "partial";

/** The subject rows of people who are partial. */
export const partialKinds = ["user", "joined", "excluded"];

type About = Pick<Request, "type" | "payload" | "requesterId" | "subjects">;

/** @param accounts the caller's further accounts: partial as one is partial as all */
export function sideOf(call: Call, request: About, accounts: readonly string[]): Side {
  const actor = call.actor?.id;
  if (actor === undefined) return "staff";
  if (isRequester(request, actor)) return "requester";
  const named = kinds[request.type as WorkflowKind].conflicts?.(jsonObject(request.payload)) ?? [];
  const rows = request.subjects.filter(({ kind }) => partialKinds.includes(kind)).map(({ subjectId }) => subjectId);
  const partial = new Set([request.requesterId, ...named, ...rows]);
  return [actor, ...accounts].some((id) => partial.has(id)) ? "partial" : "staff";
}

/** Which comments on a request a caller reads: internal ones are for those who read requests and take no side. */
export function visibleComments(call: Call, request: About, accounts: readonly string[]): { visibility?: string } {
  return can(call, readPermission) && sideOf(call, request, accounts) === "staff" ? {} : { visibility: "requester" };
}

/** How many comments of a request a caller reads. @param accounts the caller's further accounts */
export function countComments(call: Call, request: ReadRequest, accounts: readonly string[]): number {
  const { visibility = null } = visibleComments(call, request, accounts);
  const read = request.comments.filter(({ value }) => visibility === null || value === visibility);
  return read.reduce((sum, { count }) => sum + count, 0);
}

/** When a request ended; null while it is open. */
export function endedAt(request: Request, now: Date): Date | null {
  if (isOpenStatus(statusAt(request, now))) return null;
  if (isOpenStatus(request.status)) return request.expiresAt;
  return request.reversedAt ?? request.decidedAt ?? request.updatedAt;
}

export function presentComment(guildState: GuildState, comment: WorkflowComment): CommentView {
  return {
    id: comment.id,
    author: comment.authorId === null ? null : userRef(guildState, comment.authorId),
    body: comment.body,
    visibility: comment.visibility as CommentView["visibility"],
    reply_to: comment.replyToId,
    created_at: comment.createdAt.toISOString(),
    edited_at: isoOrNull(comment.editedAt),
    revision: comment.revision,
  };
}
