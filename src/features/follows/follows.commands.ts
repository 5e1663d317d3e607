import type { CommandInput, CommandSet, Entry, OptionSpec, PickSpec, Reply, SourceSpec, Wording } from "../../commands/entry.ts";
import { picked, textIn } from "../../commands/input.ts";
import { card, colours, numberIn, readOptional, subjectOf } from "../../commands/records.ts";
import { codeText, cut, enumLabel, momentOf } from "../../commands/show.ts";
import { holds, within } from "../../commands/sources.ts";
import type { Verbs } from "../../commands/verbs.ts";
import { escapeText } from "../../discord/replies.ts";
import { sentenceText } from "../../discord/sentence.ts";
import type { AdoptedView, FollowedEntryView, FollowedListView } from "./follows.schema.ts";

const command = "follows";
const list: OptionSpec = { name: "list", kind: "text", required: true, completes: "followed-list", max: 40 };
const revision: OptionSpec = { name: "revision", kind: "integer", min: 1 };
const settings: readonly OptionSpec[] = [
  { name: "trust", kind: "text", choices: ["low", "medium", "high"] },
  { name: "categories", kind: "text", max: 500 },
  { name: "interval", kind: "integer", min: 1, max: 1440 },
];
/** Opens a list from the lists. */
const opens: PickSpec = {
  press: { name: "fo", carries: [{ name: "list", kind: "text" }] },
  placeholder: "follows pick",
  of: (view: FollowedListView) => ({ value: view.id, label: cut(view.name, 100) }),
};

const at = (given: CommandInput) => ({ id: textIn(given, "list") ?? "" });
const settingsIn = (given: CommandInput): Record<string, unknown> => {
  const categories = textIn(given, "categories");
  return {
    ...picked(given, "name", "address", "key", "trust"),
    interval_minutes: numberIn(given, "interval") ?? given.values["interval"],
    ...(categories !== undefined && { categories: categories.split(/[\s,;]+/).filter((one) => one !== "") }),
  };
};

/** Lines that could not be read which a card shows. */
const shownUnread = 5;

function unreadText({ unread, unread_lines: lines = [] }: FollowedListView, t: Wording["t"]): string | undefined {
  if (unread === 0) return undefined;
  const shown = lines
    .slice(0, shownUnread)
    .map(({ line, value, reason }) =>
      t("follows unread", { line, value: codeText(cut(value, 60)), reason: escapeText(sentenceText(reason, t)) }),
    );
  const left = unread - shown.length;
  return [...shown, ...(left > 0 ? [t("follows unread more", { count: left })] : [])].join("\n");
}

/** A list as a card. Its key is on none. */
function listCard(view: FollowedListView, { t }: Wording): Reply {
  const isStopped = view.state === "stopped";
  const embed = card(
    `${escapeText(view.name)} · ${t(`follows state ${view.state}`)}`,
    [
      ["problem", view.problem === null ? undefined : sentenceText(view.problem, t)],
      ["kind", t(`follows kind ${view.kind}`)],
      ["address", view.address === null ? undefined : escapeText(view.address)],
      ["categories", view.categories.map((one) => enumLabel(one, t) ?? one).join(", ")],
      ["trust", view.trust],
      ["interval_minutes", view.address === null ? undefined : view.interval_minutes],
      ["last_read_at", view.last_read_at === null ? undefined : momentOf(view.last_read_at, "R")],
      ["next_read_at", view.next_read_at === null ? undefined : momentOf(view.next_read_at, "R")],
      ["unread", unreadText(view, t)],
      ["revision", view.revision],
    ],
    t,
    isStopped ? colours.critical : colours.plain,
  );
  return { content: "", embeds: [embed] };
}

function listLine(view: FollowedListView, { t }: Wording): string {
  const facts = [
    t(`follows state ${view.state}`),
    t("follows trust", { trust: view.trust }),
    view.last_read_at === null ? undefined : t("follows read", { at: momentOf(view.last_read_at, "R") }),
    view.problem === null ? undefined : sentenceText(view.problem, t),
  ];
  return [`**${escapeText(view.name)}**`, ...facts.filter((fact) => fact !== undefined)].join(" · ");
}

function entryLine({ number, kind, subject_id: id, category, severity }: FollowedEntryView, { t }: Wording): string {
  return [`**${escapeText(number)}**`, subjectOf({ kind, id }), enumLabel(category, t), enumLabel(severity, t)].join(" · ");
}

/** What is lost with a list. */
async function asksToStop(wording: Wording, verbs: Verbs) {
  const { t, given } = wording;
  const view = await readOptional<FollowedListView>(verbs, "getFollowedList", wording, { params: at(given) });
  if (view === undefined) return undefined;
  const name = escapeText(view.name);
  return { content: t("follows stop ask", { name }), about: { revision: numberIn(given, "revision") ?? view.revision } };
}

/** `/follows`: lists of others that are followed. */
const entries: readonly Entry[] = [
  { command, path: "list", operation: "listFollowedLists", input: () => ({}), line: listLine, picks: [opens] },
  {
    command,
    path: "show",
    operation: "getFollowedList",
    options: [list],
    input: (given) => ({ params: at(given) }),
    show: listCard,
    press: opens.press,
  },
  {
    command,
    path: "entries",
    operation: "listFollowedEntries",
    options: [list],
    input: (given) => ({ params: at(given) }),
    line: entryLine,
  },
  {
    command,
    path: "add",
    operation: "followList",
    options: [{ name: "kind", kind: "text", choices: ["provost", "file"] }, ...settings],
    // A key that is typed as an option stays in sight of whoever looks at the screen.
    form: [
      { name: "name", kind: "line", required: true, max: 80 },
      { name: "address", kind: "line", max: 2000 },
      { name: "key", kind: "line", max: 512 },
    ],
    input: (given) => ({ body: { ...picked(given, "kind"), ...settingsIn(given) } }),
    show: listCard,
  },
  {
    command,
    path: "edit",
    operation: "updateFollowedList",
    options: [list, revision, { name: "name", kind: "text", max: 80 }, { name: "address", kind: "text", max: 2000 }, ...settings],
    input: (given) => ({ params: at(given), revision: numberIn(given, "revision"), body: settingsIn(given) }),
    show: listCard,
  },
  {
    command,
    path: "stop",
    operation: "unfollowList",
    options: [list, revision],
    input: (given) => ({ params: at(given), revision: numberIn(given, "revision") }),
    asks: asksToStop,
    show: ({ name }: FollowedListView, { t }) => ({ content: t("follows stopped", { name: escapeText(name) }) }),
  },
  {
    command,
    path: "refresh",
    operation: "refreshFollowedList",
    options: [list],
    input: (given) => ({ params: at(given) }),
    show: listCard,
  },
  {
    command,
    path: "reset",
    operation: "resetFollowedList",
    options: [list],
    input: (given) => ({ params: at(given) }),
    asks: ({ t }) => t("follows reset ask"),
    show: listCard,
  },
  {
    command,
    path: "send",
    operation: "sendListFile",
    options: [list, { name: "file", kind: "file", required: true }],
    input: (given) => ({ params: at(given), file: given.files["file"]?.[0] }),
    show: listCard,
  },
  {
    command,
    path: "adopt",
    operation: "adoptFollowedEntry",
    options: [list, { name: "entry", kind: "text", required: true, completes: "followed-entry", max: 100 }],
    form: [
      { name: "reason-public", kind: "paragraph" },
      { name: "reason-internal", kind: "paragraph" },
    ],
    input: (given) => ({
      params: { ...at(given), number: textIn(given, "entry") ?? "" },
      body: picked(given, "reason-public", "reason-internal"),
    }),
    show: ({ number }: AdoptedView, { t }) => ({ content: t("follows adopted", { number }) }),
  },
];

const lists: SourceSpec = {
  operation: "listFollowedLists",
  input: () => ({ query: { limit: 200 } }),
  choice: ({ id, name }: FollowedListView) => ({ name: cut(name, 100), value: id }),
  keeps: ({ id, name }: FollowedListView, typed) => holds(typed, id, name),
};

/** What Discord offers of lists of others. */
export const followsCommands: CommandSet = {
  entries,
  sources: {
    "followed-list": lists,
    "followed-entry": within(
      "listFollowedEntries",
      at,
      ({ number, subject_id: id, category }: FollowedEntryView, t) => `${number} · ${id} · ${t(`= ${category}`)}`,
      "number",
    ),
  },
};
