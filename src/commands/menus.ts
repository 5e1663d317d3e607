import type { VerbInput, Verbs } from "./verbs.ts";
import { SnowflakeUtil } from "discord.js";
import type { CaseView } from "../features/cases/cases.schema.ts";
import { escapeText } from "../discord/replies.ts";
import { annotated } from "../operations/route.ts";
import type { Call } from "../kernel/call.ts";
import { fieldError, ProblemError } from "../kernel/errors.ts";
import { caseReply } from "./case-words.ts";
import type { Entry, Given, MenuSpec, MenuTarget, Reply, Wording } from "./entry.ts";
import { type Piece, pieceLine } from "./gallery.ts";
import { picked, textIn } from "./given.ts";
import { requestEntries } from "./request.ts";

const command = "menu";
const newCase = "new-case";
const defaultTitle = "Evidence from Discord";

/** Which route keeps a piece of evidence, by how its record is called; anything else is a request. */
const places = [
  { of: /^(case-|[0-9a-f]{8}-)/i, operation: "addCaseEvidence" },
  { of: /^bl-/i, operation: "addBlacklistEvidence" },
] as const;
const requestPlace = "addWorkflowEvidence";
const casePlace = "createCase";

const recordOf = (given: Given) => textIn(given, "record")?.trim() ?? "";
const isNew = (given: Given) => textIn(given, "where") === newCase;
const placeOf = (given: Given) => places.find(({ of }) => of.test(recordOf(given)))?.operation ?? requestPlace;
const operationOf = (given: Given) => (isNew(given) ? casePlace : placeOf(given));

/** Operations that an entry may lead to by what was given, for entries that choose. */
export const chosenOperations: Readonly<Record<string, readonly string[]>> = {
  "menu evidence": [casePlace, requestPlace, ...places.map(({ operation }) => operation)],
};

/** The message as the service is to fetch it itself. */
function messageBody(given: Given) {
  const message = { channel_id: textIn(given, "channel-id"), message_id: textIn(given, "message-id") };
  return { kind: "message", ...picked(given, "note"), message };
}

async function locateRecord(given: Given, call: Call, verbs: Verbs): Promise<Given["values"]> {
  if (isNew(given)) {
    if (textIn(given, "author") === undefined)
      throw fieldError("/where", "invalid_value", "A web-hook wrote this, which is nobody's account. Name a record to keep it with.");
    return {};
  }
  if (recordOf(given) === "") throw fieldError("/record", "required", "Name the case, the blacklist record or the request.");
  if (placeOf(given) !== requestPlace) return {};
  // A request that is not there is told by the route, in the same words as one that is hidden.
  return { type: (await verbs.requests.kindOf(recordOf(given), call)) ?? "poach" };
}

function saveInput(given: Given): VerbInput {
  if (isNew(given)) {
    const subjects = [{ kind: "user", id: textIn(given, "author") }];
    return { body: { title: textIn(given, "title") ?? defaultTitle, subjects } };
  }
  const about = { ...messageBody(given), ...picked(given, "title") };
  if (placeOf(given) !== requestPlace) return { params: { id: recordOf(given) }, body: about };
  return { params: { type: textIn(given, "type") ?? "", website_id: recordOf(given) }, body: about };
}

/** A piece that is kept beside what was just made; in words where that failed, for what was made stays. */
async function keepBeside(operation: string, params: VerbInput["params"], { say, call, given }: Wording, verbs: Verbs): Promise<string> {
  try {
    const input = { ...(params !== undefined && { params }), body: messageBody(given) };
    return pieceLine(annotated(await verbs.run(operation, call, input)).view as Piece, say);
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    const why = error.errors?.map(({ detail }) => detail).join(" ") ?? error.detail ?? "";
    return say("menu message-lost", { code: error.code, detail: escapeText(why) });
  }
}

async function saved(view: CaseView | Piece, wording: Wording, verbs: Verbs): Promise<Reply> {
  const { say } = wording;
  if (!("number" in view)) return { content: say("evidence kept"), embeds: [{ description: pieceLine(view, say) }] };
  const line = await keepBeside("addCaseEvidence", { id: view.number }, wording, verbs);
  return { ...caseReply(view, wording), content: `${say("menu case-opened", { number: view.number })}\n${line}` };
}

/** The entry of `/request` that a menu is a short way to. */
function filing(path: string): Entry {
  const found = requestEntries.find((entry) => entry.path === path);
  if (found === undefined) throw new Error(`there is no command request ${path}`);
  return found;
}

const punishment = filing("punishment");
const poach = filing("poach");
const actions = punishment.options?.find(({ name }) => name === "action")?.choices ?? [];
const methods = poach.options?.find(({ name }) => name === "method")?.choices ?? [];
const reason = { name: "reason", kind: "paragraph", required: true, min: 10, max: 1000 } as const;
const evidence = { name: "evidence", kind: "paragraph", max: 4000 } as const;

/** The report is filed, and the message kept with it as the service itself sees it. */
async function reported(view: { reference: string }, wording: Wording, verbs: Verbs): Promise<Reply> {
  const filed = (await poach.show?.(view as never, wording, verbs)) ?? { content: view.reference };
  const line = await keepBeside(requestPlace, { type: "poach", website_id: view.reference }, wording, verbs);
  return { ...filed, content: `${filed.content}\n${line}` };
}

/** What only menus lead to: the form asks for what an option would. */
export const recordMenuEntries: readonly Entry[] = [
  {
    ...punishment,
    command,
    path: "punishment",
    options: [],
    form: [
      { name: "action", kind: "choice", required: true, choices: actions },
      reason,
      { name: "summary", kind: "paragraph", max: 2000 },
      evidence,
    ],
  },
  {
    ...poach,
    command,
    path: "poach",
    options: [],
    form: [
      { name: "offending-server", kind: "line", required: true, min: 17, max: 20 },
      { name: "victim-server", kind: "line", required: true, min: 17, max: 20 },
      { name: "method", kind: "choice", choices: methods },
      reason,
      evidence,
    ],
    show: reported,
  },
  {
    command,
    path: "evidence",
    operation: "addCaseEvidence",
    operationFor: operationOf,
    form: [
      { name: "where", kind: "choice", required: true, choices: ["record", newCase] },
      { name: "record", kind: "line", max: 64 },
      { name: "title", kind: "line", max: 120 },
      { name: "note", kind: "paragraph", max: 4000 },
    ],
    locate: locateRecord,
    input: saveInput,
    show: saved,
  },
];

const personMenu = (name: string, entry: string, option = "user"): MenuSpec => ({
  name,
  kind: "person",
  entry,
  values: ({ user = "" }) => ({ [option]: user }),
});

function messageValues({ user, message }: MenuTarget): Given["values"] {
  if (message === undefined) return {};
  return { ...(user !== undefined && { author: user }), "message-id": message.id, "channel-id": message.channel };
}

/** @throws ProblemError validation_failed for a web-hook */
function offenderOf({ user }: MenuTarget): string {
  if (user === undefined)
    throw fieldError(
      "/offender",
      "invalid_value",
      "A web-hook wrote this, which is nobody's account. Use /request poach for the offender.",
    );
  return user;
}

/** When a message was sent: its id begins with that. */
function sentAt(id: string): string {
  return new Date(SnowflakeUtil.timestampFrom(id)).toISOString();
}

export const recordMenus: readonly MenuSpec[] = [
  personMenu("Intel profile", "intel profile"),
  personMenu("Blacklist check", "blacklist check", "ids"),
  personMenu("Case timeline", "case timeline"),
  personMenu("Request punishment", "menu punishment"),
  { name: "Save as evidence", kind: "message", entry: "menu evidence", values: messageValues },
  {
    name: "Report poaching",
    kind: "message",
    entry: "menu poach",
    values: (target) => ({
      ...messageValues(target),
      kind: "report",
      offender: offenderOf(target),
      ...(target.message !== undefined && {
        "victim-server": target.message.guild,
        occurred: sentAt(target.message.id),
        evidence: `https://discord.com/channels/${target.message.guild}/${target.message.channel}/${target.message.id}`,
      }),
    }),
  },
];
