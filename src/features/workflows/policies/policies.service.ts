import type { Deps } from "../../deps.ts";
import { PoliciesQuery, UpdatePolicyInput, type PolicyView } from "./policies.schema.ts";
import type { Tx } from "../../../database/database.ts";
import { requirePermission, type Call } from "../../../kernel/call.ts";
import { toPage, withTotal, type Page } from "../../../kernel/page.ts";
import { workflowKinds, type WorkflowKind } from "../../../kernel/vocabulary.ts";
import type { Stored } from "../../../kit/setting.ts";
import { prefixesOf, requireSound, warningsOf, type Staff } from "./check.ts";
import { defaultPolicy, policiesOf, policiesPolicy, policyFields, policySetting, policyWith, type Choices } from "./policies.ts";
import { kindOf } from "../kinds/kinds.ts";

export interface PoliciesDeps extends Deps<"database" | "audit" | "cursors"> {
  access: Staff;
  /** Gives every kind this one prefix and one counter. */
  referencePrefix: string | null | undefined;
}

/** How each kind of request is decided, as the operator chooses. What is open keeps the approvals and dates it was filed with. */
export interface PoliciesService {
  /** The policy of every kind. */
  list(call: Call, query: PoliciesQuery): Promise<Page<PolicyView>>;
  /** @throws ProblemError record_not_found for a kind that does not exist */
  get(call: Call, name: string): Promise<PolicyView>;
  /** Choose values; `null` returns one to its default. @throws ZodError, ProblemError record_not_found, validation_failed, precondition_failed */
  update(call: Call, name: string, input: UpdatePolicyInput, ifMatch?: number): Promise<PolicyView>;
  /** Return a kind to its defaults. @throws ProblemError record_not_found, validation_failed, precondition_failed */
  reset(call: Call, name: string, ifMatch?: number): Promise<PolicyView>;
}

/** Answers and changes the policies. */
export function createPoliciesService({ database, audit, access, cursors, referencePrefix }: PoliciesDeps): PoliciesService {
  function present(type: WorkflowKind, { value: choices, ...stored }: Stored<Choices>): PolicyView {
    const policy = policyWith(type, choices);
    return {
      type,
      ...policy,
      reference_prefix: referencePrefix ?? policy.prefix,
      defaults: defaultPolicy(type),
      chosen: policyFields.filter((field) => choices[field] !== undefined),
      warnings: warningsOf(access, type, policy),
      ...stored,
    };
  }

  /** What the other kinds' references begin with, where that matters. */
  async function prefixesBeside(tx: Tx, type: WorkflowKind): Promise<string[]> {
    if (typeof referencePrefix === "string") return [];
    const others = workflowKinds.filter((kind) => kind !== type);
    return [...(await policiesOf(tx.db, others))].flatMap(([kind, { prefix }]) => prefixesOf(kind, prefix));
  }

  const setting = policySetting.serve({
    database,
    audit,
    present,
    placeOf: kindOf,
    onChange: async (tx, type, choices) => requireSound(type, policyWith(type, choices), await prefixesBeside(tx, type)),
  });

  return {
    async list(call, query) {
      requirePermission(call, policiesPolicy.read);
      const { limit, cursor, count } = PoliciesQuery.parse(query);
      const from = cursor === undefined ? 0 : Number(cursors.decode("workflow_policies", {}, cursor)[0]) + 1;
      const types = workflowKinds.slice(from, from + limit + 1);
      const chosen = [...(await policySetting.readEach(database.read, types))];
      const cursorOf = ([type]: [WorkflowKind, unknown]) => cursors.encode("workflow_policies", {}, [workflowKinds.indexOf(type), type]);
      const page = toPage(chosen, limit, ([type, stored]) => present(type, stored), cursorOf);
      return withTotal(page, { count }, () => workflowKinds.length);
    },
    get: setting.get,
    update(call, name, input, ifMatch) {
      const wanted = () => {
        const given = Object.entries(UpdatePolicyInput.parse(input)).filter(([, value]) => value !== undefined);
        return (now: Choices): Choices => {
          const merged = Object.entries({ ...now, ...Object.fromEntries(given) });
          return Object.fromEntries(merged.filter(([, value]) => value !== null));
        };
      };
      return setting.put(call, name, wanted, ifMatch);
    },
    reset: (call, name, ifMatch) => setting.put(call, name, () => ({}), ifMatch),
  };
}
