import type { DraftView } from "../drafts/drafts.schema.ts";
import type { CreationAnswer, DecisionAnswer, WorkflowView } from "../requests/workflows.schema.ts";
import { escapeText } from "../../../discord/replies.ts";
import type { Entry, FieldSpec, CommandInput, OptionSpec, PickSpec, Reply, Wording } from "../../../commands/entry.ts";
import { picked, textIn } from "../../../commands/input.ts";
import { locateServers, serversOption } from "./servers.ts";
import { filingBody, filings } from "./filing.ts";
import { blacklistCategories, memberPolicies, severities } from "../../../kernel/vocabulary.ts";
import { checkLine } from "./card.ts";
import { cardFor } from "./card-for.ts";
import { opensRequest, requestLine } from "./review.ts";
import { kindWord, requestTitle } from "./titles.ts";
import { addressOf, decisionAddress, decisionText, locateRequest, readRequest, requireDecidable, requireVisible } from "./replies.ts";
import { linesOf } from "./moves.ts";
import { card, idText, personOf, type Fact } from "../../../commands/records.ts";
import { cut, momentOf, valueOf } from "../../../commands/show.ts";
import { minuteOf } from "../../../commands/sources.ts";
import type { Translate } from "../../../kit/say.ts";
import { sentenceText } from "../../../discord/sentence.ts";
import type { Verbs } from "../../../commands/verbs.ts";

const command = "request";
const own: OptionSpec = { name: "reference", kind: "text", required: true, completes: "own-request", max: 64 };
const draft: OptionSpec = { name: "draft", kind: "text", required: true, completes: "draft", max: 64 };
/** What the words of a request are called, by its kind; `reason` for the others. */
const wordsOf: Readonly<Record<string, string>> = { investigation: "allegation", appeal: "grounds" };
/** Opens a suggestion from their list. */
const opensDraft: PickSpec = {
  press: { name: "wd", carries: [draft] },
  placeholder: "request draft pick",
  of: (view: DraftView, { t }) => ({ value: view.id, label: draftName(view, t) }),
};
const decided =
  (verb: string) =>
  (answer: DecisionAnswer, { t }: Wording): Reply => ({ content: decisionText(answer, t, verb) });
const isSet = (text: string | undefined): text is string => text !== undefined;

const oneField = (name: string, choices: readonly string[]): FieldSpec => ({ name, kind: "choice", choices });
/** What a suggested request may still lack. In its form, for the command has no room for further options. */
const missingInDrafts: readonly FieldSpec[] = [
  oneField("category", [...new Set([...blacklistCategories.user, ...blacklistCategories.server])]),
  oneField("severity", severities),
  oneField("member-policy", memberPolicies),
];

/** What came of a filing: where it stands, what was assumed, what is known of the subject, who decides, and its card. */
async function filed(answer: CreationAnswer, wording: Wording, verbs: Verbs): Promise<Reply> {
  const { t, call } = wording;
  const { reference, status, joined, warnings, effects_preview: effects } = answer;
  const type = await verbs.requests.kindOf(reference, call);
  const view = type === undefined ? undefined : await readRequest(verbs, call, { type, id: reference });
  const card = await verbs.requests.cardOf(answer.id);
  const lines = [
    t(joined === true ? "request joined" : "request filed", { reference: escapeText(reference), status: t(`= ${status}`) }),
    view === undefined ? undefined : t("request deciders", { required: view.approvals.required, type: t(`= ${view.type}`) }),
    ...(view?.checks ?? []).map((check) => checkLine(check, t)),
    ...warnings.map(({ detail }) => `-# ${sentenceText(detail, t)}`),
    effects.length === 0 ? undefined : t("request effects"),
    ...effects.map(({ detail }) => `- ${sentenceText(detail, t)}`),
    card === undefined ? undefined : t("request card", { card }),
  ];
  return { content: cut(lines.filter(isSet).join("\n"), 1900) };
}

const filing: readonly Entry[] = filings.map((spec) => ({
  command,
  path: spec.path,
  operation: spec.operation,
  options: spec.options,
  form: spec.form,
  ...(spec.options.some(({ name }) => name === serversOption) && { locate: locateServers }),
  input: (given, call) => ({ body: filingBody(spec, given, call.guildId) }),
  show: filed,
}));

/** What an author does with their requests. */
const authors: readonly Entry[] = [
  {
    command,
    path: "mine",
    operation: "listWorkflows",
    options: [{ name: "state", kind: "text", choices: ["open", "approved", "denied", "withdrawn", "expired", "void", "reversed"] }],
    input: (given) => ({ query: { requester: "@me", status: textIn(given, "state") } }),
    line: requestLine,
    picks: [opensRequest],
  },
  {
    command,
    path: "edit",
    operation: "amendWorkflow",
    options: [own, { name: "priority", kind: "text" }, { name: "urgent", kind: "boolean" }],
    form: [
      { name: "title", kind: "line" },
      { name: "summary", kind: "paragraph" },
      { name: "reason", kind: "paragraph", max: 2000 },
    ],
    locate: locateRequest,
    input: (given) => ({
      params: addressOf(given),
      body: {
        ...picked(given, "title", "summary", "priority", "urgent"),
        ...(textIn(given, "reason") !== undefined && { [wordsOf[textIn(given, "type") ?? ""] ?? "reason"]: textIn(given, "reason") }),
      },
    }),
    checks: requireVisible,
    show: (view: WorkflowView, wording, verbs) => cardFor(view, wording, verbs),
  },
  {
    command,
    path: "withdraw",
    operation: "decideWorkflow",
    options: [own, { name: "reason", kind: "text", max: 1000 }],
    locate: locateRequest,
    asks: ({ t, given }) => t("request withdraw ask", { reference: escapeText(textIn(given, "reference") ?? "") }),
    input: (given) => ({ params: decisionAddress(given), body: { decision: "withdraw", ...picked(given, "reason") } }),
    show: decided("withdraw"),
  },
  {
    command,
    path: "answer",
    operation: "decideWorkflow",
    options: [own],
    form: [
      { name: "answer", kind: "paragraph", required: true },
      { name: "evidence", kind: "paragraph", max: 4000 },
    ],
    locate: locateRequest,
    input(given) {
      const evidence = linesOf(textIn(given, "evidence"));
      const body = { decision: "provide_info", ...picked(given, "answer"), ...(evidence.length > 0 && { evidence }) };
      return { params: decisionAddress(given), body };
    },
    checks: requireDecidable,
    show: decided("answer"),
  },
  {
    command,
    path: "comment",
    operation: "addWorkflowComment",
    options: [
      { ...own, completes: "request" },
      { name: "visibility", kind: "text" },
    ],
    form: [{ name: "body", kind: "paragraph", required: true }],
    locate: locateRequest,
    input: (given) => ({ params: addressOf(given), body: picked(given, "body", "visibility") }),
    checks: requireVisible,
  },
  {
    command,
    path: "attach",
    operation: "addWorkflowEvidence",
    options: [
      { ...own, completes: "request" },
      { name: "file", kind: "file", required: true },
      { name: "title", kind: "text" },
      { name: "note", kind: "text" },
    ],
    locate: locateRequest,
    input: (given) => ({
      params: decisionAddress(given),
      body: { kind: "file", ...picked(given, "title", "note") },
      file: given.files["file"]?.[0],
    }),
  },
];

const drafts: readonly Entry[] = [
  {
    command,
    path: "draft list",
    operation: "listRequestDrafts",
    options: [],
    input: () => ({}),
    line: draftLine,
    picks: [opensDraft],
  },
  {
    command,
    path: "draft show",
    operation: "getRequestDraft",
    options: [draft],
    input: (given) => ({ params: draftOf(given) }),
    show: draftReply,
    press: opensDraft.press,
  },
  {
    command,
    path: "draft file",
    operation: "fileRequestDraft",
    options: [draft],
    form: [{ name: "reason", kind: "paragraph", max: 1000 }, ...missingInDrafts],
    input(given) {
      const payload = picked(given, "reason", ...missingInDrafts.map(({ name }) => name));
      return { params: draftOf(given), body: Object.keys(payload).length === 0 ? {} : { payload } };
    },
    show: ({ request }: { draft: DraftView; request: CreationAnswer }, wording, verbs) => filed(request, wording, verbs),
  },
  {
    command,
    path: "draft dismiss",
    operation: "dismissRequestDraft",
    options: [draft, { name: "reason", kind: "text", min: 3, max: 1000 }],
    form: [{ name: "reason", kind: "paragraph", required: true, min: 3, max: 1000 }],
    input: (given) => ({ params: draftOf(given), body: picked(given, "reason") }),
  },
];

/** A suggested request where Discord shows no mention. */
export function draftName({ type, payload, cause_reference: from, created_at: at }: DraftView, t: Translate): string {
  return [kindWord({ type, payload }, t), from ?? minuteOf(at)].join(" · ");
}

/** A suggested request as one line. */
function draftLine(view: DraftView, { t }: Wording): string {
  const facts = [draftTitle(view, t), sentenceText(view.cause, t), momentOf(view.created_at, "R")];
  return cut(`• ${facts.join(" · ")}`, 300);
}

/** What would be asked for; a suggestion has no title yet. */
function draftTitle({ type, payload, subject }: DraftView, t: Translate): string {
  return requestTitle({ type, payload, subjects: [subject], title: "" }, t);
}

/** A suggested request as a card: what it would ask for, why, and whom it is about. */
function draftReply(view: DraftView, { t }: Wording): Reply {
  const { payload, cause, cause_reference: from, filed_reference: filedAs, ended, status, subject, created_at: at } = view;
  const known = Object.entries(payload).filter(([name]) => !["user_id", "server_id", "action"].includes(name));
  const embed = card(
    "",
    [
      ["state", t(`= ${status}`)],
      ["cause", sentenceText(cause, t)],
      ["cause_reference", from === null ? undefined : escapeText(from)],
      ...known.map(([name, value]): Fact => [name, value === null ? undefined : valueOf(value, t, name)]),
      ["subject_id", idText(subject.id)],
      ["created_at", momentOf(at, "R")],
      ["filed_reference", filedAs === null ? undefined : escapeText(filedAs)],
      ["ended", ended === null ? undefined : [momentOf(ended.at, "R"), personOf(ended.by)].filter(Boolean).join(" · ")],
    ],
    t,
  );
  return { content: "", embeds: [{ ...embed, title: t("request draft title"), description: `**${draftTitle(view, t)}**` }] };
}

function draftOf(given: CommandInput): { id: string } {
  return { id: textIn(given, "draft") ?? "" };
}

/** `/request`: asking for a decision, and what its author does until then. */
export const requestEntries: readonly Entry[] = [...filing, ...authors, ...drafts];
