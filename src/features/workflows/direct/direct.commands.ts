import type {
  CommandInput,
  Entry,
  FieldSpec,
  MenuSpec,
  OptionSpec,
  PressSpec,
  Reply,
  SourceSpec,
  TimeSpec,
  Wording,
} from "../../../commands/entry.ts";
import { durationIn, picked, textIn } from "../../../commands/input.ts";
import { lengthText } from "../../../commands/length-text.ts";
import { pressButton, rowOf } from "../../../commands/press.ts";
import { readView } from "../../../commands/records.ts";
import { cut, enumLabel, mentionOf } from "../../../commands/show.ts";
import { choiceLimit, holds } from "../../../commands/sources.ts";
import type { Translate } from "../../../kit/say.ts";
import type { Verbs } from "../../../commands/verbs.ts";
import { escapeText } from "../../../discord/replies.ts";
import { sentenceText } from "../../../discord/sentence.ts";
import type { Call } from "../../../kernel/call.ts";
import { parseDuration } from "../../../kernel/fields.ts";
import { reportOutcome, reportSeveral, type Settled } from "../commands/outcomes.ts";
import { effectLines, locateRequest, addressOf } from "../commands/replies.ts";
import { opensRequest, requestLine } from "../commands/review.ts";
import { linesOf } from "../commands/moves.ts";
import { deletionTime } from "../requests/fields.ts";
import type { WorkflowView } from "../requests/workflows.schema.ts";
import {
  actionSpecs,
  directActions,
  type DirectAction,
  type ModerationAnswer,
  type ReasonTemplate,
  type ReasonsView,
  type UndoAnswer,
} from "./direct.schema.ts";
import type { LookAnswer } from "./looking.schema.ts";

const operation = "moderate";
const user: OptionSpec = { name: "user", kind: "user", required: true };
const users: OptionSpec = { name: "users", kind: "text", max: 6000, orPick: "user" };
const reason: OptionSpec = { name: "reason", kind: "text", required: true, completes: "reason-template", max: 1000 };
const points: OptionSpec = { name: "points", kind: "integer" };
const deletion: OptionSpec = { name: "delete-messages", kind: "text", max: 40, time: deletionTime };
const silent: OptionSpec = { name: "notify-subject", kind: "boolean" };

/** The lengths that are offered before anything is typed. */
const usual: NonNullable<TimeSpec["usual"]> = [
  ["hour", 1],
  ["hour", 12],
  ["day", 1],
  ["day", 7],
  ["day", 28],
];
const maxTimeout = 28 * 86_400;
const isTimeout = (value: string): boolean => (parseDuration(value) ?? Infinity) <= maxTimeout;
const durations: Readonly<Record<"needed" | "optional", OptionSpec>> = {
  needed: { name: "duration", kind: "text", required: true, max: 40, time: { kind: "length", usual, accepts: isTimeout } },
  optional: { name: "duration", kind: "text", max: 40, time: { kind: "length", canBePermanent: true, usual } },
};

/** The command of each action. */
const commandOf: Readonly<Record<DirectAction, string>> = {
  warning: "warn",
  note: "note",
  timeout: "timeout",
  kick: "kick",
  ban: "ban",
  untimeout: "untimeout",
  unban: "unban",
};

/** The ids of people that were typed or mentioned, each once; what is no id stays as it was typed, for the route to refuse. */
function peopleIn(typed: string): string[] {
  const names = typed.replaceAll("><", "> <").split(/[\s,;]+/);
  return [...new Set(names.flatMap((name) => (name === "" ? [] : [name.replace(/^<@!?(\d+)>$/, "$1")])))];
}

/** What the route is sent: the server and the channel are those of the command. */
function inputOf(action: string, given: CommandInput, { guildId = "" }: Call) {
  const evidence = linesOf(textIn(given, "evidence"));
  const several = peopleIn(textIn(given, "users") ?? "");
  const [first] = several;
  const user = textIn(given, "user");
  // Of one person alone the reply says all that of a single one is said.
  const isOne = user === undefined && several.length === 1;
  const body = {
    action,
    user_id: isOne ? first : user,
    ...(several.length > 0 && !isOne && { user_ids: several }),
    ...picked(given, "reason", "points", "delete-messages", "notify-subject"),
    ...durationIn(given),
    ...(evidence.length > 0 && { evidence }),
    channel_id: given.channel,
  };
  return { params: { guild_id: guildId }, body };
}

function moderationEntry(action: DirectAction): Entry {
  const { length, hasPoints = false, isAnnounced = false } = actionSpecs[action];
  return {
    command: commandOf[action],
    path: "",
    operation,
    options: [
      ...(action === "ban" ? [] : [user]),
      ...(length === "needed" ? [durations.needed] : []),
      reason,
      ...(length === "optional" ? [durations.optional] : []),
      ...(hasPoints ? [points] : []),
      ...(action === "ban" ? [{ ...user, required: false }, users, deletion] : []),
      ...(isAnnounced ? [silent] : []),
    ],
    input: (given, call) => inputOf(action, given, call),
    show: (answer: ModerationAnswer, wording, verbs) => outcomeReply(action, answer, wording, verbs),
  };
}

/** What was done to whom and for how long, or why it waits and whom to ask; with a button to the request. */
async function outcomeReply(action: DirectAction, answer: ModerationAnswer, wording: Wording, verbs: Verbs): Promise<Reply> {
  const { t } = wording;
  const { reference, waits, deciders, id } = answer;
  const show = pressButton(opensRequest.press, { reference }, t("button show"));
  const undo = answer.undo_until === null ? [] : [pressButton(undoPress, { reference }, t("button undo"))];
  const reply = (lines: readonly string[]): Reply => ({ content: cut(lines.join("\n"), 1900), components: [rowOf(show, ...undo)] });
  if (answer.requests.length > 1)
    return await reportSeveral(answer.requests, (outcomes) => reply(severalLines(answer, outcomes, wording, verbs)), wording.call, verbs);
  if (waits === null) {
    const word = (effects: ModerationAnswer["effects"]): Reply => reply(doneLines(action, { ...answer, effects }, wording, verbs));
    return await reportOutcome({ id, type: "punishment", effects: answer.effects }, word, wording.call, verbs);
  }
  const people = deciders.map(mentionOf).join(", ");
  return reply([
    t("direct filed", { ...filledFrom(answer, wording, verbs), action: enumLabel(action, t) }),
    sentenceText(waits.detail, t),
    people === "" ? t("direct ask nobody") : t("direct ask", { people }),
  ]);
}

/** Whom it is about, where, for how long, and under which reference. */
function filledFrom({ reference, requests }: ModerationAnswer, { t, given, call }: Wording, verbs: Verbs) {
  const { duration } = durationIn(given);
  const length = typeof duration === "string" ? lengthText(parseDuration(duration) ?? 0, t) : undefined;
  return {
    user: mentionOf(requests[0]?.user_id ?? ""),
    server: serverText(call, verbs),
    reference: escapeText(reference),
    lasts: length === undefined ? "" : t("direct lasts", { length }),
    counts: length === undefined ? "" : t("direct counts", { length }),
  };
}

/** The name of the server that the command was given in. */
function serverText({ guildId = "" }: Call, verbs: Verbs): string {
  return escapeText(verbs.requests.servers().find(({ id }) => id === guildId)?.name ?? guildId);
}

/** The result in a line with whether the message arrived, and below what the bot could not do. Nothing is said to be done that Discord has not confirmed. */
function doneLines(action: DirectAction, answer: ModerationAnswer, wording: Wording, verbs: Verbs): string[] {
  const { t } = wording;
  const acts = answer.effects.filter(({ key }) => key === "discord.punish");
  const notice = answer.effects.find(({ key }) => key === "notice.subject");
  const state = stateOf(acts);
  const isDelivered = notice?.status === "done" && state !== "not";
  const message = isDelivered ? t("direct told") : "";
  // That it was so already is no failure.
  const sign = acts.some(({ status }) => status === "failed") ? "✗" : "–";
  const head = t(headKey(action, state), { ...filledFrom(answer, wording, verbs), message, sign });
  const reasons = state === "away" ? [] : acts.flatMap((act) => reasonLine(act, t));
  return [head, ...reasons, ...(notice === undefined || isDelivered ? [] : noticeLine(notice, answer.effects, t))];
}

type ActState = "done" | "doing" | "not" | "away";

/** The text of a result. A warning and a note do nothing in Discord, and only a timeout and its end wait for people. */
function headKey(action: DirectAction, state: ActState) {
  if (action === "warning" || action === "note") return `direct done ${action}` as const;
  if (state !== "away") return `direct ${state} ${action}` as const;
  return action === "untimeout" ? "direct away untimeout" : "direct away timeout";
}

const shownFailures = 10;

/** How many of several people were banned, and who was not. */
function severalLines(
  { requests, reference, left: out }: ModerationAnswer,
  outcomes: readonly Settled[],
  { t, call }: Wording,
  verbs: Verbs,
): string[] {
  const undone = outcomes.flatMap(({ not, ...one }) => (not === undefined ? [] : [{ ...one, ...not }]));
  const left = requests.length - outcomes.length;
  const [first, last] = [escapeText(reference), escapeText(requests.at(-1)?.reference ?? "")];
  const filled = { count: requests.length, left, first, last, server: serverText(call, verbs) };
  const ofAll = { ...filled, count: requests.length + (out?.user_ids.length ?? 0), done: requests.length - undone.length };
  const not = undone
    .slice(0, shownFailures)
    .map(({ userId, reference: name, why, isFailed }) =>
      t("direct several not", { sign: isFailed ? "✗" : "–", user: `<@${userId}>`, reference: escapeText(name), why: sentenceText(why, t) }),
    );
  return [
    left > 0 ? t("direct several doing", filled) : t("direct several done", ofAll),
    ...not,
    ...(undone.length > shownFailures ? [t("direct several more", { count: undone.length - shownFailures })] : []),
    ...(out === null ? [] : [leftLine(out, t)]),
  ];
}

/** Whom something went wrong before: the end of the list, so that its first one says which. */
function leftLine({ user_ids: userIds, detail }: NonNullable<ModerationAnswer["left"]>, t: Translate): string {
  return t("direct several left", { count: userIds.length, user: `<@${userIds[0] ?? ""}>`, why: sentenceText(detail, t) });
}

type Effect = ModerationAnswer["effects"][number];

/** How the acts in Discord stand together; a punishment that needs none is done. */
function stateOf(acts: readonly Effect[]): ActState {
  if (acts.some(({ status, due_at: due }) => status === "pending" && due !== null)) return "doing";
  if (acts.some(({ status }) => status === "pending")) return "away";
  return acts.length > 0 && acts.every(({ status, changed }) => status === "failed" || status === "skipped" || changed === false)
    ? "not"
    : "done";
}

/** Why an act was not done, or is not done yet. */
function reasonLine({ status, detail, error, changed }: Effect, t: Translate): string[] {
  if (error !== undefined) return [`${status === "failed" ? "✗" : "…"} ${sentenceText(error.detail, t)}`];
  return status === "skipped" || changed === false ? [`– ${sentenceText(detail, t)}`] : [];
}

/** Whether the message arrived; of one that announced what was not done, whether its correction did. */
function noticeLine({ status, error }: Effect, effects: readonly Effect[], t: Translate): string[] {
  if (status === "pending") return [t("direct telling")];
  if (status === "failed") return [t("direct not-told", { why: sentenceText(error?.detail ?? "", t) })];
  const correction = effects.find(({ key }) => key === "notice.subject.undo");
  if (status !== "done" || correction === undefined) return [];
  if (correction.status === "failed") return [t("direct not-corrected", { why: sentenceText(correction.error?.detail ?? "", t) })];
  return [t(correction.status === "done" ? "direct corrected" : "direct correcting")];
}

const undoPress: PressSpec = { name: "un", carries: [{ name: "reference", kind: "text" }] };

/** What was taken back, or why it was not and who may reverse it. */
async function undoReply(answer: UndoAnswer, { t, call }: Wording, verbs: Verbs): Promise<Reply> {
  const { id, reference: name, undone, refused, deciders, replayed } = answer;
  const reference = escapeText(name);
  const show = pressButton(opensRequest.press, { reference: name }, t("button show"));
  const reply = (lines: readonly string[]): Reply => ({ content: cut(lines.join("\n"), 1900), components: [rowOf(show)] });
  if (!undone) {
    const people = deciders.map(mentionOf).join(", ");
    return reply([
      t("direct not undone", { reference }),
      sentenceText(refused?.detail ?? "", t),
      people === "" ? t("direct undo nobody") : t("direct undo ask", { people }),
    ]);
  }
  const word = (effects: UndoAnswer["effects"]): Reply =>
    reply([t(undoneKey(effects, replayed === true), { reference }), ...effectLines(effects, t)]);
  return await reportOutcome({ id, type: "punishment", effects: answer.effects }, word, call, verbs);
}

/** The text of what was taken back, by what the bot could take back of it. */
function undoneKey(effects: UndoAnswer["effects"], isReplayed: boolean) {
  const acts = effects.filter(({ key }) => key === "discord.punish.undo");
  if (acts.some(({ status }) => status === "failed")) return "direct undone part";
  return acts.some(({ status }) => status === "pending") ? "direct undoing" : isReplayed ? "direct undone before" : "direct undone";
}

const lookPress: PressSpec = { name: "wl", carries: [{ name: "reference", kind: "text" }] };
const buttonsInRow = 5;

/** The buttons under a page of what somebody else should look at. */
function lookRows(views: readonly WorkflowView[], { t }: Wording) {
  const buttons = views.map(({ reference }) => pressButton(lookPress, { reference }, t("button looked", { reference }), "good"));
  return Array.from({ length: Math.ceil(buttons.length / buttonsInRow) }, (_, row) =>
    rowOf(...buttons.slice(row * buttonsInRow, (row + 1) * buttonsInRow)),
  );
}

const later: readonly Entry[] = [
  {
    command: "review",
    path: "later list",
    operation: "listWorkflows",
    input: () => ({ query: { review_later: "true", sort: "created_at" } }),
    line: requestLine,
    lines: 5,
    rows: lookRows,
    picks: [opensRequest],
  },
  {
    command: "review",
    path: "later looked",
    operation: "lookAtWorkflow",
    options: [{ name: "reference", kind: "text", required: true, completes: "review-later", max: 64 }],
    locate: locateRequest,
    input: (given) => ({ params: addressOf(given) }),
    show: ({ reference, replayed }: LookAnswer, { t }) => ({
      content: t(replayed === true ? "direct looked before" : "direct looked", { reference: escapeText(reference) }),
    }),
    press: lookPress,
  },
  {
    command: "review",
    path: "undo",
    operation: "undoModeration",
    options: [
      { name: "reference", kind: "text", required: true, completes: "own-request", max: 64 },
      { name: "reason", kind: "text", max: 1000 },
    ],
    locate: locateRequest,
    input: (given) => ({ params: addressOf(given), body: picked(given, "reason") }),
    show: undoReply,
    press: undoPress,
  },
];

/** Moderation in one step, and what somebody else has to look at afterwards. */
export const directEntries: readonly Entry[] = [...directActions.map(moderationEntry), ...later];

const form: readonly FieldSpec[] = [
  { name: "action", kind: "choice", required: true, choices: directActions },
  { name: "duration", kind: "line", max: 40, time: durations.optional.time ?? { kind: "length" } },
  { name: "reason", kind: "paragraph", required: true, max: 1000 },
  { name: "evidence", kind: "paragraph", max: 4000 },
];

/** What the menu on a person leads to: the same actions, picked in a form. */
export const directMenuEntries: readonly Entry[] = [
  {
    command: "menu",
    path: "moderate",
    operation,
    options: [],
    form,
    press: {
      name: "mo",
      carries: [
        { name: "user", kind: "user" },
        { name: "action", kind: "text" },
      ],
    },
    input: (given, call) => inputOf(textIn(given, "action") ?? "", given, call),
    show: (answer: ModerationAnswer, wording, verbs) =>
      outcomeReply(textIn(wording.given, "action") as DirectAction, answer, wording, verbs),
  },
];

export const directMenus: readonly MenuSpec[] = [
  { name: "Moderate", kind: "user", entry: "menu moderate", values: ({ user: id = "" }) => ({ user: id }) },
];

export const directSources: Readonly<Record<string, SourceSpec>> = {
  "reason-template": {
    operation: "getReasonTemplates",
    input: () => ({}),
    read: async (_given, call, verbs) => await templatesHere(call, verbs),
    choice: ({ name, text }: ReasonTemplate) => ({ name: cut(`${name} · ${text}`, 100), value: name }),
    keeps: ({ name, text }: ReasonTemplate, typed) => holds(typed.trim(), name, text),
  },
  "review-later": {
    operation: "listWorkflows",
    input: () => ({ query: { review_later: "true", limit: choiceLimit } }),
    choice: ({ reference }: WorkflowView) => ({ name: reference, value: reference }),
    keeps: ({ reference }: WorkflowView, typed) => holds(typed.trim(), reference),
  },
};

async function templatesHere(call: Call, verbs: Verbs): Promise<readonly ReasonTemplate[]> {
  return (await readView<ReasonsView>(verbs, "getReasonTemplates", call, { params: { guild_id: call.guildId ?? "" } })).reasons;
}
