import { plainSentence, say } from "../../kit/say.ts";
import type { CommandSet, Entry, FieldSpec, CommandInput, OptionSpec, PickSpec, Wording } from "../../commands/entry.ts";
import { numbered, within } from "../../commands/sources.ts";
import { pieceName } from "../../commands/gallery.ts";
import type { ActionView } from "./actions/actions.schema.ts";
import type { NoteView } from "./notes/notes.schema.ts";
import type { TemplateView } from "./templates/templates.ts";
import { strikeEntries, actionEntries, noteEntries, templateEntries } from "./commands/parts.ts";
import { evidenceEntry, evidenceMenu } from "./commands/evidence-menu.ts";
import { nativeCaseEntry } from "./commands/native-case.ts";
import { timelineEntries } from "./commands/person-timeline.ts";
import { outcomes } from "./outcomes.ts";
import type { CaseView } from "./cases.schema.ts";
import type { CaseTimelineEntryView } from "./timeline.ts";
import { fieldError } from "../../kernel/errors.ts";
import { caseFilesPress, caseHistoryPress, caseOption, caseShowPress, caseLine, caseReply } from "./commands/replies.ts";
import type { CommandKit } from "../../compose.ts";
import { picked, textIn } from "../../commands/input.ts";
import { idsIn, numberIn, pickedQuery, type Query, readOptional, subjectIn } from "../../commands/records.ts";
import { enumLabel, lineText, momentOf } from "../../commands/show.ts";
import { escapeText } from "../../discord/replies.ts";
import { sentenceText } from "../../discord/sentence.ts";
import type { Verbs } from "../../commands/verbs.ts";

const command = "case";
const inCase = (given: CommandInput) => ({ id: textIn(given, "case") ?? "" });
const revision: OptionSpec = { name: "revision", kind: "integer", min: 1 };
const type: OptionSpec = { name: "type", kind: "text" };
const priority: OptionSpec = { name: "priority", kind: "text" };
const lead: OptionSpec = { name: "lead", kind: "user" };
const title: OptionSpec = { name: "title", kind: "text" };
const listed = (name: string): OptionSpec => ({ name, kind: "text", max: 1000 });
const yes = (name: string): OptionSpec => ({ name, kind: "boolean" });
const reason: OptionSpec = { name: "reason", kind: "text" };
const reasonForm: readonly FieldSpec[] = [{ name: "reason", kind: "paragraph", required: true }];
const opensCase: PickSpec = {
  press: caseShowPress,
  placeholder: "case pick",
  of: (view: CaseView, { t }) => ({ value: view.number, label: `${view.number} ${plainSentence(view.title, t)}` }),
};

const at = (given: CommandInput) => ({ id: textIn(given, "case") ?? "" });
const words = (given: CommandInput, name: string): string[] | undefined =>
  textIn(given, name)
    ?.split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
const flag = (given: CommandInput, name: string) => (given.values[name] === undefined ? undefined : String(given.values[name]));
const show = (view: CaseView, wording: Wording) => caseReply(view, wording);

/** People and servers a case is about, from an option for one person and two for ids. */
function subjectsOf(given: CommandInput): { kind: "user" | "server"; id: string }[] {
  const people = [...new Set([...idsIn(textIn(given, "user")), ...idsIn(textIn(given, "users"))])];
  const servers = idsIn(textIn(given, "servers"));
  return [...people.map((id) => ({ kind: "user" as const, id })), ...servers.map((id) => ({ kind: "server" as const, id }))];
}

/** What opening and changing take alike. */
function fieldsOf(given: CommandInput): Record<string, unknown> {
  const subjects = subjectsOf(given);
  const team = textIn(given, "team");
  return {
    ...picked(given, "title", "type", "priority", "lead", "confidential"),
    labels: words(given, "labels"),
    ...(team !== undefined && { team: idsIn(team) }),
    ...(subjects.length > 0 && { subjects }),
  };
}

function filtersOf(given: CommandInput): Query {
  const text = pickedQuery(given, "status", "type", "priority", "label", "subject", "lead", "q", "sort");
  return {
    ...text,
    ...(given.values["mine"] === true && { member: "@me" }),
    overdue: flag(given, "overdue"),
    include_alts: flag(given, "alts"),
    deleted: flag(given, "deleted"),
  };
}

/** The id of the link with a record. @throws ProblemError record_not_found for the case; validation_failed when there is no such link */
async function linkWith(given: CommandInput, call: Wording["call"], verbs: Verbs): Promise<CommandInput["values"]> {
  const reference = (textIn(given, "reference") ?? "").toUpperCase();
  const view = await readOptional<CaseView>(verbs, "getCase", { call }, { params: at(given) });
  const found = view?.links.find((link) => link.reference.toUpperCase() === reference);
  if (view !== undefined && found === undefined) throw fieldError("/reference", "not_found", say("cases.the-case-has-no-link-with-this"));
  return { link: found?.id ?? "00000000-0000-0000-0000-000000000000" };
}

/** Who is named anew takes the place of whom the case was about, and leaves its servers; so the other way round. */
async function subjectsNow(given: CommandInput, call: Wording["call"], verbs: Verbs): Promise<CommandInput["values"]> {
  const [people, servers] = [textIn(given, "users"), textIn(given, "servers")];
  if ((people === undefined) === (servers === undefined)) return {};
  verbs.require("updateCase", call, at(given));
  const view = await readOptional<CaseView>(verbs, "getCase", { call }, { params: at(given) });
  const [name, kind] = people === undefined ? (["users", "user"] as const) : (["servers", "server"] as const);
  const stay = view?.subjects.filter((subject) => subject.kind === kind).map(({ id }) => id) ?? [];
  if (view === undefined || stay.length === 0) return {};
  return { [name]: stay.join(" "), revision: numberIn(given, "revision") ?? view.revision };
}

/** What is asked where a case is changed with nothing but a reason. */
const withReason = {
  options: [caseOption, reason, revision],
  form: reasonForm,
  input: (given) => ({ params: at(given), revision: numberIn(given, "revision"), body: picked(given, "reason") }),
} satisfies Pick<Entry, "options" | "form" | "input">;

const lifeEntries: readonly Entry[] = [
  {
    command,
    path: "close",
    operation: "closeCase",
    options: [
      caseOption,
      { name: "outcome", kind: "text", required: true, choices: [...new Set(Object.values(outcomes).flat())] },
      reason,
      revision,
    ],
    form: [{ name: "reason", kind: "paragraph" }],
    input: (given) => ({ params: at(given), revision: numberIn(given, "revision"), body: picked(given, "outcome", "reason") }),
    show,
  },
  {
    command,
    path: "reopen",
    operation: "reopenCase",
    ...withReason,
    show,
  },
  {
    command,
    path: "delete",
    operation: "deleteCase",
    ...withReason,
    async asks(wording, verbs) {
      const { t, given } = wording;
      const ask = t("case delete ask", { number: escapeText(at(given).id.toUpperCase()) });
      const view = await readOptional<CaseView>(verbs, "getCase", wording, { params: at(given) });
      if (view === undefined) return ask;
      return { content: `${ask}\n${caseLine(view, wording)}`, about: { revision: numberIn(given, "revision") ?? view.revision } };
    },
    show,
  },
  { command, path: "restore", operation: "restoreCase", options: [caseOption], input: (given) => ({ params: at(given) }), show },
  {
    command,
    path: "link",
    operation: "createCaseLink",
    options: [caseOption, { name: "reference", kind: "text", required: true, min: 3, max: 60 }, { name: "rel", kind: "text" }],
    input: (given) => ({ params: at(given), body: { rel: "related", ...picked(given, "rel", "reference") } }),
  },
  {
    command,
    path: "unlink",
    operation: "deleteCaseLink",
    options: [caseOption, { name: "reference", kind: "text", required: true, min: 3, max: 60 }],
    locate: linkWith,
    input: (given) => ({ params: { ...at(given), link_id: textIn(given, "link") ?? "" } }),
  },
  {
    command,
    path: "history",
    operation: "listCaseTimeline",
    options: [caseOption],
    input: (given) => ({ params: at(given) }),
    line: ({ at: then, summary, actor_id: by, reason: why }: CaseTimelineEntryView, { t }) =>
      [momentOf(then, "R"), sentenceText(summary, t), by === undefined ? "" : `<@${by}>`, lineText(why ?? "")]
        .filter((part) => part !== "")
        .join(" · "),
    press: caseHistoryPress,
  },
];

/** `/case`: what is looked into, and all that belongs to it. */
const caseEntries = ({ evidenceEntries }: CommandKit): readonly Entry[] => [
  {
    command,
    path: "open",
    operation: "createCase",
    options: [
      { name: "user", kind: "user" },
      title,
      type,
      priority,
      { ...listed("users"), orPick: "user" },
      listed("servers"),
      lead,
      listed("team"),
      listed("labels"),
      yes("confidential"),
      { name: "due", kind: "text" },
      { name: "template", kind: "text", completes: "case-template", max: 40 },
    ],
    input: (given) => ({ body: { subjects: [], ...fieldsOf(given), ...picked(given, "due", "template") } }),
    show,
  },
  {
    command,
    path: "show",
    operation: "getCase",
    options: [caseOption],
    input: (given) => ({ params: at(given) }),
    show,
    press: caseShowPress,
  },
  {
    command,
    path: "list",
    operation: "listCases",
    options: [
      yes("mine"),
      { name: "status", kind: "text" },
      type,
      priority,
      lead,
      { name: "subject", kind: "text", max: 40 },
      yes("alts"),
      { name: "label", kind: "text" },
      yes("overdue"),
      { name: "q", kind: "text" },
      { name: "sort", kind: "text" },
      yes("deleted"),
    ],
    input: (given) => ({ query: { ...filtersOf(given), subject: subjectIn(given) } }),
    line: caseLine,
    picks: [opensCase],
  },
  {
    command,
    path: "edit",
    operation: "updateCase",
    options: [
      caseOption,
      revision,
      title,
      { name: "status", kind: "text" },
      type,
      priority,
      lead,
      listed("team"),
      listed("labels"),
      yes("confidential"),
      listed("users"),
      listed("servers"),
    ],
    locate: subjectsNow,
    input: (given) => ({
      params: at(given),
      revision: numberIn(given, "revision"),
      body: { ...fieldsOf(given), ...picked(given, "status") },
    }),
    show,
  },
  ...noteEntries,
  ...evidenceEntries({ command, record: caseOption, name: "Case", pieces: "case-evidence", press: caseFilesPress }),
  ...lifeEntries,
  ...actionEntries,
  ...templateEntries,
  ...timelineEntries,
];

/** What Discord offers of cases. */
export const caseCommands = (kit: CommandKit): CommandSet => ({
  entries: [...caseEntries(kit), ...strikeEntries],
  menus: [{ name: "Case timeline", kind: "user", entry: "case timeline", values: ({ user = "" }) => ({ user }) }, evidenceMenu],
  menuEntries: [evidenceEntry, nativeCaseEntry],
  sources: {
    case: numbered(
      "listCases",
      "getCase",
      /^case-?/i,
      ({ number, title, status }: CaseView, t) => `${number} · ${title} · ${enumLabel(status, t, "case")}`,
    ),
    "case-evidence": within("listCaseEvidence", inCase, pieceName),
    "case-note": within("listCaseNotes", inCase, ({ body, created_at: at }: NoteView) => `${at.slice(0, 10)} · ${body}`),
    "case-action": within(
      "listCaseActions",
      inCase,
      ({ kind, reason, at }: ActionView, t) => `${at.slice(0, 10)} · ${t(`= ${kind}`)} · ${reason}`,
    ),
    "case-template": within(
      "listCaseTemplates",
      () => ({}),
      ({ key, title }: TemplateView) => [key, title].filter(Boolean).join(" · "),
      "key",
    ),
  },
});
