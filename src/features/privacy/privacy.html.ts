import { html } from "hono/html";
import { durationText, filled, layout, type Markup, type WrittenPage } from "../../pages/layout.ts";
import { linkTo, type Reader } from "../../pages/reader.ts";
import { readsPart, recordsPart, serversPart, sharedPart } from "./parts/parts.html.ts";
import { closedMatchDays, section, type ServerName } from "./parts/sections.ts";
import type { DataExportView } from "./privacy.schema.ts";
import { signInSeconds, type SignInEnding } from "./sign-in/sign-in.service.ts";

/** How something on the privacy page can end; each has its own page, with this status. */
export const privacyResults = {
  revoked: 200,
  "nothing-shared": 409,
  deleted: 200,
  "not-ticked": 400,
  "signed-out": 200,
  "sign-in-again": 401,
  declined: 200,
  "other-browser": 403,
  "discord-unreachable": 503,
  failed: 400,
} as const satisfies Record<SignInEnding, number> & Record<string, number>;
export type PrivacyResult = keyof typeof privacyResults;

/** The page of one result; it says the same to everybody. */
export async function privacyResultPage(reader: Reader, result: PrivacyResult): Promise<WrittenPage> {
  const { t } = reader;
  return layout(
    reader,
    t(`page result ${result}`),
    html`<p>${t(`page result-text ${result}`, terms(reader))}</p>
      <p><a class="button" href="${linkTo(reader, "/privacy")}">${t("page own back")}</a></p>`,
  );
}

/** What somebody who is not signed in sees. */
export async function signInPage(reader: Reader): Promise<WrittenPage> {
  const { t } = reader;
  return layout(
    reader,
    t("page own"),
    html`<p>${t("page own intro")}</p>
      ${section(t("page own sign-in"), html`<p>${t("page own sign-in-text", terms(reader))}</p>`)}
      <form method="post" action="${linkTo(reader, "/privacy/start")}">
        <button class="agree" type="submit">${t("page own sign-in-button")}</button>
      </form>`,
  );
}

/** What a signed-in person sees: what is stored, who looked at it, and what they can do about it. */
export async function ownDataPage(reader: Reader, data: DataExportView, nameOf: ServerName): Promise<WrittenPage> {
  const { t } = reader;
  return layout(
    reader,
    t("page own"),
    html`<p>${filled(t, "page own signed-in", { account: accountOf(data) })}</p>
      ${sharedPart(reader, data)} ${serversPart(reader, data)} ${readsPart(reader, data)} ${recordsPart(reader, data, nameOf)}
      ${section(
        t("page own download"),
        html`<p>${t("page own download-text")}</p>
          <p><a class="button" href="${linkTo(reader, "/privacy/data.json")}" download>${t("page own download-button")}</a></p>`,
      )}
      ${section(
        t("page own revoke"),
        html`<p>${t("page own revoke-text", terms(reader))}</p>
          ${form(reader, "/privacy/revoke", html`<button type="submit">${t("page own revoke-button")}</button>`)}`,
      )}
      ${section(
        t("page own delete"),
        html`<p>${t("page own delete-text")}</p>
          ${form(
            reader,
            "/privacy/delete",
            html`<label><input type="checkbox" name="sure" value="yes" /> ${t("page own delete-sure")}</label>
              <button class="danger" type="submit">${t("page own delete-button")}</button>`,
          )}`,
      )}
      ${form(reader, "/privacy/sign-out", html`<button type="submit">${t("page own sign-out")}</button>`)}`,
  );
}

function form(reader: Reader, path: string, content: Markup): Markup {
  return html`<form method="post" action="${linkTo(reader, path)}">${content}</form>`;
}

function accountOf({ discord_user_id, memberships }: DataExportView): Markup {
  const [member] = memberships.entries;
  const id = html`<code>${discord_user_id}</code>`;
  return member === undefined ? id : html`<strong>@${member.username}</strong> (${id})`;
}

/** How long something lasts, as the texts name it. */
function terms(reader: Reader): Record<"minutes" | "days", string> {
  return { minutes: durationText(reader, signInSeconds.privacy / 60, "minute"), days: durationText(reader, closedMatchDays, "day") };
}
