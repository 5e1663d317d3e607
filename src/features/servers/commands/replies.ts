import type { AgreementView, ServerView } from "../servers.schema.ts";
import type { IncidentView } from "../poaching/poaching.schema.ts";
import { escapeText } from "../../../discord/replies.ts";
import type { Reply, Wording, OptionSpec, PressSpec } from "../../../commands/entry.ts";
import { pressButton, rowOf } from "../../../commands/press.ts";
import { card, idText, colours, personOf } from "../../../commands/records.ts";
import { enumLabel, cut, momentOf } from "../../../commands/show.ts";

const statusColours: Partial<Record<ServerView["status"], number>> = {
  partner: colours.low,
  watched: colours.medium,
  blacklisted: colours.critical,
  merged: colours.over,
  defunct: colours.over,
};

const text = (value: string | null | undefined) => (value === null || value === undefined ? undefined : escapeText(value));
const joined = (facts: readonly (string | undefined)[]): string => facts.filter((fact) => fact !== undefined && fact !== "").join(" · ");
const why = (ended: { at: string; reason: string | null } | null) =>
  ended === null ? undefined : [momentOf(ended.at), text(ended.reason)].filter(Boolean).join(" – ");

function inviteOf({ invite }: ServerView, t: Wording["t"]): string | undefined {
  if (invite === null || invite === undefined) return undefined;
  const { code: name, status, checked_at: at } = invite;
  return joined([escapeText(name), status === null ? undefined : t(`intel invite ${status}`), at === null ? undefined : momentOf(at, "R")]);
}

/** A registered server as a card, as far as its reader sees it, with buttons to what hangs on it. */
export function registeredReply(view: ServerView, { t }: Wording): Reply {
  const embed = card(
    `${escapeText(view.name ?? view.id)} · ${enumLabel(view.status, t, "intel") ?? view.status}`,
    [
      ["id", idText(view.id)],
      ["merged_into", view.merged_into && idText(view.merged_into)],
      ["aliases", view.aliases.map(idText).join(", ")],
      ["owner_user_id", personOf(view.owner_user_id)],
      ["contacts", view.contacts?.map(({ user_id: id, role }) => `<@${id}> ${escapeText(role)}`).join("\n")],
      ["tags", view.tags.map(escapeText).join(", ")],
      ["note", text(view.note)],
      ["invite", inviteOf(view, t)],
      ["icon", text(view.icon)],
      ["blacklist_id", view.blacklist_id && idText(view.blacklist_id)],
      ["agreements", view.agreements.length === 0 ? undefined : view.agreements.length],
      ["created_at", momentOf(view.created_at)],
      ["updated_at", momentOf(view.updated_at)],
      ["revision", view.revision],
    ],
    t,
    statusColours[view.status],
  );
  const of = { server: view.id };
  const buttons = [pressButton(agreementsPress, of, t("label agreements")), pressButton(incidentsPress, of, t("label incidents"))];
  return { content: "", embeds: [embed], components: [rowOf(...buttons)] };
}

/** A registered server as one line. */
export function registeredLine(view: ServerView, { t }: Wording): string {
  const name = view.name === null ? "–" : escapeText(cut(view.name, 100));
  const facts = [idText(view.id), enumLabel(view.status, t, "intel"), view.tags.map(escapeText).join(", ")];
  return cut(joined([`**${name}**`, ...facts, view.merged_into && `→ ${idText(view.merged_into)}`]), 300);
}

/** An agreement not to recruit from one another, as two lines. */
export function agreementLine(view: AgreementView, { t }: Wording): string {
  const until = view.ends_at === null ? undefined : momentOf(view.ends_at);
  const facts = [
    enumLabel(view.status, t),
    enumLabel(view.covers, t),
    t("intel cooling-off", { days: view.cooling_off_days }),
    [momentOf(view.starts_at), until].filter(Boolean).join(" → "),
    text(view.origin_reference),
    why(view.ended),
  ];
  const terms = view.terms === null ? "" : `\n-# ${escapeText(cut(view.terms.replaceAll(/\s+/g, " "), 200))}`;
  return `**${view.server_ids.map(idText).join(" – ")}** · ${joined(facts)}${terms}`;
}

/** A case of recruiting from another server, as one line. */
export function incidentLine(view: IncidentView, { t }: Wording): string {
  const facts = [
    enumLabel(view.status, t),
    `${idText(view.server_id)} → ${idText(view.victim_server_id)}`,
    t("intel offenders", { count: view.offenders }),
    enumLabel(view.method, t),
    text(view.origin_reference),
    why(view.ended),
  ];
  return joined([`**${momentOf(view.occurred_at)}**`, ...facts]);
}

/** The option that names a registered server, by its id or an alias. */
export const serverOption: OptionSpec = { name: "server", kind: "text", required: true, completes: "registered-server", max: 40 };

const carries = [serverOption];
export const registeredPress: PressSpec = { name: "vs", carries };
export const agreementsPress: PressSpec = { name: "va", carries };
export const incidentsPress: PressSpec = { name: "vi", carries };
