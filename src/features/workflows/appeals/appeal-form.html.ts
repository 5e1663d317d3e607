import { html } from "hono/html";
import { durationText, layout, type Markup, type WrittenPage } from "../../../pages/layout.ts";
import { linkTo, type Reader } from "../../../pages/reader.ts";
import type { AppealableDecision } from "./appeals.service.ts";
import {
  fileTypes,
  grounds,
  maxAnswer,
  maxFiles,
  maxOpen,
  maxPerDay,
  outcomes,
  type AppealForm,
  type Fault,
  type Limit,
} from "./appeal-form.ts";
import { decisionFacts, decisionTitle } from "./decision.html.ts";
import type { QuestionsView } from "./questions.schema.ts";

/** A form that comes back: what is wrong with it, or why it has to wait. */
export interface Returned {
  faults: readonly Fault[];
  limit?: Limit;
}

/** The fields of a form that are not questions of the community. */
type OwnField = "grounds" | "outcome" | "files" | "answer";

/** What a form shows besides its fields. */
export interface FormGround {
  reader: Reader;
  /** What another site does not know. */
  token: string;
  /** What one file may hold. */
  maxBytes: number;
  returned?: Returned | undefined;
}

/** The page on which somebody writes an appeal against a decision. */
export async function appealFormPage(
  ground: FormGround,
  decision: AppealableDecision,
  { questions, revision }: QuestionsView,
  typed?: AppealForm,
): Promise<WrittenPage> {
  const { reader, token } = ground;
  const { t } = reader;
  const chosen = typed?.outcome ?? outcomes[0];
  return layout(
    reader,
    t("page appeal"),
    html`${summary(
        ground,
        questions.map(({ question }) => question),
      )}
      <section>
        <h2>${decisionTitle(reader, decision)}</h2>
        ${decisionFacts(reader, decision)}
      </section>
      <h2>${t("page appeal form")}</h2>
      <p>${t("page appeal form-intro")}</p>
      <form method="post" enctype="multipart/form-data" action="${linkTo(reader, `/appeal/decision/${decision.target}`)}">
        <input type="hidden" name="token" value="${token}" />
        <input type="hidden" name="revision" value="${revision}" />
        ${questions.map(({ question, required }, index) =>
          area(ground, {
            field: `answer-${index.toString()}`,
            label: question,
            isRequired: required,
            value: typed?.answers[index] ?? "",
            max: maxAnswer,
          }),
        )}
        ${area(ground, {
          field: "grounds",
          label: t("page appeal grounds"),
          hint: t("page appeal grounds-hint", grounds),
          isRequired: true,
          value: typed?.grounds ?? "",
          max: grounds.max,
        })}
        <fieldset id="outcome">
          <legend>${t("page appeal outcome")}</legend>
          ${faultsAt(ground, "outcome")}
          ${outcomes.map(
            (one) =>
              html`<label
                ><input type="radio" name="outcome" value="${one}" ${one === chosen ? html`checked` : ""} /> ${t(
                  `page appeal outcome ${one}`,
                )}</label
              >`,
          )}
        </fieldset>
        ${fileField(ground)}
        <button class="agree" type="submit">${t("page appeal send")}</button>
      </form>
      ${backLink(reader)}`,
  );
}

export function backLink(reader: Reader): Markup {
  return html`<p><a href="${linkTo(reader, "/appeal")}">${reader.t("page appeal back")}</a></p>`;
}

/**
 * What stands above a form that came back, so that it is read first. What is wrong with a field stands beside it.
 * @param questions of the community, as far as the form asks them
 */
export function summary({ reader, returned }: FormGround, questions: readonly string[] = []): Markup | "" {
  if (returned === undefined) return "";
  const { t } = reader;
  const { limit, faults } = returned;
  const says = limit === undefined ? t("page appeal faults-text") : `${limitText(reader, limit)} ${t("page appeal faults-kept")}`;
  const fields = [...new Set(faults.map(({ field }) => field))];
  return html`<section class="fault" role="alert">
    <h2>${t("page appeal faults")}</h2>
    <p>${says}</p>
    ${
      fields.length === 0
        ? ""
        : html`<ul>
            ${fields.map((field) => html`<li><a href="#${field}">${fieldLabel(reader, field, questions)}</a></li>`)}
          </ul>`
    }
  </section>`;
}

function fieldLabel({ t }: Reader, field: Fault["field"], questions: readonly string[]): string {
  return field.startsWith("answer-") ? (questions[Number(field.slice("answer-".length))] ?? "") : t(`page appeal ${field as OwnField}`);
}

/** Why nothing can be sent now, and when it can. */
export function limitText(reader: Reader, limit: Limit): string {
  const { t } = reader;
  if (limit.because === "open") return t("page appeal limit open", { count: maxOpen });
  return t(`page appeal limit ${limit.because}`, { time: waitText(reader, limit.seconds), count: maxPerDay });
}

function waitText(reader: Reader, seconds: number): string {
  if (seconds > 2 * 3600) return durationText(reader, Math.ceil(seconds / 3600), "hour");
  return seconds > 120 ? durationText(reader, Math.ceil(seconds / 60), "minute") : durationText(reader, seconds, "second");
}

interface Area {
  field: string;
  label: string;
  hint?: string;
  isRequired: boolean;
  value: string;
  max: number;
}

/** A text field with its label, what is wrong with it beside it, and what was typed. */
export function area(ground: FormGround, { field, label, hint, isRequired, value, max }: Area): Markup {
  const { t } = ground.reader;
  const isWrong = ground.returned?.faults.some((fault) => fault.field === field) === true;
  const described = [...(hint === undefined ? [] : [`${field}-hint`]), ...(isWrong ? [`${field}-fault`] : [])].join(" ");
  return html`<div class="field">
    <label for="${field}">${label} <span class="soft">(${t(isRequired ? "page appeal required" : "page appeal optional")})</span></label>
    ${hint === undefined ? "" : html`<p class="soft small" id="${field}-hint">${hint}</p>`} ${faultsAt(ground, field)}
    <textarea
      id="${field}"
      name="${field}"
      rows="5"
      maxlength="${max}"
      ${isRequired ? html`required` : ""}
      ${described === "" ? "" : html`aria-describedby="${described}"`}
      ${isWrong ? html`aria-invalid="true"` : ""}
    >
${value}</textarea>
  </div>`;
}

/** The field for files. */
export function fileField(ground: FormGround): Markup {
  const { reader, maxBytes, returned } = ground;
  const { t } = reader;
  const isWrong = returned?.faults.some(({ field }) => field === "files") === true;
  const accepted = [...fileTypes].flatMap((pair) => [...pair]).join(",");
  return html`<div class="field">
    <label for="files">${t("page appeal files")} <span class="soft">(${t("page appeal optional")})</span></label>
    <p class="soft small" id="files-hint">
      ${t("page appeal files-hint", { count: maxFiles, size: sizeText(reader, maxBytes) })}
      ${returned === undefined ? "" : t("page appeal files-again")}
    </p>
    ${faultsAt(ground, "files")}
    <input
      id="files"
      type="file"
      name="files"
      multiple
      accept="${accepted}"
      aria-describedby="files-hint${isWrong ? " files-fault" : ""}"
      ${isWrong ? html`aria-invalid="true"` : ""}
    />
  </div>`;
}

/** What is wrong with a field, beside it. */
function faultsAt({ reader, returned }: FormGround, field: string): Markup | "" {
  const said = faultTexts(reader, returned?.faults ?? [], field);
  return said.length === 0 ? "" : html`<p class="wrong" id="${field}-fault">${said.join(" ")}</p>`;
}

function faultTexts(reader: Reader, faults: readonly Fault[], of: string): string[] {
  const { t } = reader;
  return faults
    .filter(({ field }) => field === of)
    .map(({ says, values = {} }) => {
      const size = typeof values["size"] === "number" ? { size: sizeText(reader, values["size"]) } : {};
      const name = values["name"] === "" ? { name: t("page appeal file-nameless") } : {};
      return t(`page appeal fault ${says}`, { ...values, ...size, ...name });
    });
}

/** Bytes as people read them. */
function sizeText({ language }: Reader, bytes: number): string {
  const isSmall = bytes < 1024 * 1024;
  const style = { style: "unit", unit: isSmall ? "kilobyte" : "megabyte", maximumFractionDigits: 1 } as const;
  return new Intl.NumberFormat(language, style).format(bytes / (isSmall ? 1024 : 1024 * 1024));
}
