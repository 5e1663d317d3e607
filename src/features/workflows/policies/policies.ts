import { say } from "../../../kit/say.ts";
import { z } from "zod";
import type { ReadClient, TransactionClient } from "../../../database/database.ts";
import type { WorkflowKind } from "../../../kernel/vocabulary.ts";
import { kinds } from "../kinds/kinds.ts";

const year = 31_536_000;
const seconds = (min: number, description: string) =>
  z
    .int({ error: say("workflows.write-a-whole-number-of-seconds-in") })
    .min(min)
    .max(10 * year)
    .meta({ description: `${description}, in seconds` });
/**
 * What references of confidential requests begin with: with a counter of their own they leave no gap among the others, by which their
 * subjects would learn that there is one.
 */
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

/** Where the operator's choices for a kind are kept: only what differs from the defaults when it was set. */
export function policyKey(type: WorkflowKind): string {
  return `workflows.policy.${type}`;
}

/** What the operator chose for a kind, as it is stored. */
const StoredPolicy = z.object({
  choices: Policy.partial(),
  revision: z.int().positive(),
  updated_by: z.string().nullable(),
  updated_at: z.string(),
});

/** What is stored of a policy; the first revision is that of the defaults. */
export interface Chosen {
  choices: Partial<Policy>;
  revision: number;
  updated_by: string | null;
  updated_at: string | null;
}

type Reader = Pick<ReadClient | TransactionClient, "setting">;
const nothing: Chosen = { choices: {}, revision: 1, updated_by: null, updated_at: null };

/** What the operator chose for each of these kinds. */
export async function chosenOf(db: Reader, types: readonly WorkflowKind[]): Promise<Map<WorkflowKind, Chosen>> {
  const rows = await db.setting.findMany({ where: { key: { in: types.map(policyKey) } } });
  const values = new Map(rows.map(({ key, value }) => [key, value]));
  return new Map(types.map((type) => [type, readChosen(values.get(policyKey(type)))]));
}

function readChosen(value: unknown): Chosen {
  const stored = StoredPolicy.safeParse(value);
  if (!stored.success) return nothing;
  const set = Object.entries(stored.data.choices).filter(([, choice]) => choice !== undefined);
  return { ...stored.data, choices: Object.fromEntries(set) as Partial<Policy> };
}

/** The policy with these choices. */
export function policyWith(type: WorkflowKind, choices: Partial<Policy>): Policy {
  return { ...defaultPolicy(type), ...choices };
}

/** The policies of some kinds as they hold now. */
export async function policiesOf(db: Reader, types: readonly WorkflowKind[]): Promise<Map<WorkflowKind, Policy>> {
  const chosen = await chosenOf(db, types);
  return new Map([...chosen].map(([type, { choices }]) => [type, policyWith(type, choices)]));
}

/** The policy of a kind as it holds now. */
export async function policyOf(db: Reader, type: WorkflowKind): Promise<Policy> {
  return (await policiesOf(db, [type])).get(type) ?? defaultPolicy(type);
}

/** How many people have to approve a request with this payload. */
export function approvalsFor(type: WorkflowKind, policy: Policy, payload: Record<string, unknown>): number {
  return kinds[type].isGrave?.(payload) === true ? Math.max(policy.approvals, policy.approvals_grave) : policy.approvals;
}
