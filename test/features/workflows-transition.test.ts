import fc from "fast-check";
import { expect, test } from "vitest";
import type { Action, Context, State, Status } from "../../src/features/workflows/transition.ts";
import { allowedActions, approvalsOf, statuses, transition } from "../../src/features/workflows/transition.ts";

const people = ["ada", "ben", "cyn", "dov"] as const;
const fresh = (required: number, status: Status = "pending"): State => ({
  status,
  revision: 1,
  payloadRevision: 1,
  approvalsRequired: required,
  votes: [],
});
const as = (actorId: string, rest: Partial<Context> = {}): Context => ({ actorId, isConflicted: false, isOutranked: false, ...rest });

function step(state: State, action: Action, actorId: string): State {
  const result = transition(state, action, as(actorId));
  if (!result.ok) throw new Error(result.refused);
  return result.isReplay ? state : { ...state, ...result.next, revision: state.revision + 1 };
}

/** A naive model: sets of people, one word for the end. */
interface Model {
  end: "approved" | "denied" | null;
  approvers: Set<string>;
  deniers: Set<string>;
  touched: boolean;
}

function modelStep(model: Model, required: number, action: Action, who: string): string {
  const mine = action === "approve" ? model.approvers : model.deniers;
  if (mine.has(who) && (model.end === null || model.end === (action === "approve" ? "approved" : "denied"))) return "replay";
  if (model.end !== null) return "already_decided";
  model.touched = true;
  if (action === "deny") {
    model.approvers.delete(who);
    model.deniers.add(who);
    model.end = "denied";
  } else {
    model.approvers.add(who);
    if (model.approvers.size >= required) model.end = "approved";
  }
  return "ok";
}

test("any sequence of votes ends as a naive count of people says", () => {
  const moves = fc.array(fc.tuple(fc.constantFrom<Action>("approve", "deny"), fc.constantFrom(...people)), { maxLength: 12 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3 }), moves, (required, sequence) => {
      let state = fresh(required);
      const model: Model = { end: null, approvers: new Set(), deniers: new Set(), touched: false };
      for (const [action, who] of sequence) {
        const expected = modelStep(model, required, action, who);
        const result = transition(state, action, as(who));
        expect(result.ok ? (result.isReplay ? "replay" : "ok") : result.refused).toBe(expected);
        if (result.ok && !result.isReplay) state = step(state, action, who);
        expect(state.status).toBe(model.end ?? (model.touched ? "in_review" : "pending"));
        expect(approvalsOf(state)).toBe(model.approvers.size);
      }
    }),
    { numRuns: 500 },
  );
});

test("from every status and for every actor, what is offered is what is accepted, and a refusal names the legal moves", () => {
  const anyState = fc.record({
    status: fc.constantFrom(...statuses),
    revision: fc.integer({ min: 1, max: 3 }),
    payloadRevision: fc.integer({ min: 1, max: 2 }),
    approvalsRequired: fc.integer({ min: 1, max: 3 }),
    votes: fc.uniqueArray(
      fc.record({
        actorId: fc.constantFrom(...people),
        verdict: fc.constantFrom<Action>("approve", "deny"),
        payloadRevision: fc.integer({ min: 1, max: 2 }),
      }),
      { selector: (vote) => `${vote.actorId}${vote.payloadRevision.toString()}` },
    ),
  });
  const anyContext = fc.record({ actorId: fc.constantFrom(...people), isConflicted: fc.boolean(), isOutranked: fc.boolean() });
  fc.assert(
    fc.property(anyState, anyContext, fc.constantFrom<Action>("approve", "deny"), (state, context, action) => {
      const frozen = structuredClone(state);
      const result = transition(state, action, context);
      expect(state).toEqual(frozen);
      expect(allowedActions(state, context).includes(action)).toBe(result.ok && !result.isReplay);
      if (!result.ok) return;
      const isPartial = context.isConflicted || context.isOutranked;
      if (!result.isReplay) expect(isPartial).toBe(false);
      if (result.next.status === "approved" && !result.isReplay)
        expect(approvalsOf({ ...state, ...result.next })).toBeGreaterThanOrEqual(state.approvalsRequired);
    }),
    { numRuns: 1000 },
  );
});

test("votes on an earlier payload do not count", () => {
  const state = { ...step(fresh(2), "approve", "ada"), payloadRevision: 2 };
  expect(step(state, "approve", "ben").status).toBe("in_review");
  expect(approvalsOf(state)).toBe(0);
});

test("a needed second approval comes from another person", () => {
  const once = step(fresh(2), "approve", "ada");
  expect(transition(once, "approve", as("ada"))).toMatchObject({ ok: true, isReplay: true, isFinal: false });
  expect(step(once, "approve", "ben").status).toBe("approved");
});

test("who approved first may still deny, and the denial takes their approval back", () => {
  const denied = step(step(fresh(2), "approve", "ada"), "deny", "ada");
  expect(denied.status).toBe("denied");
  expect(approvalsOf(denied)).toBe(0);
});

test("the partial are refused before anything about the state is told", () => {
  const denied = step(fresh(1), "deny", "ada");
  expect(transition(denied, "approve", as("ben", { isConflicted: true }))).toMatchObject({ ok: false, refused: "conflict_of_interest" });
  expect(transition(denied, "approve", as("ben", { isOutranked: true }))).toMatchObject({ ok: false, refused: "hierarchy_violation" });
  expect(transition(denied, "approve", as("ben", { expectedRevision: 1 }))).toMatchObject({ ok: false, refused: "precondition_failed" });
  expect(transition(denied, "approve", as("ben"))).toMatchObject({ ok: false, refused: "already_decided" });
});

test("an ended request without a decision takes no decision any more", () => {
  for (const status of ["withdrawn", "expired", "void", "reversed"] as const) {
    expect(transition(fresh(1, status), "approve", as("ada"))).toEqual({ ok: false, refused: "invalid_transition", allowed: [] });
  }
  expect(transition(fresh(1, "needs_info"), "approve", as("ada"))).toEqual({ ok: false, refused: "invalid_transition", allowed: ["deny"] });
});

test("an escalated request stays escalated while approvals gather", () => {
  expect(step(fresh(2, "escalated"), "approve", "ada").status).toBe("escalated");
});
