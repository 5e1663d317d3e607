import { timelineKinds } from "../../../kernel/vocabulary.ts";
import type { Entry, OptionSpec, PickSpec } from "../../../commands/entry.ts";
import { textIn } from "../../../commands/input.ts";
import { pickedQuery } from "../../../commands/records.ts";
import { momentOf } from "../../../commands/show.ts";
import { escapeText } from "../../../discord/replies.ts";
import { sentenceText } from "../../../discord/sentence.ts";

const user: OptionSpec = { name: "user", kind: "user", required: true };
const timelineKind: OptionSpec = { name: "kind", kind: "text", choices: timelineKinds };

/** What happened to a person, a line each. */
const line: NonNullable<Entry["line"]> = ({ at: then, kind, summary, reference, user_id: who, actor_id: by }, { t }) =>
  [
    momentOf(then, "R"),
    `**${t(`= ${String(kind)}`)}**`,
    sentenceText(summary, t),
    reference && escapeText(reference),
    `<@${String(who)}>`,
    by && `– <@${String(by)}>`,
  ]
    .filter(Boolean)
    .join(" · ");

/** Of a person's timeline: what others did in Discord leads on. */
const opensNativeAction: PickSpec<string> = {
  press: "menu by-hand",
  placeholder: "case pick-by-hand",
  of: ({ kind, record_id: id, at: then, event }: { kind: string; record_id?: string; at: string; event: string }, { t }) =>
    kind === "native_action" && id !== undefined ? { value: id, label: `${then.slice(0, 10)} · ${t(`= ${event}`)}` } : undefined,
};

/** What happened to a person, with filters and in short. */
export const timelineEntries: readonly Entry[] = [
  {
    command: "case",
    path: "timeline",
    operation: "listUserTimeline",
    options: [user, timelineKind, { name: "alts", kind: "boolean" }],
    input: (given) => ({
      params: { discord_user_id: textIn(given, "user") ?? "" },
      query: { ...pickedQuery(given, "kind"), include_alts: given.values["alts"]?.toString() },
    }),
    line,
    picks: [opensNativeAction],
    press: { name: "ct", carries: [{ name: "user", kind: "user" }, timelineKind] },
  },
  {
    command: "history",
    path: "",
    operation: "listUserTimeline",
    options: [user],
    input: (given) => ({ params: { discord_user_id: textIn(given, "user") ?? "" } }),
    line,
    picks: [opensNativeAction],
  },
];
