import { z } from "zod";
import { text } from "../../kernel/fields.ts";
import type { Action } from "./transition.ts";
import { actions } from "./transition.ts";
import { nameOf } from "./workflows.intake-names.ts";

/** Every action of a request's life, with the other words for it. Those without a transition yet are refused by name. */
const words: Readonly<Record<string, readonly string[]>> = {
  approve: ["approved", "accept", "accepted", "yes"],
  deny: ["denied", "reject", "rejected", "decline", "declined", "no"],
  request_info: ["info", "more_info", "needs_info"],
  reverse: ["revoke", "overturn", "rescind"],
  ...Object.fromEntries(
    [
      "claim",
      "assign",
      "unassign",
      "provide_info",
      "amend",
      "escalate",
      "deescalate",
      "hold",
      "release",
      "withdraw",
      "void",
      "reopen",
      "abstain",
      "object",
    ].map((action) => [action, []]),
  ),
};
const meanings = new Map(Object.entries(words).flatMap(([action, others]) => [action, ...others].map((word) => [word, action] as const)));
const offered = actions.join(", ");

const fieldNames = ["decision", "action", "outcome", "status"] as const;
const word = z.string().trim().min(1).max(40).optional();

export const DecisionBody = z
  .strictObject({
    decision: word.meta({ description: "approve or deny; the field may also be called action, outcome or status" }),
    action: word,
    outcome: word,
    status: word,
    reason: text(1, 1000).optional().meta({ description: "Shown to the requester; a denial needs 10 characters or more" }),
    reason_public: text(1, 1000).optional(),
    reason_internal: text(1, 2000).optional().meta({ description: "Shown to deciders only" }),
    revision: z.int().positive().optional().meta({ description: "Decide only if the request is still at this revision" }),
    override: z.literal(false).optional(),
    notify: z.literal("none").optional(),
  })
  .meta({ id: "WorkflowDecisionBody" });

export interface DecisionInput {
  action: Action;
  reasonPublic: string | null;
  reasonInternal: string | null;
  revision: number | undefined;
}

const minDenialReason = 10;

/**
 * Understand a decision body: the field's four names, the words' aliases, camelCase or snake_case.
 * @throws ZodError with paths as the client spelled them
 */
export function understandDecision(body: unknown): DecisionInput {
  const given = z.record(z.string(), z.unknown()).parse(body ?? {}, { reportInput: true });
  const spelled = new Map<string, string>();
  const issues: z.core.$ZodIssue[] = [];
  const refuse = (field: string, code: string, message: string) =>
    issues.push({ code: "custom", path: [spelled.get(field) ?? field], message, params: { code }, input: undefined });
  for (const key of Object.keys(given)) {
    if (spelled.has(nameOf(key))) refuse(nameOf(key), "conflicting_fields", "This field stands twice.");
    spelled.set(nameOf(key), key);
  }
  const translated = Object.fromEntries([...spelled].map(([name, key]) => [name, given[key]]));
  const parsed = DecisionBody.safeParse(translated, { reportInput: true });
  for (const issue of parsed.error?.issues ?? []) {
    const keys = issue.code === "unrecognized_keys" ? { keys: issue.keys.map((key) => spelled.get(key) ?? key) } : {};
    issues.push({ ...issue, ...keys, path: issue.path.map((step) => spelled.get(String(step)) ?? step) });
  }
  if (!parsed.success) throw new z.ZodError(issues);
  const action = actionOf(parsed.data, refuse);
  const { reason, reason_public: reasonPublic, reason_internal: reasonInternal, revision } = parsed.data;
  if (reason !== undefined && reasonPublic !== undefined && reason !== reasonPublic)
    refuse("reason_public", "conflicting_fields", "reason and reason_public disagree.");
  const shown = reasonPublic ?? reason ?? null;
  if (action === "deny" && (shown?.length ?? 0) < minDenialReason) {
    refuse(
      reasonPublic === undefined ? "reason" : "reason_public",
      shown === null ? "required" : "too_short",
      "A denial needs a reason of 10 to 1,000 characters.",
    );
  }
  if (issues.length > 0 || action === undefined) throw new z.ZodError(issues);
  return { action, reasonPublic: shown, reasonInternal: reasonInternal ?? null, revision };
}

function actionOf(body: z.output<typeof DecisionBody>, refuse: (field: string, code: string, message: string) => void): Action | undefined {
  const named = fieldNames.filter((name) => body[name] !== undefined);
  const [first] = named;
  if (first === undefined) {
    refuse("decision", "required", `Say what is decided: ${offered}.`);
    return undefined;
  }
  const meant = named.map((name) => meanings.get(nameOf(body[name] ?? "")));
  if (new Set(meant).size > 1) refuse(named[1] ?? first, "conflicting_fields", "These fields name different decisions.");
  const [meaning] = meant;
  const action = actions.find((known) => known === meaning);
  if (meaning === undefined) refuse(first, "invalid_value", `This is no decision. Offered here: ${offered}.`);
  else if (action === undefined) refuse(first, "not_offered", `${meaning} is not offered yet. Offered here: ${offered}.`);
  return action;
}
