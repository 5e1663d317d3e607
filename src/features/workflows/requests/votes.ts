import type { Tx } from "../../../database/database.ts";
import type { WorkflowVote } from "../../../generated/sqlite/client.ts";
import { requireAnswered, type Actor, type Call } from "../../../kernel/call.ts";
import type { LinkReach } from "../../links/reach.ts";
import type { Policy } from "../policies/policies.ts";
import { isOpenStatus, verdicts, type Action } from "../state/table.ts";
import { refusedVote, type Context, type Vote } from "../state/transition.ts";
import { contextsOfAll, type Decider, type Ranks } from "./context.ts";
import { stateOf, statusAt, type Request } from "./workflows.policy.ts";

/** What says how those stand who have voted. */
export interface VoteJudges {
  access: Ranks & {
    /** Somebody as memory has them; unknown where it has gaps. */
    known(userId: string): Actor;
  };
  reach: Pick<LinkReach, "linkedAccountsOf" | "linkedAccountsOfAll">;
}

interface Judging<Whole extends Request> extends VoteJudges {
  request: Whole;
  policy: Policy;
  /** Who acts now, and what they do. */
  decider: Decider;
  action: Action;
}

interface Judged<Whole extends Request> {
  /** How the one who acts stands towards the request. */
  context: Context;
  /** The request with every vote marked that no longer counts. */
  request: Whole;
  /** Whose votes those are that counted until now, in the order in which they were cast. */
  lapsed: readonly string[];
}

/** Whether an action is a vote, about a decision or about taking it back. */
export const isVote = (action: string): boolean => action === "reverse" || verdicts.some((verdict) => verdict === action);

/**
 * Votes are judged when they count: with each vote those before it, by the rules they were cast by. What its author could not vote any more
 * lapses, and so does what they said by another account of theirs.
 * @throws ProblemError discord_unavailable where nobody can say whether an author is still on the staff
 */
export async function judgeVotes<Whole extends Request>(tx: Tx, judging: Judging<Whole>): Promise<Judged<Whole>> {
  const { access, reach, request, policy, decider, action } = judging;
  const earlier = earlierVotes(request, action, decider.actorId, tx.now);
  const authors = earlier.map(({ actorId }) => actorId);
  const accountsOf = authors.length === 0 ? undefined : await reach.linkedAccountsOfAll(tx.db, authors);
  const voters = authors.map((actorId) => voterOf(tx.call, access.known(actorId), accountsOf?.get(actorId) ?? []));
  const [context, ...contexts] = await contextsOfAll(tx.db, access, [decider, ...voters], request);
  if (context === undefined) throw new Error("whoever acts stands nowhere");
  const state = stateOf(request, policy, tx.now);
  const counted = new Set([decider.actorId, ...decider.accounts]);
  const lapsed = new Set<WorkflowVote>();
  // Of one person the last word counts.
  for (const [index, vote] of [...earlier.entries()].toReversed()) {
    const voter = contexts[index];
    const onItsTier = { ...state, tier: tierOf(vote, request) };
    const isOwn = counted.has(vote.actorId);
    if (isOwn || voter === undefined || refusedVote(onItsTier, vote.verdict as Vote["verdict"], voter) !== undefined) lapsed.add(vote);
    else for (const id of [vote.actorId, ...(voter.accounts ?? [])]) counted.add(id);
  }
  const votes = request.votes.map((vote) => (lapsed.has(vote) ? { ...vote, lapsedAt: tx.now } : vote));
  return { context, request: { ...request, votes }, lapsed: authors.filter((_id, index) => lapsed.has(earlier[index] as WorkflowVote)) };
}

/** The votes of others about what is decided now that count so far. */
function earlierVotes(request: Request, action: Action, actorId: string, now: Date): WorkflowVote[] {
  const status = statusAt(request, now);
  const isReversal = action === "reverse";
  if (!isVote(action) || !(isReversal ? status === "approved" : isOpenStatus(status))) return [];
  return request.votes.filter(
    (vote) =>
      vote.lapsedAt === null &&
      vote.payloadRevision === request.payloadRevision &&
      (vote.about === "reversal") === isReversal &&
      vote.actorId !== actorId,
  );
}

/** An escalation asks more of those who vote after it. */
function tierOf({ at }: WorkflowVote, { escalatedAt, escalationTier }: Request): number {
  return escalatedAt !== null && at > escalatedAt ? escalationTier : 0;
}

/** Somebody who voted, as they stand now: in their own name, wherever whoever acts speaks from. */
function voterOf({ via, requestId }: Call, person: Actor, accounts: readonly string[]): Decider {
  requireAnswered(person);
  const call: Call = { client: null, actor: person, via, requestId, idempotency: null, replayed: false };
  return { call, actorId: person.id, isOwner: person.isOwner, rank: person.rank, accounts };
}

/** Mark votes that no longer count; who may vote again takes the mark off by that. */
export async function markLapsed(tx: Tx, request: Request, action: Action, authors: readonly string[]): Promise<void> {
  if (authors.length === 0) return;
  const about = action === "reverse" ? "reversal" : "decision";
  await tx.db.workflowVote.updateMany({
    where: { requestId: request.id, about, payloadRevision: request.payloadRevision, actorId: { in: [...authors] } },
    data: { lapsedAt: tx.now },
  });
}
