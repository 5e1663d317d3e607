import { say, term } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import type { Tx } from "../../../database/database.ts";
import type { WorkflowEffect } from "../../../generated/sqlite/client.ts";
import { requireIn, requireWrite, type Call } from "../../../kernel/call.ts";
import { ProblemError, recordNotFound } from "../../../kernel/errors.ts";
import type { WorkflowKind } from "../../../kernel/vocabulary.ts";
import { createEffectRecords, type EffectRecordDeps } from "./records.ts";
import { DiscordEffectInput, retriedFrom } from "../effects/discord-effect.ts";
import { decidedAgain } from "../effects/giving.ts";
import { presentEffect, type Effects } from "../effects/effects.ts";
import { policyOf } from "../policies/policies.ts";
import { approvalsOf, requiredOf } from "../state/transition.ts";
import { isOpenStatus } from "../state/table.ts";
import { openRequest } from "../requests/act.ts";
import { contextOf, deciderOf, type Ranks } from "../requests/context.ts";
import { kindOf } from "../kinds/kinds.ts";
import { decidePermission, stateOf, viewerOf, getWholeRequest, type Request } from "../requests/workflows.policy.ts";
import type { DecisionAnswer } from "../requests/workflows.schema.ts";
import { visibleDecision } from "../requests/visibility.ts";

export interface EffectRetry {
  /**
   * Have an effect that failed tried once more, as often as a new one. The request stays as it is, its revision too.
   * @param type of the request, in any spelling
   * @param key its id or reference, in any case
   * @param place of the effect among those of the request, from 1
   * @throws ProblemError as {@link requireWrite}, record_not_found, conflict_of_interest, hierarchy_violation, invalid_transition for one that did not fail
   */
  retry(call: Call, type: string, key: string, place: number): Promise<DecisionAnswer>;
}

export interface EffectRetryDeps extends EffectRecordDeps, Deps<"database" | "reach"> {
  effects: Pick<Effects, "append" | "takenBack" | "wake">;
  access: Ranks;
}

export function createEffectRetry(parts: EffectRetryDeps): EffectRetry {
  const { database, reach, effects, access } = parts;
  const records = createEffectRecords(parts);

  /**
   * Those whom a request is about, and those below them, have nothing done by it; nor has anybody in a server where they may not decide. Its
   * requester may: what was decided stays as it is.
   * @throws ProblemError permission_denied, conflict_of_interest, hierarchy_violation
   */
  async function requireMayRetry(tx: Tx, request: Request, row: WorkflowEffect, accounts: readonly string[]): Promise<void> {
    const action = DiscordEffectInput.safeParse(row.input).data?.discord;
    const guildIds = action !== undefined && "guildId" in action ? [action.guildId] : [];
    requireIn(tx.call, decidePermission(request.type as WorkflowKind), guildIds);
    const decider = deciderOf(tx.call, accounts);
    if (decider === null) return;
    const { isConflicted, isOutranked } = await contextOf(tx.db, access, { ...decider, isOwnUndo: true }, request);
    if (isConflicted) throw new ProblemError("conflict_of_interest");
    if (isOutranked) throw new ProblemError("hierarchy_violation");
  }

  return {
    async retry(call: Call, type: string, key: string, place: number): Promise<DecisionAnswer> {
      const kind = kindOf(type);
      if (kind === undefined) throw recordNotFound();
      const permission = decidePermission(kind);
      requireWrite(call, permission);
      const answer = await database.write(call, async (tx) => {
        const { accounts } = await viewerOf(tx.db, reach, tx.call);
        const request = await openRequest(tx, { type: kind, key, permission, accounts });
        const row = request.effects.find((effect) => effect.place === place);
        if (row === undefined) throw recordNotFound();
        await requireMayRetry(tx, request, row, accounts);
        if (row.status !== "failed") throw notFailed(row.status);
        const known = row.input === null ? {} : { undo: retriedFrom(row) };
        await records.write(
          tx,
          { request, row },
          { status: "pending", attempts: 0, dueAt: tx.now, ...known, ...decidedAgain(row, { by: call.actor?.id ?? "", permission }) },
          permission,
        );
        tx.afterCommit(effects.wake);
        const after = await getWholeRequest(tx, request.id);
        return answerOf(after, await policyOf(tx.db, kind), tx.now);
      });
      return visibleDecision(call, kind, answer);
    },
  };
}

function notFailed(status: string): ProblemError {
  const detail = say("workflows.only-what-has-failed-is-tried-again", { status: term(status) });
  return new ProblemError("invalid_transition", { detail, extra: { from: status, action: "retry", allowed: [] } });
}

function answerOf(request: Request, policy: Parameters<typeof stateOf>[1], now: Date): DecisionAnswer {
  const state = stateOf(request, policy, now);
  return {
    success: true,
    id: request.id,
    reference: request.reference,
    status: state.status,
    final: !isOpenStatus(state.status),
    revision: request.revision,
    approvals: { have: approvalsOf(state), required: requiredOf(state) },
    effects: request.effects.map(presentEffect),
  };
}
