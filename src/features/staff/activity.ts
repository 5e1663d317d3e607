import { z } from "zod";
import type { ReadClient } from "../../database/database.ts";
import type { Prisma } from "../../generated/sqlite/client.ts";
import { isoOrNull } from "../../kernel/fields.ts";
import type { WorkflowKind } from "../../kernel/vocabulary.ts";
import type { Status } from "../workflows/state/table.ts";
import type { ActivityView, DisciplineView } from "./profile/profile.schema.ts";

const dayMs = 86_400_000;
/** More votes of 30 days than this are not counted, nor more punishments shown. */
const limits = { votes: 2000, punishments: 50 } as const;
const open: readonly Status[] = ["pending", "in_review", "needs_info", "escalated"];
const investigation: WorkflowKind = "investigation";
const punishment: WorkflowKind = "punishment";

/** A number that moves when an investigation is filed or decided would tell of it. */
const isCounted = { type: { not: investigation }, isRestricted: false } satisfies Prisma.WorkflowRequestWhereInput;

/** A decision as the requests keep it, as far as it counts here. */
interface Decision {
  outcome: string;
  by: string;
}

/** What somebody did with requests in the last weeks. */
export async function readActivity(db: ReadClient, userId: string, now: Date): Promise<ActivityView> {
  const since = new Date(now.getTime() - 30 * dayMs);
  const recent = new Date(now.getTime() - 7 * dayMs);
  const filed = (from: Date): Promise<number> =>
    db.workflowRequest.count({ where: { requesterId: userId, createdAt: { gte: from }, ...isCounted } });
  const [votes, filedRecently, filedAtAll, overdue] = await Promise.all([
    db.workflowVote.findMany({
      where: { actorId: userId, at: { gte: since }, request: isCounted },
      select: { at: true, requestId: true, request: { select: { createdAt: true, decidedAt: true, decision: true, status: true } } },
      orderBy: { at: "desc" },
      take: limits.votes,
    }),
    filed(recent),
    filed(since),
    db.workflowRequest.count({
      where: {
        ...isCounted,
        status: { in: [...open] },
        dueDecisionAt: { lt: now },
        OR: [{ expiresAt: null }, { expiresAt: { gt: now } }],
        votes: { some: { actorId: userId } },
      },
    }),
  ]);
  const decided = decidedBy(userId, votes);
  const span = (dates: readonly Date[]) => ({ last_7_days: dates.filter((at) => at >= recent).length, last_30_days: dates.length });
  return {
    requests_filed: { last_7_days: filedRecently, last_30_days: filedAtAll },
    requests_decided: span(decided.map(({ at }) => at)),
    votes: span(votes.map(({ at }) => at)),
    median_decision_seconds: medianOf(decided.map(({ seconds }) => seconds)),
    reversal_rate: reversalRate(decided),
    open_overdue: overdue,
  };
}

interface CountedVote {
  requestId: string;
  request: { createdAt: Date; decidedAt: Date | null; decision: unknown; status: string };
}

/** The requests among these votes that were decided by this person, each once. */
function decidedBy(userId: string, votes: readonly CountedVote[]) {
  const found = new Map<string, { at: Date; seconds: number; status: string; outcome: string }>();
  for (const { requestId, request } of votes) {
    const decision = request.decision as Decision | null;
    if (decision?.by !== userId || request.decidedAt === null) continue;
    const seconds = (request.decidedAt.getTime() - request.createdAt.getTime()) / 1000;
    found.set(requestId, { at: request.decidedAt, seconds, status: request.status, outcome: decision.outcome });
  }
  return [...found.values()];
}

function medianOf(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.floor(sorted.length / 2)]];
  return low === undefined || high === undefined ? null : Math.round((low + high) / 2);
}

function reversalRate(decided: ReturnType<typeof decidedBy>): number | null {
  const approved = decided.filter(({ outcome }) => outcome === "approved");
  if (approved.length === 0) return null;
  return approved.filter(({ status }) => status === "reversed").length / approved.length;
}

/** What is told of a punishment. */
const Punishment = z.object({ action: z.string(), points: z.number() });

/** The approved punishments of somebody, newest first. */
export async function readPunishments(db: ReadClient, userId: string): Promise<DisciplineView["punishments"]> {
  const status: Status = "approved";
  const rows = await db.workflowRequest.findMany({
    where: { type: punishment, status, isRestricted: false, subjects: { some: { kind: "user", subjectId: userId } } },
    select: { reference: true, payload: true, decidedAt: true },
    orderBy: [{ decidedAt: "desc" }, { id: "desc" }],
    take: limits.punishments,
  });
  return rows.map(({ reference, payload, decidedAt }) => {
    const { action, points } = Punishment.parse(payload);
    return { reference, action, points, decided_at: isoOrNull(decidedAt) };
  });
}
