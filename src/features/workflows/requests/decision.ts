import { say, term, inRow } from "../../../kit/say.ts";
import { severities } from "../../../kernel/vocabulary.ts";
import { z } from "zod";
import { Duration, Snowflake, text } from "../../../kernel/fields.ts";
import { actions, type Action } from "../state/table.ts";
import type { Described } from "../amend/fields.ts";
import { Evidence } from "./fields.ts";
import type { Kind, Ruling } from "../kinds/kind.ts";
import { nameOf } from "./intake-names.ts";

/** Other words for the actions. */
const aliases: Partial<Readonly<Record<Action, readonly string[]>>> = {
  approve: ["approved", "accept", "accepted", "yes"],
  deny: ["denied", "reject", "rejected", "decline", "declined", "no"],
  request_info: ["info", "more_info", "needs_info"],
  reverse: ["revoke", "overturn", "rescind"],
};
const meanings = new Map<string, Action>(
  actions.flatMap((action) => [action, ...(aliases[action] ?? [])].map((word) => [word, action] as const)),
);
const offered = actions.join(", ");

/** Every word a decision about a kind understands, with the action it stands for. */
export function wordsFor(kind: Kind): Record<string, Action> {
  const own = Object.entries(kind.words ?? {}).map(([said, { action }]) => [said, action] as const);
  return Object.fromEntries([...meanings, ...own]);
}

const fieldNames = ["decision", "action", "outcome", "status"] as const;
const word = z.string().trim().min(1).max(40).optional();
const reason = text(1, 1000).optional();

export const DecisionBody = z
  .strictObject({
    decision: word.meta({
      description: `One of ${offered}, or another word for it; the field may also be called action, outcome or status`,
    }),
    action: word,
    outcome: word,
    status: word,
    reason: reason.meta({ description: "Shown to the requester; a denial and a reversal need 10 characters or more" }),
    reason_public: reason,
    reason_internal: text(1, 2000).optional().meta({ description: "Shown to deciders only" }),
    policy_refs: z
      .array(text(1, 60))
      .max(20)
      .optional()
      .meta({ description: "The rules it rests on, such as `R4`; shown with the decision to whoever reads the request" }),
    revision: z.int().positive().optional().meta({ description: "Decide only if the request is still at this revision" }),
    questions: z.array(text(3, 500)).min(1).max(5).optional().meta({ description: "What the requester is asked, with request_info" }),
    answer: text(1, 2000).optional().meta({ description: "What the requester answers, with provide_info" }),
    evidence: z.array(Evidence).min(1).max(20).optional().meta({ description: "Evidence that comes with provide_info" }),
    payload: z.record(z.string(), z.unknown()).optional().meta({ description: "The fields that change, with amend" }),
    assignee: z
      .union([z.literal("@me"), Snowflake])
      .optional()
      .meta({ description: "Whom to assign it to" }),
    steal: z.boolean().optional().meta({ description: "Take over a claim that somebody else still holds; needs workflows.assign" }),
    duplicate_of: text(1, 64).optional().meta({ description: "The reference of the request that is kept, with void" }),
    duration: Duration.nullable()
      .optional()
      .meta({ description: "Approve with this length instead of the one asked for; null: permanent" }),
    effects: z
      .record(z.string().max(60), z.boolean())
      .optional()
      .meta({ description: 'Consequences of the approval that are switched off, such as `{"notice.subject": false}`' }),
    override: z.boolean().optional().meta({
      description:
        "Decide alone what needs more people, or in spite of a failed check; needs workflows.override and a reason of 20 characters",
    }),
    notify: z
      .enum(["dm", "channel", "none"])
      .optional()
      .meta({ description: "How the requester is told; by the policy of the kind unless said" }),
    new_duration: Duration.nullable().optional().meta({ description: "Of an appeal that is reduced: how long it counts from now" }),
    new_severity: z.enum(severities).optional().meta({ description: "Of an appeal that is reduced" }),
    new_points: z.int().min(0).max(10).optional().meta({ description: "Of an appeal against a strike that is reduced" }),
    instructions: text(10, 2000).optional().meta({ description: "Of an appeal that goes back to those who decided" }),
    message: text(1, 1000).optional().meta({ description: "To whoever appeals, beside the reason" }),
  })
  .meta({ id: "WorkflowDecisionBody" });
type Body = z.output<typeof DecisionBody>;

export interface DecisionInput {
  action: Action;
  ruling: Ruling | undefined;
  reasonPublic: string | null;
  reasonInternal: string | null;
  revision: number | undefined;
  body: Body;
  /** What an amendment changes besides the payload. */
  described?: Described;
}

type Refuse = (field: string, code: string, message: string) => void;
interface Need {
  /** Characters of a reason, if it needs one. */
  reason?: number;
  /** Fields of which one is needed. */
  oneOf?: readonly (keyof Body)[];
  says: string;
}

/** What an action needs besides its name. */
const needs: Partial<Readonly<Record<Action, Need>>> = {
  deny: { reason: 10, says: say("workflows.a-denial-needs-a-reason-of-10") },
  reverse: { reason: 10, says: say("workflows.a-reversal-needs-a-reason-of-10") },
  request_info: { oneOf: ["questions"], says: say("workflows.ask-1-to-5-questions") },
  provide_info: { oneOf: ["answer", "evidence"], says: say("workflows.send-an-answer-or-evidence") },
  amend: { oneOf: ["payload"], says: say("workflows.send-the-fields-that-change-in-payload") },
  assign: { oneOf: ["assignee"], says: say("workflows.name-the-person") },
  escalate: { reason: 3, says: say("workflows.say-why-it-is-escalated") },
  deescalate: { reason: 3, says: say("workflows.say-why-it-is-no-longer-escalated") },
  hold: { reason: 3, says: say("workflows.say-why-it-is-held") },
  release: { reason: 3, says: say("workflows.say-why-it-is-released") },
  object: { reason: 3, says: say("workflows.an-objection-needs-a-reason") },
  reopen: { reason: 3, says: say("workflows.say-why-it-is-opened-again") },
};
const overrideReason = 20;

/** Which fields only make sense with which actions. */
const only: Partial<Readonly<Record<keyof Body, readonly Action[]>>> = {
  questions: ["request_info"],
  answer: ["provide_info"],
  evidence: ["provide_info"],
  payload: ["amend"],
  assignee: ["assign"],
  steal: ["claim", "assign"],
  duplicate_of: ["void"],
  policy_refs: ["approve", "deny"],
  duration: ["approve"],
  effects: ["approve"],
  override: ["approve", "deny", "reverse"],
  new_duration: ["approve"],
  new_severity: ["approve"],
  new_points: ["approve"],
  instructions: ["approve"],
};

/**
 * Understand a decision body: the field's four names, the words' aliases, camelCase or snake_case.
 * @throws ZodError with paths as the client spelled them
 */
export function understandDecision(kind: Kind, body: unknown): DecisionInput {
  const given = z.record(z.string(), z.unknown()).parse(body ?? {}, { reportInput: true });
  const { translated, spelled, issues, refuse } = translate(given);
  const parsed = DecisionBody.safeParse(translated, { reportInput: true });
  for (const issue of parsed.error?.issues ?? []) {
    const keys = issue.code === "unrecognized_keys" ? { keys: issue.keys.map((key) => spelled.get(key) ?? key) } : {};
    issues.push({ ...issue, ...keys, path: issue.path.map((step) => spelled.get(String(step)) ?? step) });
  }
  if (!parsed.success) throw new z.ZodError(issues);
  const meant = meaningOf(kind, parsed.data, refuse);
  const { reason: said, reason_public: saidPublicly, reason_internal: internal, revision } = parsed.data;
  if (said !== undefined && saidPublicly !== undefined && said !== saidPublicly)
    refuse("reason_public", "conflicting_fields", say("workflows.reason-and-reason-public-disagree"));
  const shown = saidPublicly ?? said ?? null;
  if (meant !== undefined) requireNeeds(meant.action, parsed.data, shown, refuse);
  if (issues.length > 0 || meant === undefined) throw new z.ZodError(issues);
  return { action: meant.action, ruling: meant.ruling, reasonPublic: shown, reasonInternal: internal ?? null, revision, body: parsed.data };
}

/** The fields under the names used here, and how to refuse one as the client spelled it. */
function translate(given: Record<string, unknown>) {
  const spelled = new Map<string, string>();
  const issues: z.core.$ZodIssue[] = [];
  const refuse: Refuse = (field, code, message) =>
    void issues.push({ code: "custom", path: [spelled.get(field) ?? field], message, params: { code }, input: undefined });
  for (const key of Object.keys(given)) {
    if (spelled.has(nameOf(key))) refuse(nameOf(key), "conflicting_fields", say("workflows.this-field-stands-twice"));
    spelled.set(nameOf(key), key);
  }
  return { translated: Object.fromEntries([...spelled].map(([name, key]) => [name, given[key]])), spelled, issues, refuse };
}

function meaningOf(kind: Kind, body: Body, refuse: Refuse): { action: Action; ruling?: Ruling } | undefined {
  const named = fieldNames.filter((name) => body[name] !== undefined);
  const [first] = named;
  if (first === undefined) {
    refuse("decision", "required", say("workflows.say-what-is-decided", { offered: term(offered) }));
    return undefined;
  }
  const meant = named.map((name) => {
    const said = nameOf(body[name] ?? "");
    const action = meanings.get(said);
    return kind.words?.[said] ?? (action === undefined ? undefined : { action });
  });
  if (new Set(meant.map((meaning) => JSON.stringify(meaning))).size > 1)
    refuse(named[1] ?? first, "conflicting_fields", say("workflows.these-fields-name-different-decisions"));
  const [meaning] = meant;
  if (meaning === undefined) refuse(first, "invalid_value", say("workflows.this-is-no-decision-offered-here", { offered: term(offered) }));
  return meaning;
}

function requireNeeds(action: Action, body: Body, shown: string | null, refuse: Refuse): void {
  const { reason: least = 0, oneOf = [], says = "" } = needs[action] ?? {};
  const needed = body.override === true ? Math.max(least, overrideReason) : least;
  const field = body.reason_public === undefined ? "reason" : "reason_public";
  if ((shown?.length ?? 0) < needed) {
    const message = needed === overrideReason && needed > least ? say("workflows.to-decide-alone-needs-a-reason-of") : says;
    refuse(field, shown === null ? "required" : "too_short", message);
  }
  if (oneOf.length > 0 && oneOf.every((name) => body[name] === undefined)) refuse(oneOf[0] ?? "decision", "required", says);
  if (action === "void" && body.duplicate_of === undefined && shown === null)
    refuse("reason", "required", say("workflows.say-why-it-is-void-or-name"));
  for (const [name, allowed] of Object.entries(only)) {
    if (body[name as keyof Body] !== undefined && !allowed.includes(action))
      refuse(name, "not_offered", say("workflows.this-field-belongs-to", { actions: inRow(allowed.map(term), "and") }));
  }
}
