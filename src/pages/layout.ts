import { html } from "hono/html";
import { languages, translator, type TextKey, type Translate, type ValuesFor } from "../kit/say.ts";
import type { Language } from "./language.ts";
import type { Reader } from "./reader.ts";

/** HTML whose inserted texts have been made harmless. */
export type Markup = ReturnType<typeof html>;

/** A whole page, and what it is written in. */
export interface WrittenPage {
  language: Language;
  body: string;
}

/** What the head of every page begins with. */
export const headOf = (title: string): Markup =>
  html`<meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="robots" content="noindex" />
    <meta name="color-scheme" content="light dark" />
    <title>${title}</title>`;

/**
 * Write a whole page.
 * @param title the heading and the name of the tab
 */
export async function layout(reader: Reader, title: string, content: Markup): Promise<WrittenPage> {
  const { language, base } = reader;
  const page = await html`<!doctype html>
    <html lang="${language}">
      <head>
        ${headOf(title)}
        <link rel="stylesheet" href="${base}/authorize/style.css" />
      </head>
      <body>
        <main>
          <h1>${title}</h1>
          ${content}
        </main>
        <footer>${contact(reader)} ${otherLanguages(reader)}</footer>
      </body>
    </html>`;
  return { language, body: page.toString() };
}

/** The headers of a page in one of several languages. */
export function languageHeaders({ language }: WrittenPage): Record<"content-language" | "vary", string> {
  return { "content-language": language, vary: "Accept-Language" };
}

/** Who runs this installation, and whom to ask. */
function contact({ t, operator: { name, contact: address } }: Reader): Markup {
  const runBy = name === null ? "" : filled(t, "page run-by", { operator: html`<strong>${name}</strong>` });
  const mail = address?.startsWith("mailto:") === true ? address.slice("mailto:".length) : undefined;
  if (address === null) return html`<p>${runBy} ${t("page ask-staff")}</p>`;
  const link = html`<a href="${address}" rel="noreferrer">${mail ?? t("page ask-here")}</a>`;
  return html`<p>${runBy} ${filled(t, mail === undefined ? "page ask" : "page ask-mail", { contact: link })}</p>`;
}

/** The same page in the other languages. */
function otherLanguages({ language, canSwitch }: Reader): Markup | "" {
  const others = canSwitch ? Object.keys(languages).filter((one) => one !== language) : [];
  return html`${others.map((one) => html`<p><a href="?locale=${one}" lang="${one}" hreflang="${one}">${translator(one)("language name")}</a></p>`)}`;
}

/** A text with markup or other texts for what is filled in. */
export function filled<Key extends TextKey>(t: Translate, key: Key, ...[values = {}]: ValuesFor<Key, Markup | string>): Markup {
  const given = values as Readonly<Record<string, Markup | string>>;
  const marks = Object.fromEntries(Object.keys(given).map((name) => [name, `\u0000${name}\u0000`]));
  const parts = t(key as "= ", ...([marks] as unknown as [])).split("\u0000");
  return html`${parts.map((part, index) => (index % 2 === 0 ? part : (given[part] ?? "")))}`;
}

/** A time as people read it, in UTC, with the exact one for programs. */
export function timeText({ t }: Reader, at: Date): Markup {
  const format = new Intl.DateTimeFormat(t("language dates"), { dateStyle: "long", timeStyle: "short", timeZone: "UTC" });
  return html`<time datetime="${at.toISOString()}">${format.format(at)} UTC</time>`;
}

/** A number of minutes, days or the like in words. */
export function durationText({ t }: Reader, count: number, unit: "second" | "minute" | "hour" | "day"): string {
  return new Intl.NumberFormat(t("language dates"), { style: "unit", unit, unitDisplay: "long" }).format(count);
}

/** Names in a row, such as "Harbour, Lighthouse and Quarry". */
export function listText({ t }: Reader, names: readonly string[]): string {
  return new Intl.ListFormat(t("language dates")).format(names);
}

/** The one style of the pages: readable on a phone, light and dark. */
export const style = `:root {
  color-scheme: light dark;
  --page: #ffffff; --panel: #f3f4f8; --text: #1d2129; --soft: #525a66; --edge: #7d8590; --link: #3b46b5;
  --accent: #4752c4; --on-accent: #ffffff; --danger: #b3261e; --on-danger: #ffffff; --button: #e7e9f0; --on-button: #1d2129; --wrong: #b3261e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #15171c; --panel: #1f2229; --text: #e9ebef; --soft: #b3bac5; --edge: #7f8794; --link: #b0b8ff;
    --accent: #4f5bd5; --on-accent: #ffffff; --danger: #c4342b; --on-danger: #ffffff; --button: #2d313b; --on-button: #e9ebef; --wrong: #ffb4ab;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 1rem/1.55 system-ui, sans-serif; }
main, footer { max-width: 40rem; margin: 0 auto; padding: 1rem 1rem 0; overflow-wrap: anywhere; }
footer { color: var(--soft); padding-bottom: 2rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 1rem; }
h2 { font-size: 1.0625rem; line-height: 1.35; margin: 0 0 0.375rem; }
p { margin: 0 0 0.75rem; }
ul { margin: 0 0 0.75rem; padding-left: 1.25rem; }
li { margin-bottom: 0.25rem; }
section { background: var(--panel); color: var(--text); border-radius: 0.75rem; padding: 0.875rem 1rem; margin: 0 0 0.75rem; }
section > :last-child { margin-bottom: 0; }
dl { margin: 0; }
dt { font-weight: 600; }
dd { margin: 0 0 0.5rem; }
.soft { color: var(--soft); }
.small { font-size: 0.875rem; }
code { font: 0.9375em ui-monospace, monospace; }
a { color: var(--link); }
form { margin: 0.75rem 0 0.5rem; }
button, .button { display: block; width: 100%; min-height: 3rem; padding: 0.75rem 1rem; font: inherit; font-weight: 600; text-align: center; text-decoration: none; background: var(--button); color: var(--on-button); border: 1px solid var(--edge); border-radius: 0.625rem; cursor: pointer; }
.agree { background: var(--accent); color: var(--on-accent); border-color: var(--accent); }
.danger { background: var(--danger); color: var(--on-danger); border-color: var(--danger); }
label { display: flex; align-items: center; gap: 0.75rem; min-height: 2.75rem; cursor: pointer; }
input[type="checkbox"], input[type="radio"] { flex: none; width: 1.5rem; height: 1.5rem; margin: 0; }
h3 { font-size: 1rem; line-height: 1.35; margin: 0 0 0.375rem; }
.field { margin: 0 0 1rem; }
.field label { display: block; min-height: 2.75rem; padding: 0.5rem 0 0.25rem; font-weight: 600; }
.field label span { font-weight: 400; }
.field p { margin: 0 0 0.375rem; }
textarea { display: block; width: 100%; min-height: 7rem; padding: 0.625rem 0.75rem; font: inherit; background: var(--page); color: var(--text); border: 1px solid var(--edge); border-radius: 0.625rem; resize: vertical; }
input[type="file"] { display: block; width: 100%; min-height: 2.75rem; font: inherit; color: var(--text); }
fieldset { margin: 0 0 1rem; padding: 0.5rem 0.875rem; border: 1px solid var(--edge); border-radius: 0.625rem; }
legend { padding: 0 0.25rem; font-weight: 600; }
blockquote { margin: 0 0 0.75rem; padding-left: 0.75rem; border-left: 3px solid var(--edge); white-space: pre-wrap; }
.typed { white-space: pre-wrap; }
.wrong { color: var(--wrong); font-weight: 600; }
.fault { border: 2px solid var(--wrong); }
summary { padding: 0.625rem 0; font-weight: 600; cursor: pointer; }
a:focus-visible, button:focus-visible, input:focus-visible, textarea:focus-visible, summary:focus-visible { outline: 3px solid var(--link); outline-offset: 3px; }
`;
