import type { Wording } from "../../../commands/entry.ts";
import { unlessRefused } from "../../../commands/records.ts";
import { cut } from "../../../commands/show.ts";
import { subjectHistory } from "../../../commands/subject-question.ts";
import type { Translate } from "../../../kit/say.ts";
import type { Verbs } from "../../../commands/verbs.ts";
import { sentenceText } from "../../../discord/sentence.ts";
import type { WorkflowView } from "../requests/workflows.schema.ts";
import { outcomeText, tryApproval } from "./approval.ts";
import { personalCard } from "./card.ts";

type CardWording = Pick<Wording, "t" | "call" | "keepForm">;

/** The card of a request for the caller, with what an approval of theirs comes to. */
export async function cardFor(view: WorkflowView, wording: CardWording, verbs: Verbs) {
  const { t, call } = wording;
  const history = await subjectHistory(verbs, call, view, t);
  const allowed = new Set<string>(view.allowed_actions);
  const approval = allowed.has("approve") ? await approvalOn(view, wording, verbs) : {};
  const { embeds, components } = personalCard(view, { t, allowed, history, ...approval });
  return { embeds, components, content: whyNot(view, t) };
}

/** What an approval comes to or what is in its way, and the button that approves what is shown. */
async function approvalOn(view: WorkflowView, { t, call, keepForm }: CardWording, verbs: Verbs) {
  const { type, reference, revision } = view;
  const typed = { reference };
  const values = { ...typed, type, id: reference };
  const found = await unlessRefused(() => tryApproval(view, { call, given: { values, files: {} } }, verbs));
  if (found === undefined) return {};
  const { tried, isKnown, read } = found;
  const blocked = (isKnown ? (tried.blockers ?? []) : []).map(({ detail }) => `- ${sentenceText(detail, t)}`).join("\n");
  if (blocked !== "") return { blocked };
  const outcome = outcomeText(found, t);
  if (read === undefined) return { outcome };
  return { outcome, approveId: keepForm("review approve", { typed, shown: { ...values, revision, reason: read } }) };
}

/** Why the caller can't do what others can, each reason once. */
function whyNot({ why_not: why = {} }: WorkflowView, t: Translate): string {
  const told = new Map<string, string[]>();
  for (const action of ["claim", "approve", "deny", "request_info"] as const) {
    const detail = why[action]?.detail ?? "";
    if (detail !== "") told.set(detail, [...(told.get(detail) ?? []), t(`= ${action}`)]);
  }
  const lines = [...told].map(([detail, names]) => `-# ${t("card why-not", { actions: names.join(", "), why: sentenceText(detail, t) })}`);
  return cut(lines.join("\n"), 1500);
}
