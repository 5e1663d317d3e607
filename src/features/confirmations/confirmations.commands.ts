import { holds } from "../../commands/sources.ts";
import { cut, momentOf, showView } from "../../commands/show.ts";
import type { SourceSpec, CommandSet, Entry, CommandInput, OptionSpec, PressSpec, Wording } from "../../commands/entry.ts";
import { confirmedText } from "../../discord/confirmed-text.ts";
import type { Control, Reply, Row } from "../../discord/command.ts";
import type { ConfirmationView } from "./confirmations.schema.ts";
import { titleOf } from "./rows.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { picked, textIn } from "../../commands/input.ts";
import { pressButton, buttonOf, rowOf } from "../../commands/press.ts";
import { readView } from "../../commands/records.ts";
import { plainSentence, translator, type Translate, worded } from "../../kit/say.ts";
import type { Verbs } from "../../commands/verbs.ts";

const command = "confirm";
const held: OptionSpec = { name: "code", kind: "text", required: true, completes: "held-change", max: 36 };
const confirmable: OptionSpec = { ...held, completes: "confirmable-change" };

const carries = [held];
const showPress: PressSpec = { name: "fs", carries };
const acceptPress: PressSpec = { name: "fa", carries };
const declinePress: PressSpec = { name: "fd", carries };

const at = (given: CommandInput) => ({ id: textIn(given, "code") ?? "" });

/** `/confirm`: changes that wait for somebody's word. */
const confirmEntries: readonly Entry[] = [
  {
    command,
    path: "list",
    operation: "listConfirmations",
    input: () => ({}),
    lines: 4,
    line: (view, { t }) => lineOf(view, t, inShort(view, t)),
    rows: answerRows,
  },
  {
    command,
    path: "show",
    operation: "getConfirmation",
    options: [held],
    input: (given) => ({ params: at(given) }),
    show: (view, { t }) => shown(view, t),
    press: showPress,
  },
  {
    command,
    path: "accept",
    operation: "confirmChange",
    options: [confirmable],
    input: (given) => ({ params: at(given) }),
    // What is not read where it is picked is read before it is confirmed.
    async asks({ given, t, call }, verbs) {
      const view = await readView<ConfirmationView>(verbs, "getConfirmation", call, { params: at(given) });
      return isLong(view) ? lineOf(view, t) : undefined;
    },
    show: (view, { t }) => ({ content: acceptedText(view, t) }),
    press: acceptPress,
  },
  {
    command,
    path: "decline",
    operation: "declineChange",
    options: [held, { name: "reason", kind: "text" }],
    input: (given) => ({ params: at(given), body: picked(given, "reason") }),
    show: (view, { t }) => ({ content: declinedText(view, t) }),
    press: declinePress,
  },
];

/** The buttons of a change that is held: `cf:accept:<code>` and `cf:decline:<code>`. */
export function createConfirmControls(verbs: Verbs): Control[] {
  return [
    {
      name: "cf",
      updates: () => true,
      async run([word, id = ""], call, interaction) {
        const t = translator(interaction.locale);
        const verb = word === "accept" || word === "decline" ? answers[word] : undefined;
        if (verb === undefined) throw new ProblemError("invalid_transition");
        const view = await readView<ConfirmationView>(verbs, verb.operation, call, { params: { id }, body: {} });
        return { content: verb.text(view, t), components: [] };
      },
    },
  ];
}

const answers = {
  accept: { operation: "confirmChange", text: acceptedText },
  decline: { operation: "declineChange", text: declinedText },
} as const;

/** A row for each change: what can be said about it now, as its card offers it too. */
function answerRows(views: readonly ConfirmationView[], { t }: Wording): Row[] {
  return views.map(({ id, code, summary }) => {
    const of = { code: code ?? id };
    const named = (word: string): string => `${word} · ${code ?? plainSentence(titleOf({ summary }), t)}`;
    const accept = code === undefined || isLong({ summary }) ? [] : [pressButton(acceptPress, of, named(t("button confirm")), "good")];
    const [decline, show] = [named(t("button decline")), named(t("button show"))];
    return rowOf(...accept, pressButton(declinePress, of, decline), pressButton(showPress, of, show));
  });
}

/** A change as it stands, with the buttons of whoever can say something about it now. */
function shown(view: ConfirmationView, t: Translate): Reply {
  if (view.status !== "pending") return { ...showView(view, t), components: [] };
  const accept = view.code === undefined ? [] : [buttonOf(t("button confirm"), `cf:accept:${view.code}`, 3)];
  const decline = buttonOf(t("button decline"), `cf:decline:${view.code ?? view.id}`);
  return { content: lineOf(view, t), components: [rowOf(...accept, decline)] };
}

function acceptedText(view: ConfirmationView, t: Translate): string {
  const filled = { summary: confirmedText(view.summary, t), until: momentOf(view.expires_at, "R") };
  return t(view.status === "applied" ? "confirm done" : "confirm second", filled);
}

function declinedText({ summary }: ConfirmationView, t: Translate): string {
  return t("confirm declined", { summary: confirmedText(summary, t) });
}

/** So much of a change is read at a glance, in a list or where it is picked. */
const glance = 100;
/** Whether whoever confirms it has to read more first: all of a long sentence, or what a program gave. */
const isLong = ({ summary }: Pick<ConfirmationView, "summary">): boolean => summary.includes("\n") || worded(summary).length > glance;
const inShort = (view: ConfirmationView, t: Translate): string => cut(confirmedText(titleOf(view), t), 2 * glance);

function lineOf(view: ConfirmationView, t: Translate, said: string = confirmedText(view.summary, t)): string {
  const who = view.needs.map((need) => t(`confirm ${need}`)).join(t("confirm then"));
  const head = view.code === undefined ? "•" : `\`${view.code}\``;
  const filled = { user: `<@${view.requested_by}>`, who, until: momentOf(view.expires_at, "R") };
  return `${head} ${said}\n-# ${t("confirm line", filled)}`;
}

interface HeldChange {
  id: string;
  code?: string;
  summary: string;
}

const heldName = ({ code, summary }: HeldChange, t: Translate): string =>
  cut([...(code === undefined ? [] : [code]), plainSentence(titleOf({ summary }), t)].join(" · "), 100);
const heldChanges: SourceSpec = {
  operation: "listConfirmations",
  input: () => ({ query: { limit: 200 } }),
  choice: (view: HeldChange, _typed, t) => ({ name: heldName(view, t), value: cut(view.code ?? view.id, 36) }),
  keeps: (view: HeldChange, typed, t) => holds(typed, heldName(view, t)),
};

/** What Discord offers of changes that wait for confirmation. */
export const confirmationCommands: CommandSet = {
  entries: confirmEntries,
  sources: {
    "held-change": heldChanges,
    /** Only those that can be confirmed. */
    "confirmable-change": {
      ...heldChanges,
      keeps: (view: HeldChange, typed, t) => view.code !== undefined && heldChanges.keeps?.(view as never, typed, t) !== false,
    },
  },
};
