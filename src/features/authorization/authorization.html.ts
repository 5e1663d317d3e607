import { html } from "hono/html";
import { durationText, filled, layout, listText, timeText, type Markup, type WrittenPage } from "../../pages/layout.ts";
import { linkTo, type Reader } from "../../pages/reader.ts";
import { retentionDays, sessionRetentionDays } from "./authorization.policy.ts";
import type { Purpose, Scope } from "./authorization.schema.ts";
import type { Names } from "./consent-names.ts";
import type { Ending } from "./endings/endings.ts";

/** What the consent page says about one session. */
export interface Consent extends Names {
  /** The Discord account that is asked. */
  userId: string;
  /** Path of the session's page, below the prefix of the pages. */
  path: string;
  purpose: Purpose;
  requestReference: string | null;
  scopes: readonly Scope[];
  detail: Detail;
  now: Date;
  expiresAt: Date;
}

/** How much of the server list stays readable. */
export type Detail = "full" | "listed";

/** How long a result of the comparison stays after it is closed. */
const matchRetentionDays = 90;

/** What is asked, the two answers and what follows each of them; the details are folded below the answers. */
export async function consentPage(reader: Reader, consent: Consent): Promise<WrittenPage> {
  const { t } = reader;
  const { path, purpose, requestReference, scopes } = consent;
  const community = communityOf(reader, consent);
  const reference = requestReference === null ? "" : html` (${requestReference})`;
  return layout(
    reader,
    t("page consent"),
    html`<p>${whoAsks(reader, consent, community)}</p>
      <p>${whoIsAsked(reader, consent)}</p>
      <section>
        <h2>${t("page consent why")}</h2>
        <p>${t(`page purpose ${purpose}`)}${reference}</p>
        <h2>${t("page consent read")}</h2>
        <ul>
          ${scopes.map((scope) => html`<li>${t(`page scope ${scope}`)}</li>`)}
        </ul>
        <p>${filled(t, "page consent seen-by", { community })}</p>
      </section>
      <form method="post" action="${linkTo(reader, `${path}/start`)}">
        <button class="agree" type="submit">${t("page consent agree")}</button>
      </form>
      <p class="soft small">${t("page consent after-agree")}</p>
      <form method="post" action="${linkTo(reader, `${path}/decline`)}"><button type="submit">${t("page consent decline")}</button></form>
      <p class="soft small">${t("page consent after-decline")}</p>
      <details>
        <summary>${t("page consent details")}</summary>
        ${whatIsKept(reader, consent, community)} ${howToTakeBack(reader)}
      </details>`,
  );
}

function communityOf(reader: Reader, { communities }: Consent): string {
  return communities.length === 0 ? reader.t("page consent this-community") : listText(reader, communities);
}

function whoAsks({ t }: Reader, { client, staffMember }: Consent, community: string): Markup {
  const strong = (name: string): Markup => html`<strong>${name}</strong>`;
  const names = { staff: strong(staffMember ?? t("page consent staff-member")), community: strong(community) };
  return client === null
    ? filled(t, "page consent who", names)
    : filled(t, "page consent who-through", { ...names, client: strong(client) });
}

/** The link may have been passed on: whoever it is for recognizes their own account, before Discord refuses another one. */
function whoIsAsked(reader: Reader, { account, userId, now, expiresAt }: Consent): Markup {
  const { t } = reader;
  const id = html`<code>${userId}</code>`;
  return filled(t, "page consent for", {
    account: account === null ? filled(t, "page consent account", { id }) : html`<strong>@${account}</strong> (${id})`,
    minutes: durationText(reader, Math.max(1, Math.ceil((expiresAt.getTime() - now.getTime()) / 60_000)), "minute"),
    time: timeText(reader, expiresAt),
  });
}

function whatIsKept(reader: Reader, { scopes, detail }: Consent, community: string): Markup {
  const { t } = reader;
  const days = (count: number): Record<"days", string> => ({ days: durationText(reader, count, "day") });
  const servers = scopes.includes("guilds") ? html`<p>${t(`page detail ${detail}`)}</p>` : "";
  return html`<section>
      <h2>${t("page consent kept")}</h2>
      ${servers}
      <p>${t("page consent compared", { community })}</p>
    </section>
    <section>
      <h2>${t("page consent long")}</h2>
      <ul>
        <li>${t("page consent long-read", days(retentionDays))}</li>
        <li>${t("page consent long-found", days(matchRetentionDays))}</li>
        <li>${t("page consent long-asked", days(sessionRetentionDays))}</li>
      </ul>
    </section>`;
}

function howToTakeBack(reader: Reader): Markup {
  const { t } = reader;
  const page = html`<a href="${linkTo(reader, "/privacy")}">${t("page consent privacy")}</a>`;
  return html`<section>
    <h2>${t("page consent back")}</h2>
    <p>${filled(t, "page consent back-page", { page })}</p>
    <p>${t("page consent back-discord")}</p>
  </section>`;
}

/** The way back to the site that sent the person here. */
export interface WayBack {
  name: string;
  /** As the operator has configured it. */
  address: string;
}

/** The page of one ending; it says the same to everybody. */
export async function endingPage(reader: Reader, ending: Ending, back?: WayBack): Promise<WrittenPage> {
  const { t } = reader;
  const link =
    back === undefined
      ? ""
      : html`<p><a class="button agree" href="${back.address}" rel="noreferrer">${t("page back-to", { name: back.name })}</a></p>`;
  const own = ending === "done" ? html`<p><a class="button" href="${linkTo(reader, "/privacy")}">${t("page to-own")}</a></p>` : "";
  return layout(
    reader,
    t(`page ending ${ending}`),
    html`<p>${t(`page ending-text ${ending}`)}</p>
      ${link}${own}`,
  );
}
