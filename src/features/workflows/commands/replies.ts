import type { VerbInput, Verbs } from "../../../commands/verbs.ts";
import { ProblemError, type ProblemCode, problems } from "../../../kernel/errors.ts";
import { escapeText } from "../../../discord/replies.ts";
import { sentenceText } from "../../../discord/sentence.ts";
import type { StepView } from "../history/history.schema.ts";
import type { DecisionAnswer, EffectView, WorkflowView } from "../requests/workflows.schema.ts";
import { annotated } from "../../../operations/route.ts";
import type { Call } from "../../../kernel/call.ts";
import type { Page } from "../../../kernel/page.ts";
import type { CommandInput } from "../../../commands/entry.ts";
import { textIn } from "../../../commands/input.ts";
import { unlessRefused } from "../../../commands/records.ts";
import { cut, mentionOf, momentOf } from "../../../commands/show.ts";
import { textFor, type TextKey, type Translate } from "../../../kit/say.ts";

const maxLength = 900;
const isProblem = (code: string): code is ProblemCode => Object.hasOwn(problems, code);

/** The address of a request that was located, as reading routes name it. */
export const addressOf = (given: CommandInput) => ({ type: textIn(given, "type") ?? "", id: textIn(given, "id") ?? "" });
/** The same, as routes that decide name it. */
export const decisionAddress = (given: CommandInput) => ({ type: textIn(given, "type") ?? "", website_id: textIn(given, "id") ?? "" });

/** The parts of the address of a request that was named by reference; one that is not there is told by the service method, as over HTTP. */
export async function locateRequest(given: CommandInput, call: Call, verbs: Verbs): Promise<CommandInput["values"]> {
  const id = (textIn(given, "reference") ?? "").trim();
  // Of any kind, so that anyone who may not is told so, and not whether it is there.
  return { type: (await verbs.requests.kindOf(id, call)) ?? "poach", id };
}

/** The request as its reader sees it; undefined for anyone who may decide about it without reading it. */
export async function readRequest(verbs: Verbs, call: Call, params: { type: string; id: string }): Promise<WorkflowView | undefined> {
  return await unlessRefused(async () => {
    const answer = await verbs.run("getWorkflow", call, { params, query: { why_not: "true" } });
    return annotated(answer).view as WorkflowView;
  });
}

/** Tries a decision without taking it. @throws ProblemError as the service method refuses it, or of what is in its way */
export async function requireDecidable(input: VerbInput, call: Call, verbs: Verbs): Promise<void> {
  const tried = (await verbs.run("decideWorkflow", call, { ...input, query: { dry_run: "true" } })) as DecisionAnswer;
  const [blocker] = tried.blockers ?? [];
  if (blocker === undefined) return;
  const { type = "", website_id: id = "" } = input.params ?? {};
  // A refusal without a detail is worded with how the request stands.
  const decision = blocker.detail === "" ? (await readRequest(verbs, call, { type, id }))?.decision : undefined;
  const code = isProblem(blocker.code) ? blocker.code : "invalid_transition";
  const refused = new ProblemError(code, blocker.detail === "" ? { extra: { from: tried.status, decision } } : { detail: blocker.detail });
  throw verbs.refusal("decideWorkflow", input, refused);
}

/** Whether the request is there for somebody who has to see it. @throws ProblemError record_not_found */
export async function requireVisible({ params = {} }: VerbInput, call: Call, verbs: Verbs): Promise<void> {
  try {
    await verbs.run("getWorkflow", call, { params });
  } catch (error) {
    if (!(error instanceof ProblemError) || error.code === "record_not_found") throw error;
  }
}

/** What came of a decision. @param verb the move that was made; a vote by default */
export function decisionText(
  { reference, status, final, approvals, effects, replayed }: DecisionAnswer,
  t: Translate,
  verb: string = "approve",
): string {
  const name = escapeText(reference);
  const filled = { name, status: t(`= ${status}`), have: approvals.have, required: approvals.required };
  const own = textFor(`decided ${verb}`, t) === undefined ? undefined : t(`decided ${verb}` as TextKey, filled);
  const head = final ? t("decided final", filled) : (own ?? t("decided vote", filled));
  const { lapsed = [] } = approvals;
  const lost = lapsed.length === 0 ? [] : [t("decided lapsed", { users: lapsed.map(mentionOf).join(", ") })];
  return [replayed === true ? t("decided before", { head }) : head, ...lost, ...effectLines(effects, t)].join("\n");
}

/** What a decision did, a line each. */
export function effectLines(effects: DecisionAnswer["effects"], t: Translate): string[] {
  return effects.map((effect, index) => effectText(effect, effects.slice(index + 1), t));
}

/** How one effect stands: what is done, what failed and why, and what is still to be done. @param later the effects behind it */
function effectText({ key, status, target, detail, error, changed }: EffectView, later: readonly EffectView[], t: Translate): string {
  const about = target?.reference;
  const said = sentenceText(detail, t);
  const named = about === undefined || said.includes(about) ? said : `${said} (\`${about}\`)`;
  const why = error === undefined ? "" : ` ${sentenceText(error.detail, t)}`;
  if (status === "failed") return `✗ ${named}${why}`;
  if (status === "pending") return `… ${named}${why}`;
  if (status === "done" || status === "applied") return changed === false ? `– ${named}` : `✓ ${named}`;
  const isOpen = (other: EffectView): boolean => other.key === `${key}.undo` && other.target?.id === target?.id && other.status !== "done";
  return `– ${named} (${t(status === "reversed" && later.some(isOpen) ? "card effect-reversing" : `card effect-${status}`)})`;
}

/** One step of a history. */
export function stepLine({ action, actor, at, to, note_public: note }: StepView, t: Translate): string {
  const who = actor === null ? t("history service") : `<@${actor.id}>`;
  const why = note === null || note === undefined ? "" : ` · ${escapeText(note)}`;
  return cut(`• ${momentOf(at, "R")} ${t(`= ${action}`)} · ${who} → ${t(`= ${to}`)}${why}`, 300);
}

/** What was done to a request since somebody saw it. */
export async function changesSince(
  verbs: Verbs,
  call: Call,
  { params, revision, t }: { params: { type: string; id: string }; revision: number; t: Translate },
): Promise<string> {
  const query = { limit: 200 };
  const page = await unlessRefused(async () => (await verbs.run("listWorkflowHistory", call, { params, query })) as Page<StepView>);
  const lines = (page?.data ?? []).filter((step) => step.revision > revision).map((step) => stepLine(step, t));
  return cut(lines.join("\n"), maxLength);
}
