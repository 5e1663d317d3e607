import type { CommandSet, Entry, PickSpec, Reply, Wording } from "../../commands/entry.ts";
import { textIn } from "../../commands/input.ts";
import { nativePresses, pressButton, rowOf } from "../../commands/press.ts";
import { card, pickedQuery, personOf } from "../../commands/records.ts";
import { cut, enumLabel, lineText, momentOf } from "../../commands/show.ts";
import type { Translate } from "../../commands/texts.ts";
import { escapeText } from "../../discord/replies.ts";
import { nativeActionKinds } from "../../kernel/vocabulary.ts";
import type { NativeActionView } from "./native-actions.schema.ts";

const opens: PickSpec = {
  press: nativePresses.show,
  placeholder: "intel by-hand pick",
  of: (view: NativeActionView, { t }) => ({ value: view.id, label: nameOf(view, t) }),
};

function nameOf({ action, at, reason }: NativeActionView, t: Translate): string {
  return [at.slice(0, 10), enumLabel(action, t), reason].filter((part) => part !== null && part !== undefined).join(" · ");
}

function line({ action, at, by, reason, until, guild_id: guild }: NativeActionView, { t }: Wording): string {
  return [
    momentOf(at, "R"),
    `**${enumLabel(action, t) ?? action}**`,
    `\`${guild}\``,
    until === null ? undefined : t("say until", { at: momentOf(until) }),
    reason === null ? undefined : lineText(cut(reason, 150)),
    by === null ? undefined : `– <@${by}>`,
  ]
    .filter((part) => part !== undefined)
    .join(" · ");
}

function reply(view: NativeActionView, { t }: Wording): Reply {
  const carried = { "native-action": view.id };
  const embed = card(
    `${enumLabel(view.action, t) ?? view.action} · ${t("= native_action")}`,
    [
      ["user", `<@${view.user_id}>`],
      ["guild_id", `\`${view.guild_id}\``],
      ["by", personOf(view.by) ?? t("intel by-hand unknown")],
      ["reason", view.reason === null ? undefined : escapeText(view.reason)],
      ["until", view.until === null ? undefined : momentOf(view.until)],
      ["at", momentOf(view.at)],
    ],
    t,
  );
  const buttons = rowOf(
    pressButton(nativePresses.makeCase, carried, t("intel by-hand make-case"), "main"),
    pressButton(nativePresses.suggestListing, carried, t("intel by-hand suggest-listing")),
  );
  return { content: "", embeds: [embed], components: [buttons] };
}

const list: Entry = {
  command: "intel",
  path: "by-hand",
  operation: "listNativeActions",
  options: [
    { name: "user", kind: "user", required: true },
    { name: "action", kind: "text", choices: nativeActionKinds },
  ],
  input: (given) => ({ params: { discord_user_id: textIn(given, "user") ?? "" }, query: pickedQuery(given, "action") }),
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
  press: nativePresses.show,
};

/** What Discord offers of what others did there. */
export const nativeActionsCommands: CommandSet = { entries: [list], menuEntries: [show] };
