import type { CommandInput, Entry, OptionSpec } from "../../../commands/entry.ts";
import { picked, textIn } from "../../../commands/input.ts";
import { lengthText } from "../../../commands/length-text.ts";
import { escapeText } from "../../../discord/replies.ts";
import { parseDuration } from "../../../kernel/fields.ts";
import { workflowKinds } from "../../../kernel/vocabulary.ts";
import { textFor, type Translate } from "../../../kit/say.ts";
import type { PolicyView } from "./policies.schema.ts";
import { enumLabel } from "../../../commands/show.ts";
import type { GuideContext, GuidePage, GuideStep } from "../../../commands/guide.ts";
import { rowOf } from "../../../commands/press.ts";
import { listSeen } from "../../../commands/records.ts";

const fields = ["approvals", "approvals_grave", "reversals"] as const;
type Numbers = Readonly<Record<(typeof fields)[number], number | null>>;

/** How many people a decision takes, by the size of the team; null: as it is for the kind by default. */
const presets: Readonly<Record<string, Numbers>> = {
  small: { approvals: 1, approvals_grave: 1, reversals: 1 },
  medium: { approvals: null, approvals_grave: null, reversals: null },
  large: { approvals: 2, approvals_grave: 3, reversals: 2 },
};

function isAs(policies: readonly PolicyView[], preset: Numbers): boolean {
  return policies.every((policy) => fields.every((field) => policy[field] === (preset[field] ?? policy.defaults[field])));
}

async function page(ground: GuideContext): Promise<GuidePage> {
  const { t } = ground;
  const policies = await listSeen<PolicyView>(ground, "listWorkflowPolicies");
  if (policies === undefined) return { text: t("setup not-seen"), rows: [] };
  const lines = policies.map((policy) => {
    const warning = policy.warnings.length > 0 ? ` ⚠ ${t("setup too-few")}` : "";
    const filled = { approvals: policy.approvals, grave: policy.approvals_grave, reversals: policy.reversals };
    return `• ${enumLabel(policy.type, t)}: ${t("setup approvals", filled)}${warning}`;
  });
  const options = Object.entries(presets).map(([name, preset]) => ({
    value: name,
    label: textFor(`setup preset ${name}`, t) ?? name,
    description: textFor(`setup preset ${name} what`, t) ?? "",
    default: isAs(policies, preset),
  }));
  const menu = { type: 3, custom_id: ground.customIdOf("preset"), placeholder: t("setup pick-preset"), options } as const;
  return { text: [t("setup policies-step"), ...lines].join("\n"), rows: [rowOf(menu)] };
}

/** How many people decide on each kind of request. */
export const policiesStep: GuideStep = {
  name: "policies",
  page,
  async act(ground, _what, [chosen = ""]) {
    const preset = presets[chosen];
    if (preset === undefined) return undefined;
    const { verbs, call } = ground;
    verbs.check("updateWorkflowPolicy", call, { params: { type: "appeal" }, body: preset });
    for (const { type } of (await listSeen<PolicyView>(ground, "listWorkflowPolicies")) ?? [])
      await verbs.run("updateWorkflowPolicy", call, { params: { type }, body: preset });
    return undefined;
  },
};

const command = "setup";
const kind: OptionSpec = { name: "kind", kind: "text", required: true, choices: workflowKinds };
const people = (name: string): OptionSpec => ({ name, kind: "integer", min: 1, max: 10 });
const length = (name: string): OptionSpec => ({ name, kind: "text" });
const lengths = ["first-touch", "decision", "expiry", "cool-down", "claim", "info"] as const;

/** Lengths are seconds over HTTP; what is none is left for the service method to refuse. */
function secondsIn(given: CommandInput): Record<string, unknown> {
  return Object.fromEntries(
    lengths.flatMap((name) => {
      const text = textIn(given, name);
      return text === undefined ? [] : [[`${name.replaceAll("-", "_")}_seconds`, parseDuration(text) ?? text]];
    }),
  );
}

export const policyEntries: readonly Entry[] = [
  {
    command,
    path: "policies",
    operation: "listWorkflowPolicies",
    input: () => ({}),
    line: (view, { t }) => policyLine(view, t),
  },
  {
    command,
    path: "policy",
    operation: "updateWorkflowPolicy",
    options: [
      kind,
      people("approvals"),
      people("approvals-grave"),
      people("reversals"),
      { name: "deny-needs-majority", kind: "boolean" },
      { name: "blind-votes", kind: "boolean" },
      { name: "notify", kind: "text" },
      { name: "prefix", kind: "text", min: 2, max: 10 },
      ...lengths.map(length),
    ],
    input: (given) => ({
      params: { type: textIn(given, "kind") ?? "" },
      body: {
        ...picked(given, "approvals", "approvals-grave", "reversals", "deny-needs-majority", "blind-votes", "notify", "prefix"),
        ...secondsIn(given),
      },
    }),
    show: (view, { t }) => ({ content: policyText(view, t) }),
  },
  {
    command,
    path: "policy-reset",
    operation: "resetWorkflowPolicy",
    options: [kind],
    input: (given) => ({ params: { type: textIn(given, "kind") ?? "" } }),
    show: (view, { t }) => ({ content: policyText(view, t) }),
  },
];

function policyLine(view: PolicyView, t: Translate): string {
  const filled = { approvals: view.approvals, grave: view.approvals_grave, reversals: view.reversals };
  const warning = view.warnings.length > 0 ? ` ⚠ ${t("setup too-few")}` : "";
  return `**${enumLabel(view.type, t)}** ${escapeText(view.reference_prefix)} · ${t("setup approvals", filled)}${warning}`;
}

/** A policy with its lengths. */
function policyText(view: PolicyView, t: Translate): string {
  const spans = lengths.map((name) => [name.replaceAll("-", "_"), lengthText(view[`${name.replaceAll("-", "_")}_seconds` as never], t)]);
  return [
    policyLine(view, t),
    t("setup policy-lengths", Object.fromEntries(spans) as never),
    t(view.deny_needs_majority ? "setup denial-many" : "setup denial-one"),
    t(view.blind_votes ? "setup votes-blind" : "setup votes-open"),
    t(`setup told ${view.notify}`),
  ].join("\n");
}
