import { say, term } from "../../kit/say.ts";
import { fieldError } from "../../kernel/errors.ts";
import { listed } from "../../kernel/words.ts";

const common = ["no_action", "duplicate", "invalid", "referred"];
const findings = ["substantiated", "partly", "unsubstantiated", "exonerated", "inconclusive"];

/** What it came from was taken back. */
const reversed = "reversed";

/** What can come of a case of each type. */
export const outcomes = {
  general: ["resolved", ...common, reversed],
  investigation: [...findings, reversed],
  punishment: ["applied", ...common, reversed],
  blacklist: ["listed", ...common, reversed],
  poach: [...findings, ...common, reversed],
  alt: ["linked", "not_linked", ...common, reversed],
  appeal: ["granted", "partly", "denied", ...common, reversed],
  recruitment: ["accepted", "rejected", "withdrawn", ...common, reversed],
} as const satisfies Record<string, readonly string[]>;
export type CaseType = keyof typeof outcomes;
export const caseTypes = Object.keys(outcomes) as [CaseType, ...CaseType[]];

/** @throws ProblemError validation_failed for an outcome that the type does not have */
export function requireOutcome(type: string, outcome: string): void {
  const known: readonly string[] = outcomes[type as CaseType];
  if (!known.includes(outcome))
    throw fieldError(
      "/outcome",
      "invalid_value",
      say("cases.a-case-of-type-ends-with", { type: term(type), outcomes: listed(known.map(term)) }),
    );
}
