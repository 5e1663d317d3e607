import { textFor } from "../../../kit/say.ts";
import type { PolicyView } from "../../workflows/policies/policies.schema.ts";
import { enumLabel } from "../../../commands/show.ts";
import { actId, listSeen, type SetupContext, type SetupPage, type SetupStep } from "./step.ts";
import { rowOf } from "../../../commands/press.ts";

const step = "policies";
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

async function page(ground: SetupContext): Promise<SetupPage> {
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
  const menu = { type: 3, custom_id: actId(step, "preset"), placeholder: t("setup pick-preset"), options } as const;
  return { text: [t("setup policies-step"), ...lines].join("\n"), rows: [rowOf(menu)] };
}

/** How many people decide on each kind of request. */
export const policiesStep: SetupStep = {
  name: step,
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
