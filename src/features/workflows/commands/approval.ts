import type { Verbs } from "../../../commands/verbs.ts";
import type { Wording } from "../../../commands/entry.ts";
import type { Translate } from "../../../kit/say.ts";
import { textIn } from "../../../commands/input.ts";
import { cut } from "../../../commands/show.ts";
import { sentenceText } from "../../../discord/sentence.ts";
import type { EffectKey } from "../effects/inputs.ts";
import { kinds } from "../kinds/kinds.ts";
import type { DecisionAnswer, WorkflowView } from "../requests/workflows.schema.ts";
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
