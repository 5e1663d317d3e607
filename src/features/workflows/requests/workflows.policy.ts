import type { PermissionKey } from "../../../kernel/permissions.ts";
import type {
  Prisma,
  WorkflowEffect,
  WorkflowRequest,
  WorkflowStep,
  WorkflowSubject,
  WorkflowVote,
} from "../../../generated/sqlite/client.ts";
import type { Tx } from "../../../database/database.ts";
import { count, part, withParts, withPartsOf, type Counted, type Source } from "../../../database/parts.ts";
import { can, type Call } from "../../../kernel/call.ts";
import { type WorkflowKind, workflowKinds } from "../../../kernel/vocabulary.ts";
import type { LinkReach } from "../../links/reach.ts";
import type { Policy } from "../policies/policies.ts";
import type { State, Vote } from "../state/transition.ts";
import { isOpenStatus, type Status } from "../state/table.ts";
import type { Kind, Subject } from "../kinds/kind.ts";

/** A request with what belongs to it. */
export type Request = WorkflowRequest & { subjects: WorkflowSubject[]; votes: WorkflowVote[]; effects: WorkflowEffect[] };
/** Columns of a request to be updated. */
export type RequestChanges = Prisma.WorkflowRequestUncheckedUpdateManyInput;
const parts = {
  subjects: part({ model: "WorkflowSubject", of: "requestId", orderBy: ["kind", "subjectId"] }),
  votes: part({ model: "WorkflowVote", of: "requestId", orderBy: ["at", "actorId"] }),
  effects: part({ model: "WorkflowEffect", of: "requestId", orderBy: ["place"] }),
};
const comments = count({ model: "WorkflowComment", of: "requestId", countBy: "visibility" });
const steps = part({ model: "WorkflowStep", of: "requestId", orderBy: ["revision"], lastBy: "revision" });

/** Requests with what belongs to them. */
export const wholeRequests = (source: Source, rows: readonly WorkflowRequest[]): Promise<Request[]> => withParts(source, rows, parts);
/** Requests with how many comments they have, by who reads them. */
export type ReadRequest = Request & { comments: Counted[] };
export const readRequests = (source: Source, rows: readonly WorkflowRequest[]): Promise<ReadRequest[]> =>
  withParts(source, rows, { ...parts, comments });
/** A request with what belongs to it; null for none. */
export const wholeRequest = (source: Source, row: WorkflowRequest | null): Promise<Request | null> => withPartsOf(source, row, parts);
/** A request that is there, with what belongs to it and the last thing that was done to it. */
export async function getWholeRequest(tx: Tx, id: string): Promise<Request & { steps: WorkflowStep[] }> {
  const [request] = await withParts(tx, [await tx.db.workflowRequest.findUniqueOrThrow({ where: { id } })], { ...parts, steps });
  if (request === undefined) throw new Error("a request got lost while it was read");
  return request;
}

export const readPermission = "workflows.read";
/** Anyone who may file one kind of request. */
export const filingRights: readonly PermissionKey[] = workflowKinds.map((kind) => `workflows.${kind}.create` as const);

/** Rows beside the subjects that say who may see a request and who may not: look-ups need no JSON on either database. */
const markers = new Set(["restricted", "reader", "excluded", "joined"]);

/** The subject rows of a request: what it is about, and for a restricted one its readers and those kept out. */
export function subjectRows(kind: Kind, payload: Record<string, unknown>): { kind: string; subjectId: string }[] {
  const readers = kind.readers?.(payload);
  const restricted =
    readers === undefined
      ? []
      : [
          { kind: "restricted", id: "*" },
          ...readers.map((id) => ({ kind: "reader", id })),
          ...(kind.conflicts?.(payload) ?? []).map((id) => ({ kind: "excluded", id })),
        ];
  const rows = [...kind.subjects(payload), ...restricted].map(
    ({ kind: what, id }) => [`${what}:${id}`, { kind: what, subjectId: id }] as const,
  );
  return [...new Map(rows).values()];
}

export function subjectsOf(request: { subjects: readonly WorkflowSubject[] }): Subject[] {
  return request.subjects
    .filter(({ kind }) => !markers.has(kind))
    .map(({ kind, subjectId }) => ({ kind: kind as Subject["kind"], id: subjectId }));
}

/** The requester, or who filed the same later and joined it. */
export function isRequester(request: Pick<Request, "requesterId" | "subjects">, userId: string): boolean {
  return request.requesterId === userId || request.subjects.some(({ kind, subjectId }) => kind === "joined" && subjectId === userId);
}

/** Who asks, with the further accounts of the person, as confirmed links have them. */
export interface Viewer {
  call: Call;
  accounts: readonly string[];
}

/** @param db where links are read */
export async function viewerOf(
  db: Parameters<LinkReach["linkedAccountsOf"]>[0],
  reach: Pick<LinkReach, "linkedAccountsOf">,
  call: Call,
): Promise<Viewer> {
  return { call, accounts: call.actor === null ? [] : await reach.linkedAccountsOf(db, call.actor.id) };
}

/**
 * Whether a confidential request is the viewer's business: it is for its team, its requester and holders of cases.confidential, never
 * for those it is about, by any account of theirs. Every other request is everybody's.
 */
export function mayKnow({ call, accounts }: Viewer, request: Pick<Request, "requesterId" | "subjects">): boolean {
  const has = (kind: string, id: string) => request.subjects.some((row) => row.kind === kind && row.subjectId === id);
  const actor = call.actor?.id;
  if (!has("restricted", "*")) return true;
  if (actor === undefined) return can(call, "cases.confidential");
  if (request.requesterId === actor) return true;
  if ([actor, ...accounts].some((id) => has("user", id) || has("excluded", id))) return false;
  return has("joined", actor) || has("reader", actor) || can(call, "cases.confidential");
}

/** Whether a viewer may read a request: their own, and with workflows.read what they may know of. */
export function canSee(viewer: Viewer, request: Pick<Request, "requesterId" | "subjects">): boolean {
  const { call } = viewer;
  const isOwn = call.actor !== null && isRequester(request, call.actor.id);
  return (isOwn || can(call, readPermission)) && mayKnow(viewer, request);
}

/** Whether a request is confidential. */
export function isRestricted(subjects: readonly Pick<WorkflowSubject, "kind">[]): boolean {
  return subjects.some(({ kind }) => kind === "restricted");
}

/** Whom events of a confidential request are told to; undefined: everybody who reads requests. */
export function eventPermission({ subjects }: { subjects: readonly Pick<WorkflowSubject, "kind">[] }): string | undefined {
  return isRestricted(subjects) ? "cases.confidential" : undefined;
}

/** Whose requests alone a list shows to a caller; undefined: everybody's. Either way {@link knownWhere} holds, too. */
export function listedOnlyOf(call: Call): string | undefined {
  return can(call, readPermission) ? undefined : (call.actor?.id ?? "");
}

/** What nobody has to be kept from: every request that is not confidential. */
export const openToAll = { isRestricted: false } satisfies Prisma.WorkflowRequestWhereInput;

/** The status that counts at a moment, whether or not the sweep has come by. */
export function statusAt(request: { status: string; expiresAt: Date | null }, now: Date): Status {
  const isOver = isOpenStatus(request.status) && request.expiresAt !== null && request.expiresAt <= now;
  return isOver ? "expired" : (request.status as Status);
}

/** @param policy of the request's kind, as it holds now */
export function stateOf(request: Request & { steps?: { action: string; actorId: string | null }[] }, policy: Policy, now: Date): State {
  // Before the sweep comes by, a request that is over has ended at its end.
  const ended = request.decidedAt ?? (isOpenStatus(request.status) ? (request.expiresAt ?? request.updatedAt) : request.updatedAt);
  return {
    type: request.type as WorkflowKind,
    status: statusAt(request, now),
    revision: request.revision,
    payloadRevision: request.payloadRevision,
    approvalsRequired: request.approvalsRequired,
    reversalsRequired: policy.reversals,
    denyNeedsMajority: policy.deny_needs_majority,
    tier: request.escalationTier,
    isHeld: request.isHeld,
    holdBy: request.holdBy,
    assigneeId: request.assigneeId,
    isClaimLive: isClaimLive(request, now),
    votes: request.votes
      .filter(({ lapsedAt }) => lapsedAt === null)
      .map(({ actorId, verdict, payloadRevision }) => ({ actorId, verdict: verdict as Vote["verdict"], payloadRevision })),
    endedFor: (now.getTime() - ended.getTime()) / 1000,
    last: request.steps?.[0] ?? null,
  };
}

/** Whether a claim still keeps others off: every claim is a lease. */
export function isClaimLive({ assigneeId, leaseExpiresAt }: Pick<Request, "assigneeId" | "leaseExpiresAt">, now: Date): boolean {
  return assigneeId !== null && leaseExpiresAt !== null && leaseExpiresAt > now;
}

/** Whether somebody has voted on the present payload, and their vote counts. */
export function hasVotedOn({ votes, payloadRevision }: Pick<Request, "votes" | "payloadRevision">, userId: string): boolean {
  return votes.some((vote) => vote.actorId === userId && vote.payloadRevision === payloadRevision && vote.lapsedAt === null);
}

export function decidePermission(type: WorkflowKind): PermissionKey {
  return `workflows.${type}.decide`;
}
