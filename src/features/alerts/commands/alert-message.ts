import type { APIButtonComponentWithCustomId } from "discord.js";
import { pressButton, rowOf } from "../../../commands/press.ts";
import { momentOf, cut } from "../../../commands/show.ts";
import type { Translate } from "../../../kit/say.ts";
import type { Wording } from "../../../commands/entry.ts";
import type { CardMessage } from "../../../discord/rest/cards.ts";
import { escapeText } from "../../../discord/replies.ts";
import { sentenceText } from "../../../discord/sentence.ts";
import { ownList, type AlertKind } from "../../../kernel/vocabulary.ts";
import type { ShownAlert } from "../alerts.ts";
import type { AlertData } from "../kinds.ts";

const colours = { waiting: 0xf0b232, over: 0x80848e } as const;
const maxTitle = 250;

/** What a message is worded with, and what its buttons lead to: commands of the features that an alert is about. */
export type Ground = Pick<Wording, "t" | "pressOf">;
type Buttons = readonly APIButtonComponentWithCustomId[];
const text = (data: AlertData, field: string): string => String(data[field] ?? "");

const openRequest = (data: AlertData, { t, pressOf }: Ground): Buttons => [
  pressButton(pressOf("review show"), { reference: text(data, "reference") }, t("alert open"), "main"),
];
const openRecord = (data: AlertData, { t, pressOf }: Ground): APIButtonComponentWithCustomId =>
  pressButton(pressOf("blacklist show"), { record: text(data, "number") }, t("alert open"), "main");

const openFollowed = (data: AlertData, { t, pressOf }: Ground): APIButtonComponentWithCustomId =>
  pressButton(pressOf("follows show"), { list: text(data, "list") }, t("alert open"), "main");

const openBlacklist = ({ t, pressOf }: Ground): APIButtonComponentWithCustomId =>
  pressButton(pressOf("blacklist search"), {}, t("alert open"), "main");

const summaryButtons = (data: AlertData, ground: Ground): Buttons => [
  data["list"] === ownList ? openBlacklist(ground) : openFollowed(data, ground),
];

function failureButtons(data: AlertData, ground: Ground): Buttons {
  const { t, pressOf } = ground;
  const reference = text(data, "reference");
  if (data["cause"] === "request")
    return [
      pressButton(pressOf("review retry"), { reference, effect: text(data, "place") }, t("alert retry"), "main"),
      pressButton(pressOf("review show"), { reference }, t("alert open")),
    ];
  return [
    pressButton(pressOf("menu retry-list-action"), { action: text(data, "id") }, t("alert retry"), "main"),
    data["list"] === ownList ? pressButton(pressOf("blacklist show"), { record: reference }, t("alert open")) : openFollowed(data, ground),
  ];
}

function joinedButtons(data: AlertData, ground: Ground): Buttons {
  const { t, pressOf } = ground;
  const user = text(data, "user_id");
  return [
    data["list"] === ownList ? openRecord(data, ground) : openFollowed(data, ground),
    pressButton(pressOf("menu moderate"), { user, action: "ban" }, t("alert ban"), "grave"),
    pressButton(pressOf("setup lists exempt"), { user }, t("alert exempt")),
  ];
}

/** What can be done about an alert at once. */
const buttonsOf: Readonly<Record<AlertKind, (data: AlertData, ground: Ground) => Buttons>> = {
  discord_action_failed: failureButtons,
  listed_person_joined: joinedButtons,
  list_actions_held: (_data, { t, pressOf }) => [
    pressButton(pressOf("setup lists confirm"), {}, t("setup lists confirm-button"), "good"),
    pressButton(pressOf("setup lists undo"), {}, t("setup lists undo-button"), "grave"),
  ],
  match_opened: (data, { t, pressOf }) => [pressButton(pressOf("intel matches"), { user: text(data, "user_id") }, t("alert open"), "main")],
  appeal_filed: openRequest,
  request_overdue: openRequest,
  record_review_due: (data, ground) => [openRecord(data, ground)],
  callsign_pool_low: (data, { t, pressOf }) => [
    pressButton(pressOf("callsign pool"), { pool: text(data, "pool") }, t("alert open"), "main"),
  ],
  webhook_disabled: (data, { t, pressOf }) => [
    pressButton(pressOf("setup webhooks deliveries"), { webhook: text(data, "webhook_id") }, t("alert open"), "main"),
  ],
  roster_drift: (_data, { t, pressOf }) => [pressButton(pressOf("roster sync status"), {}, t("alert open"), "main")],
};

/** What an alert says of its event: people as mentions, times in the reader's own, values in words. */
function filledFrom(data: AlertData, t: Translate): Readonly<Record<string, string>> {
  const shown = Object.entries(data).map(([field, value]): [string, string] => {
    if (typeof value === "number") return [field, value.toString()];
    if (typeof value !== "string") return [field, ""];
    if (field === "user_id") return [field, `<@${value}>`];
    if (/^\d{4}-\d\d-\d\dT/.test(value)) return [field, momentOf(value, "R")];
    if (field === "error") return [field, sentenceText(value, t)];
    if (field === "action") return [field, t(`alert act ${value}` as "alert act ban")];
    if (field === "reminder") return [field, t(`alert waits ${value}` as "alert waits decision")];
    return [field, field === "reason" ? t(`alert reason ${value}` as "alert reason gone") : escapeText(value)];
  });
  return Object.fromEntries(shown);
}

function summaryKey({ count, isAll }: NonNullable<ShownAlert["summary"]>) {
  if (isAll) return count === 1 ? "alert summary all-one" : "alert summary all";
  return count === 1 ? "alert summary one" : "alert summary";
}

/** What is called how: the list that an alert is about, and the server that it is shown in. */
interface Names {
  list?: string | undefined;
  server?: string | undefined;
}

/** An alert as a message: what happened, and what can be done about it; once it is over, that it is. It mentions nobody so that they are notified. */
export function alertMessage({ kind, isOver, data, at, summary }: ShownAlert, ground: Ground, names: Names = {}): CardMessage {
  const { t } = ground;
  const title = cut(t(summary === undefined ? `alert ${kind} title` : "alert summary title"), maxTitle);
  const timestamp = at.toISOString();
  if (isOver) return { embeds: [{ title, description: t("alert over"), color: colours.over, timestamp }], components: [] };
  if (summary !== undefined) {
    const list = data["list"] === ownList ? t("alert summary own") : escapeText(names.list ?? text(data, "list"));
    const description = t(summaryKey(summary), { count: summary.count, list });
    return { embeds: [{ title, description, color: colours.waiting, timestamp }], components: [rowOf(...summaryButtons(data, ground))] };
  }
  const description = t(`alert ${kind}`, filledFrom({ ...data, server: names.server ?? data["guild_id"] }, t) as never);
  return {
    embeds: [{ title, description, color: colours.waiting, timestamp }],
    components: [rowOf(...buttonsOf[kind](data, ground))],
  };
}
