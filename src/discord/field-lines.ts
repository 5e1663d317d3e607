import type { FieldError } from "../kernel/errors.ts";
import { datetimeText, otherForm, requiredText } from "../kernel/issue-texts.ts";
import { type Translate, worded } from "../kit/say.ts";
import { escapeText } from "./replies.ts";
import { sentenceText } from "./sentence.ts";

/** Where a wrong field was given. */
export interface GivenField {
  /** The option or the field of a form, as the person saw it. */
  name: string;
  /** What was given there, as it can be shown; undefined where it would not help. */
  value?: string | undefined;
  /** The option of the same command that picks a person. */
  userOption?: string | undefined;
  /** Whether values are suggested while it is typed. */
  isSuggested?: boolean;
}

/** Undefined for a field that the person gave nowhere. */
export type FindGiven = (error: FieldError) => GivenField | undefined;

const limits = { lines: 10, values: 5 } as const;

/** Mistakes with a sentence of their own here; of others the detail is said. */
type Known = "snowflake" | "id" | "suggested" | "pick" | "datetime" | "required" | "unreadable" | "unknown";

/** One mistake, made in one place or in several. */
interface Mistake {
  known: Known | undefined;
  detail: string;
  /** What was given, by the name of the place as it is shown. */
  places: Map<string, Set<string>>;
  /** The first of the places that the person saw. */
  given: GivenField | undefined;
}

/** One line for each thing that is wrong, however many fields of the request it became. */
export function fieldLines(errors: readonly FieldError[], t: Translate, findGiven: FindGiven): string[] {
  const lines = [...mistakesIn(errors, t, findGiven)].map((mistake) => lineOf(mistake, t));
  const more = lines.length - limits.lines;
  return more > 0 ? [...lines.slice(0, limits.lines), t("refusal fields-more", { count: more })] : lines;
}

function mistakesIn(errors: readonly FieldError[], t: Translate, findGiven: FindGiven): Iterable<Mistake> {
  const mistakes = new Map<string, Mistake>();
  const seen = new Set<string>();
  for (const error of errors) {
    const at = `${error.in} ${error.pointer}`;
    // What else is wrong with a value follows from the first, or turns up once that is put right.
    if (seen.has(at)) continue;
    seen.add(at);
    const given = findGiven(error);
    const name = given === undefined ? labelOf(error.pointer, t) : `\`${given.name.replaceAll("`", "'")}\``;
    const known = name === undefined ? undefined : knownAs(error, given);
    const key = [known ?? error.detail, given?.userOption].join(" ");
    const mistake = mistakes.get(key) ?? { known, detail: error.detail, places: new Map<string, Set<string>>(), given };
    mistakes.set(key, mistake);
    if (name === undefined) continue;
    const values = mistake.places.get(name) ?? new Set();
    mistake.places.set(name, given?.value === undefined ? values : values.add(given.value));
  }
  return mistakes.values();
}

function knownAs({ code, detail }: FieldError, given: GivenField | undefined): Known | undefined {
  const hasValue = given?.value !== undefined;
  if (code === "invalid_snowflake") return hasValue ? "snowflake" : "id";
  if (code === "invalid_format" && given?.isSuggested === true) return hasValue ? "suggested" : "pick";
  if (code === "invalid_datetime") return "datetime";
  if (code === "not_readable") return "unreadable";
  if (code === "unknown_field") return "unknown";
  return detail === requiredText ? "required" : undefined;
}

function lineOf({ known, detail, places, given }: Mistake, t: Translate): string {
  const fields = [...places.keys()].join(", ");
  switch (known) {
    case "required":
    case "unreadable":
    case "unknown":
      return t(`field ${known}`, { fields });
    case "suggested":
      return t("field suggested", { values: valuesText(valuesOf(places)) });
    case "snowflake": {
      const values = valuesOf(places);
      const many = values.length > 1 ? (" many" as const) : "";
      const option = given?.userOption;
      return option === undefined
        ? t(`field snowflake${many}`, { values: valuesText(values) })
        : t(`field snowflake user${many}`, { values: valuesText(values), option });
    }
    default: {
      const forms = detail.split(otherForm).map((form) => (form === datetimeText ? t("field datetime") : sentenceText(form, t)));
      const sentence = known === undefined ? forms.join(` ${t("field or")} `) : t(`field ${known}`);
      return places.size === 0 ? sentence : `${[...places].map(([name, of]) => placeText(name, of, detail)).join(", ")}: ${sentence}`;
    }
  }
}

function valuesOf(places: Mistake["places"]): string[] {
  return [...new Set([...places.values()].flatMap((of) => [...of]))];
}

function valuesText(values: readonly string[]): string {
  return values.slice(0, limits.values).join(", ") + (values.length > limits.values ? ", …" : "");
}

/** A place with what was given there, unless the sentence has it. */
function placeText(name: string, values: ReadonlySet<string>, detail: string): string {
  const unsaid = [...values].filter((value) => !worded(detail).includes(value.replaceAll(/[`<@&#>]/g, "")));
  return unsaid.length === 0 ? name : `${name} (${valuesText(unsaid)})`;
}

/** What the last named part of a pointer is called; undefined where it names none. */
function labelOf(pointer: string, t: Translate): string | undefined {
  const name = pointer
    .split("/")
    .slice(1)
    .findLast((part) => part !== "" && !/^\d+$/.test(part));
  if (name === undefined) return undefined;
  const key = `label ${name}` as const;
  const label = t(key);
  const words = name.replaceAll("_", " ");
  return escapeText(label === key ? words.charAt(0).toUpperCase() + words.slice(1) : label);
}
