// @module-tag sqlite
// @module-tag slow
import { describe, expect, test } from "vitest";
import { kinds } from "../../src/features/workflows/kinds/kinds.ts";
import { workflowKinds } from "../../src/kernel/vocabulary.ts";
import { CommonFields } from "../../src/features/workflows/requests/fields.ts";
import { inputSchema, leavesOf, withValue } from "./field-leaves.ts";
import { commonTrials, trials, type Trial } from "./request-trials.ts";
import { outcomeOf, type Outcome } from "./request-outcome.ts";

const parts = ["decision", "effect", "view"] as const;

/** In which parts of what comes of it two requests differ. */
const differing = (one: Outcome, other: Outcome): string[] => parts.filter((part) => one[part] !== other[part]);

async function tryField(type: (typeof workflowKinds)[number], leaf: string, { given, to, more }: Trial) {
  const changed = withValue(given, leaf, to);
  expect(changed, `${leaf} has a place in the request that is tried`).toBeDefined();
  expect(changed).not.toEqual(given);
  const one = await outcomeOf(type, given, more);
  const other = await outcomeOf(type, changed as object, more);
  return { one, other };
}

/** A field acts where the table says so, and one that only describes acts nowhere and is read as it was sent. */
async function holdsAsSaid(type: (typeof workflowKinds)[number], leaf: string, trial: Trial): Promise<void> {
  const { one, other } = await tryField(type, leaf, trial);
  const { acts } = trial;
  if (acts !== undefined) return expect(differing(one, other)).toContain(acts);
  expect(differing(one, other), "a field that only describes").toEqual([]);
  expect(other.read, `shown to ${trial.reader ?? "nobody"}`).not.toEqual(one.read);
}

describe.each(workflowKinds)("%s", (type) => {
  test("each field of its schema stands in the table of what it does", () => {
    expect(Object.keys(trials[type]).toSorted()).toEqual(leavesOf(inputSchema(kinds[type].payload)).toSorted());
  });

  test.each(Object.entries<Trial>(trials[type]))("%s does what the table says", (leaf, trial) => holdsAsSaid(type, leaf, trial));
});

describe("every request", () => {
  test("each field that it takes besides stands in the table of what it does", () => {
    expect(Object.keys(commonTrials).toSorted()).toEqual(Object.keys(CommonFields.shape).toSorted());
  });

  test.each(Object.entries<Trial>(commonTrials))("%s does what the table says", (leaf, trial) =>
    holdsAsSaid(trial.type ?? "punishment", leaf, trial),
  );
});
