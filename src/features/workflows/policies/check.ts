import { say } from "../../../kit/say.ts";
import { kinds } from "../kinds/kinds.ts";
import type { WorkflowKind } from "../../../kernel/vocabulary.ts";
import type { PermissionKey } from "../../../kernel/permissions.ts";
import { validationProblem, type FieldError } from "../../../kernel/errors.ts";
import { confidentialPrefix, type Policy } from "./policies.ts";
import type { Ranks } from "../requests/context.ts";
import type { Warning } from "../requests/workflows.schema.ts";

/** Who there is, and who of them may do what. */
export interface Staff extends Ranks {
  people(): string[];
}

interface Rule {
  field: keyof Policy;
  code: string;
  detail: string;
  isBroken(policy: Policy): boolean;
}

/** What holds between the fields of a policy. */
const rules: readonly Rule[] = [
  {
    field: "approvals_grave",
    code: "too_few",
    detail: say("workflows.what-is-grave-needs-at-least-as"),
    isBroken: ({ approvals, approvals_grave: grave }) => grave < approvals,
  },
  {
    field: "first_touch_seconds",
    code: "too_long",
    detail: say("workflows.a-first-look-is-due-no-later"),
    isBroken: ({ first_touch_seconds: firstTouch, decision_seconds: decision }) => firstTouch > decision,
  },
  {
    field: "expiry_seconds",
    code: "too_short",
    detail: say("workflows.a-request-expires-after-its-decision-was"),
    isBroken: ({ expiry_seconds: expiry, decision_seconds: decision }) => expiry <= decision,
  },
];

/** What references of a kind begin with: those of the kinds that can be confidential have two forms. */
export function prefixesOf(type: WorkflowKind, prefix: string): string[] {
  return kinds[type].readers === undefined ? [prefix] : [prefix, confidentialPrefix(prefix)];
}

/** Refuse a policy that contradicts itself, or has a prefix that another kind has taken. @throws ProblemError validation_failed */
export function requireSound(type: WorkflowKind, policy: Policy, taken: readonly string[]): void {
  const broken = rules.filter(({ isBroken }) => isBroken(policy)).map(({ field, code, detail }) => errorAt(field, code, detail));
  const isTaken = prefixesOf(type, policy.prefix).some((prefix) => taken.includes(prefix));
  const errors = isTaken ? [...broken, errorAt("prefix", "taken", say("workflows.references-of-another-kind-begin-with-this"))] : broken;
  if (errors.length > 0) throw validationProblem(errors);
}

function errorAt(field: keyof Policy, code: string, detail: string): FieldError {
  return { pointer: `/${field}`, in: "body", code, detail };
}

/** Where fewer people may do something than are needed for it. */
export function warningsOf(staff: Staff, type: WorkflowKind, policy: Policy): Warning[] {
  const needs = [
    { field: "approvals_grave", verb: "decide", needed: policy.approvals_grave, what: "approval" },
    { field: "reversals", verb: "reverse", needed: policy.reversals, what: "reversal" },
  ] as const;
  return needs.flatMap(({ field, verb, needed, what }) => {
    const permission = `workflows.${type}.${verb}` as const;
    const found = countHolders(staff, permission, needed);
    if (found >= needed) return [];
    const detail = say(`workflows.${what}-too-few`, { needed, found, permission });
    return [{ code: "too_few_people", pointer: `/${field}`, detail }];
  });
}

/** How many hold a permission; no further than it matters. */
function countHolders(staff: Staff, permission: PermissionKey, needed: number): number {
  let found = 0;
  for (const id of staff.people()) {
    const person = staff.of(id);
    if (person.isStaff && person.decide(permission).allowed) found += 1;
    if (found >= needed) break;
  }
  return found;
}
