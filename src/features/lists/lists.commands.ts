import type { CommandInput, CommandSet, Entry, OptionSpec, PickSpec, PressSpec, Reply, Wording } from "../../commands/entry.ts";
import { picked, textIn } from "../../commands/input.ts";
import { pressButton, rowOf } from "../../commands/press.ts";
import { readView } from "../../commands/records.ts";
import { cut, enumLabel, momentOf } from "../../commands/show.ts";
import type { Translate } from "../../kit/say.ts";
import type { VerbInput } from "../../commands/verbs.ts";
import { escapeText } from "../../discord/replies.ts";
import { sentenceText } from "../../discord/sentence.ts";
import type { Call } from "../../kernel/call.ts";
import { blacklistCategories, ownList, severities } from "../../kernel/vocabulary.ts";
import type { GuildPreview } from "../../kernel/guild-preview.ts";
import type { ExemptionView, HeldActionsView, ListActionView, StanceView } from "./lists.schema.ts";

const command = "setup";
const stances = ["ignore", "notify", "propose", "apply"] as const;
const actions = ["role", "timeout", "kick", "ban"] as const;
const categories = [...new Set(["any", ...blacklistCategories.user, ...blacklistCategories.server])];
const person: OptionSpec = { name: "user", kind: "user", required: true };
const retryPress: PressSpec = { name: "lr", carries: [{ name: "action", kind: "text" }] };
const confirmPress: PressSpec = { name: "lc", carries: [] };
const undoPress: PressSpec = { name: "lu", carries: [] };

/** The server the command is given in. */
function here(call: Call): { guild_id: string } {
  return { guild_id: call.guildId ?? "" };
}

/** All rules of the server, with the one that is given in the place of that of its category. */
function stanceInput(given: CommandInput, call: Call): VerbInput {
  const known = JSON.parse(textIn(given, "known") ?? "null") as StanceView | null;
  const list = textIn(given, "list") ?? ownList;
  const rule = { list, ...picked(given, "category", "stance", "action"), ...severityOf(given), ...roleOf(given) };
  const others = (known?.rules ?? []).filter((one) => one.list !== list || one.category !== textIn(given, "category"));
  return {
    params: here(call),
    body: { rules: [...others.map(({ list_name: _, ...one }) => one), rule] },
    ...(known !== null && { revision: known.revision }),
  };
}

function severityOf(given: CommandInput): object {
  const severity = textIn(given, "severity");
  return severity === undefined ? {} : { min_severity: severity };
}

function roleOf(given: CommandInput): object {
  const role = textIn(given, "role");
  return role === undefined ? {} : { role_id: role };
}

function previewText({ notify, propose, apply, take_back: takeBack, waiting }: GuildPreview, t: Translate): string {
  const counts = t("setup lists preview", { notify, propose, apply, take_back: takeBack });
  return waiting > 0 ? `${counts}\n${t("setup lists waiting", { waiting })}` : counts;
}

function ruleLine(
  { list, list_name: name, category, stance, action, role_id: role, min_severity: severity }: StanceView["rules"][number],
  t: Translate,
): string {
  const what =
    stance === "propose" || stance === "apply" ? `: ${action === null ? t("setup lists recommended") : enumLabel(action, t)}` : "";
  const which = role === null ? "" : ` <@&${role}>`;
  const where = list === ownList ? "" : ` (${escapeText(name)})`;
  return `• **${enumLabel(category, t)}**${where} ${enumLabel(stance, t)}${what}${which} · ${t("setup lists from", { severity: enumLabel(severity, t) })}`;
}

function stanceText({ rules, preview }: StanceView, t: Translate): string {
  const lines = rules.length === 0 ? [t("setup lists no-rules")] : [...rules.map((rule) => ruleLine(rule, t)), t("setup lists others")];
  return [...lines, ...(preview === undefined ? [] : [previewText(preview, t)])].join("\n");
}

function heldText({ state, acted, waiting, people }: HeldActionsView, t: Translate): string {
  if (state === "none") return t("setup lists nothing-held");
  const lines = people.slice(0, 10).map(({ user_id: id, action, record }) => `• <@${id}> ${enumLabel(action, t)} (${escapeText(record)})`);
  return [t(`setup lists held-${state}`, { acted, waiting }), ...lines].join("\n");
}

/** What waits, with the buttons for it. */
function heldReply(view: HeldActionsView, t: Translate): Reply {
  const content = heldText(view, t);
  if (view.state === "none") return { content };
  const confirm = view.waiting === 0 ? [] : [pressButton(confirmPress, {}, t("setup lists confirm-button"), "good")];
  return { content, components: [rowOf(...confirm, pressButton(undoPress, {}, t("setup lists undo-button"), "grave"))] };
}

const exemptionLine = ({ user_id: id, reason, until }: ExemptionView, { t }: Wording): string => {
  const end = until === null ? t("setup lists for-good") : t("setup lists ends", { until: momentOf(until, "R") });
  return `<@${id}> · ${end} · ${escapeText(reason)}`;
};

function actionText({ action, is_undo: isUndo }: ListActionView, t: Translate): string {
  const what = enumLabel(action, t);
  return isUndo ? t("setup lists undo-of", { action: what }) : what;
}

const failedLine = (view: ListActionView, { t }: Wording): string => {
  const why = view.error === null ? "" : ` · ${sentenceText(view.error, t)}`;
  return cut(`${momentOf(view.updated_at, "R")} <@${view.user_id}> · ${actionText(view, t)} · ${escapeText(view.record)}${why}`, 350);
};

const retries: PickSpec = {
  press: retryPress,
  placeholder: "setup lists pick-failed",
  of: (view: ListActionView, { t }) => ({ value: view.id, label: `${view.record} · ${actionText(view, t)}` }),
};

/** What a server does about listed people, and whom it leaves alone. */
export const listEntries: readonly Entry[] = [
  {
    command,
    path: "lists show",
    operation: "getStance",
    input: (_given, call) => ({ params: here(call) }),
    show: (view: StanceView, { t }) => ({ content: stanceText(view, t) }),
  },
  {
    command,
    path: "lists set",
    operation: "putStance",
    options: [
      { name: "category", kind: "text", required: true, choices: categories },
      { name: "stance", kind: "text", required: true, choices: stances },
      { name: "action", kind: "text", choices: actions },
      { name: "role", kind: "role" },
      { name: "severity", kind: "text", choices: severities },
      { name: "list", kind: "text", completes: "followed-list", max: 60 },
    ],
    async locate(_given, call, verbs) {
      verbs.require("putStance", call, here(call));
      return { known: JSON.stringify(await readView<StanceView>(verbs, "getStance", call, { params: here(call) })) };
    },
    input: stanceInput,
    async asks({ t, call, given }, verbs) {
      const view = await readView<StanceView>(verbs, "putStance", call, { ...stanceInput(given, call), query: { dry_run: "true" } });
      return `${t("setup lists ask")}\n${stanceText(view, t)}`;
    },
    show: (view: StanceView, { t }) => ({ content: stanceText(view, t) }),
  },
  {
    command,
    path: "lists exempt",
    operation: "addExemption",
    options: [person, { name: "reason", kind: "text", min: 3, max: 1000 }, { name: "until", kind: "text" }],
    form: [{ name: "reason", kind: "paragraph", required: true, min: 3, max: 1000 }],
    press: { name: "le", carries: [{ name: "user", kind: "user" }] },
    input: (given, call) => ({ params: here(call), body: { user_id: textIn(given, "user"), ...picked(given, "reason", "until") } }),
    show: (view: ExemptionView, { t }) => ({ content: t("setup lists exempted", { user: `<@${view.user_id}>` }) }),
  },
  {
    command,
    path: "lists unexempt",
    operation: "removeExemption",
    options: [person],
    input: (given, call) => ({ params: { ...here(call), discord_user_id: textIn(given, "user") ?? "" } }),
    show: (view: ExemptionView, { t }) => ({ content: t("setup lists unexempted", { user: `<@${view.user_id}>` }) }),
  },
  {
    command,
    path: "lists exemptions",
    operation: "listExemptions",
    input: (_given, call) => ({ params: here(call) }),
    line: exemptionLine,
  },
  {
    command,
    path: "lists held",
    operation: "getHeldActions",
    input: (_given, call) => ({ params: here(call) }),
    show: (view: HeldActionsView, { t }) => heldReply(view, t),
  },
  {
    command,
    path: "lists confirm",
    operation: "confirmHeldActions",
    press: confirmPress,
    input: (_given, call) => ({ params: here(call) }),
    async asks({ t, call }, verbs) {
      const held = await readView<HeldActionsView>(verbs, "getHeldActions", call, { params: here(call) });
      return held.waiting === 0 ? undefined : `${t("setup lists ask-confirm")}\n${heldText(held, t)}`;
    },
    show: (view: HeldActionsView, { t }) => heldReply(view, t),
  },
  {
    command,
    path: "lists undo",
    operation: "undoHeldActions",
    press: undoPress,
    input: (_given, call) => ({ params: here(call) }),
    async asks({ t, call }, verbs) {
      const held = await readView<HeldActionsView>(verbs, "getHeldActions", call, { params: here(call) });
      return held.state === "none" ? undefined : `${t("setup lists ask-undo")}\n${heldText(held, t)}`;
    },
    show: (_view: HeldActionsView, { t }) => ({ content: t("setup lists undone") }),
  },
];

/** Where the menu under what has failed, and the button of its alert, lead. */
const retryListActionEntry: Entry = {
  command: "menu",
  path: "retry-list-action",
  operation: "retryListAction",
  options: [{ name: "action", kind: "text", required: true, max: 64 }],
  press: retryPress,
  input: (given, call) => ({ params: { ...here(call), id: textIn(given, "action") ?? "" } }),
  show: ({ user_id: id }: ListActionView, { t }) => ({ content: t("setup lists retried", { user: `<@${id}>` }) }),
};

export const listCommands: CommandSet = {
  entries: [
    {
      command: "blacklist",
      path: "failed",
      operation: "listListActions",
      input: (_given, call) => ({ params: here(call), query: { state: "failed" } }),
      line: failedLine,
      picks: [retries],
    },
  ],
  menuEntries: [retryListActionEntry],
};
