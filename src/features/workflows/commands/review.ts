import { say, type Translate } from "../../../kit/say.ts";
import type { Verbs } from "../../../commands/verbs.ts";
import type { CommentView } from "../comments/comments.schema.ts";
import { openStatuses, permissionOf, statuses } from "../state/table.ts";
import type { StepView } from "../history/history.schema.ts";
import type { DecisionAnswer, WorkflowView } from "../requests/workflows.schema.ts";
import type { StatsView, NumbersView } from "../stats/stats.schema.ts";
import { escapeText } from "../../../discord/replies.ts";
import type { Call } from "../../../kernel/call.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import type { Page } from "../../../kernel/page.ts";
import type { PermissionKey } from "../../../kernel/permissions.ts";
import { workflowKinds } from "../../../kernel/vocabulary.ts";
import type { Entry, CommandInput, OptionSpec, PickSpec, Question, Wording, Reply } from "../../../commands/entry.ts";
import { picked, textIn } from "../../../commands/input.ts";
import { numberIn } from "../../../commands/records.ts";
import { commentEditEntry } from "./comments.ts";
import { outcomeText, tryApproval, cardFor } from "./card-for.ts";
import { decidedReply } from "./outcomes.ts";
import { addressOf, decisionAddress, locateRequest, readRequest, requireDecidable, stepLine } from "./replies.ts";
import { plainTitle, requestTitle } from "./titles.ts";
import { subjectHistory } from "../../../commands/subject-question.ts";
import { moveInput, moveOf, reviewMoves, type ReviewMove } from "./moves.ts";
import { cut, momentOf } from "../../../commands/show.ts";
import { lengthText } from "../../../commands/length-text.ts";

const barLength = 10;
const maxKinds = 12;

/** Numbers about requests, in sentences: what waits, how long it takes, and what comes of it. */
function statsReply({ all, types, from, is_whole: isWhole }: StatsView, t: Translate): Reply {
  const kinds = types.filter(({ filed, open }) => filed + open.total > 0);
  const parts = [
    openText(all, t),
    speedText(all, t),
    outcomesText(all, t),
    ...(types.length < 2 || kinds.length === 0 ? [] : [kindsText(kinds, t)]),
  ];
  const title = isWhole ? t("stats title") : t("stats part", { from: momentOf(from) });
  return { content: "", embeds: [{ title: t("stats head"), description: cut([title, ...parts].join("\n\n"), 4000) }] };
}

/** A share as a bar: what it is of all. */
function bar(count: number, most: number): string {
  const full = most === 0 ? 0 : Math.round((count / most) * barLength);
  return "▇".repeat(full) + "▁".repeat(barLength - full);
}

function rowsText(rows: readonly (readonly [name: string, count: number])[]): string[] {
  const all = rows.reduce((sum, [, count]) => sum + count, 0);
  return rows.filter(([, count]) => count > 0).map(([name, count]) => `\`${bar(count, all)}\` ${count.toString()} · ${name}`);
}

function openText({ open, open_age: age, overdue }: NumbersView, t: Translate): string {
  if (age.max === null || age.p50 === null) return `**${t("stats none")}**`;
  const lines = [
    `**${t("stats oldest", { oldest: lengthText(age.max, t), count: open.total })}**`,
    ...rowsText(openStatuses.map((status) => [t(`= ${status}`), open[status]])),
    t("stats waiting", { half: lengthText(age.p50, t) }),
    ...(overdue === 0 ? [] : [t("stats overdue", { count: overdue })]),
  ];
  return lines.join("\n");
}

function speedText({ first_touch: touch, decision, breached_share: late }: NumbersView, t: Translate): string {
  const lines = [
    ...(touch.p50 === null || touch.p90 === null ? [] : [spanLine("stats first-touch", touch.p50, touch.p90, t)]),
    ...(decision.p50 === null || decision.p90 === null ? [] : [spanLine("stats decision", decision.p50, decision.p90, t)]),
    ...(late === null ? [] : [t("stats late", { share: percent(late) })]),
  ];
  return [`**${t("stats speed")}**`, ...(lines.length === 0 ? [t("stats nothing")] : lines)].join("\n");
}

function spanLine(key: "stats first-touch" | "stats decision", half: number, most: number, t: Translate): string {
  return t(key, { half: lengthText(half, t), most: lengthText(most, t) });
}

function outcomesText(numbers: NumbersView, t: Translate): string {
  const { outcomes, filed, approval_rate: approved, reversal_rate: reversed, break_glass: alone } = numbers;
  const rows = rowsText(Object.entries(outcomes).map(([status, count]) => [t(`= ${status}`), count]));
  const lines = [
    `**${t("stats filed", { count: filed })}**`,
    ...rows,
    ...(approved === null ? [] : [t("stats approved", { share: percent(approved) })]),
    ...(reversed === null || reversed === 0 ? [] : [t("stats reversed", { share: percent(reversed) })]),
    ...(alone === 0 ? [] : [t("stats alone", { count: alone })]),
  ];
  return lines.join("\n");
}

function kindsText(kinds: StatsView["types"], t: Translate): string {
  const shown = kinds.toSorted((a, b) => b.filed - a.filed).slice(0, maxKinds);
  return [`**${t("stats kinds")}**`, ...rowsText(shown.map(({ type, filed }) => [t(`= ${type}`), filed]))].join("\n");
}

function percent(share: number): string {
  return `${Math.round(share * 100).toString()} %`;
}

const command = "review";
const open: OptionSpec = { name: "reference", kind: "text", required: true, completes: "open-request", max: 64 };
const any: OptionSpec = { ...open, completes: "request" };
const reason: OptionSpec = { name: "reason", kind: "text", max: 1000 };
const internal: OptionSpec = { name: "reason-internal", kind: "text" };
const rules: OptionSpec = { name: "rules", kind: "text", max: 400 };
const override: OptionSpec = { name: "override", kind: "boolean" };

/** Options of each move besides the reference. */
const options: Readonly<Record<ReviewMove, readonly OptionSpec[]>> = {
  claim: [open, { name: "steal", kind: "boolean" }],
  approve: [open, reason, internal, rules, override],
  deny: [open, reason, internal, rules, override],
  ask: [open],
  escalate: [open, reason],
  hold: [open, reason],
  release: [open, reason],
  reopen: [any, reason],
  reverse: [any, reason, internal, override],
  void: [open, reason, { name: "duplicate-of", kind: "text", completes: "request" }],
  assign: [open, { name: "assignee", kind: "user", required: true }, { name: "steal", kind: "boolean" }],
  unassign: [open, reason],
  deescalate: [open, reason],
  abstain: [open, reason],
  object: [open, reason],
};

/** What an approval is asked about with: what it would do, and what is known of whom it is about. */
export async function approvalQuestion(
  { t, call, given }: Pick<Wording, "t" | "call" | "given">,
  verbs: Verbs,
): Promise<Exclude<Question, string> | undefined> {
  const view = await readRequest(verbs, call, addressOf(given));
  const found = await tryApproval(view, { call, given }, verbs);
  const { tried, isKnown, read } = found;
  // What is in its way is told by the refusal itself, and what was decided already is told again.
  if ((tried.blockers ?? []).length > 0 || tried.replayed === true) return undefined;
  const history = view === undefined ? "" : await subjectHistory(verbs, call, view, t);
  const head = t(tried.final && isKnown ? "review approve ask" : "review approve vote", {
    reference: escapeText(tried.reference),
    title: view === undefined ? "–" : requestTitle(view, t),
    required: tried.approvals.required,
  });
  const known = history === "" ? t("history nothing") : t("history known", { history });
  const outcome = outcomeText(found, t);
  const parts = [
    head,
    known,
    ...(outcome === "" ? [] : [t("review approve tried"), outcome]),
    ...(read === undefined ? [] : [t("review approve continue")]),
  ];
  // What is shown is what is approved, and not what it is made into until the answer comes.
  const about = view === undefined ? {} : { revision: view.revision };
  return { content: cut(parts.join("\n"), 1900), about, ...(read !== undefined && { filled: { reason: read } }) };
}

/** The permissions of a move, for every kind of request. */
function permissionsOf(verb: ReviewMove): PermissionKey[] {
  return workflowKinds.flatMap((type) => permissionOf(reviewMoves[verb].decision, type) ?? []);
}

const moves: readonly Entry[] = (Object.keys(reviewMoves) as ReviewMove[]).map((verb): Entry => {
  const { form } = moveOf(verb);
  return {
    command,
    path: verb,
    operation: "decideWorkflow",
    needs: permissionsOf(verb),
    options: options[verb],
    ...(form !== undefined && { form }),
    locate: locateRequest,
    input: (given) => moveInput(verb, given, numberIn(given, "revision")),
    checks: requireDecidable,
    ...(verb === "approve" && { asks: approvalQuestion, formAfterQuestion: true }),
    show: (answer: DecisionAnswer, wording, verbs) => decidedReply(answer, verb, wording, verbs),
  };
});

/** The request that waited longest among those this person may take on. @throws ProblemError record_not_found when there is none, and as the service method */
async function locateNext(given: CommandInput, call: Call, verbs: Verbs): Promise<CommandInput["values"]> {
  const type = textIn(given, "kind");
  const query = { status: "pending,in_review,escalated", sort: "created_at", limit: 50, type };
  let cursor: string | undefined;
  do {
    const page = (await verbs.run("listWorkflows", call, { query: { ...query, cursor } })) as Page<WorkflowView>;
    // A claim that has run out is taken over.
    const found = page.data.find(({ allowed_actions: actions }) => actions.includes("claim"));
    if (found !== undefined) return { type: found.type, id: found.reference };
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return await refuseNext(verbs, call, type);
}

/** Anyone who may take on nothing at all is refused as the service method refuses; the others are told that nothing waits. */
async function refuseNext(verbs: Verbs, call: Call, type = "poach"): Promise<never> {
  try {
    await verbs.run("decideWorkflow", call, { params: { type, website_id: "NONE-0" }, body: { decision: "claim" } });
  } catch (error) {
    if (!(error instanceof ProblemError) || error.code !== "record_not_found") throw error;
  }
  throw new ProblemError("record_not_found", { detail: say("workflows.nothing-waits-that-you-may-take-on") });
}

/** One line of a queue. */
export function requestLine(view: WorkflowView, { t }: Wording): string {
  const { reference, status, timers, assignment, requester } = view;
  const { due_decision_at: due, paused_at: paused } = timers;
  const facts = [
    `**${escapeText(reference)}** ${requestTitle(view, t)}`,
    ...(requester === null ? [] : [t("line filed", { user: `<@${requester.id}>` })]),
    ...(isOpen(status) && due !== null && paused === null ? [t("line due", { at: momentOf(due, "R") })] : []),
    t(`= ${status}`),
    ...(assignment === null ? [] : [t("line taken", { user: `<@${assignment.user.id}>` })]),
  ];
  return cut(facts.join(" · "), 300);
}

/** Opens a request from a list. */
export const opensRequest: PickSpec = {
  press: { name: "ws", carries: [{ name: "reference", kind: "text" }] },
  placeholder: "review pick",
  of: (view: WorkflowView, { t }) => ({ value: view.reference, label: `${view.reference} · ${plainTitle(view, t)}` }),
};

function isOpen(status: WorkflowView["status"]): boolean {
  return openStatuses.some((open) => open === status);
}

const kind: OptionSpec = { name: "kind", kind: "text", choices: [...workflowKinds] };
const states = ["open", ...statuses];

/** `/review`: what waits for a decision, and deciding it. */
export const reviewEntries: readonly Entry[] = [
  {
    command,
    path: "queue",
    operation: "listWorkflows",
    options: [
      kind,
      { name: "state", kind: "text", choices: states },
      { name: "mine", kind: "boolean" },
      { name: "unclaimed", kind: "boolean" },
      { name: "overdue", kind: "boolean" },
      { name: "subject", kind: "text" },
      { name: "search", kind: "text", min: 2, max: 100 },
      { name: "order", kind: "text", choices: ["-priority", "due_decision_at", "created_at", "-created_at"] },
    ],
    input: (given) => ({
      query: {
        ...(picked(given, "overdue", "subject") as Record<string, string>),
        type: textIn(given, "kind"),
        status: textIn(given, "state") ?? "open",
        assignee: given.values["mine"] === true ? "@me" : given.values["unclaimed"] === true ? "none" : undefined,
        q: textIn(given, "search"),
        sort: textIn(given, "order") ?? "-priority",
      },
    }),
    line: requestLine,
    picks: [opensRequest],
  },
  {
    command,
    path: "next",
    operation: "decideWorkflow",
    needs: permissionsOf("claim"),
    options: [kind],
    locate: locateNext,
    input: (given) => moveInput("claim", given),
    async show(answer: DecisionAnswer, wording, verbs) {
      const view = await readRequest(verbs, wording.call, addressOf(wording.given));
      const content = wording.t("review next done", { reference: escapeText(answer.reference) });
      return view === undefined ? { content } : { ...(await cardFor(view, wording, verbs)), content };
    },
  },
  {
    command,
    path: "show",
    operation: "getWorkflow",
    options: [any],
    locate: locateRequest,
    input: (given) => ({ params: addressOf(given), query: { why_not: "true" } }),
    show: (view: WorkflowView, wording, verbs) => cardFor(view, wording, verbs),
    press: opensRequest.press,
  },
  ...moves,
  {
    command,
    path: "history",
    operation: "listWorkflowHistory",
    options: [any],
    locate: locateRequest,
    input: (given) => ({ params: addressOf(given) }),
    line: (step: StepView, { t }) => stepLine(step, t),
  },
  {
    command,
    path: "comments",
    operation: "listWorkflowComments",
    options: [any],
    locate: locateRequest,
    input: (given) => ({ params: addressOf(given) }),
    line: ({ author, body, created_at: at }: CommentView, { t }) =>
      cut(`${momentOf(at, "R")} ${author === null ? t("history service") : `<@${author.id}>`}: ${escapeText(body)}`, 350),
  },
  commentEditEntry(command, any),
  {
    command,
    path: "retry",
    operation: "retryWorkflowEffect",
    options: [any, { name: "effect", kind: "integer", required: true, min: 1, max: 9999 }],
    locate: locateRequest,
    input: (given) => ({ params: { ...decisionAddress(given), place: textIn(given, "effect") ?? "" } }),
    show: (answer: DecisionAnswer, wording, verbs) => decidedReply(answer, "retry", wording, verbs),
    press: {
      name: "wy",
      carries: [
        { name: "reference", kind: "text" },
        { name: "effect", kind: "integer" },
      ],
    },
  },
  {
    command,
    path: "stats",
    operation: "readWorkflowStats",
    options: [kind],
    input: (given) => ({ query: { type: textIn(given, "kind") } }),
    show: (view: StatsView, { t }) => statsReply(view, t),
  },
];
