import type { CommandSet, Entry, PickSpec, PressSpec, Reply, Wording } from "../../commands/entry.ts";
import { textIn } from "../../commands/input.ts";
import { pressButton, rowOf } from "../../commands/press.ts";
import { card, pickedQuery, personOf } from "../../commands/records.ts";
import { cut, enumLabel, lineText, momentOf } from "../../commands/show.ts";
import type { Translate } from "../../kit/say.ts";
import { escapeText } from "../../discord/replies.ts";
import { guildActionKinds } from "../../kernel/vocabulary.ts";
import type { GuildActionView, NativeActionView } from "./native-actions.schema.ts";

/** A line of the list of a person, or of that of a server. */
type AnyView = NativeActionView | GuildActionView;

const showPress: PressSpec = { name: "na", carries: [{ name: "native-action", kind: "text" }] };

const opens: PickSpec = {
  press: showPress,
  placeholder: "intel by-hand pick",
  of: (view: AnyView, { t }) => (view.user_id === null ? undefined : { value: view.id, label: nameOf(view, t) }),
};

function nameOf({ action, at, reason }: AnyView, t: Translate): string {
  return [at.slice(0, 10), enumLabel(action, t), reason].filter((part) => part !== null && part !== undefined).join(" · ");
}

function line(view: AnyView, { t, given }: Wording): string {
  const { action, at, by, reason, rule, until, guild_id: guild, user_id: userId } = view;
  return [
    momentOf(at, "R"),
    `**${enumLabel(action, t) ?? action}**`,
    textIn(given, "user") === undefined ? (personOf(userId) ?? prunedText(view, t)) : `\`${guild}\``,
    rule === null ? undefined : t("intel by-hand automod", { rule: lineText(cut(rule, 100)) }),
    until === null ? undefined : t("say until", { at: momentOf(until) }),
    reason === null ? undefined : lineText(cut(reason, 150)),
    by === null ? undefined : `– <@${by}>`,
  ]
    .filter((part) => part !== undefined)
    .join(" · ");
}

/** How many a prune removed, as far as Discord says it. */
function prunedText(view: AnyView, t: Translate): string | undefined {
  if (!("members_removed" in view) || view.members_removed === null) return undefined;
  const { members_removed: count, inactive_days: days } = view;
  return days === null ? t("intel by-hand removed", { count }) : t("intel by-hand pruned", { count, days });
}

function reply(view: NativeActionView, { t, pressOf }: Wording): Reply {
  const carried = { "native-action": view.id };
  const embed = card(
    `${enumLabel(view.action, t) ?? view.action} · ${t("= native_action")}`,
    [
      ["user", `<@${view.user_id}>`],
      ["guild_id", `\`${view.guild_id}\``],
      [
        "by",
        personOf(view.by) ??
          (view.rule === null ? t("intel by-hand unknown") : t("intel by-hand automod", { rule: escapeText(view.rule) })),
      ],
      ["reason", view.reason === null ? undefined : escapeText(view.reason)],
      ["until", view.until === null ? undefined : momentOf(view.until)],
      ["at", momentOf(view.at)],
    ],
    t,
  );
  const buttons = rowOf(
    pressButton(pressOf("menu native-case"), carried, t("intel by-hand make-case"), "main"),
    pressButton(pressOf("menu native-listing"), carried, t("intel by-hand suggest-listing")),
  );
  return { content: "", embeds: [embed], components: [buttons] };
}

const list: Entry = {
  command: "intel",
  path: "by-hand",
  operation: "listNativeActions",
  operations: ["listNativeActions", "listGuildNativeActions"],
  // Without a person: what was done in the server in which it is asked.
  operationFor: (given) => (textIn(given, "user") === undefined ? "listGuildNativeActions" : "listNativeActions"),
  options: [
    { name: "user", kind: "user" },
    { name: "action", kind: "text", choices: guildActionKinds },
  ],
  input(given, call) {
    const user = textIn(given, "user");
    const params = user === undefined ? { guild_id: call.guildId ?? "" } : { discord_user_id: user };
    return { params, query: pickedQuery(given, "action") };
  },
  line,
  note: ({ unseen_guild_ids: guilds }: { unseen_guild_ids?: readonly string[] }, { t }) =>
    guilds === undefined ? "" : t("intel by-hand unseen", { guilds: guilds.map((id) => `\`${id}\``).join(", ") }),
  picks: [opens],
};

const show: Entry = {
  command: "menu",
  path: "by-hand",
  operation: "getNativeAction",
  input: (given) => ({ params: { id: textIn(given, "native-action") ?? "" } }),
  show: reply,
  press: showPress,
};

/** What Discord offers of what others did there. */
export const nativeActionsCommands: CommandSet = { entries: [list], menuEntries: [show] };
