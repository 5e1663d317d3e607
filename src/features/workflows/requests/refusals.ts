import { ProblemError } from "../../../kernel/errors.ts";
import type { Blocker } from "../effects/types.ts";
import { actionsFrom, type Context, type Refused, type State } from "../state/transition.ts";
import { overridePermission, type Action } from "../state/table.ts";
import type { DecisionInput } from "./decision.ts";
import type { Request } from "./workflows.policy.ts";
import type { BlockerView, WorkflowDecision } from "./workflows.schema.ts";

interface Asked {
  action: Action;
  request: Request;
  state: State;
  blockers?: readonly Blocker[];
}

/** A move that is refused, as a problem. */
export function refusal({ refused, detail, required }: Refused, { action, request, state, blockers }: Asked): ProblemError {
  switch (refused) {
    case "permission_denied":
      return new ProblemError(refused, {
        detail: detail ?? `The acting user lacks ${required ?? ""}.`,
        extra: { required, missing_in: "acting_user" },
      });
    case "conflict_of_interest":
      return new ProblemError(refused, {
        detail: detail ?? "Whoever filed a request, is its subject, or is otherwise partial never decides it, with no account of theirs.",
      });
    case "hierarchy_violation":
      return new ProblemError(refused, { detail: "The subject is staff of equal or higher rank." });
    case "precondition_failed":
      return new ProblemError(refused, { extra: { current_etag: `"v${request.revision.toString()}"` } });
    case "already_decided": {
      const standing = request.decision as unknown as WorkflowDecision | null;
      const decision = standing === null ? null : { outcome: standing.outcome, by: standing.by, at: standing.at };
      return new ProblemError(refused, { extra: { decision } });
    }
    case "invalid_transition":
      return new ProblemError(refused, {
        ...(detail !== undefined && { detail }),
        extra: {
          from: state.status,
          action,
          allowed: actionsFrom(state.status),
          ...(blockers !== undefined && { blockers: blockers.map(presentBlocker) }),
        },
      });
  }
}

/** What is in the way, as answers name it. */
export function presentBlocker({ code, detail, isWaivable }: Blocker): BlockerView {
  return { code, detail, ...(isWaivable === true && { waivable: true }) };
}

/** Whether break-glass passes a blocker. */
export function isWaived({ isWaivable = false }: Blocker, { body }: DecisionInput, { can }: Pick<Context, "can">): boolean {
  return isWaivable && body.override === true && can(overridePermission);
}
