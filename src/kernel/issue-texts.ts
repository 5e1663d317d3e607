import { say, inRow, term } from "../kit/say.ts";
import type { z } from "zod";

type Issue = z.core.$ZodRawIssue;

/** What a field that is left out is refused with. */
export const requiredText = say("kernel.this-field-is-required");

const typeTexts: Readonly<Record<string, string>> = {
  string: say("kernel.a-text-is-needed-here"),
  number: say("kernel.a-number-is-needed-here"),
  int: say("kernel.a-whole-number-is-needed-here"),
  boolean: say("kernel.use-true-or-false"),
  array: say("kernel.a-list-is-needed-here"),
  tuple: say("kernel.a-list-is-needed-here"),
  object: say("kernel.an-object-is-needed-here"),
  record: say("kernel.an-object-is-needed-here"),
  null: say("kernel.use-null"),
};

export const datetimeText = say("kernel.write-a-time-such-as-2026-11");
/** Between what several forms need, where something is in none of them. */
export const otherForm = say("joint other-form");
const shownId = say("kernel.write-the-id-as-it-was-shown");
const formatTexts: Readonly<Record<string, string>> = {
  datetime: datetimeText,
  date: say("kernel.write-a-date-such-as-2026-11"),
  uuid: shownId,
  guid: shownId,
  url: say("kernel.write-a-whole-address-such-as-https"),
};
const otherFormat = say("kernel.this-is-not-in-the-form-that");
const unfit = say("kernel.what-stands-here-does-not-fit");

const units: Readonly<Record<string, "character" | "entry">> = { string: "character", array: "entry", set: "entry", map: "entry" };

/**
 * What a schema's refusal says where the schema has no sentence of its own: each code of Zod in the service's words.
 * @param issue as Zod raises it, with the input
 */
export function issueText(issue: Issue): string {
  if (isAbsent(issue)) return requiredText;
  switch (issue.code) {
    case "invalid_type":
      return typeTexts[issue.expected] ?? unfit;
    case "invalid_value":
      return choiceText(issue.values);
    case "invalid_union":
      return Array.isArray(issue.options) ? choiceText(issue.options) : alternatives(issue.errors);
    case "too_big":
      return limitText("most", issue.maximum, issue);
    case "too_small":
      return limitText("least", issue.minimum, issue);
    case "invalid_format":
      return formatTexts[issue.format] ?? otherFormat;
    case "not_multiple_of":
      return say("kernel.use-a-multiple-of", { count: issue.divisor });
    case "unrecognized_keys":
      return say("kernel.this-field-is-not-known-here");
    default:
      return unfit;
  }
}

function choiceText(choices: readonly unknown[]): string {
  return choices.length === 1
    ? say("kernel.use", { value: term(String(choices[0])) })
    : say("kernel.use-one-of", { values: inRow(choices.map((choice) => term(String(choice)))) });
}

/** What each of several forms would need, where something is in none of them. */
function alternatives(forms: readonly (readonly z.core.$ZodIssue[])[]): string {
  const needed = new Set(forms.flatMap((issues) => issues.find(({ path }) => path.length === 0)?.message ?? []));
  return needed.size === 0 ? unfit : [...needed].join(otherForm);
}

interface Limit {
  origin: string;
  inclusive?: boolean | undefined;
  exact?: boolean | undefined;
}

function limitText(end: "most" | "least", limit: number | bigint, { origin, inclusive = true, exact = false }: Limit): string {
  if (origin === "string" && end === "least" && Number(limit) === 1) return say("kernel.this-must-not-be-empty");
  const [unit, count] = [units[origin], Number(limit)];
  if (unit !== undefined) return say(`kernel.length-${exact ? "exactly" : end}-${unit}`, { count });
  if (!inclusive) return say(`kernel.number-${end === "most" ? "below" : "above"}`, { count: limit.toString() });
  return say(`kernel.number-${end}`, { count: limit.toString() });
}

const ofAbsence: ReadonlySet<string | undefined> = new Set(["invalid_type", "invalid_value", "invalid_union"]);

/** Schemas report their input, so that a missing field and one of a wrong type or choice can be told apart. */
export function isAbsent(issue: { code?: string | undefined; input?: unknown }): boolean {
  return ofAbsence.has(issue.code) && "input" in issue && issue.input === undefined;
}
