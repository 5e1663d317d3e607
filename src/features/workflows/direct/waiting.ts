import { say, term } from "../../../kit/say.ts";
import type { Call } from "../../../kernel/call.ts";
import { parseDuration } from "../../../kernel/fields.ts";
import { levelOrder, type Level } from "../../../kernel/permissions.ts";
import { directPolicy } from "./direct.policy.ts";
import type { DirectRule, WaitReason } from "./direct.schema.ts";
import type { InForce } from "./in-force.ts";

/** Everything that decides whether one person may decide alone. */
export interface Facts {
  call: Call;
  /** The rule of the server for the action; null: nobody does it alone there. */
  rule: DirectRule | null;
  /** The level of whoever acts. */
  level: Level;
  /** How long it lasts, in seconds; Infinity: it has no end. Of what lifts something, how long that lasts. */
  seconds: number;
  /** Who decided what it lifts, where several did or a list. */
  liftedBy: InForce["by"];
  /** How many approvals the request needs, or what it lifts. */
  approvals: number;
  /** Whether an entry of their own or of their role takes the right to decide away. */
  isDenied: boolean;
  /** Whether the person is of the actor's rank or above. */
  isOutranked: boolean;
  /** Whether the person is the actor, by any account. */
  isConflicted: boolean;
}

export interface Wait {
  code: WaitReason;
  detail: string;
}

const decidedBy = {
  list: say("workflows.a-list-keeps-this-in-force-nobody"),
  several: say("workflows.several-people-decided-this-together-nobody-lifts"),
} as const;

/** Why an action waits for somebody else; null: it is done at once. The first reason that applies is told. */
export function waitOf(facts: Facts): Wait | null {
  const { call, rule, level, seconds, approvals } = facts;
  if (rule === null) return { code: "not_set_up", detail: say("workflows.nobody-does-this-alone-in-this-server") };
  if (call.client?.allows(directPolicy.decide) === false)
    return { code: "key", detail: say("workflows.the-api-key-does-not-decide-about") };
  if (facts.isDenied) return { code: "denied", detail: say("workflows.you-may-not-decide-about-punishments") };
  if (levelOrder[level] < levelOrder[rule.level])
    return { code: "level", detail: say("workflows.in-this-server-it-takes-the-level", { level: term(rule.level) }) };
  if (facts.isConflicted) return { code: "conflict", detail: say("workflows.nobody-decides-about-themselves-or-an-account") };
  if (facts.isOutranked) return { code: "rank", detail: say("workflows.the-person-is-staff-of-your-own") };
  if (facts.liftedBy !== null) return { code: "others", detail: decidedBy[facts.liftedBy] };
  if (rule.max !== undefined && seconds > (parseDuration(rule.max) ?? Infinity))
    return { code: "length", detail: say("workflows.in-this-server-nobody-does-this-alone", { max: rule.max ?? "" }) };
  if (approvals > 1) return { code: "approvals", detail: say("workflows.this-needs-approvals-of-others", { count: approvals }) };
  return null;
}
