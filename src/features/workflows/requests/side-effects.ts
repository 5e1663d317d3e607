import { say, term } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import {
  isRestricted,
  decidePermission,
  canSee,
  eventPermission,
  statusAt,
  subjectRows,
  viewerOf,
  wholeRequest,
  type Request,
} from "./workflows.policy.ts";
import { stepOf } from "./steps.ts";
import { tellOf } from "./told.ts";
import { isDeepStrictEqual } from "node:util";
import type { Tx } from "../../../database/database.ts";
import { insertRows } from "../../../database/insert.ts";
import type { Prisma, WorkflowEffect } from "../../../generated/sqlite/client.ts";
import { jsonObject } from "../../../kernel/parsing.ts";
import { fieldError, ProblemError, recordNotFound } from "../../../kernel/errors.ts";
import type { WorkflowKind } from "../../../kernel/vocabulary.ts";
import type { EventType } from "../../events/types.ts";
import type { MatchesService } from "../../intelligence/matches/matches.service.ts";
import type { Suspensions } from "../appeals/suspensions.ts";
import type { Effects, Approval } from "../effects/effects.ts";
import { announcedStatuses, type AnnouncedStatus, type NoticeTexts } from "../effects/notice-texts.ts";
import type { Reversal, Done } from "../effects/types.ts";
import { approversOf, type Moved } from "../state/transition.ts";
import { lockKept } from "./attempt.ts";
import { isOpenStatus, moves, permissionOf, type Action } from "../state/table.ts";
import { isVote, markLapsed } from "./votes.ts";
import { changesOf, moreEvidence, reasonOf, type Move } from "./changes.ts";
import type { DecisionInput } from "./decision.ts";
import { kinds } from "../kinds/kinds.ts";
import { discordEffect } from "../effects/discord-effect.ts";
import { Origin } from "./fields.ts";

export interface SideEffectDeps extends Deps<"audit" | "events" | "reach"> {
  effects: Effects;
  matches: Pick<MatchesService, "recomputeUser">;
  notices: Pick<NoticeTexts, "requester" | "channel">;
  /** Bring the evidence of a request that is a duplicate to the one that is kept. */
  moveEvidence(tx: Tx, fromId: string, toId: string): Promise<void>;
  suspensions: Pick<Suspensions, "followInTx">;
}

/** A move with what only its writing needs. */
export interface Transition extends Move {
  /** Whether break-glass passed a failed check. */
  isWaiving: boolean;
}

/** What is told of an action, when it is not a vote that waits for others. */
const emitted: Partial<Readonly<Record<Action, EventType>>> = {
  claim: "workflow.claimed",
  assign: "workflow.claimed",
  request_info: "workflow.needs_info",
  escalate: "workflow.escalated",
  hold: "workflow.held",
  approve: "workflow.decided",
  deny: "workflow.decided",
  withdraw: "workflow.decided",
  void: "workflow.decided",
  reverse: "workflow.reversed",
};

/** Writes a move: vote, status, effects, history, audit, events and messages, together or not at all. */
export function createSideEffects({ audit, events, effects, reach, matches, notices, moveEvidence, suspensions }: SideEffectDeps) {
  /** What a move does outside the request itself. */
  async function carryOut(tx: Tx, move: Transition): Promise<WorkflowEffect[]> {
    const { request, input, actorId, result } = move;
    const { status } = result.next;
    if (input.action === "approve" && status === "approved") return await effects.apply(approvalOf(tx, request, input, actorId, result));
    if (input.action === "reverse" && status === "reversed") return await effects.undo(reversalOf(tx, move));
    if (input.action === "void" && input.body.duplicate_of !== undefined) await mergeInto(tx, request, input.body.duplicate_of);
    return [];
  }

  /** The evidence of a duplicate goes to the request that is kept. */
  async function mergeInto(tx: Tx, request: Request, reference: string): Promise<void> {
    const pointer = "/duplicate_of";
    const where = { OR: [{ id: reference.toLowerCase() }, { reference: reference.toUpperCase() }] };
    const found = await wholeRequest(tx, await tx.db.workflowRequest.findFirst({ where }));
    if (found === null || !canSee(await viewerOf(tx.db, reach, tx.call), found))
      throw fieldError(pointer, "unknown_reference", say("workflows.there-is-no-such-request"));
    if (found.id === request.id || found.type !== request.type)
      throw fieldError(pointer, "other_request", say("workflows.name-another-request-of-the-same-kind"));
    if (eventPermission(found) !== eventPermission(request))
      throw fieldError(pointer, "other_request", say("workflows.what-is-confidential-is-no-duplicate-of"));
    await lockKept(tx, [found.id]);
    const kept = await tx.db.workflowRequest.findUnique({ where: { id: found.id } });
    if (kept === null) throw recordNotFound();
    const evidence = moreEvidence(kept.evidence as unknown[], request.evidence as unknown[]) as Prisma.InputJsonValue;
    const links = [...(kept.links as unknown[]), { rel: "duplicates", reference: request.reference }] as Prisma.InputJsonValue;
    const revision = kept.revision + 1;
    await tx.db.workflowRequest.update({ where: { id: kept.id }, data: { evidence, links, revision, updatedAt: tx.now } });
    const step = { action: "absorb", to: kept.status, data: { duplicate: request.reference } };
    await tx.db.workflowStep.create({ data: stepOf(tx, kept, step) });
    await moveEvidence(tx, request.id, kept.id);
    tellOf(events, tx, "workflow.updated", found, { status: kept.status, action: "absorb" });
  }

  return async (tx: Tx, move: Transition): Promise<WorkflowEffect[]> => {
    const { request, result } = move;
    await writeVote(tx, move);
    const done = await carryOut(tx, move);
    const changes = changesOf(move);
    // The lock makes this hold; should anything write past the lock, the move is taken back rather than doubled.
    const { count } = await tx.db.workflowRequest.updateMany({ where: { id: request.id, revision: request.revision }, data: changes });
    if (count !== 1) throw new ProblemError("storage_busy", { retryAfter: 1 });
    if (move.amended !== undefined) await replaceSubjects(tx, request, move.amended);
    await suspensions.followInTx(
      tx,
      { ...request, isOpen: isOpenStatus(statusAt(request, tx.now)) },
      { ...request, isOpen: isOpenStatus(result.next.status), payload: move.amended ?? request.payload },
    );
    await writeStep(tx, move);
    const messages = await effects.append(tx, { id: request.id, effects: [...request.effects, ...done] }, noticesOf(notices, move));
    recordTransition(tx, move);
    if (isRemembered(move))
      for (const { kind, subjectId } of request.subjects) if (kind === "user") await matches.recomputeUser(tx, subjectId);
    if (!result.isFinal && done.length === 0) return request.effects;
    const changed = new Set(done.map(({ place }) => place));
    return [...request.effects.filter(({ place }) => !changed.has(place)), ...done, ...messages].toSorted((a, b) => a.place - b.place);
  };

  function recordTransition(tx: Tx, move: Transition): void {
    const { request, input, actorId, result, isWaiving, lapsed, policy } = move;
    const changed = Object.keys(changedBy(move));
    const { action } = input;
    const isWaiting = !result.isFinal && isVote(action);
    const about = request.subjects.find((subject) => subject.kind === "user")?.subjectId;
    const reason = reasonOf(input);
    const isOwn = (moves[action].isRequesters === true && request.requesterId === actorId) || move.isOwnUndo === true;
    const permission = isOwn ? `workflows.${request.type}.create` : (permissionOf(action, request.type as WorkflowKind) ?? "");
    audit.record(tx, {
      action: isWaiting ? "workflow.vote" : `workflow.${action}`,
      target: { kind: "workflow", id: request.id, reference: request.reference },
      ...(about !== undefined && { subjectUserId: about }),
      ...(reason !== null && { reason }),
      before: { status: request.status },
      after: {
        status: result.next.status,
        ...(isVote(action) && {
          verdict: action,
          have: approversOf(result.next).length,
          required: request.approvalsRequired + result.next.tier,
        }),
        ...(lapsed.length > 0 && { lapsed }),
        ...((move.isDirect === true || move.isOwnUndo === true) && { direct: true }),
        ...(result.next.assigneeId !== request.assigneeId && { assignee: result.next.assigneeId }),
        ...(result.next.payloadRevision !== request.payloadRevision && { payload_revision: result.next.payloadRevision }),
        ...(changed.length > 0 && { changed }),
      },
      permission,
      ...((result.isBreakGlass || isWaiving) && { breakGlass: true }),
    });
    const type = isWaiting
      ? result.next.tier > request.escalationTier
        ? "workflow.escalated"
        : "workflow.voted"
      : (emitted[action] ?? "workflow.updated");
    // Where votes are blind, nobody learns of one before there is a decision.
    const isTold = lapsed.length > 0 && !(policy.blind_votes && isWaiting);
    const said = { status: result.next.status, action, ...(isTold && { lapsed }) };
    tellOf(events, tx, type, request, said);
    const own = kinds[request.type as WorkflowKind].events?.decided;
    if (own !== undefined && result.isFinal && !isWaiting && type === "workflow.decided") tellOf(events, tx, own, request, said);
  }
}

function isRemembered({ request, input, result }: Transition): boolean {
  return result.isFinal && isVote(input.action) && kinds[request.type as WorkflowKind].isRemembered === true;
}

async function writeVote(tx: Tx, { request, input, actorId, lapsed }: Transition): Promise<void> {
  const { action } = input;
  if (!isVote(action)) return;
  const key = {
    requestId: request.id,
    about: action === "reverse" ? "reversal" : "decision",
    actorId,
    payloadRevision: request.payloadRevision,
  };
  await markLapsed(tx, request, action, lapsed);
  const vote = { verdict: action, note: input.reasonInternal ?? input.reasonPublic, at: tx.now, lapsedAt: null };
  await tx.db.workflowVote.upsert({ where: { requestId_about_actorId_payloadRevision: key }, create: { ...key, ...vote }, update: vote });
}

async function replaceSubjects(tx: Tx, request: Request, payload: Record<string, unknown>): Promise<void> {
  const joined = request.subjects.filter(({ kind }) => kind === "joined");
  await tx.db.workflowSubject.deleteMany({ where: { requestId: request.id } });
  const rows = [...subjectRows(kinds[request.type as WorkflowKind], payload), ...joined];
  await tx.db.workflowSubject.createMany({ data: rows.map(({ kind, subjectId }) => ({ requestId: request.id, kind, subjectId })) });
  if (isRestricted(rows) !== request.isRestricted)
    await tx.db.workflowRequest.update({ where: { id: request.id }, data: { isRestricted: isRestricted(rows) }, select: { id: true } });
}

/** The fields that an amendment changed, with what they were. */
function changedBy({ request, amended, redescribed }: Transition): Record<string, unknown> {
  const before = jsonObject(request.payload);
  const after = amended ?? before;
  const names = Object.keys({ ...before, ...after }).filter((name) => !isDeepStrictEqual(before[name], after[name]));
  return { ...Object.fromEntries(names.map((name) => [name, before[name] ?? null])), ...redescribed?.before };
}

/** One row of history for each move. */
async function writeStep(tx: Tx, move: Transition): Promise<void> {
  const { request, input, actorId, result, lapsed } = move;
  const { questions, answer, assignee, duplicate_of: duplicateOf, duration, effects: chosen } = input.body;
  const changed = changedBy(move);
  const data = {
    ...(questions !== undefined && { questions }),
    ...(answer !== undefined && { answer }),
    ...(assignee !== undefined && { assignee: result.next.assigneeId }),
    ...(duplicateOf !== undefined && { duplicate_of: duplicateOf.toUpperCase() }),
    ...(duration !== undefined && { duration }),
    ...(chosen !== undefined && { effects: chosen }),
    ...(Object.keys(changed).length > 0 && { changed: changed as Prisma.InputJsonObject }),
    ...(result.isBreakGlass && { break_glass: true }),
    ...(lapsed.length > 0 && { lapsed: [...lapsed] }),
  };
  const [notePublic, noteInternal] = [input.reasonPublic, input.reasonInternal];
  await insertRows(tx, "WorkflowStep", [
    stepOf(tx, request, { action: input.action, actorId, to: result.next.status, notePublic, noteInternal, data }),
  ]);
}

/** An approval that is about to take effect. @throws ProblemError when the payload no longer fits its kind, fieldError for a length it does not take */
export function approvalOf(tx: Tx, request: Request, input: DecisionInput, actorId: string, result: Moved): Approval {
  const type = request.type as WorkflowKind;
  const { duration } = input.body;
  const { shape } = kinds[type].payload;
  if (duration !== undefined && !Object.hasOwn(shape, "duration"))
    throw fieldError("/duration", "not_offered", say("workflows.a-request-has-no-length", { kind: term(type) }));
  const payload = kinds[type].payload.safeParse({ ...jsonObject(request.payload), ...(duration !== undefined && { duration }) });
  if (!payload.success) {
    const detail = say("workflows.the-payload-no-longer-fits-its-kind");
    throw new ProblemError("invalid_transition", {
      detail,
      extra: { from: request.status, action: input.action, allowed: ["amend", "deny"] },
    });
  }
  const permission = decidePermission(type);
  return { tx, type, request, payload: payload.data, input, from: tx.now, actorId, approvedBy: approversOf(result.next), permission };
}

function reversalOf(tx: Tx, { request, input, actorId, isOwnUndo = false }: Move): Reversal {
  const type = request.type as WorkflowKind;
  const permission = isOwnUndo ? (`workflows.${type}.create` as const) : (`workflows.${type}.reverse` as const);
  return { tx, request, reason: input.reasonPublic ?? "", actorId, permission };
}

/** What a requester is told of. */
const actionsTold: ReadonlySet<Action> = new Set<Action>(["approve", "deny", "request_info", "void", "reverse", "reopen"]);
const wording: Readonly<Record<AnnouncedStatus, string>> = {
  approved: say("workflows.was-approved"),
  denied: say("workflows.was-denied"),
  void: say("workflows.was-closed-as-void"),
  reversed: say("workflows.was-approved-and-the-approval-was-taken"),
  pending: say("workflows.was-opened-again"),
  needs_info: say("workflows.needs-your-answer"),
};

/** What the requester is told of a move, by message or in the channel it was filed in. Votes are told to nobody. */
function noticesOf(
  notices: Pick<NoticeTexts, "requester" | "channel">,
  { request, input, actorId, result, policy }: Move,
): (Done & { key: string })[] {
  const { requesterId, reference, type: kind } = request;
  const status = announcedStatuses.find((one) => one === result.next.status);
  const isVote = status === request.status;
  if (requesterId === null || requesterId === actorId || status === undefined || isVote || !actionsTold.has(input.action)) return [];
  const id = `${request.id}:${(request.revision + 1).toString()}:requester`;
  const key = "notice.requester";
  const origin = Origin.safeParse(request.origin);
  const isChannel = input.body.notify === "channel" && origin.success && !isRestricted(request.subjects);
  const about = { reference, guildId: origin.data?.guild_id };
  if (isChannel) {
    const content = notices.channel({ ...about, status });
    const action = { kind: "message_channel", channelId: origin.data.channel_id, content, reason: reference } as const;
    return [{ key, ...discordEffect(action, { id, detail: say("workflows.message-to-the-channel-it-was-filed") }) }];
  }
  if ((input.body.notify ?? policy.notify) === "none") return [];
  const { questions = [], message } = input.body;
  const isForOneself = kinds[kind as WorkflowKind].filedForOneself !== undefined;
  const content = notices.requester({ ...about, kind, status, reason: input.reasonPublic, questions, message, isForOneself });
  const action = { kind: "message_user", userId: requesterId, content, reason: reference } as const;
  return [
    { key, ...discordEffect(action, { id, detail: say("workflows.message-to-the-requester-the-request", { said: wording[status] }) }) },
  ];
}
