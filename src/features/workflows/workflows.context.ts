import type { ReadClient, TransactionClient } from "../../database/database.ts";
import type { Actor } from "../../kernel/call.ts";
import type { WorkflowKind } from "../../kernel/workflow-kinds.ts";
import type { Context } from "./transition.ts";
import { kinds } from "./workflows.kinds.ts";
import type { Request } from "./workflows.policy.ts";
import { subjectsOf } from "./workflows.policy.ts";

/** How staff stand towards each other, known without I/O. */
export interface Ranks {
  of(userId: string): { isStaff: boolean; rank: number };
}

type Reader = Pick<ReadClient | TransactionClient, "workflowRequest" | "blacklistRecord">;

/** Who wants to decide. */
export interface Decider {
  actor: Actor;
  /**
   * Their further accounts, as confirmed links have them. Whoever is partial as one of them is partial as all, and links hold both
   * ways: looking from here finds the accounts of the requester and of the subjects, too.
   */
  accounts: readonly string[];
}

/** How a person stands towards a request they want to decide. */
export async function contextOf(db: Reader, standing: Ranks, { actor, accounts }: Decider, request: Request): Promise<Context> {
  const subjects = subjectsOf(request);
  const users = subjects.filter(({ kind }) => kind === "user").map(({ id }) => id);
  const named = kinds[request.type as WorkflowKind].conflicts?.(request.payload as Record<string, unknown>) ?? [];
  const deciders = await originalDeciders(
    db,
    subjects.filter(({ kind }) => kind === "record").map(({ id }) => id),
  );
  const partial = new Set([request.requesterId, ...users, ...named, ...deciders]);
  return {
    actorId: actor.id,
    isConflicted: [actor.id, ...accounts].some((id) => partial.has(id)),
    isOutranked: !actor.isOwner && users.some((id) => isAtOrAbove(standing, id, actor.rank)),
  };
}

function isAtOrAbove(standing: Ranks, userId: string, rank: number): boolean {
  const subject = standing.of(userId);
  return subject.isStaff && subject.rank >= rank;
}

/** Who decided what is appealed against: they never decide the appeal. */
async function originalDeciders(db: Reader, targets: readonly string[]): Promise<string[]> {
  const deciders: string[] = [];
  for (const target of targets) {
    const id = target.toLowerCase();
    const request = await db.workflowRequest.findFirst({
      where: { OR: [{ id }, { reference: target }] },
      select: { votes: { select: { actorId: true } } },
    });
    deciders.push(...(request?.votes ?? []).map((vote) => vote.actorId));
    const number = /^BL-(\d{6,9})$/.exec(target)?.[1];
    const where = number === undefined ? { id } : { number: Number(number) };
    const record = await db.blacklistRecord.findFirst({ where, select: { approvedBy: true, source: true, createdBy: true } });
    deciders.push(...((record?.approvedBy as string[] | undefined) ?? []));
    if (record?.source === "direct" && record.createdBy !== null) deciders.push(record.createdBy);
  }
  return deciders;
}
