import type { DraftView } from "../drafts/drafts.schema.ts";
import type { CreationAnswer, DecisionAnswer, WorkflowView } from "../requests/workflows.schema.ts";
import { escapeText } from "../../../discord/replies.ts";
import type { Entry, FieldSpec, CommandInput, OptionSpec, Reply, Wording } from "../../../commands/entry.ts";
import { picked, textIn } from "../../../commands/input.ts";
import { filingBody, filings } from "./filing.ts";
import { blacklistCategories, memberPolicies, severities } from "../../../kernel/vocabulary.ts";
import { cardFor, requestLine } from "./review.ts";
import { addressOf, decisionAddress, decisionText, locateRequest, readRequest, requireDecidable, requireVisible } from "./replies.ts";
import { linesOf } from "./moves.ts";
import { cut } from "../../../commands/show.ts";
import type { Verbs } from "../../../commands/verbs.ts";

const command = "request";
const own: OptionSpec = { name: "reference", kind: "text", required: true, completes: "own-request", max: 64 };
const draft: OptionSpec = { name: "draft", kind: "text", required: true, completes: "draft", max: 64 };
/** What the words of a request are called, by its kind; `reason` for the others. */
const wordsOf: Readonly<Record<string, string>> = { investigation: "allegation", appeal: "grounds" };
const decided = (answer: DecisionAnswer, { t }: Wording): Reply => ({ content: decisionText(answer, t) });
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
    ...(view?.checks ?? []).map(({ result, key, detail }) => `${t(`card check-${result}`)} ${escapeText(key)}: ${escapeText(detail)}`),
    ...warnings.map(({ detail }) => `-# ${escapeText(detail)}`),
    effects.length === 0 ? undefined : t("request effects"),
    ...effects.map(({ detail }) => `- ${escapeText(detail)}`),
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
    show: decided,
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
    show: decided,
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
  },
  { command, path: "draft show", operation: "getRequestDraft", options: [draft], input: (given) => ({ params: draftOf(given) }) },
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

function draftOf(given: CommandInput): { id: string } {
  return { id: textIn(given, "draft") ?? "" };
}

/** `/request`: asking for a decision, and what its author does until then. */
export const requestEntries: readonly Entry[] = [...filing, ...authors, ...drafts];
