import { html } from "hono/html";
import type { TextKey } from "../../../commands/texts.ts";
import { durationText, filled, layout, timeText, type Markup, type WrittenPage } from "../../../pages/layout.ts";
import { linkTo, type Reader } from "../../../pages/reader.ts";
import type { SignInEnding } from "../../privacy/sign-in/sign-in.service.ts";
import type { AppealableDecision, AppealsService } from "./appeals.service.ts";
import type { AnswerForm } from "./appeal-form.ts";
import { maxAnswer } from "./appeal-form.ts";
import { area, backLink, fileField, summary, type FormGround } from "./appeal-form.html.ts";
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
      ${kept.length === 0
        ? ""
        : html`<section>
            <h2>${t("page appeal kept-text")}</h2>
            <p>${t("page appeal kept-hint")}</p>
            ${kept.map((text) => html`<blockquote>${text}</blockquote>`)}
          </section>`}
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
      : filled(t("page appeal off-contact"), { contact: html`<a href="${address}" rel="noreferrer">${mail}</a>` });
  return layout(reader, t("page appeal off"), html`<p>${filled(t("page appeal off-text"), { contact })}</p>`);
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
    html`<p>${filled(t("page appeal signed-in"), { account: html`<code>${userId}</code>` })}</p>
      ${appeals.length === 0
        ? ""
        : html`<h2>${t("page appeal own")}</h2>
            <ul>
              ${appeals.map(
                ({ reference, status, createdAt }) =>
                  html`<li>
                    <a href="${linkTo(reader, `/appeal/status/${reference}`)}">${reference}</a>: ${t(`= ${status}`)},
                    ${filled(t("page appeal filed"), { time: timeText(reader, createdAt) })}
                  </li>`,
              )}
            </ul>`}
      <h2>${t("page appeal decisions")}</h2>
      ${decisions.length === 0
        ? html`<p>${t("page appeal decisions-none")}</p>`
        : decisions.map((decision) => html`<section>${decisionPart(reader, decision)}</section>`)}
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
    ${chance.is === "free"
      ? html`<p>
          <a class="button" href="${linkTo(reader, `/appeal/decision/${target}`)}" aria-label="${t("page appeal start")}: ${decision.reference}"
            >${t("page appeal start")}</a
          >
        </p>`
      : html`<p>${chanceText(reader, chance)}</p>`}`;
}

/** A decision that cannot be appealed now, and why. */
export async function closedDecisionPage(reader: Reader, decision: AppealableDecision): Promise<WrittenPage> {
  const { chance } = decision;
  return layout(
    reader,
    reader.t("page appeal"),
    html`<section>
        <h2>${decisionTitle(reader, decision)}</h2>
        ${decisionFacts(reader, decision)} ${chance.is === "free" ? "" : html`<p>${chanceText(reader, chance)}</p>`}
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
    html`<p>${filled(t("page appeal unknown-text"), { reference: html`<code>${named}</code>` })}</p>
      <p><a class="button" href="${linkTo(reader, "/appeal")}">${t("page appeal back")}</a></p>`,
  );
}

type Own = Awaited<ReturnType<AppealsService["get"]>>;

/** How one's appeal stands, with what to do about it. */
export async function appealStatusPage(ground: FormGround, { view, comments }: Own, typed?: AnswerForm): Promise<WrittenPage> {
  const { reader, token } = ground;
  const { t } = reader;
  const path = `/appeal/status/${view.reference}`;
  const isOpen = view.timers.expires_at !== null && ["pending", "in_review", "needs_info", "escalated"].includes(view.status);
  const said = view.decision?.reversal?.reason_public ?? view.decision?.reason_public ?? "";
  return layout(
    reader,
    `${t("page appeal status")} ${view.reference}`,
    html`${summary(ground)}
      <section>
        <h2>${t("page appeal status state")}: ${t(`= ${view.status}`)}</h2>
        <p>${stateText(reader, view)}</p>
        <dl>
          <dt>${t("page appeal status against")}</dt>
          <dd><code>${String(view.payload["target"] ?? "")}</code></dd>
          <dt>${t("page appeal status filed")}</dt>
          <dd>${timeText(reader, new Date(view.created_at))}</dd>
          ${isOpen && view.timers.expires_at !== null
            ? html`<dt>${t("page appeal status closes")}</dt>
                <dd>${timeText(reader, new Date(view.timers.expires_at))}</dd>`
            : ""}
        </dl>
      </section>
      ${said === "" ? "" : part(t("page appeal answer-of"), html`<blockquote>${said}</blockquote>`)}
      ${comments.length === 0
        ? ""
        : part(
            t("page appeal messages"),
            comments.map(({ body }) => html`<blockquote>${body ?? ""}</blockquote>`),
          )}
      ${view.status === "needs_info" ? answerForm(ground, view.questions, path, typed) : ""} ${writtenPart(reader, view)}
      ${isOpen
        ? part(
            t("page appeal withdraw"),
            html`<p>${t("page appeal withdraw-text")}</p>
              <form method="post" action="${linkTo(reader, `${path}/withdraw`)}">
                <input type="hidden" name="token" value="${token}" />
                <label><input type="checkbox" name="sure" value="yes" /> ${t("page appeal withdraw-sure")}</label>
                <button type="submit">${t("page appeal withdraw-button")}</button>
              </form>`,
          )
        : ""}
      ${backLink(reader)}`,
  );
}

function part(title: string, content: Markup | Markup[]): Markup {
  return html`<section>
    <h2>${title}</h2>
    ${content}
  </section>`;
}

/** What the states and the rulings of an appeal mean for the person; any other state waits for the staff. */
const meanings: Readonly<Record<string, TextKey>> = {
  overturn: "page appeal state overturn",
  reduce: "page appeal state reduce",
  remit: "page appeal state remit",
  approved: "page appeal state answered",
  clarify: "page appeal state answered",
  denied: "page appeal state denied",
  withdrawn: "page appeal state withdrawn",
  expired: "page appeal state expired",
  void: "page appeal state void",
  reversed: "page appeal state reversed",
};

function stateText(reader: Reader, { status, decision, timers, payload }: Own["view"]): Markup {
  const { t } = reader;
  const due = timers.info_due_at;
  if (status === "needs_info" && due !== null) return filled(t("page appeal state asked"), { time: timeText(reader, new Date(due)) });
  if (status === "needs_info") return html`${t("page appeal state asked-open")}`;
  // An approval that names no ruling does what was asked for.
  const became = status === "approved" ? (decision?.ruling ?? String(payload["desired_outcome"])) : status;
  return html`${t(meanings[became] ?? "page appeal state waiting")}`;
}

function answerForm(ground: FormGround, questions: readonly string[], path: string, typed: AnswerForm | undefined): Markup {
  const { reader, token } = ground;
  const { t } = reader;
  return part(
    t("page appeal questions"),
    html`<ul>
        ${questions.map((question) => html`<li>${question}</li>`)}
      </ul>
      <form method="post" enctype="multipart/form-data" action="${linkTo(reader, `${path}/answer`)}">
        <input type="hidden" name="token" value="${token}" />
        ${area(ground, { field: "answer", label: t("page appeal answer"), isRequired: false, value: typed?.answer ?? "", max: maxAnswer })}
        ${fileField(ground)}
        <button class="agree" type="submit">${t("page appeal answer-button")}</button>
      </form>`,
  );
}

/** What the person sent. */
function writtenPart(reader: Reader, { payload, evidence }: Own["view"]): Markup {
  const { t } = reader;
  const answers = (payload["answers"] ?? []) as readonly { question: string; answer: string }[];
  return part(
    t("page appeal wrote"),
    html`<dl>
        ${answers.map(
          ({ question, answer }) =>
            html`<dt>${question}</dt>
              <dd class="typed">${answer}</dd>`,
        )}
        <dt>${t("page appeal grounds")}</dt>
        <dd class="typed">${String(payload["grounds"] ?? "")}</dd>
      </dl>
      ${evidence.length === 0 ? "" : html`<p>${t("page appeal wrote-files", { count: evidence.length })}</p>`}`,
  );
}
