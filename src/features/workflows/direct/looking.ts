import { say } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import { insertRows } from "../../../database/insert.ts";
import { requireWrite, type Call } from "../../../kernel/call.ts";
import { ProblemError, recordNotFound } from "../../../kernel/errors.ts";
import type { LinkReach } from "../../links/reach.ts";
import { kindOf } from "../kinds/kinds.ts";
import { openRequest } from "../requests/act.ts";
import { looked } from "../requests/changes.ts";
import { contextOf, deciderOf, type Ranks } from "../requests/context.ts";
import { stepOf } from "../requests/steps.ts";
import { tellOf } from "../requests/told.ts";
import { viewerOf } from "../requests/workflows.policy.ts";
import { directPolicy } from "./direct.policy.ts";
import type { LookAnswer } from "./looking.schema.ts";

export interface LookingDeps extends Deps<"database" | "audit" | "events"> {
  access: Ranks;
  reach: Pick<LinkReach, "linkedAccountsOf">;
}

/** What one person decided alone stands in a list until somebody else has looked at it. */
export function createLooking({ database, audit, events, access, reach }: LookingDeps) {
  return {
    /**
     * Note that somebody else has looked at what one person decided alone. Once more by anybody changes nothing.
     * @param key id or reference, in any case
     * @throws ProblemError acting_user_required, permission_denied, record_not_found, conflict_of_interest, invalid_transition
     */
    async lookedAt(call: Call, type: string, key: string): Promise<LookAnswer> {
      requireWrite(call, directPolicy.look);
      const kind = kindOf(type);
      if (kind === undefined) throw recordNotFound();
      return await database.write(call, async (tx): Promise<LookAnswer> => {
        const { accounts } = await viewerOf(tx.db, reach, call);
        const request = await openRequest(tx, { type: kind, key, permission: directPolicy.look, accounts });
        const decider = deciderOf(call, accounts);
        if (decider === null) throw new ProblemError("acting_user_required");
        const { id, reference, status, revision, isDirect, lookedAt, lookedBy } = request;
        const told = { success: true, id, reference } as const;
        if (lookedAt !== null) return { ...told, looked_at: lookedAt.toISOString(), looked_by: lookedBy, replayed: true };
        if (!isDirect)
          throw new ProblemError("invalid_transition", {
            detail: say("workflows.only-what-one-person-decided-alone-is"),
            extra: { from: status, action: "look", allowed: [] },
          });
        if ((await contextOf(tx.db, access, decider, request)).isConflicted)
          throw new ProblemError("conflict_of_interest", { detail: say("workflows.somebody-else-has-to-look-at-it") });
        await tx.db.workflowRequest.update({
          where: { id },
          data: { ...looked(tx, decider.actorId), revision: revision + 1, updatedAt: tx.now },
          select: { id: true },
        });
        await insertRows(tx, "WorkflowStep", [stepOf(tx, request, { action: "look", to: status })]);
        audit.record(tx, { action: "workflow.look", target: { kind: "workflow", id, reference }, permission: directPolicy.look });
        tellOf(events, tx, "workflow.updated", request, { status, action: "look" });
        return { ...told, looked_at: tx.now.toISOString(), looked_by: decider.actorId };
      });
    },
  };
}
