import { actionKinds, type StrikesNotes } from "../actions/actions.schema.ts";
import type { CaseView } from "../cases.schema.ts";
import { escapeText } from "../../../discord/replies.ts";
import type { TemplateView } from "../templates/templates.ts";
import type { NoteView } from "../notes/notes.schema.ts";
import type { Call } from "../../../kernel/call.ts";
import { recordNotFound } from "../../../kernel/errors.ts";
import type { Page } from "../../../kernel/page.ts";
import { caseNotesPress, caseOption } from "./replies.ts";
import type { Entry, CommandInput, OptionSpec, PickSpec, Wording } from "../../../commands/entry.ts";
import { picked, textIn, durationIn } from "../../../commands/input.ts";
import { permissionText } from "../../../discord/sentence.ts";
import { parseDuration } from "../../../kernel/fields.ts";
import { numberIn, readOptional } from "../../../commands/records.ts";
import { enumLabel, cut, codeText, lineText, momentOf } from "../../../commands/show.ts";
import { askAboutSubjects, peopleIn } from "../../../commands/subject-question.ts";
import type { Verbs } from "../../../commands/verbs.ts";
import { lengthText } from "../../../commands/length-text.ts";

const command = "case";
const note: OptionSpec = { name: "note", kind: "text", required: true, completes: "case-note", max: 40 };
const action: OptionSpec = { name: "action", kind: "text", required: true, completes: "case-action", max: 40 };
const template: OptionSpec = { name: "template", kind: "text", required: true, completes: "case-template", max: 40 };
const body = { name: "text", max: 4000 } as const;

const at = (given: CommandInput) => ({ id: textIn(given, "case") ?? "" });
const noteAt = (given: CommandInput) => ({ ...at(given), note_id: textIn(given, "note") ?? "" });
const textOf = (given: CommandInput) => ({ body: textIn(given, "text") });

interface Note {
  body: string;
  author?: string | null;
  changed_by?: string | null;
  created_at?: string;
  changed_at?: string;
}

function noteLine({ body: text, author, changed_by: by, created_at: made, changed_at: changed }: Note): string {
  const who = author ?? by;
  return `${momentOf(made ?? changed ?? "")} ${who === null || who === undefined ? "" : `<@${who}>`}\n${escapeText(cut(text, 300))}`;
}

/** The note as it reads now. @throws ProblemError record_not_found */
async function noteNow(given: CommandInput, call: Call, verbs: Verbs): Promise<CommandInput["values"]> {
  verbs.require("updateCaseNote", call, noteAt(given));
  const page = (await verbs.run("listCaseNotes", call, { params: at(given), query: { limit: 200 } })) as Page<NoteView>;
  const note = page.data.find(({ id }) => id === textIn(given, "note")?.trim().toLowerCase());
  if (note === undefined) throw recordNotFound();
  return { text: note.body };
}

/** Notes of a case. */
export const noteEntries: readonly Entry[] = [
  {
    command,
    path: "note",
    operation: "createCaseNote",
    options: [caseOption, { ...body, kind: "text" }],
    form: [{ ...body, kind: "paragraph", required: true }],
    input: (given) => ({ params: at(given), body: textOf(given) }),
  },
  {
    command,
    path: "notes",
    operation: "listCaseNotes",
    options: [caseOption],
    input: (given) => ({ params: at(given) }),
    line: noteLine,
    press: caseNotesPress,
  },
  {
    command,
    path: "note-edit",
    operation: "updateCaseNote",
    options: [caseOption, note, { ...body, kind: "text" }],
    form: [{ ...body, kind: "paragraph", required: true }],
    fills: noteNow,
    input: (given) => ({ params: noteAt(given), body: textOf(given) }),
  },
  {
    command,
    path: "note-history",
    operation: "listCaseNoteHistory",
    options: [caseOption, note],
    input: (given) => ({ params: noteAt(given) }),
    line: noteLine,
  },
];

interface Action {
  kind: string;
  user_id: string;
  points: number;
  reason: string;
  at: string;
  by: string | null;
  in_force: boolean;
  case_number: string;
}

/** Whom it would stand against, and what is known of them. */
async function asksToAct(wording: Wording, verbs: Verbs): Promise<string> {
  const named = peopleIn(wording.given, "user");
  const view = named.length > 0 ? undefined : await readOptional<CaseView>(verbs, "getCase", wording, { params: at(wording.given) });
  const subjects = (view?.subjects ?? []).filter(({ kind }) => kind === "user");
  return await askAboutSubjects("case action ask", named.length > 0 ? named : subjects, wording, verbs);
}

/** What was done about somebody, as one line. */
function actionLine(view: Action, { t }: Pick<Wording, "t">): string {
  const facts = [
    `<@${view.user_id}>`,
    momentOf(view.at, "R"),
    t("case points", { points: view.points }),
    lineText(cut(view.reason, 150)),
    view.case_number,
    view.in_force ? undefined : t("case not in force"),
    view.by === null ? undefined : `– <@${view.by}>`,
  ];
  return [`**${enumLabel(view.kind, t) ?? view.kind}**`, ...facts.filter((fact) => fact !== undefined)].join(" · ");
}

/** What was done about people in a case. */
export const actionEntries: readonly Entry[] = [
  {
    command,
    path: "action",
    operation: "recordCaseAction",
    options: [
      caseOption,
      { name: "kind", kind: "text", required: true, choices: actionKinds },
      { name: "user", kind: "user" },
      { name: "points", kind: "integer" },
      { name: "duration", kind: "text" },
      { name: "reason", kind: "text" },
    ],
    form: [{ name: "reason", kind: "paragraph", required: true }],
    input: (given) => ({
      params: at(given),
      body: { ...picked(given, "kind", "points", "reason"), ...durationIn(given), user_id: textIn(given, "user") },
    }),
    asks: asksToAct,
  },
  {
    command,
    path: "actions",
    operation: "listCaseActions",
    options: [caseOption],
    input: (given) => ({ params: at(given) }),
    line: actionLine,
  },
  {
    command,
    path: "void",
    operation: "voidCaseAction",
    options: [caseOption, action, { name: "reason", kind: "text" }],
    form: [{ name: "reason", kind: "paragraph", required: true }],
    input: (given) => ({ params: { ...at(given), action_id: textIn(given, "action") ?? "" }, body: picked(given, "reason") }),
  },
];

const opensTemplate: PickSpec = {
  press: { name: "cm", carries: [template] },
  placeholder: "case template pick",
  of: ({ key, title }: TemplateView) => ({ value: key, label: title ?? key }),
};

/** A template as one line: what a case begins with. */
function templateLine({ key, title, type, priority, due, points }: TemplateView, { t }: Wording): string {
  const length = due === undefined ? undefined : parseDuration(due);
  const facts = [
    title === undefined ? undefined : lineText(title),
    enumLabel(type, t),
    priority === undefined ? undefined : t("case priority", { priority: enumLabel(priority, t) }),
    length === undefined ? undefined : t("case template due", { length: lengthText(length, t) }),
    points === undefined ? undefined : t("case template points", { points }),
  ];
  return [codeText(key), ...facts.filter((fact) => fact !== undefined)].join(" · ");
}

const templateAt = (given: CommandInput) => ({ key: textIn(given, "template") ?? "" });
const labelsOf = (given: CommandInput) =>
  textIn(given, "labels")
    ?.split(",")
    .map((label) => label.trim())
    .filter((label) => label !== "");

/** What no option says stays as it is. */
async function policiesNow(given: CommandInput, call: Call, verbs: Verbs): Promise<CommandInput["values"]> {
  verbs.require("putCaseTemplate", call, templateAt(given));
  const view = await readOptional<TemplateView>(verbs, "getCaseTemplate", { call }, { params: templateAt(given) });
  return view?.policies === undefined ? {} : { policies: view.policies };
}

/** What cases can begin with. */
export const templateEntries: readonly Entry[] = [
  {
    command,
    path: "template list",
    operation: "listCaseTemplates",
    input: () => ({}),
    line: templateLine,
    picks: [opensTemplate],
  },
  {
    command,
    path: "template show",
    operation: "getCaseTemplate",
    options: [template],
    input: (given) => ({ params: templateAt(given) }),
    press: opensTemplate.press,
  },
  {
    command,
    path: "template put",
    operation: "putCaseTemplate",
    options: [
      template,
      { name: "title", kind: "text" },
      { name: "type", kind: "text" },
      { name: "priority", kind: "text" },
      { name: "labels", kind: "text", max: 1000 },
      { name: "due", kind: "text" },
      { name: "points", kind: "integer" },
      { name: "revision", kind: "integer", min: 1 },
    ],
    locate: policiesNow,
    input: (given) => ({
      params: templateAt(given),
      revision: numberIn(given, "revision"),
      body: { ...picked(given, "title", "type", "priority", "due", "points", "policies"), labels: labelsOf(given) },
    }),
  },
  {
    command,
    path: "template delete",
    operation: "deleteCaseTemplate",
    options: [template],
    input: (given) => ({ params: templateAt(given) }),
    asks: ({ t, given }) => t("case template delete ask", { template: escapeText(templateAt(given).key) }),
  },
];

/** What the ledger of strikes sums up to. */
function strikesNote(notes: StrikesNotes, { t }: Wording): string {
  const { withheld, points_in_force: points = 0, points_total: total = 0, next_threshold: next } = notes;
  if (withheld !== undefined) return t("intel strikes withheld", { permission: permissionText(withheld, t) ?? escapeText(withheld) });
  const ahead =
    next === null || next === undefined ? "" : t("intel strikes next", { points: next.points, action: enumLabel(next.action, t) });
  return `${t("intel strikes sum", { points, total })} ${ahead}`.trim();
}

/** What stands against somebody, beside the rest that is known of them. */
export const strikeEntries: readonly Entry[] = [
  {
    command: "intel",
    path: "strikes",
    operation: "listUserStrikes",
    options: [
      { name: "user", kind: "user", required: true },
      { name: "alts", kind: "boolean" },
    ],
    input: (given) => ({ params: { discord_user_id: textIn(given, "user") ?? "" }, query: { include_alts: textIn(given, "alts") } }),
    line: actionLine,
    note: strikesNote,
  },
];
