import { say } from "../../../kit/say.ts";
import type { Tx } from "../../../database/database.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import type { WorkflowKind } from "../../../kernel/vocabulary.ts";
import { openStatuses } from "../state/table.ts";
import type { Subject } from "../kinds/kind.ts";
import { mayKnow, statusAt, subjectsOf, wholeRequests, type Request } from "./workflows.policy.ts";

/** How many requests one person may file that wait for others; acts decided at once are neither limited nor counted. */
export interface FilingLimits {
  perHour: number;
  openPerSubject: number;
}

export const defaultFilingLimits: FilingLimits = { perHour: 20, openPerSubject: 5 };

interface Filing {
  type: WorkflowKind;
  /** How long a denied request cannot be filed again. */
  coolDownSeconds: number;
  /** Whether the same request, when it is open already, is joined rather than refused. */
  isJoining: boolean;
  /** Whether it is approved at once: then open or recently denied requests about the same do not block it, and no limit applies. */
  isDirect: boolean;
  subjects: readonly { kind: string; subjectId: string }[];
  /** The caller's further accounts. */
  accounts: readonly string[];
  limits: FilingLimits;
}

export interface Checked {
  duplicates: { reference: string; type: string; status: string }[];
  joined?: Request;
}

const hour = 3600;
const maxNeighbours = 200;
const maxDuplicatesShown = 20;

/**
 * Refuse what is open already, was denied a short while ago, or is more than one person may file.
 * A request the caller may not see never shows itself here.
 * @returns other open requests about the same subjects, and the open one that is joined
 */
export async function checkFiling(tx: Tx, filing: Filing): Promise<Checked> {
  const viewer = { call: tx.call, accounts: filing.accounts };
  const requester = tx.call.actor?.id;
  const about = filing.subjects.filter(({ kind }) => ["user", "server", "record"].includes(kind));
  const ofRequester = requester === undefined || filing.isDirect ? [] : [`workflow-requester:${requester}`];
  await tx.lock(...ofRequester, subjectsLock(filing.type, about));
  const neighbours = await readNeighbours(tx, filing, about);
  const open = neighbours.filter((request) => request.status !== "denied" && statusAt(request, tx.now) !== "expired");
  const isSame = (request: Request) =>
    request.type === filing.type &&
    subjectsKey(subjectsOf(request).map(({ kind, id }) => ({ kind, subjectId: id }))) === subjectsKey(about);

  const duplicate = open.find((request) => isSame(request) && mayKnow(viewer, request));
  if (duplicate !== undefined && filing.isJoining) return { duplicates: [], joined: duplicate };
  if (duplicate !== undefined && !filing.isDirect) throw new ProblemError("duplicate_open", { extra: { reference: duplicate.reference } });
  const denied = neighbours.find((request) => request.status === "denied" && isSame(request) && mayKnow(viewer, request));
  if (denied?.decidedAt && !filing.isDirect) throw coolDown(denied.decidedAt, filing.coolDownSeconds, tx.now);
  if (requester !== undefined && !filing.isDirect) await checkRequester(tx, requester, filing.limits, open);
  const duplicates = open.filter((request) => mayKnow(viewer, request)).slice(0, maxDuplicatesShown);
  return { duplicates: duplicates.map(({ reference, type, status }) => ({ reference, type, status })) };
}

/**
 * Refuse to make an open request one about the same people and things as another open one of its kind.
 * @param accounts the caller's further accounts
 * @throws ProblemError duplicate_open
 */
export async function requireUnique(tx: Tx, request: Request, subjects: readonly Subject[], accounts: readonly string[]): Promise<void> {
  const about = subjects.map(({ kind, id }) => ({ kind, subjectId: id }));
  const key = subjectsKey(about);
  const keyOf = (one: Request) => subjectsKey(subjectsOf(one).map(({ kind, id }) => ({ kind, subjectId: id })));
  await tx.lock(subjectsLock(request.type, about));
  const found = await tx.db.workflowRequest.findMany({
    where: {
      id: { not: request.id },
      type: request.type,
      status: { in: [...openStatuses] },
      subjects: { some: { OR: about.map(({ kind, subjectId }) => ({ kind, subjectId })) } },
    },
    orderBy: { createdAt: "desc" },
    take: maxNeighbours,
  });
  const others = await wholeRequests(tx, found);
  const duplicate = others.find(
    (one) => statusAt(one, tx.now) !== "expired" && keyOf(one) === key && mayKnow({ call: tx.call, accounts }, one),
  );
  if (duplicate !== undefined) throw new ProblemError("duplicate_open", { extra: { reference: duplicate.reference } });
}

/** What is held while a request of a kind about some subjects is filed or changed. */
export function subjectsLock(type: string, subjects: readonly { kind: string; subjectId: string }[]): string {
  return `workflow-subjects:${type}:${subjectsKey(subjects)}`;
}

/** Open requests about any of the subjects, and those of this kind denied within the cool-down. */
async function readNeighbours(tx: Tx, { type, coolDownSeconds }: Filing, about: Filing["subjects"]): Promise<Request[]> {
  const since = addSeconds(tx.now, -coolDownSeconds);
  const found = await tx.db.workflowRequest.findMany({
    where: {
      subjects: { some: { OR: about.map(({ kind: what, subjectId }) => ({ kind: what, subjectId })) } },
      OR: [{ status: { in: [...openStatuses] } }, { type, status: "denied", decidedAt: { gt: since } }],
    },
    orderBy: { createdAt: "desc" },
    take: maxNeighbours,
  });
  return await wholeRequests(tx, found);
}

/** The refusal of what was denied a short while ago. */
export function coolDown(deniedAt: Date, seconds: number, now: Date): ProblemError {
  const until = addSeconds(deniedAt, seconds);
  const retryAfter = Math.ceil((until.getTime() - now.getTime()) / 1000);
  return new ProblemError("cooldown", {
    detail: say("workflows.this-was-denied-a-short-while-ago"),
    extra: { until: until.toISOString() },
    retryAfter,
  });
}

async function checkRequester(tx: Tx, requesterId: string, limits: FilingLimits, open: readonly Request[]): Promise<void> {
  if (open.filter((request) => request.requesterId === requesterId).length >= limits.openPerSubject) {
    throw new ProblemError("rate_limited", { detail: say("workflows.you-have-too-many-open-requests-about"), retryAfter: hour });
  }
  const recent = await tx.db.workflowRequest.findMany({
    where: { requesterId, isDirect: false, createdAt: { gt: addSeconds(tx.now, -hour) } },
    select: { createdAt: true },
    orderBy: { createdAt: "desc" },
    take: limits.perHour,
  });
  const oldest = recent.at(-1);
  if (oldest === undefined || recent.length < limits.perHour) return;
  const retryAfter = Math.max(1, Math.ceil((addSeconds(oldest.createdAt, hour).getTime() - tx.now.getTime()) / 1000));
  throw new ProblemError("rate_limited", { detail: say("workflows.you-have-filed-too-many-requests-in"), retryAfter });
}

function subjectsKey(subjects: readonly { kind: string; subjectId: string }[]): string {
  return subjects
    .map(({ kind, subjectId }) => `${kind}:${subjectId}`)
    .toSorted()
    .join(",");
}
