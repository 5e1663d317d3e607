import { html } from "hono/html";
import { plainSentence, type TextKey } from "../../../kit/say.ts";
import { durationText, filled, timeText, type Markup } from "../../../pages/layout.ts";
import { linkTo, type Reader } from "../../../pages/reader.ts";
import type { DataExportView } from "../privacy.schema.ts";
import { listOf, orNothing, section, type ServerName } from "./sections.ts";

/** How long it is kept who looked at something. */
const readDays = 90;

/** Stored words that the page words itself. */
const keys = {
  status: {
    active: "page shared active",
    reauthorization_required: "page shared reauthorization_required",
    revoked: "page shared revoked",
    expired: "page shared expired",
  },
  scope: {
    identify: "page shared-scope identify",
    guilds: "page shared-scope guilds",
    "guilds.members.read": "page shared-scope guilds.members.read",
  },
  relation: { owner: "page relation owner", manager: "page relation manager", member: "page relation member" },
  looked: {
    authorization: "page looked authorization",
    servers: "page looked servers",
    matches: "page looked matches",
    timeline: "page looked timeline",
    export: "page looked export",
  },
  case: { duplicate: "case = duplicate", open: "case = open" },
  link: { declared: "page rest link declared", confirmed: "page rest link confirmed" },
} as const satisfies Record<string, Readonly<Record<string, TextKey>>>;

/** What the person shares now. */
export function sharedPart(reader: Reader, { authorization }: DataExportView): Markup {
  const { t } = reader;
  const title = t("page part shared");
  if (authorization === null) return section(title, html`<p>${t("page shared nothing")}</p>`);
  const { status, scopes, granted_at, last_refreshed_at, expires_at } = authorization;
  return section(
    title,
    html`<p>${worded(reader, "status", status)}</p>
      <dl>
        <dt>${t("page shared read")}</dt>
        <dd>${scopes.map((scope) => worded(reader, "scope", scope)).join(", ")}</dd>
        ${fact(reader, t("page shared agreed"), granted_at)} ${fact(reader, t("page shared last"), last_refreshed_at)}
        ${fact(reader, t("page shared ends"), expires_at)}
      </dl>`,
  );
}

/** The stored servers and what they led to. */
export function serversPart(reader: Reader, { servers, matches }: DataExportView): Markup {
  const { t } = reader;
  const names = listOf(
    reader,
    servers,
    "page servers readable",
    ({ name, relation, left_at }) => html`${name} (${left_at === null ? worded(reader, "relation", relation) : t("page relation left")})`,
  );
  const coded = servers.listed === 0 ? [] : [html`<p>${t("page servers coded", { count: servers.listed })}</p>`];
  const found = listOf(
    reader,
    matches,
    "page matches list",
    ({ kind, status, first_seen_at }) => html`${word(reader, kind)}, ${word(reader, status)}, ${since(reader, first_seen_at)}`,
  );
  return html`${section(t("page part servers"), orNothing(reader, [...names, ...coded]))}
  ${section(t("page part matches"), orNothing(reader, found))}`;
}

/** Who looked at it. */
export function readsPart(reader: Reader, { reads }: DataExportView): Markup {
  const { t } = reader;
  const looks = listOf(
    reader,
    reads,
    "page reads list",
    ({ reader: who, what, hour }) => html`${plainSentence(who, t)}: ${worded(reader, "looked", what)}, ${at(reader, hour)}`,
    true,
  );
  return section(
    t("page part reads"),
    html`<p class="soft">${t("page reads note", { days: durationText(reader, readDays, "day") })}</p>
      ${looks.length === 0 ? html`<p>${t("page own nobody")}</p>` : looks}`,
  );
}

/** What moderation has about the person, which deleting what they shared does not touch. */
export function recordsPart(reader: Reader, data: DataExportView, nameOf: ServerName): Markup {
  const { t } = reader;
  const appealed = data.blacklist.entries.filter(({ status }) => ["active", "scheduled", "suspended"].includes(status));
  const lists = [
    ...listOf(
      reader,
      data.blacklist,
      "page rest blacklist",
      (one) => html`${one.number}, ${word(reader, one.status)}: ${one.reason_public ?? t("page rest no-reason")}`,
    ),
    ...appealed.map(
      ({ number }) => html`<p><a href="${linkTo(reader, `/appeal/decision/${number}`)}">${t("page rest appeal", { number })}</a></p>`,
    ),
    ...listOf(
      reader,
      data.requests,
      "page rest requests",
      (one) => html`${one.reference}: ${word(reader, one.type)}, ${word(reader, one.status)}`,
    ),
    ...listOf(
      reader,
      data.cases,
      "page rest cases",
      (one) => html`${one.number}: ${word(reader, one.type)}, ${worded(reader, "case", one.outcome ?? one.status)}`,
    ),
    ...listOf(
      reader,
      data.messages,
      "page rest messages",
      (one) => html`${at(reader, one.sent_at)}: ${one.content ?? t("page rest no-text")}`,
    ),
    ...listOf(
      reader,
      data.memberships,
      "page rest memberships",
      (one) => html`${nameOf(one.guild_id) ?? html`<code>${one.guild_id}</code>`}: ${one.nickname ?? one.display_name ?? one.username}`,
    ),
    ...listOf(
      reader,
      data.native_actions,
      "page rest by-hand",
      (one) => html`${at(reader, one.at)}: ${word(reader, one.action)}, ${nameOf(one.guild_id) ?? html`<code>${one.guild_id}</code>`}`,
    ),
    ...listOf(
      reader,
      data.linked_accounts,
      "page rest linked",
      (one) => html`${worded(reader, "link", one.kind)}, ${since(reader, one.since)}`,
    ),
    ...listOf(
      reader,
      data.sessions,
      "page rest asked",
      (one) => html`${word(reader, one.purpose)}, ${word(reader, one.status)}, ${at(reader, one.created_at)}`,
    ),
    ...(data.audit.entries.length === 0 ? [] : [html`<p>${t("page rest log", { count: data.audit.entries.length })}</p>`]),
    ...(data.staff === null ? [] : [html`<p>${t("page rest staff")}</p>`]),
  ];
  return section(t("page part rest"), orNothing(reader, lists));
}

function fact(reader: Reader, name: string, time: string | null): Markup | "" {
  return time === null
    ? ""
    : html`<dt>${name}</dt>
        <dd>${at(reader, time)}</dd>`;
}

function since(reader: Reader, time: string): Markup {
  return filled(reader.t, "page since", { time: at(reader, time) });
}

function at(reader: Reader, time: string): Markup {
  return timeText(reader, new Date(time));
}

/** A stored word as the page puts it. */
function worded(reader: Reader, of: keyof typeof keys, value: string): string {
  const known: Readonly<Record<string, TextKey>> = keys[of];
  const key = known[value];
  return key === undefined ? word(reader, value) : reader.t(key);
}

/** A stored word as replies put it, too. */
function word({ t }: Reader, value: string): string {
  return t(`= ${value}`).replaceAll("_", " ");
}
