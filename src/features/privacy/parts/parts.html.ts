import { html } from "hono/html";
import { timeText, type Markup } from "../../../pages/layout.ts";
import type { DataExportView } from "../privacy.schema.ts";

/** How many entries of a list the page shows; the download has all of them. */
const shown = 50;

interface List<Entry> {
  entries: readonly Entry[];
  truncated?: true | undefined;
}

const scopeWords: Readonly<Record<string, string>> = {
  identify: "who you are",
  guilds: "the list of your servers",
  "guilds.members.read": "your profile in those servers",
};

const readWords: Readonly<Record<string, string>> = {
  authorization: "what you share",
  servers: "your servers",
  matches: "the hits",
  timeline: "your history",
  export: "everything stored",
};

const statusWords: Readonly<Record<string, string>> = {
  active: "You share your information.",
  reauthorization_required: "Discord no longer lets this service read anything. What was read before is still stored.",
  revoked: "You have taken your consent back. Nothing is shared.",
  expired: "Your consent has ended by time. Nothing is shared.",
};

/** What the person shares now. */
export function sharedPart({ authorization, servers }: DataExportView): Markup {
  if (authorization === null)
    return part(
      "What you share",
      html`<p>Nothing. There is no consent of yours here${servers.entries.length > 0 ? html`, but servers are stored` : ""}.</p>`,
    );
  const { status, scopes, granted_at, last_refreshed_at, expires_at } = authorization;
  return part(
    "What you share",
    html`<p>${statusWords[status] ?? status}</p>
      <dl>
        <dt>Read from Discord</dt>
        <dd>${scopes.map((scope) => scopeWords[scope] ?? scope).join(", ")}</dd>
        <dt>You agreed</dt>
        <dd>${at(granted_at)}</dd>
        ${fact("Last read", last_refreshed_at)} ${fact("Forgotten unless it is read again", expires_at)}
      </dl>`,
  );
}

/** The stored servers and what they led to. */
export function serversPart({ servers, matches }: DataExportView): Markup {
  const names = someOf(servers, "server", ({ name, relation, left_at }) => html`${name} (${left_at === null ? relation : "left"})`);
  const codes = servers.listed === 0 ? [] : [html`<p>${plural(servers.listed, "further server")}, stored as an unreadable code only.</p>`];
  const hits = someOf(
    matches,
    "hit",
    ({ kind, status, first_seen_at }) => html`${words(kind)}, ${words(status)}, since ${at(first_seen_at)}`,
  );
  return html`${part("Your servers", orNone([...names, ...codes]))} ${part("Hits of the comparison", orNone(hits))}`;
}

/** Who looked at it. */
export function readsPart({ reads }: DataExportView): Markup {
  const looks = someOf(reads, "look", ({ reader, what, hour }) => html`${reader}: ${readWords[what] ?? what}, ${at(hour)}`, true);
  const none = html`<p>Nobody.</p>`;
  return part(
    "Who looked at it",
    html`<p class="soft">In the last 90 days, by the hour.</p>
      ${looks.length === 0 ? none : looks}`,
  );
}

/** What moderation has about the person, which deleting what they shared does not touch. */
export function recordsPart(data: DataExportView): Markup {
  const appeals = new Set(data.blacklist.entries.map(({ appeal }) => appeal));
  const lists = [
    ...someOf(
      data.blacklist,
      "blacklist record",
      (one) => html`${one.number}, ${words(one.status)}: ${one.reason_public ?? "no public reason"}`,
    ),
    ...[...appeals].map((appeal) => html`<p>${appeal}</p>`),
    ...someOf(data.requests, "request", (one) => html`${one.reference}: ${words(one.type)}, ${words(one.status)}`),
    ...someOf(data.cases, "case", (one) => html`${one.number}: ${words(one.type)}, ${words(one.outcome ?? one.status)}`),
    ...someOf(data.messages, "kept message", (one) => html`${at(one.sent_at)}: ${one.content ?? "no text"}`),
    ...someOf(data.memberships, "server membership", (one) => html`${one.nickname ?? one.display_name ?? one.username} in ${one.guild_id}`),
    ...someOf(data.linked_accounts, "linked account", (one) => html`${words(one.kind)}, since ${at(one.since)}`),
    ...someOf(data.sessions, "consent request", (one) => html`${words(one.purpose)}, ${words(one.status)}, ${at(one.created_at)}`),
    ...someOf(data.audit, "audit entry", (one) => html`${one.action}, ${at(one.at)}`),
    ...(data.staff === null ? [] : [html`<p>Your staff profile and roles are in the download.</p>`]),
  ];
  return part("What else is stored", orNone(lists));
}

function part(title: string, content: Markup): Markup {
  return html`<section>
    <h2>${title}</h2>
    ${content}
  </section>`;
}

function orNone(lists: Markup[]): Markup {
  return lists.length === 0 ? html`<p>None.</p>` : html`${lists}`;
}

/** Long lists are folded; a list of nothing is not there. */
function someOf<Entry>({ entries, truncated }: List<Entry>, noun: string, line: (entry: Entry) => Markup, isOpen = false): Markup[] {
  if (entries.length === 0) return [];
  const more = entries.length > shown || truncated === true ? html`<p class="soft">The download has more.</p>` : "";
  return [
    html`<details${isOpen ? html` open` : ""}>
      <summary>${plural(entries.length, noun)}${truncated === true ? " or more" : ""}</summary>
      <ul>
        ${entries.slice(0, shown).map((entry) => html`<li>${line(entry)}</li>`)}
      </ul>
      ${more}
    </details>`,
  ];
}

/** @param noun in the singular, regular but for a last y */
function plural(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count.toString()} ${noun.replace(/y$/, "ie")}s`;
}

function fact(name: string, time: string | null): Markup | "" {
  return time === null
    ? ""
    : html`<dt>${name}</dt>
        <dd>${at(time)}</dd>`;
}

function at(time: string): Markup {
  return timeText(new Date(time));
}

function words(code: string): string {
  return code.replaceAll("_", " ");
}
