import type { Wording } from "../../../commands/entry.ts";
import { unlessRefused } from "../../../commands/records.ts";
import { cut } from "../../../commands/show.ts";
import { subjectHistory } from "../../../commands/subject-question.ts";
import type { Translate } from "../../../kit/say.ts";
import type { Verbs } from "../../../commands/verbs.ts";
import { sentenceText } from "../../../discord/sentence.ts";
import type { WorkflowView, DecisionAnswer } from "../requests/workflows.schema.ts";
import { personalCard } from "./card.ts";
import { textIn } from "../../../commands/input.ts";
import type { EffectKey } from "../effects/inputs.ts";
import { kinds } from "../kinds/kinds.ts";
import { moveInput } from "./moves.ts";

/** Effects that write the reason of the decision to somebody it is about. */
const notices: ReadonlySet<string> = new Set<EffectKey>(["notice.subject", "notice.owner"]);
const maxReason = 1000;

interface Approval {
  /** What came of it when it was tried without doing it. */
  tried: DecisionAnswer;
  /** Whether the caller may know that one more approval is enough. */
  isKnown: boolean;
  /** Where somebody it is about will read the reason and none was given: the words of the request, to begin with. */
  read: string | undefined;
}

/** Tries an approval out. @param view as the caller sees it, if they do */
export async function tryApproval(
  view: WorkflowView | undefined,
  { call, given }: Pick<Wording, "call" | "given">,
  verbs: Verbs,
): Promise<Approval> {
  const input = moveInput("approve", given, view?.revision);
  const tried = (await verbs.run("decideWorkflow", call, { ...input, query: { dry_run: "true" } })) as DecisionAnswer;
  // Where votes are blind, whether one more is enough would tell of the others.
  const isKnown = tried.approvals.required === 1 || view?.approvals.have !== undefined;
  const hasReason = textIn(given, "reason") !== undefined;
  const read = view === undefined || hasReason || !isReadByThem(view, tried, isKnown) ? undefined : wordsOf(view);
  return { tried, isKnown, read };
}

/** Whether somebody it is about is written to, once this approval is enough; as far as the caller may know whether it is. */
function isReadByThem({ type, payload }: WorkflowView, { final: isFinal, effects }: DecisionAnswer, isKnown: boolean): boolean {
  if (!isKnown) return kinds[type].effects(payload).some(({ key }) => notices.has(key));
  return isFinal && effects.some(({ key, status }) => notices.has(key) && status !== "skipped");
}

/** Why it was filed, in the words of its author. */
function wordsOf({ payload, summary }: WorkflowView): string {
  const { reason } = payload;
  return cut(typeof reason === "string" ? reason : summary, maxReason);
}

/** What an approval does, as a list. What it would do and what it did are said in other words, which would tell whether it is enough. */
export function outcomeText({ tried, isKnown }: Pick<Approval, "tried" | "isKnown">, t: Translate): string {
  return (isKnown ? tried.effects : []).map(({ detail }) => `- ${sentenceText(detail, t)}`).join("\n");
}

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
