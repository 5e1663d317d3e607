// @module-tag sqlite
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { z } from "zod";
import { kinds } from "../../src/features/workflows/kinds/kinds.ts";
import type { Kind } from "../../src/features/workflows/kinds/kind.ts";
import { workflowKinds, type WorkflowKind } from "../../src/kernel/vocabulary.ts";
import { inputSchema, leavesOf, valueAt, withValue } from "./field-leaves.ts";
import { fitting } from "./fuzz/values.ts";

type Payload = z.output<Kind["payload"]>;

/** Who reads a field that only describes: everybody who decides is shown the payload as it was filed, by `GET /workflows/{type}/{id}` and on the card. */
const toDeciders = "those who decide";
/** Fields that change nothing of what an approval does, nor who may decide, and who reads them. */
const descriptive: Readonly<Record<WorkflowKind, Readonly<Record<string, typeof toDeciders>>>> = {
  "blacklist-user": {},
  "blacklist-server": {},
  investigation: {},
  recruitment: {
    reason: toDeciders,
    "answers.*.question": toDeciders,
    "answers.*.answer": toDeciders,
    experience: toDeciders,
    "interview.at": toDeciders,
    "interview.panel.*": toDeciders,
    "interview.score": toDeciders,
    "interview.notes": toDeciders,
  },
  "server-merge": { reason: toDeciders, "owner_consents.*.at": toDeciders, "owner_consents.*.evidence": toDeciders },
  "alt-request": { reason: toDeciders },
  punishment: {},
  poach: {},
  appeal: { grounds: toDeciders, "answers.*.question": toDeciders, "answers.*.answer": toDeciders },
};

const ids = ["80351110224678912", "80351110224678913", "80351110224678914", "80351110224678915"];

/** Everything that the service makes of a payload besides showing it. */
function outcomeOf(kind: Kind, payload: Payload): string {
  return JSON.stringify([
    kind.effects(payload),
    kind.subjects(payload),
    kind.conflicts?.(payload),
    kind.concerned?.(payload),
    kind.readers?.(payload),
    kind.isGrave?.(payload),
    kind.title(payload),
  ]);
}

/** Payloads of a kind, of every form it has. */
function payloadsOf({ payload, example }: Kind): Payload[] {
  const sampled = fc.sample(fitting(inputSchema(payload), fc.constantFrom(...ids)), { numRuns: 1000, seed: 1 });
  return [example, ...sampled].flatMap((given) => {
    const { success, data } = payload.safeParse(given);
    return success ? [data] : [];
  });
}

/** Whether another value in one field alone makes anything else of some payload. */
function acts(kind: Kind, payloads: readonly Payload[], leaf: string): boolean {
  return payloads.some((payload, index) => {
    const value = valueAt(payloads[(index + 1) % payloads.length], leaf);
    const { success, data } = kind.payload.safeParse(withValue(payload, leaf, value));
    return success && outcomeOf(kind, data) !== outcomeOf(kind, payload);
  });
}

describe.each(workflowKinds)("%s", (type) => {
  const kind = kinds[type];
  const payloads = payloadsOf(kind);

  test("has no field that does nothing: each changes what an approval does or who decides, or is read by somebody", () => {
    expect(payloads.length).toBeGreaterThan(20);
    const leaves = leavesOf(inputSchema(kind.payload));
    expect(leaves.filter((leaf) => !acts(kind, payloads, leaf)).toSorted()).toEqual(Object.keys(descriptive[type]).toSorted());
  });
});
