import { html } from "hono/html";
import { durationText, filled, layout, timeText, type Markup, type WrittenPage } from "../../../pages/layout.ts";
import { linkTo, type Reader } from "../../../pages/reader.ts";
import type { SignInEnding } from "../../privacy/sign-in/sign-in.service.ts";
import type { AppealableDecision, AppealsService } from "./appeals.service.ts";
import { backLink, limitText } from "./appeal-form.html.ts";
import type { Limit } from "./appeal-form.ts";
import { chanceText, decisionFacts, decisionTitle } from "./decision.html.ts";

/** How something on the page of appeals can end; each has its own page, with this status. */
export const appealResults = {
  "signed-out": 200,
  "sign-in-again": 401,
  declined: 200,
  "other-browser": 403,
  "discord-unreachable": 503,
  "not-ticked": 400,
  "too-large": 413,
  over: 409,
  closed: 409,
  failed: 400,
} as const satisfies Record<SignInEnding, number> & Record<string, number>;
export type AppealResult = keyof typeof appealResults;

/** How long somebody stays signed in, in minutes. */
const minutes = 60;
const terms = (reader: Reader) => ({ minutes: durationText(reader, minutes, "minute") });

/** @param typed what somebody had typed who was signed out meanwhile */
export async function appealResultPage(reader: Reader, result: AppealResult, typed: readonly string[] = []): Promise<WrittenPage> {
  const { t } = reader;
  const kept = typed.filter((text) => text.trim() !== "");
  return layout(
    reader,
    t(`page appeal result ${result}`),
    html`<p>${t(`page appeal result-text ${result}`, terms(reader))}</p>
      ${
        kept.length === 0
          ? ""
          : html`<section>
              <h2>${t("page appeal kept-text")}</h2>
              <p>${t("page appeal kept-hint")}</p>
              ${kept.map((text) => html`<blockquote>${text}</blockquote>`)}
            </section>`
      }
      <p><a class="button" href="${linkTo(reader, "/appeal")}">${t("page appeal back")}</a></p>`,
  );
}

/** What stands there where nobody has set the page up: how to appeal all the same. */
export async function notSetUpPage(reader: Reader): Promise<WrittenPage> {
  const { t, operator } = reader;
  const address = operator.contact;
  const mail = address?.startsWith("mailto:") === true ? address.slice("mailto:".length) : address;
  const contact =
    address === null
      ? t("page appeal off-staff")
      : filled(t, "page appeal off-contact", { contact: html`<a href="${address}" rel="noreferrer">${mail}</a>` });
  return layout(reader, t("page appeal off"), html`<p>${filled(t, "page appeal off-text", { contact })}</p>`);
}

/** What somebody sees who is not signed in; it says the same whatever they came for. */
export async function appealSignInPage(reader: Reader, about?: string): Promise<WrittenPage> {
  const { t } = reader;
  return layout(
    reader,
    t("page appeal"),
    html`<p>${t("page appeal intro")}</p>
      <section>
        <h2>${t("page appeal sign-in")}</h2>
        <p>${t("page appeal sign-in-text", terms(reader))}</p>
      </section>
      <form method="post" action="${linkTo(reader, "/appeal/start")}">
        ${about === undefined ? "" : html`<input type="hidden" name="about" value="${about}" />`}
        <button class="agree" type="submit">${t("page appeal sign-in-button")}</button>
      </form>
      <p><a href="${linkTo(reader, "/privacy")}">${t("page appeal privacy")}</a></p>`,
  );
}

type Overview = Awaited<ReturnType<AppealsService["overview"]>>;

/** What was decided about somebody, and their appeals. */
export async function overviewPage(reader: Reader, userId: string, token: string, { decisions, appeals }: Overview): Promise<WrittenPage> {
  const { t } = reader;
  return layout(
    reader,
    t("page appeal"),
    html`<p>${filled(t, "page appeal signed-in", { account: html`<code>${userId}</code>` })}</p>
      ${
        appeals.length === 0
          ? ""
          : html`<h2>${t("page appeal own")}</h2>
              <ul>
                ${appeals.map(
                  ({ reference, status, createdAt }) =>
                    html`<li>
                      <a href="${linkTo(reader, `/appeal/status/${reference}`)}">${reference}</a>: ${t(`= ${status}`)},
                      ${filled(t, "page appeal filed", { time: timeText(reader, createdAt) })}
                    </li>`,
                )}
              </ul>`
      }
      <h2>${t("page appeal decisions")}</h2>
      ${
        decisions.length === 0
          ? html`<p>${t("page appeal decisions-none")}</p>`
          : decisions.map((decision) => html`<section>${decisionPart(reader, decision)}</section>`)
      }
      <form method="post" action="${linkTo(reader, "/appeal/sign-out")}">
        <input type="hidden" name="token" value="${token}" />
        <button type="submit">${t("page appeal sign-out")}</button>
      </form>
      <p><a href="${linkTo(reader, "/privacy")}">${t("page appeal privacy")}</a></p>`,
  );
}

function decisionPart(reader: Reader, decision: AppealableDecision): Markup {
  const { chance, target } = decision;
  const { t } = reader;
  return html`<h3>${decisionTitle(reader, decision)}</h3>
    ${decisionFacts(reader, decision)}
    ${
      chance.is === "free"
        ? html`<p>
            <a
              class="button"
              href="${linkTo(reader, `/appeal/decision/${target}`)}"
              aria-label="${t("page appeal start")}: ${decision.reference}"
              >${t("page appeal start")}</a
            >
          </p>`
        : html`<p>${chanceText(reader, chance)}</p>`
    }`;
}

/** A decision that cannot be appealed now, and why. @param limit what keeps the person from filing any appeal */
export async function closedDecisionPage(reader: Reader, decision: AppealableDecision, limit?: Limit): Promise<WrittenPage> {
  const { chance } = decision;
  return layout(
    reader,
    reader.t("page appeal"),
    html`<section>
        <h2>${decisionTitle(reader, decision)}</h2>
        ${decisionFacts(reader, decision)} ${chance.is === "free" ? "" : html`<p>${chanceText(reader, chance)}</p>`}
        ${limit === undefined ? "" : html`<p>${limitText(reader, limit)}</p>`}
      </section>
      ${backLink(reader)}`,
  );
}

/** The same for a decision about somebody else and for none at all. */
export async function unknownDecisionPage(reader: Reader, named: string): Promise<WrittenPage> {
  const { t } = reader;
  return layout(
    reader,
    t("page appeal unknown"),
    html`<p>${filled(t, "page appeal unknown-text", { reference: html`<code>${named}</code>` })}</p>
      <p><a class="button" href="${linkTo(reader, "/appeal")}">${t("page appeal back")}</a></p>`,
  );
}
