import { html } from "hono/html";
import type { TextKey } from "../../../kit/say.ts";
import { filled, layout, timeText, type Markup, type WrittenPage } from "../../../pages/layout.ts";
import { linkTo, type Reader } from "../../../pages/reader.ts";
import { area, backLink, fileField, summary, type FormGround } from "./appeal-form.html.ts";
import { maxAnswer, type AnswerForm } from "./appeal-form.ts";
import type { AppealsService } from "./appeals.service.ts";

type Own = Awaited<ReturnType<AppealsService["get"]>>;

/** How one's appeal stands, with what to do about it. */
export async function appealStatusPage(ground: FormGround, { view, comments }: Own, typed?: AnswerForm): Promise<WrittenPage> {
  const { reader, token } = ground;
  const { t } = reader;
  const path = `/appeal/status/${view.reference}`;
  const isOpen = view.timers.expires_at !== null && ["pending", "in_review", "needs_info", "escalated"].includes(view.status);
  const { decision } = view;
  const said = [decision?.reversal?.reason_public ?? decision?.reason_public, decision?.ruling?.message].filter(
    (text) => typeof text === "string" && text !== "",
  );
  return layout(
    reader,
    `${t("page appeal status")} ${view.reference}`,
    html`${summary(ground)}
      <section>
        <h2>${t("page appeal status state")}: ${t(`= ${view.status}`)}</h2>
        <p>${stateText(reader, view)}</p>
        ${isOpen && view.payload["suspend"] === true ? html`<p>${t("page appeal status suspended")}</p>` : ""}
        <dl>
          <dt>${t("page appeal status against")}</dt>
          <dd><code>${String(view.payload["target"] ?? "")}</code></dd>
          <dt>${t("page appeal status filed")}</dt>
          <dd>${timeText(reader, new Date(view.created_at))}</dd>
          ${
            isOpen && view.timers.expires_at !== null
              ? html`<dt>${t("page appeal status closes")}</dt>
                  <dd>${timeText(reader, new Date(view.timers.expires_at))}</dd>`
              : ""
          }
        </dl>
      </section>
      ${
        said.length === 0
          ? ""
          : part(
              t("page appeal answer-of"),
              said.map((text) => html`<blockquote>${text}</blockquote>`),
            )
      }
      ${
        comments.length === 0
          ? ""
          : part(
              t("page appeal messages"),
              comments.map(({ body }) => html`<blockquote>${body ?? ""}</blockquote>`),
            )
      }
      ${view.status === "needs_info" ? answerForm(ground, view.questions, path, typed) : ""} ${writtenPart(reader, view)}
      ${
        isOpen
          ? part(
              t("page appeal withdraw"),
              html`<p>${t("page appeal withdraw-text")}</p>
                <form method="post" action="${linkTo(reader, `${path}/withdraw`)}">
                  <input type="hidden" name="token" value="${token}" />
                  <label><input type="checkbox" name="sure" value="yes" /> ${t("page appeal withdraw-sure")}</label>
                  <button type="submit">${t("page appeal withdraw-button")}</button>
                </form>`,
            )
          : ""
      }
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
  if (status === "needs_info" && due !== null) return filled(t, "page appeal state asked", { time: timeText(reader, new Date(due)) });
  if (status === "needs_info") return html`${t("page appeal state asked-open")}`;
  // An approval that names no ruling does what was asked for.
  const became = status === "approved" ? (decision?.ruling?.outcome ?? String(payload["desired_outcome"])) : status;
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
