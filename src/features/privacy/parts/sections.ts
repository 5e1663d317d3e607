import { html } from "hono/html";
import { filled, type Markup } from "../../../pages/layout.ts";
import type { Reader } from "../../../pages/reader.ts";

/** How many entries of a list the page shows; the download has all of them. */
const shown = 50;
/** How long a result of the comparison stays after it is closed. */
export const closedMatchDays = 90;

/** The name of a server of the community; undefined where it is not one any more. */
export type ServerName = (guildId: string) => string | undefined;

interface List<Entry> {
  entries: readonly Entry[];
  truncated?: true | undefined;
}

/** A part of the page under a heading of its own. */
export function section(title: string, content: Markup): Markup {
  return html`<section>
    <h2>${title}</h2>
    ${content}
  </section>`;
}

/** Lists below each other, or that there is nothing. */
export function orNothing({ t }: Reader, lists: readonly Markup[]): Markup {
  return lists.length === 0 ? html`<p>${t("page own none")}</p>` : html`${lists}`;
}

/**
 * A list, folded unless it is open; a list of nothing is not there.
 * @param title with `{count}` in it
 */
/** Texts that say how many there are. */
type TitleKey =
  | "page matches list"
  | "page reads list"
  | "page rest asked"
  | "page rest blacklist"
  | "page rest by-hand"
  | "page rest cases"
  | "page rest linked"
  | "page rest memberships"
  | "page rest messages"
  | "page rest requests"
  | "page servers readable";

export function listOf<Entry>(
  { t }: Reader,
  { entries, truncated }: List<Entry>,
  title: TitleKey,
  line: (entry: Entry) => Markup,
  isOpen = false,
): Markup[] {
  if (entries.length === 0) return [];
  const count = `${entries.length.toString()}${truncated === true ? "+" : ""}`;
  const more = entries.length > shown || truncated === true ? html`<p class="soft">${t("page own more")}</p>` : "";
  return [
    html`<details${isOpen ? html` open` : ""}>
      <summary>${filled(t, title, { count })}</summary>
      <ul>
        ${entries.slice(0, shown).map((entry) => html`<li>${line(entry)}</li>`)}
      </ul>
      ${more}
    </details>`,
  ];
}
