import type { Prisma, WorkflowRequest, WorkflowSubject, WorkflowVote } from "../../generated/sqlite/client.ts";
import type { Call } from "../../kernel/call.ts";
import { can } from "../../kernel/call.ts";
import type { State, Status } from "./transition.ts";
import { isOpenStatus } from "./transition.ts";
import type { Kind, Subject } from "./workflows.kinds.ts";

/** A request with what belongs to it. */
export type Request = WorkflowRequest & { subjects: WorkflowSubject[]; votes: WorkflowVote[] };
export const whole = { subjects: true, votes: true } as const;

/** Rows beside the subjects that say who may see a request and who may not: look-ups need no JSON on either database. */
const markers = new Set(["restricted", "reader", "excluded"]);

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

/** Whether a caller may know of a request: a confidential one is for its team, its requester and holders of cases.confidential, never for those it is about. */
export function canSee(call: Call, request: Pick<Request, "requesterId" | "subjects">): boolean {
  const has = (kind: string, id: string) => request.subjects.some((row) => row.kind === kind && row.subjectId === id);
  if (!has("restricted", "*")) return true;
  const actor = call.actor?.id;
  if (actor === undefined) return can(call, "cases.confidential");
  if (request.requesterId === actor) return true;
  if (has("user", actor) || has("excluded", actor)) return false;
  return has("reader", actor) || can(call, "cases.confidential");
}

/** {@link canSee} in the words of the database. */
export function visibleWhere(call: Call): Prisma.WorkflowRequestWhereInput {
  const isRestricted = { subjects: { some: { kind: "restricted" } } };
  const actor = call.actor?.id;
  if (actor === undefined) return can(call, "cases.confidential") ? {} : { NOT: isRestricted };
  const isKeptOut = { subjects: { some: { kind: { in: ["user", "excluded"] }, subjectId: actor } } };
  const reader = can(call, "cases.confidential") ? {} : { subjects: { some: { kind: "reader", subjectId: actor } } };
  return { OR: [{ NOT: isRestricted }, { requesterId: actor }, { AND: [reader, { NOT: isKeptOut }] }] };
}

/** The status that counts at a moment, whether or not the sweep has come by. */
export function statusAt(request: { status: string; expiresAt: Date | null }, now: Date): Status {
  const isOver = isOpenStatus(request.status) && request.expiresAt !== null && request.expiresAt <= now;
  return isOver ? "expired" : (request.status as Status);
}

export function stateOf(request: Request, now: Date): State {
  return {
    status: statusAt(request, now),
    revision: request.revision,
    payloadRevision: request.payloadRevision,
    approvalsRequired: request.approvalsRequired,
    votes: request.votes.map(({ actorId, verdict, payloadRevision }) => ({
      actorId,
      verdict: verdict as "approve" | "deny",
      payloadRevision,
    })),
  };
}

export function decidePermission(type: string): string {
  return `workflows.${type}.decide`;
}
