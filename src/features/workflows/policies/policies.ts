import { say } from "../../../kit/say.ts";
import { z } from "zod";
import type { WorkflowKind } from "../../../kernel/vocabulary.ts";
import { setting, type SettingReader } from "../../../kit/setting.ts";
import { kinds } from "../kinds/kinds.ts";

export const policiesPolicy = { read: "system.settings.read", manage: "system.settings.manage" } as const;

const year = 31_536_000;
const seconds = (min: number, description: string) =>
  z
    .int({ error: say("workflows.write-a-whole-number-of-seconds-in") })
    .min(min)
    .max(10 * year)
    .meta({ description: `${description}, in seconds` });
/** What references of confidential requests begin with. As they have their own counter, no gap among the others gives one away. */
export function confidentialPrefix(prefix: string): string {
  return `${prefix}C`;
}

const people = (description: string) => z.int().min(1).max(10).meta({ description });

/** How requests of one kind are decided. Lengths are seconds. */
export const Policy = z.strictObject({
  prefix: z
    .string()
    .regex(/^[A-Z][A-Z0-9]{1,9}$/, say("workflows.write-2-10-capital-letters-and-digits"))
    .meta({ description: "What references of the kind begin with, unless `REFERENCE_PREFIX` says it for all" }),
  approvals: people("How many different people an approval needs"),
  approvals_grave: people("How many it needs for what is grave; at least as many"),
  reversals: people("How many different people take an approval back"),
  deny_needs_majority: z.boolean().meta({ description: "Whether a denial needs as many people as an approval" }),
  first_touch_seconds: seconds(60, "Until somebody should have looked at it"),
  decision_seconds: seconds(60, "Until it should be decided"),
  expiry_seconds: seconds(3600, "Until an open request expires"),
  cool_down_seconds: seconds(0, "How long a denied request cannot be filed again; 0: it can at once"),
  claim_seconds: seconds(60, "How long a claim holds others off, from the last activity"),
  info_seconds: seconds(3600, "How long the requester has to answer questions"),
  blind_votes: z.boolean().meta({ description: "Whether votes of others stay hidden until one has voted" }),
  notify: z.enum(["dm", "none"]).meta({ description: "How its requester is told of questions and of the decision" }),
});
export type Policy = z.output<typeof Policy>;
export const policyFields = Policy.keyof().options;

const hour = 3600;

/** What holds unless the operator sets it otherwise. */
export function defaultPolicy(type: WorkflowKind): Policy {
  const { prefix, approvals, reversals, clocks, coolDown, hasBlindVotes = false } = kinds[type];
  return {
    prefix,
    approvals: approvals.usual,
    approvals_grave: approvals.grave ?? approvals.usual,
    reversals,
    deny_needs_majority: false,
    first_touch_seconds: clocks.firstTouch,
    decision_seconds: clocks.decision,
    expiry_seconds: clocks.expiry,
    cool_down_seconds: coolDown,
    claim_seconds: 4 * hour,
    info_seconds: 72 * hour,
    blind_votes: hasBlindVotes,
    notify: "dm",
  };
}

export type Choices = Partial<Policy>;

/** What the operator chose for each kind: only what differs from the defaults when it was set. */
export const policySetting = setting({
  key: "workflows.policy.",
  per: "installation",
  schema: Policy.partial() as z.ZodType<Choices>,
  nothing: {},
  permission: policiesPolicy,
  action: "workflow_policy.update",
  target: (type: WorkflowKind) => ({ kind: "workflow_policy", id: type }),
  field: "choices",
  // Each prefix is the only one.
  lock: "workflow-policies",
  differing,
});

/** The values of a policy, as far as another choice makes them other. */
function differing(choices: Choices, others: Choices, type: WorkflowKind): Choices {
  const [policy, other] = [policyWith(type, choices), policyWith(type, others)];
  return Object.fromEntries(policyFields.filter((field) => policy[field] !== other[field]).map((field) => [field, policy[field]]));
}

/** The policy with these choices. */
export function policyWith(type: WorkflowKind, choices: Choices): Policy {
  return { ...defaultPolicy(type), ...choices };
}

/** The policies of some kinds as they hold now. */
export async function policiesOf(db: SettingReader, types: readonly WorkflowKind[]): Promise<Map<WorkflowKind, Policy>> {
  const chosen = await policySetting.readEach(db, types);
  return new Map([...chosen].map(([type, { value }]) => [type, policyWith(type, value)]));
}

/** The policy of a kind as it holds now. */
export async function policyOf(db: SettingReader, type: WorkflowKind): Promise<Policy> {
  return (await policiesOf(db, [type])).get(type) ?? defaultPolicy(type);
}

/** How many people have to approve a request with this payload. */
export function approvalsFor(type: WorkflowKind, policy: Policy, payload: Record<string, unknown>): number {
  return kinds[type].isGrave?.(payload) === true ? Math.max(policy.approvals, policy.approvals_grave) : policy.approvals;
}
