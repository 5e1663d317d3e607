import { z } from "zod";
import type { Call } from "../../../kernel/call.ts";
import { recordNotFound } from "../../../kernel/errors.ts";
import { understandAmend, type Amendment } from "./fields.ts";
import type { Acting } from "../requests/act.ts";
import type { DecisionInput } from "../requests/decision.ts";
import { kindOf, kinds } from "../kinds/kinds.ts";
import type { Reading } from "../requests/read.ts";
import type { WorkflowView } from "../requests/workflows.schema.ts";

/** Changes requests: the action `amend`, with what only describes a request besides. */
export function createAmending({ decide, get }: Pick<Acting, "decide"> & Pick<Reading, "get">) {
  return {
    /**
     * Change a request: its payload, after which earlier votes lapse, or what describes it.
     * @returns the request as it stands now
     * @throws ZodError, ProblemError acting_user_required, permission_denied, record_not_found, conflict_of_interest,
     * hierarchy_violation, precondition_failed, invalid_transition, duplicate_open
     */
    async amend(call: Call, type: string, key: string, body: unknown, ifMatch?: number): Promise<WorkflowView> {
      const kind = kindOf(type);
      if (kind === undefined) throw recordNotFound();
      const amendment = understandAmend(kinds[kind], body);
      const { id } = await decide(call, kind, key, inputOf(amendment), { ifMatch }).catch((error: unknown) => {
        throw amendment.isFlat && error instanceof z.ZodError ? flattened(error) : error;
      });
      return await get(call, kind, id);
    },
  };
}

function inputOf({ payload, described, reasonPublic, reasonInternal }: Amendment): DecisionInput {
  const body = { decision: "amend", ...(payload !== undefined && { payload }) };
  return { action: "amend", ruling: undefined, reasonPublic, reasonInternal, revision: undefined, body, described };
}

/** Fields that stood flat are named as they stood. */
function flattened({ issues }: z.ZodError): z.ZodError {
  return new z.ZodError(issues.map((issue) => ({ ...issue, path: issue.path[0] === "payload" ? issue.path.slice(1) : issue.path })));
}
