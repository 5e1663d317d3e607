import type { Deps } from "../../deps.ts";
import { policiesPolicy, PoliciesQuery, policyFields, UpdatePolicyInput, type PolicyView } from "./policies.schema.ts";
import type { Tx } from "../../../database/database.ts";
import type { Prisma } from "../../../generated/sqlite/client.ts";
import { requirePermission, requireWrite, type Call } from "../../../kernel/call.ts";
import { recordNotFound } from "../../../kernel/errors.ts";
import { toPage, withTotal, type Page } from "../../../kernel/page.ts";
import { workflowKinds, type WorkflowKind } from "../../../kernel/vocabulary.ts";
import { requireRevision } from "../../../kernel/revision.ts";
import { prefixesOf, requireSound, warningsOf, type Staff } from "./check.ts";
import { chosenOf, defaultPolicy, policiesOf, policyKey, policyWith, type Chosen, type Policy } from "./policies.ts";
import { kindOf } from "../kinds/kinds.ts";

export interface PoliciesDeps extends Deps<"database" | "audit" | "cursors"> {
  access: Staff;
  /** Gives every kind this one prefix and one counter. */
  referencePrefix: string | null | undefined;
}

type Choices = Partial<Policy>;

/** How each kind of request is decided, as the operator chooses. What is open keeps the approvals and dates it was filed with. */
export function createPolicies({ database, audit, access, cursors, referencePrefix }: PoliciesDeps) {
  function present(type: WorkflowKind, { choices, ...stored }: Chosen): PolicyView {
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

  /** Give a kind other choices; the same again changes nothing. */
  async function change(call: Call, type: WorkflowKind, ifMatch: number | undefined, next: (now: Choices) => Choices): Promise<PolicyView> {
    return await database.write(call, async (tx) => {
      await tx.lock("workflow-policies");
      const before = await read(tx.db, type);
      requireRevision(ifMatch, before.revision);
      const choices = next(before.choices);
      if (isSame(before.choices, choices)) return present(type, before);
      requireSound(type, policyWith(type, choices), await prefixesBeside(tx, type));
      const after: Chosen = {
        choices,
        revision: before.revision + 1,
        updated_by: call.actor?.id ?? null,
        updated_at: tx.now.toISOString(),
      };
      const value = after as unknown as Prisma.InputJsonObject;
      await tx.db.setting.upsert({ where: { key: policyKey(type) }, create: { key: policyKey(type), value }, update: { value } });
      audit.record(tx, {
        action: "workflow_policy.update",
        target: { kind: "workflow_policy", id: type },
        before: differing(type, before.choices, choices),
        after: differing(type, choices, before.choices),
        permission: policiesPolicy.manage,
      });
      return present(type, after);
    });
  }

  return {
    /** The policy of every kind. */
    async list(call: Call, query: PoliciesQuery): Promise<Page<PolicyView>> {
      requirePermission(call, policiesPolicy.read);
      const { limit, cursor, count } = PoliciesQuery.parse(query);
      const from = cursor === undefined ? 0 : Number(cursors.decode("workflow_policies", {}, cursor)[0]) + 1;
      const types = workflowKinds.slice(from, from + limit + 1);
      const chosen = [...(await chosenOf(database.read, types))];
      const cursorOf = ([type]: [WorkflowKind, Chosen]) => cursors.encode("workflow_policies", {}, [workflowKinds.indexOf(type), type]);
      const page = toPage(chosen, limit, ([type, stored]) => present(type, stored), cursorOf);
      return withTotal(page, { count }, () => workflowKinds.length);
    },

    /** @throws ProblemError record_not_found for a kind that does not exist */
    async get(call: Call, name: string): Promise<PolicyView> {
      requirePermission(call, policiesPolicy.read);
      const type = requireKind(name);
      return present(type, await read(database.read, type));
    },

    /** Choose values; `null` returns one to its default. @throws ZodError, ProblemError record_not_found, validation_failed, precondition_failed */
    async update(call: Call, name: string, input: UpdatePolicyInput, ifMatch?: number): Promise<PolicyView> {
      requireWrite(call, policiesPolicy.manage);
      const type = requireKind(name);
      const given = Object.entries(UpdatePolicyInput.parse(input)).filter(([, value]) => value !== undefined);
      return await change(call, type, ifMatch, (now) => {
        const merged = Object.entries({ ...now, ...Object.fromEntries(given) });
        return Object.fromEntries(merged.filter(([, value]) => value !== null)) as Choices;
      });
    },

    /** Return a kind to its defaults. @throws ProblemError record_not_found, validation_failed, precondition_failed */
    async reset(call: Call, name: string, ifMatch?: number): Promise<PolicyView> {
      requireWrite(call, policiesPolicy.manage);
      return await change(call, requireKind(name), ifMatch, () => ({}));
    },
  };
}

function requireKind(name: string): WorkflowKind {
  const type = kindOf(name);
  if (type === undefined) throw recordNotFound();
  return type;
}

async function read(db: Parameters<typeof chosenOf>[0], type: WorkflowKind): Promise<Chosen> {
  const chosen = (await chosenOf(db, [type])).get(type);
  if (chosen === undefined) throw recordNotFound();
  return chosen;
}

function isSame(one: Choices, other: Choices): boolean {
  return policyFields.every((field) => one[field] === other[field]);
}

/** The values of a policy, as far as another choice makes them other. */
function differing(type: WorkflowKind, choices: Choices, others: Choices): Choices {
  const [policy, other] = [policyWith(type, choices), policyWith(type, others)];
  return Object.fromEntries(policyFields.filter((field) => policy[field] !== other[field]).map((field) => [field, policy[field]]));
}
