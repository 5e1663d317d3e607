import type { DraftView } from "../drafts/drafts.schema.ts";
import type { CreationAnswer, DecisionAnswer, WorkflowView } from "../requests/workflows.schema.ts";
import { escapeText } from "../../../discord/replies.ts";
import type { Entry, FieldSpec, CommandInput, OptionSpec, PickSpec, Reply, Wording } from "../../../commands/entry.ts";
import { picked, textIn, durationIn } from "../../../commands/input.ts";
import { locateServers, serversOption, everywhereValue } from "./servers.ts";
import { blacklistCategories, memberPolicies, severities, type WorkflowKind, workflowKinds } from "../../../kernel/vocabulary.ts";
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
import { boundsOf, resolved as resolve, timeOf, type FieldSchema } from "../../../commands/bounds.ts";
import type { FilingOption } from "../kinds/kind.ts";
import { filingOperation, kinds, schemaAtTop } from "../kinds/kinds.ts";

/** What a kind of request is filed with in Discord. */
interface Filing {
  /** The sub-command. */
  path: string;
  operation: string;
  options: readonly OptionSpec[];
  form: readonly FieldSpec[];
  /** The fields of the kind, under the names of the HTTP routes. */
  fields: (given: CommandInput) => object;
}

/** The longest text that is an option; a longer one has a field of the form. */
const maxOption = 100;
const maxOptions = 23;
const maxParagraph = 4000;
const maxFormFields = 5;
/** What every kind takes. */
const commonOptions: readonly OptionSpec[] = [
  { name: "priority", kind: "text" },
  { name: "urgent", kind: "boolean" },
];
const commonFields: Readonly<Record<string, FieldSpec>> = {
  summary: { name: "summary", kind: "paragraph" },
  evidence: { name: "evidence", kind: "paragraph", max: maxParagraph },
};
const hyphened = (field: string): string => field.replaceAll("_", "-");

/** Every kind of request, as `/request` files it: options, minima, maxima and choices come from the schema of its payload. */
const filings: readonly Filing[] = workflowKinds.map(filingOf);

function filingOf(type: WorkflowKind): Filing {
  const { payload, filing, assumed = {} } = kinds[type];
  const { $defs = {}, required = [], ...top } = schemaAtTop(payload) as FieldSchema & { required?: readonly string[] };

  const resolved = (schema: FieldSchema = {}) => resolve(schema, $defs);
  const schemaOf = (path: string): FieldSchema & { of?: string } =>
    resolved(
      path
        .split(".")
        .reduce<FieldSchema>((schema, part) => (/^\d+$/.test(part) ? schema.items : resolved(schema).properties?.[part]) ?? {}, top),
    );
  const isLong = (field: string): boolean => schemaOf(field).type === "string" && (schemaOf(field).maxLength ?? 0) > maxOption;
  const isSimple = (field: string): boolean => {
    const { type: of, items } = schemaOf(field);
    return of !== "object" && (of !== "array" || resolved(items).type === "string");
  };
  const fields = Object.keys(top.properties ?? {}).toSorted((a, b) => Number(required.includes(b)) - Number(required.includes(a)));
  const {
    path = type,
    options,
    form,
    fields: further,
  } = filing ?? {
    options: fields.filter((field) => isSimple(field) && !isLong(field)).slice(0, maxOptions),
    form: [...fields.filter(isLong).slice(0, maxFormFields - 2), "summary", "evidence"],
  };
  const asks = form.map((one) => (typeof one === "string" ? { name: hyphened(one), field: one } : one));
  const asked = options.map((option): FilingOption => (typeof option === "string" ? { field: option } : option));
  const fieldsOf = ({ field }: FilingOption): readonly string[] => (typeof field === "string" ? [field] : field);
  const nameOf = (option: FilingOption): string => option.name ?? hyphened(fieldsOf(option)[0] ?? "");

  function optionOf(option: FilingOption): OptionSpec {
    const [field = ""] = fieldsOf(option);
    const isRequired = option.required ?? (required.includes(field) && assumed[field] === undefined);
    const { completes, isPast, max } = option;
    const time = option.time ?? timeOf(payload.shape, field, isPast === true);
    const spec = { name: nameOf(option), ...valueOf(option.as, field), ...(max !== undefined && { max }) };
    return {
      ...spec,
      ...(time !== undefined && { time }),
      ...(completes !== undefined && { completes }),
      ...(isRequired && { required: true }),
    };
  }

  function valueOf(as: FilingOption["as"], field: string): Omit<OptionSpec, "name"> {
    const schema = schemaOf(field);
    const { of, type: what } = schema;
    if (as === "server" || (of === "Snowflake" && field.includes("server"))) return { kind: "text", min: 17, max: 20 };
    if (as === "user" || of === "Snowflake") return { kind: "user" };
    if (as === "boolean" || what === "boolean") return { kind: "boolean" };
    if (what === "array") return { kind: "text", max: 500 };
    if (what === "integer") return { kind: "integer", ...boundsOf(schema) };
    return { kind: "text", ...(schema.enum === undefined && { max: maxOption }), ...boundsOf(schema) };
  }

  function fieldOf({ name, field }: { name: string; field: string }): FieldSpec {
    const { minLength: min = 0, maxLength = maxParagraph } = schemaOf(field);
    const isRequired = required.includes(field.split(".")[0] ?? "");
    return (
      commonFields[name] ?? {
        name,
        kind: "paragraph",
        max: Math.min(maxLength, maxParagraph),
        ...(min > 1 && { min }),
        ...(isRequired && { required: true }),
      }
    );
  }

  function read(given: CommandInput, name: string, field: string): unknown {
    const { of, type: what } = schemaOf(field);
    if (name === serversOption && Array.isArray(given.values[name]))
      return given.values[name].length === 0 ? undefined : given.values[name];
    const text = textIn(given, name);
    if (text === undefined) return undefined;
    if (what === "array") return text.split(/[\s,]+/).filter((id) => id !== "");
    return of === "Duration" ? durationIn(given, name).duration : given.values[name];
  }

  const filled = [
    ...asked.flatMap((option) => fieldsOf(option).map((field) => ({ name: nameOf(option), field }))),
    ...asks.filter(({ name }) => commonFields[name] === undefined),
  ];
  return {
    path,
    operation: filingOperation(type),
    options: [...asked.map(optionOf), ...commonOptions],
    form: asks.map(fieldOf),
    fields(given) {
      const body = {};
      for (const { name, field } of filled) write(body, field.split("."), read(given, name, field));
      return { ...body, ...further?.(given.values) };
    },
  };
}

/** Puts a value into an object, making what stands on the way; a list takes what it lacks. */
function write(into: Record<string, unknown> | unknown[], [part = "", ...rest]: readonly string[], value: unknown): void {
  if (value === undefined) return;
  const target = into as Record<string, unknown>;
  const found = target[part];
  if (rest.length > 0) write((target[part] ??= /^\d+$/.test(rest[0] ?? "") ? [] : {}) as Record<string, unknown>, rest, value);
  else target[part] = Array.isArray(value) ? [...new Set([...((found as unknown[] | undefined) ?? []), ...(value as unknown[])])] : value;
}

/** The body of a filing: its own fields, and what every kind takes. */
function filingBody({ fields }: Pick<Filing, "fields">, given: CommandInput, guildId: string | undefined): object {
  const lines = linesOf(textIn(given, "evidence"));
  return {
    ...picked(given, "reason", "summary", "priority", "urgent"),
    ...fields(given),
    ...picked(given, everywhereValue),
    ...(lines.length > 0 && { evidence: lines }),
    ...(given.channel !== undefined && { origin: { channel_id: given.channel, guild_id: guildId } }),
  };
}

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
