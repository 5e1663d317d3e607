import { say } from "../../../kit/say.ts";
import { validationProblem, type FieldError } from "../../../kernel/errors.ts";
import { isWithin, numbersOf, sizeOf } from "../numbers.ts";
import { poolLimits, type PoolRules } from "./pools.schema.ts";

const known: Readonly<Record<"template" | "nickname_template", RegExp>> = {
  template: /^\{(dept|rank|n|n:0[1-9])\}$/,
  nickname_template: /^\{(callsign|name)\}$/,
};

/**
 * What the fields of a pool say together.
 * @param isRole whether there is a staff role of that key; left out where the bands are not looked at anew
 * @throws ProblemError validation_failed
 */
export function requirePoolRules(rules: PoolRules, isRole?: (key: string) => boolean): void {
  const errors = [
    ...rangeErrors(rules),
    ...templateErrors("template", rules.template),
    ...numberErrors(rules.template),
    ...templateErrors("nickname_template", rules.nickname_template ?? ""),
    ...repeatedErrors(rules.nickname_template ?? ""),
    ...bandErrors(rules, isRole),
  ];
  if (errors.length > 0) throw validationProblem(errors);
}

function wrong(path: readonly (string | number)[], code: string, detail: string): FieldError {
  const parts = path.map((part) => part.toString().replaceAll("~", "~0").replaceAll("/", "~1"));
  return { pointer: `/${parts.join("/")}`, in: "body", code, detail };
}

function rangeErrors({ ranges }: PoolRules): FieldError[] {
  const errors: FieldError[] = [];
  for (const [index, [first, last]] of ranges.entries()) {
    const before = ranges[index - 1];
    if (first > last) errors.push(wrong(["ranges", index], "not_in_order", say("callsigns.write-the-first-number-before-the-last")));
    else if (before !== undefined && first <= before[1])
      errors.push(wrong(["ranges", index], "overlapping", say("callsigns.it-begins-before-the-end-of-the")));
  }
  if (errors.length === 0 && sizeOf(ranges) > poolLimits.numbers)
    errors.push(wrong(["ranges"], "too_many", say("callsigns.a-pool-has-at-most-1-000")));
  return errors;
}

function templateErrors(field: keyof typeof known, template: string): FieldError[] {
  const parts = template.match(/\{[^{}]*\}?|\}/g) ?? [];
  const unknown = parts.find((part) => !known[field].test(part));
  return unknown === undefined ? [] : [wrong([field], "unknown_placeholder", say("callsigns.it-holds-a-place-that-is-none"))];
}

/** Callsigns of a pool differ by their number alone. */
function numberErrors(template: string): FieldError[] {
  const count = template.match(/\{n(:0\d)?\}/g)?.length ?? 0;
  if (count === 1) return [];
  return [wrong(["template"], count === 0 ? "number_missing" : "number_repeated", say("callsigns.write-number"))];
}

/** What stands twice in a nickname cannot be told from the name any more. */
function repeatedErrors(template: string): FieldError[] {
  const parts = template.match(/\{(callsign|name)\}/g) ?? [];
  return new Set(parts).size === parts.length ? [] : [wrong(["nickname_template"], "repeated", say("callsigns.write-both"))];
}

function bandErrors({ ranges, rank_bands: bands }: PoolRules, isRole?: (key: string) => boolean): FieldError[] {
  const { spans } = numbersOf({ ranges, reserved: [], skip: [], rankBands: {} });
  const entries = Object.entries(bands);
  const errors = entries.flatMap(([key, [first, last]]) => {
    const path = ["rank_bands", key];
    if (isRole?.(key) === false) return [wrong(path, "unknown_role", say("callsigns.there-is-no-such-staff-role"))];
    if (first > last) return [wrong(path, "not_in_order", say("callsigns.write-the-first-number-before-the-last"))];
    const isInside = spans.some((span) => isWithin([span], first) && isWithin([span], last));
    return isInside ? [] : [wrong(path, "out_of_range", say("callsigns.not-all-of-these-numbers-are-in"))];
  });
  if (entries.length > poolLimits.bands)
    errors.push(wrong(["rank_bands"], "too_many", say("callsigns.at-most-100-staff-roles-have-their")));
  return errors;
}
