import { say } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import type { PermissionKey } from "../../../kernel/permissions.ts";
import { tellOf } from "../requests/told.ts";
import type { Tx } from "../../../database/database.ts";
import type { WorkflowComment } from "../../../generated/sqlite/client.ts";
import { requireWrite, type Call } from "../../../kernel/call.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { fieldError, ProblemError, recordNotFound } from "../../../kernel/errors.ts";
import { uuid7 } from "../../../kernel/ids.ts";
import { orderOf } from "../../../kernel/keyset.ts";
import { toPage, withTotal, type Page } from "../../../kernel/page.ts";
import type { WorkflowKind } from "../../../kernel/vocabulary.ts";
import { requireRevision } from "../../../kernel/revision.ts";
import type { LinkReach } from "../../links/reach.ts";
import { endedAt, partialKinds, presentComment, sideOf, visibleComments, type Side } from "./comments.policy.ts";
import { CommentInput, CommentsQuery as Query, EditCommentInput, type CommentsQuery, type CommentView } from "./comments.schema.ts";
import { discordEffect } from "../effects/discord-effect.ts";
import type { Effects } from "../effects/effects.ts";
import type { NoticeTexts } from "../effects/notice-texts.ts";
import { guildOf } from "../requests/fields.ts";
import { policyOf, type Policy } from "../policies/policies.ts";
import { isOpenStatus } from "../state/table.ts";
import { openRequest } from "../requests/act.ts";
import { contextOf, deciderOf, type Ranks } from "../requests/context.ts";
import { kindOf, kinds } from "../kinds/kinds.ts";
import { readPermission, statusAt, type Request } from "../requests/workflows.policy.ts";

export interface CommentsService {
  /**
   * Write on a request: staff among themselves or to the requester, and they to staff.
   * @throws ProblemError record_not_found, conflict_of_interest, permission_denied, invalid_transition, validation_failed
   */
  add(call: Call, type: string, key: string, given: CommentInput): Promise<CommentView>;
  /**
   * Change one's own words within fifteen minutes.
   * @throws ProblemError record_not_found, permission_denied (another person's), precondition_failed, invalid_transition (later)
   */
  edit(call: Call, type: string, key: string, id: string, given: EditCommentInput, ifMatch?: number): Promise<CommentView>;
  /** What the caller may read of what was said, oldest first. @throws ProblemError record_not_found, invalid_cursor */
  list(call: Call, type: string, key: string, query: CommentsQuery): Promise<Page<CommentView>>;
  /** The ids of internal comments on what the caller filed or is partial in: they are not told that there are any. */
  hiddenIds(call: Call, among?: readonly string[]): Promise<string[]>;
}

export interface CommentsDeps extends Deps<"database" | "audit" | "events" | "guildState" | "reach" | "cursors" | "clock"> {
  effects: Pick<Effects, "append">;
  notices: Pick<NoticeTexts, "comment">;
  access: Ranks;
  /** Read a request the caller may see. @throws ProblemError record_not_found */
  findVisible(call: Call, type: string, key: string): Promise<Request>;
}

const oldestFirst = orderOf("createdAt", "asc");
/** How long an author may change what they wrote. */
const editSeconds = 15 * 60;
const day = 86_400;
/** How long the requester may write after its end. */
const afterwordSeconds = 30 * day;
const maxComments = 1000;
/** Events are kept seven days: older comments are told of by none. */
const toldSeconds = 8 * day;

/** What is said about requests: among those who decide, and with the requester. */
export function createComments(parts: CommentsDeps): CommentsService {
  const { database, guildState, access, reach, cursors, clock, findVisible } = parts;
  const present = (comment: WorkflowComment): CommentView => presentComment(guildState, comment);
  const record = createRecord(parts);
  const accountsOf = (db: Parameters<LinkReach["linkedAccountsOf"]>[0], { actor }: Call): Promise<string[]> =>
    actor === null ? Promise.resolve([]) : reach.linkedAccountsOf(db, actor.id);

  /** The request and the side of anyone who wants to write. @throws ProblemError record_not_found, conflict_of_interest */
  async function loadForUpdate(tx: Tx, type: string, key: string): Promise<{ request: Request; side: Side; accounts: string[] }> {
    const kind = kindOf(type);
    if (kind === undefined) throw recordNotFound();
    const accounts = await accountsOf(tx.db, tx.call);
    const request = await openRequest(tx, { type: kind, key, permission: null, accounts });
    const side = sideOf(tx.call, request, accounts);
    const decider = deciderOf(tx.call, accounts);
    const isPartial = decider !== null && side !== "requester" && (await contextOf(tx.db, access, decider, request)).isConflicted;
    if (isPartial)
      throw new ProblemError("conflict_of_interest", {
        detail: say("workflows.you-are-involved-in-this-request-so"),
      });
    return { request, side, accounts };
  }

  return {
    async add(call: Call, type: string, key: string, given: CommentInput): Promise<CommentView> {
      const input = CommentInput.parse(given, { reportInput: true });
      return await database.write(call, async (tx) => {
        const { request, side, accounts } = await loadForUpdate(tx, type, key);
        const visibility = input.visibility ?? (side === "requester" ? "requester" : "internal");
        const permission = requireWriter(tx, request, side, visibility);
        await requirePlace(tx, request);
        if (input.reply_to !== undefined) await requireAnswerable(tx, { request, accounts, visibility, id: input.reply_to.toLowerCase() });
        const comment = await tx.db.workflowComment.create({
          data: {
            id: uuid7(tx.now.getTime()),
            requestId: request.id,
            authorId: call.actor?.id ?? null,
            body: input.body,
            visibility,
            replyToId: input.reply_to?.toLowerCase() ?? null,
            createdAt: tx.now,
          },
        });
        await record(tx, { request, comment, permission, action: "comment", side });
        return present(comment);
      });
    },

    async edit(call: Call, type: string, key: string, id: string, given: EditCommentInput, ifMatch?: number): Promise<CommentView> {
      const { body } = EditCommentInput.parse(given, { reportInput: true });
      return await database.write(call, async (tx) => {
        const { request, side, accounts } = await loadForUpdate(tx, type, key);
        const seen = visibleComments(call, request, accounts);
        const comment = await tx.db.workflowComment.findFirst({ where: { id: id.toLowerCase(), requestId: request.id, ...seen } });
        if (comment === null) throw recordNotFound();
        requireEditable(tx, comment, ifMatch);
        const permission = requireWriter(tx, request, side, comment.visibility);
        if (comment.body === body) return present(comment);
        const data = { body, editedAt: tx.now, revision: comment.revision + 1 };
        const edited = await tx.db.workflowComment.update({ where: { id: comment.id }, data });
        await record(tx, { request, comment: edited, permission, action: "comment_edit", side });
        return present(edited);
      });
    },

    async list(call: Call, type: string, key: string, query: CommentsQuery): Promise<Page<CommentView>> {
      const request = await findVisible(call, type, key);
      const { limit, cursor, count } = Query.parse(query);
      const bound = { requestId: request.id, ...visibleComments(call, request, await accountsOf(database.read, call)) };
      const position = cursor === undefined ? undefined : cursors.decode("workflow_comments", bound, cursor);
      const rows = await database.read.workflowComment.findMany({
        where: { AND: [bound, position === undefined ? {} : oldestFirst.after(position)] },
        orderBy: oldestFirst.orderBy,
        take: limit + 1,
      });
      const page = toPage(rows, limit, present, (last) => cursors.encode("workflow_comments", bound, oldestFirst.of(last)));
      return withTotal(page, { count }, () => database.read.workflowComment.count({ where: bound }));
    },

    async hiddenIds(call: Call, among?: readonly string[]): Promise<string[]> {
      if (call.actor === null) return [];
      const ids = [call.actor.id, ...(await accountsOf(database.read, call))];
      const own = { OR: [{ requesterId: { in: ids } }, { subjects: { some: { kind: { in: partialKinds }, subjectId: { in: ids } } } }] };
      const rows = await database.read.workflowComment.findMany({
        where: {
          ...(among !== undefined && { id: { in: [...among] } }),
          visibility: "internal",
          createdAt: { gt: addSeconds(clock.now(), -toldSeconds) },
          request: own,
        },
        select: { id: true },
      });
      return rows.map(({ id }) => id);
    },
  };
}

interface Said {
  request: Request;
  comment: WorkflowComment;
  permission: PermissionKey;
  action: "comment" | "comment_edit";
  side: Side;
}

/** What goes with a comment: the journals without its text, the lease of anyone who works on the request, and the message. */
function createRecord({ audit, events, effects, notices }: Pick<CommentsDeps, "audit" | "events" | "effects" | "notices">) {
  /** The requester is told of what staff say to them. */
  function noticeOf({ requesterId, reference, type, origin }: Request, { id, body, visibility }: WorkflowComment, { notify }: Policy) {
    if (requesterId === null || visibility !== "requester" || notify !== "dm") return [];
    const isForOneself = kinds[type as WorkflowKind].filedForOneself !== undefined;
    const content = notices.comment({ guildId: guildOf(origin), reference, kind: type, body, isForOneself });
    const message = { kind: "message_user", userId: requesterId, content, reason: reference } as const;
    return [{ key: "notice.requester", ...discordEffect(message, { id, detail: say("workflows.message-to-the-requester-a-comment") }) }];
  }

  return async (tx: Tx, { request, comment, permission, action, side }: Said): Promise<void> => {
    const policy = await policyOf(tx.db, request.type as WorkflowKind);
    if (request.assigneeId !== null && request.assigneeId === tx.call.actor?.id && isOpenStatus(statusAt(request, tx.now))) {
      const leaseExpiresAt = addSeconds(tx.now, policy.claim_seconds);
      await tx.db.workflowRequest.update({ where: { id: request.id }, data: { leaseExpiresAt } });
    }
    if (action === "comment" && side === "staff") await effects.append(tx, request, noticeOf(request, comment, policy));
    const { id, reference } = request;
    const target = { kind: "workflow", id, reference };
    const { id: commentId, visibility } = comment;
    audit.record(tx, { action: `workflow.${action}`, target, after: { comment_id: commentId, visibility }, permission });
    tellOf(events, tx, "workflow.updated", request, { status: statusAt(request, tx.now), action, comment_id: commentId });
  };
}

/** @returns the permission that allows it @throws ProblemError permission_denied, roster_stale, invalid_transition */
function requireWriter(tx: Tx, request: Request, side: Side, visibility: string): PermissionKey {
  if (side !== "requester") {
    const permission = visibility === "requester" ? "workflows.review" : readPermission;
    requireWrite(tx.call, permission);
    return permission;
  }
  if (visibility !== "requester") throw fieldError("/visibility", "not_offered", say("workflows.on-your-own-request-you-write-to"));
  const ended = endedAt(request, tx.now);
  if (ended !== null && tx.now >= addSeconds(ended, afterwordSeconds))
    throw refused(request, tx, say("workflows.the-request-ended-more-than-30-days"));
  return `workflows.${request.type as WorkflowKind}.create`;
}

async function requirePlace(tx: Tx, request: Request): Promise<void> {
  const count = await tx.db.workflowComment.count({ where: { requestId: request.id } });
  if (count >= maxComments) throw refused(request, tx, say("workflows.a-request-holds-at-most-1-000"));
}

function refused(request: Request, tx: Tx, detail: string): ProblemError {
  return new ProblemError("invalid_transition", { detail, extra: { from: statusAt(request, tx.now), action: "comment", allowed: [] } });
}

interface Answered {
  request: Request;
  accounts: readonly string[];
  visibility: string;
  id: string;
}

/** What is answered is a comment of the same request that everybody who reads the answer may read. */
async function requireAnswerable(tx: Tx, { request, accounts, visibility, id }: Answered): Promise<void> {
  const where = { id, requestId: request.id, ...visibleComments(tx.call, request, accounts) };
  const found = await tx.db.workflowComment.findFirst({ where, select: { visibility: true } });
  if (found === null) throw fieldError("/reply_to", "unknown_reference", say("workflows.there-is-no-such-comment-on-this"));
  if (visibility === "requester" && found.visibility !== "requester")
    throw fieldError("/reply_to", "not_offered", say("workflows.an-internal-comment-is-answered-internally"));
}

/** @throws ProblemError permission_denied, precondition_failed, invalid_transition */
function requireEditable(tx: Tx, comment: WorkflowComment, ifMatch: number | undefined): void {
  const actor = tx.call.actor?.id;
  if (actor === undefined || comment.authorId !== actor)
    throw new ProblemError("permission_denied", { detail: say("workflows.nobody-but-its-author-changes-a-comment") });
  requireRevision(ifMatch, comment.revision);
  if (tx.now >= addSeconds(comment.createdAt, editSeconds)) {
    const detail = say("workflows.the-time-in-which-a-comment-can");
    throw new ProblemError("invalid_transition", { detail, extra: { from: "kept", action: "comment_edit", allowed: ["comment"] } });
  }
}
