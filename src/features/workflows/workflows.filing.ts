import type { Tx } from "../../database/database.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { ProblemError } from "../../kernel/errors.ts";
import type { WorkflowKind } from "../../kernel/workflow-kinds.ts";
import { openStatuses } from "./transition.ts";
import type { Kind } from "./workflows.kinds.ts";
import type { Request } from "./workflows.policy.ts";
import { canSee, statusAt, subjectsOf, whole } from "./workflows.policy.ts";

/** How much one person may file. */
export interface FilingLimits {
  perHour: number;
  openPerSubject: number;
}

export const defaultFilingLimits: FilingLimits = { perHour: 20, openPerSubject: 5 };

interface Filing {
  type: WorkflowKind;
  kind: Kind;
  subjects: readonly { kind: string; subjectId: string }[];
  limits: FilingLimits;
}

const hour = 3600;
const maxNeighbours = 200;
const maxDuplicatesShown = 20;

/**
 * Refuse what is open already, was denied a short while ago, or is more than one person may file.
 * A request the caller may not see never shows itself here.
 * @returns other open requests about the same subjects
 */
export async function checkFiling(tx: Tx, filing: Filing): Promise<{ reference: string; type: string; status: string }[]> {
  const requester = tx.call.actor?.id;
  const about = filing.subjects.filter(({ kind }) => ["user", "server", "record"].includes(kind));
  if (requester !== undefined) await tx.lock(`workflow-requester:${requester}`);
  await tx.lock(`workflow-subjects:${filing.type}:${subjectsKey(about)}`);
  const neighbours = await readNeighbours(tx, filing, about);
  const open = neighbours.filter((request) => request.status !== "denied" && statusAt(request, tx.now) !== "expired");
  const isSame = (request: Request) =>
    request.type === filing.type &&
    subjectsKey(subjectsOf(request).map(({ kind, id }) => ({ kind, subjectId: id }))) === subjectsKey(about);

  const duplicate = open.find((request) => isSame(request) && canSee(tx.call, request));
  if (duplicate !== undefined) throw new ProblemError("duplicate_open", { extra: { reference: duplicate.reference } });
  const denied = neighbours.find((request) => request.status === "denied" && isSame(request) && canSee(tx.call, request));
  if (denied?.decidedAt) throw coolDown(denied.decidedAt, filing.kind, tx.now);
  if (requester !== undefined) await checkRequester(tx, requester, filing.limits, open);
  return open
    .filter((request) => canSee(tx.call, request))
    .slice(0, maxDuplicatesShown)
    .map(({ reference, type, status }) => ({ reference, type, status }));
}

/** Open requests about any of the subjects, and those of this kind denied within the cool-down. */
function readNeighbours(tx: Tx, { type, kind }: Filing, about: Filing["subjects"]): Promise<Request[]> {
  const since = addSeconds(tx.now, -kind.coolDown);
  return tx.db.workflowRequest.findMany({
    where: {
      subjects: { some: { OR: about.map(({ kind: what, subjectId }) => ({ kind: what, subjectId })) } },
      OR: [{ status: { in: [...openStatuses] } }, { type, status: "denied", decidedAt: { gt: since } }],
    },
    include: whole,
    orderBy: { createdAt: "desc" },
    take: maxNeighbours,
  });
}

function coolDown(deniedAt: Date, kind: Kind, now: Date): ProblemError {
  const until = addSeconds(deniedAt, kind.coolDown);
  const retryAfter = Math.ceil((until.getTime() - now.getTime()) / 1000);
  return new ProblemError("cooldown", { detail: "This was denied a short while ago.", extra: { until: until.toISOString() }, retryAfter });
}

async function checkRequester(tx: Tx, requesterId: string, limits: FilingLimits, open: readonly Request[]): Promise<void> {
  if (open.filter((request) => request.requesterId === requesterId).length >= limits.openPerSubject) {
    throw new ProblemError("rate_limited", { detail: "You have too many open requests about this subject.", retryAfter: hour });
  }
  const recent = await tx.db.workflowRequest.findMany({
    where: { requesterId, createdAt: { gt: addSeconds(tx.now, -hour) } },
    select: { createdAt: true },
    orderBy: { createdAt: "desc" },
    take: limits.perHour,
  });
  const oldest = recent.at(-1);
  if (oldest === undefined || recent.length < limits.perHour) return;
  const retryAfter = Math.max(1, Math.ceil((addSeconds(oldest.createdAt, hour).getTime() - tx.now.getTime()) / 1000));
  throw new ProblemError("rate_limited", { detail: "You have filed too many requests in the last hour.", retryAfter });
}

function subjectsKey(subjects: readonly { kind: string; subjectId: string }[]): string {
  return subjects
    .map(({ kind, subjectId }) => `${kind}:${subjectId}`)
    .toSorted()
    .join(",");
}
