import { say } from "../../../kit/say.ts";
import type { Entry, CommandInput, MenuSpec, Reply, Wording } from "../../../commands/entry.ts";
import { type Piece, pieceLine } from "../../../commands/gallery.ts";
import { picked, textIn } from "../../../commands/input.ts";
import { keepBeside, messageBody, messageValues } from "../../../commands/messages.ts";
import type { VerbInput, Verbs } from "../../../commands/verbs.ts";
import type { Call } from "../../../kernel/call.ts";
import { fieldError } from "../../../kernel/errors.ts";
import type { CaseView } from "../cases.schema.ts";
import { caseReply } from "./replies.ts";

const newCase = "new-case";
const defaultTitle = "Evidence from Discord";

/** Which route keeps a piece of evidence, by how its record is called; anything else is a request. */
const places = [
  { of: /^(case-|[0-9a-f]{8}-)/i, operation: "addCaseEvidence" },
  { of: /^bl-/i, operation: "addBlacklistEvidence" },
] as const;
const requestPlace = "addWorkflowEvidence";
const casePlace = "createCase";

const recordOf = (given: CommandInput) => textIn(given, "record")?.trim() ?? "";
const isNew = (given: CommandInput) => textIn(given, "where") === newCase;
const placeOf = (given: CommandInput) => places.find(({ of }) => of.test(recordOf(given)))?.operation ?? requestPlace;
const operationOf = (given: CommandInput) => (isNew(given) ? casePlace : placeOf(given));

async function locateRecord(given: CommandInput, call: Call, verbs: Verbs): Promise<CommandInput["values"]> {
  if (isNew(given)) {
    if (textIn(given, "author") === undefined) throw fieldError("/where", "invalid_value", say("cases.a-web-hook-wrote-this-which-is"));
    return {};
  }
  if (recordOf(given) === "") throw fieldError("/record", "required", say("cases.name-the-case-the-blacklist-record-or"));
  if (placeOf(given) !== requestPlace) return {};
  // A request that is not there is told by the route, in the same words as one that is hidden.
  return { type: (await verbs.requests.kindOf(recordOf(given), call)) ?? "poach" };
}

function saveInput(given: CommandInput): VerbInput {
  if (isNew(given)) {
    const subjects = [{ kind: "user", id: textIn(given, "author") }];
    return { body: { title: textIn(given, "title") ?? defaultTitle, subjects } };
  }
  const about = { ...messageBody(given), ...picked(given, "title") };
  if (placeOf(given) !== requestPlace) return { params: { id: recordOf(given) }, body: about };
  return { params: { type: textIn(given, "type") ?? "", website_id: recordOf(given) }, body: about };
}

async function saved(view: CaseView | Piece, wording: Wording, verbs: Verbs): Promise<Reply> {
  const { t } = wording;
  if (!("number" in view)) return { content: t("evidence kept"), embeds: [{ description: pieceLine(view, t) }] };
  const line = await keepBeside("addCaseEvidence", { id: view.number }, wording, verbs);
  return { ...caseReply(view, wording), content: `${t("menu case-opened", { number: view.number })}\n${line}` };
}

/** "Save as evidence": a message is kept with a record, or with a new case. */
export const evidenceMenu: MenuSpec = { name: "Save as evidence", kind: "message", entry: "menu evidence", values: messageValues };
export const evidenceEntry: Entry = {
  command: "menu",
  path: "evidence",
  operation: "addCaseEvidence",
  operationFor: operationOf,
  operations: [casePlace, requestPlace, ...places.map(({ operation }) => operation)],
  form: [
    { name: "where", kind: "choice", required: true, choices: ["record", newCase] },
    { name: "record", kind: "line", max: 64 },
    { name: "title", kind: "line" },
    { name: "note", kind: "paragraph" },
  ],
  locate: locateRecord,
  input: saveInput,
  show: saved,
};
