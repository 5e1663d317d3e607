import { storedPermission } from "../../src/kernel/permissions.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  allowedActions,
  approvalsOf,
  approversOf,
  requiredOf,
  transition,
  type Attempt,
  type Context,
  type Moved,
  type State,
  type Vote,
} from "../../src/features/workflows/state/transition.ts";
import { actions, isOpenStatus, moves, statuses, type Action, type Status } from "../../src/features/workflows/state/table.ts";
import { describeCell, levelCan } from "./workflows-table.pure.ts";
import { printTable } from "./workflows-table.print.ts";
import { actionNames, expected, roles, statusNames, wordOf } from "./workflows-table.ts";
import { runsOf } from "../support/size.ts";

const everything = (): boolean => true;
const without =
  (...missing: string[]) =>
  (permission: string): boolean =>
    !missing.includes(permission);
const as = (actorId: string, rest: Partial<Context> = {}): Context => ({
  actorId,
  isRequester: false,
  isConflicted: false,
  isOutranked: false,
  can: everything,
  ...rest,
});
const fresh = (rest: Partial<State> = {}): State => ({
  type: "punishment",
  status: "pending",
  revision: 1,
  payloadRevision: 1,
  approvalsRequired: 1,
  reversalsRequired: 1,
  denyNeedsMajority: false,
  tier: 0,
  isHeld: false,
  holdBy: null,
  assigneeId: null,
  isClaimLive: false,
  votes: [],
  endedFor: 0,
  last: null,
  ...rest,
});
const vote = (actorId: string, verdict: Vote["verdict"] = "approve", payloadRevision = 1): Vote => ({ actorId, verdict, payloadRevision });
const attempt = (action: Action, rest: Partial<Attempt> = {}): Attempt => ({ action, isChanged: true, ...rest });

/** A state after a move, as the room stores it. */
function after(state: State, { action }: Attempt, { actorId }: Context, { next }: Moved): State {
  const claims = action === "claim" || action === "assign";
  return {
    ...state,
    ...next,
    revision: state.revision + 1,
    isClaimLive: next.assigneeId !== null && (claims || state.isClaimLive),
    holdBy: action === "hold" ? actorId : next.isHeld ? state.holdBy : null,
    last: { action, actorId },
  };
}

function step(state: State, action: Action, context: Context, rest: Partial<Attempt> = {}): State {
  const asked = attempt(action, rest);
  const result = transition(state, asked, context);
  if (!result.ok) throw new Error(`${action}: ${result.refused}`);
  return result.isReplay ? state : after(state, asked, context, result);
}
const codeOf = (state: State, action: Action, context: Context, rest: Partial<Attempt> = {}): string => {
  const result = transition(state, attempt(action, rest), context);
  if (!result.ok) return result.refused;
  return result.isReplay ? "replayed" : result.next.status;
};

describe("the table of legal moves", () => {
  test("names every status and every action there is", () => {
    expect([...statusNames].toSorted()).toEqual([...statuses].toSorted());
    expect([...actionNames].toSorted()).toEqual([...actions].toSorted());
  });

  test.each(roles)("holds in every cell of %s", (role) => {
    const found = actionNames.flatMap((action) =>
      statusNames.map((status) => `${action} ${status}: ${wordOf(describeCell(role, action, status))}`),
    );
    const written = actionNames.flatMap((action) =>
      statusNames.map((status) => `${action} ${status}: ${wordOf(expected(role, action, status))}`),
    );
    expect(found).toEqual(written);
    expect(found).toHaveLength(180);
  });

  test("is printed whole, and says of no cell that it differs", () => {
    const printed = printTable();
    expect(printed.match(/^\| `/gm)).toHaveLength(roles.length * actions.length);
    expect(printed).not.toContain("≠");
  });
});

describe("one's own direct decision", () => {
  const own = (rest: Partial<Context> = {}) => as("me", { can: levelCan.bind(undefined, "moderator"), isOwnDirectUndo: true, ...rest });
  const decided = (status: Status, rest: Partial<State> = {}) => fresh({ status, votes: [vote("me")], reversalsRequired: 2, ...rest });

  test("is reversed alone by its author, who may reverse nothing else; every other cell of the table stays as it is", () => {
    for (const action of actions)
      for (const status of statuses) {
        const usual = codeOf(decided(status), action, own({ isOwnDirectUndo: false }));
        const isUndo = action === "reverse" && status === "approved";
        const expectedCode = isUndo ? "reversed" : action === "reverse" ? "invalid_transition" : usual;
        expect([action, status, codeOf(decided(status), action, own())]).toEqual([action, status, expectedCode]);
        if (isUndo) expect(usual).toBe("permission_denied");
      }
  });

  test("is not reversed alone by somebody partial or outranked, in another revision, or where others approved it too", () => {
    expect(codeOf(decided("approved"), "reverse", own({ isConflicted: true }))).toBe("conflict_of_interest");
    expect(codeOf(decided("approved"), "reverse", own({ isOutranked: true }))).toBe("hierarchy_violation");
    expect(codeOf(decided("approved"), "reverse", own(), { isOutdated: true })).toBe("precondition_failed");
    expect(codeOf(decided("approved", { votes: [vote("me"), vote("you")] }), "reverse", own())).toBe("approved");
    expect(codeOf(decided("reversed", { votes: [vote("me"), vote("me", "reverse")] }), "reverse", own())).toBe("replayed");
  });
});

describe("votes", () => {
  const [ada, ben, cyn] = [as("ada"), as("ben"), as("cyn")];

  test("a needed second approval comes from another person", () => {
    const once = step(fresh({ approvalsRequired: 2 }), "approve", ada);
    expect(once.status).toBe("in_review");
    expect(transition(once, attempt("approve"), ada)).toMatchObject({ ok: true, isReplay: true, isFinal: false });
    expect(step(once, "approve", ben).status).toBe("approved");
  });

  test("on an earlier payload do not count", () => {
    const amended = step(
      step(fresh({ approvalsRequired: 2 }), "approve", ada),
      "amend",
      as("req", { isRequester: true, isConflicted: true }),
    );
    expect(amended).toMatchObject({ status: "in_review", payloadRevision: 2 });
    expect(approvalsOf(amended)).toBe(0);
    expect(step(amended, "approve", ben).status).toBe("in_review");
    expect(step(step(amended, "approve", ada), "approve", ben).status).toBe("approved");
  });

  test("of whoever changes their mind are replaced", () => {
    const denied = step(step(fresh({ approvalsRequired: 2 }), "approve", ada), "deny", ada);
    expect(denied).toMatchObject({ status: "denied", votes: [vote("ada", "deny")] });
    expect(approvalsOf(denied)).toBe(0);
  });

  test("against it take an approval away, and escalate once they sum up to two", () => {
    const once = step(fresh({ approvalsRequired: 2, status: "in_review" }), "object", ada);
    expect(once).toMatchObject({ status: "in_review", tier: 0 });
    expect(step(step(once, "approve", ben), "approve", cyn).status).toBe("in_review");
    const twice = step(once, "object", ben);
    expect(twice).toMatchObject({ status: "escalated", tier: 1 });
    expect(requiredOf(twice)).toBe(3);
    expect(step(twice, "object", cyn)).toMatchObject({ status: "escalated", tier: 1 });
    expect(step(step(once, "approve", cyn), "object", ben)).toMatchObject({ status: "in_review", tier: 0 });
  });

  test("that abstain are kept and count for nothing", () => {
    const state = step(fresh({ approvalsRequired: 1, status: "in_review" }), "abstain", ada);
    expect(state).toMatchObject({ status: "in_review", votes: [vote("ada", "abstain")] });
    expect(step(state, "approve", ada).status).toBe("approved");
  });

  test("an escalated request asks for one more on each tier, and for the right to decide what was escalated", () => {
    const state = step(fresh(), "escalate", ada);
    const lower = as("ben", { can: without("workflows.decide_escalated") });
    for (const action of ["approve", "deny", "abstain", "object"] as const)
      expect(codeOf(state, action, lower), action).toBe("permission_denied");
    const once = step(state, "approve", ben);
    expect(once).toMatchObject({ status: "escalated", tier: 1 });
    expect(step(once, "approve", cyn).status).toBe("approved");
    expect(step(state, "deny", ben).status).toBe("denied");
    expect(step(once, "deescalate", ada)).toMatchObject({ status: "in_review", tier: 0 });
  });

  test("a denial decides alone unless the kind asks for as many as an approval", () => {
    const shared = fresh({ approvalsRequired: 2, denyNeedsMajority: true, status: "needs_info" });
    expect(step(fresh({ approvalsRequired: 2 }), "deny", ada).status).toBe("denied");
    const once = step(shared, "deny", ada);
    expect(once.status).toBe("needs_info");
    expect(codeOf(once, "deny", ada)).toBe("replayed");
    expect(step(once, "deny", ben).status).toBe("denied");
  });
});

describe("claims", () => {
  const mine = fresh({ status: "in_review", assigneeId: "ada", isClaimLive: true });

  test("that are live keep others off, unless they steal and may assign", () => {
    expect(codeOf(mine, "claim", as("ben"))).toBe("invalid_transition");
    expect(codeOf(mine, "claim", as("ben", { can: without("workflows.assign") }), { steal: true })).toBe("permission_denied");
    expect(step(mine, "claim", as("ben"), { steal: true }).assigneeId).toBe("ben");
    expect(codeOf(mine, "claim", as("ada"))).toBe("replayed");
  });

  test("that have lapsed are taken over, by whoever held them, too", () => {
    const stale = { ...mine, isClaimLive: false };
    expect(step(stale, "claim", as("ben", { can: without("workflows.assign") })).assigneeId).toBe("ben");
    expect(codeOf(stale, "claim", as("ada"))).toBe("in_review");
  });

  test("go to eligible people only", () => {
    const assigned = (isEligible: boolean) => codeOf(fresh(), "assign", as("ada"), { assignee: { id: "ben", isEligible } });
    expect(assigned(true)).toBe("in_review");
    expect(assigned(false)).toBe("conflict_of_interest");
  });

  test("are let go of by whoever has them, even where they have become partial", () => {
    const plain = as("ada", { can: without("workflows.assign"), isConflicted: true });
    expect(step(mine, "unassign", plain)).toMatchObject({ status: "pending", assigneeId: null });
    expect(codeOf(mine, "unassign", as("ben", { can: without("workflows.assign") }))).toBe("permission_denied");
  });

  test("stand through a question, and an escalated request comes back as one", () => {
    const asked = step(mine, "request_info", as("ada"));
    expect(step(asked, "provide_info", as("req", { isRequester: true, isConflicted: true })).status).toBe("in_review");
    const high = step(step(fresh(), "escalate", as("ada")), "request_info", as("ada"));
    expect(step(high, "provide_info", as("ben"))).toMatchObject({ status: "escalated", tier: 1 });
  });
});

describe("holds", () => {
  const held = fresh({ isHeld: true, holdBy: "ada" });

  test("keep a request from being approved, and from nothing else", () => {
    expect(codeOf(held, "approve", as("ben"))).toBe("invalid_transition");
    expect(codeOf(held, "approve", as("ben"), { override: true })).toBe("invalid_transition");
    expect(step(held, "deny", as("ben"))).toMatchObject({ status: "denied", isHeld: false });
    expect(step(held, "claim", as("ben"))).toMatchObject({ status: "in_review", isHeld: true });
  });

  test("are not put twice, and only released where they stand", () => {
    expect(codeOf(held, "hold", as("ben"))).toBe("invalid_transition");
    expect(codeOf(held, "hold", as("ada"))).toBe("replayed");
    expect(step(held, "release", as("ben")).isHeld).toBe(false);
    expect(codeOf(fresh(), "release", as("ben"))).toBe("invalid_transition");
  });

  test("keep a first approval from being told again as if it stood on the way to more", () => {
    const voted = { ...held, approvalsRequired: 2, status: "in_review" as const, votes: [vote("ben")] };
    expect(codeOf(voted, "approve", as("ben"))).toBe("invalid_transition");
  });
});

describe("break-glass", () => {
  const needsTwo = fresh({ approvalsRequired: 2 });
  const noOverride = { can: without("workflows.override") };

  test("passes a missing approval, with the right to, and says so", () => {
    expect(transition(needsTwo, attempt("approve", { override: true }), as("ada"))).toMatchObject({
      ok: true,
      isFinal: true,
      isBreakGlass: true,
    });
    expect(codeOf(needsTwo, "approve", as("ada", noOverride), { override: true })).toBe("permission_denied");
  });

  test("is none where nothing was missing", () => {
    expect(transition(fresh(), attempt("approve", { override: true }), as("ada", noOverride))).toMatchObject({
      ok: true,
      isBreakGlass: false,
    });
  });

  test("never passes a conflict of interest, a rank or a status", () => {
    expect(codeOf(needsTwo, "approve", as("ada", { isConflicted: true }), { override: true })).toBe("conflict_of_interest");
    expect(codeOf(needsTwo, "approve", as("ada", { isOutranked: true }), { override: true })).toBe("hierarchy_violation");
    expect(codeOf({ ...needsTwo, status: "withdrawn" }, "approve", as("ada"), { override: true })).toBe("invalid_transition");
  });

  test("lets whoever approved alone reverse alone", () => {
    const state = fresh({ status: "approved", votes: [vote("ada")], reversalsRequired: 2 });
    expect(codeOf(state, "reverse", as("ada"))).toBe("conflict_of_interest");
    expect(codeOf(state, "reverse", as("ada", noOverride), { override: true })).toBe("permission_denied");
    expect(transition(state, attempt("reverse", { override: true }), as("ada"))).toMatchObject({
      ok: true,
      isBreakGlass: true,
      next: { status: "reversed" },
    });
    const once = step(state, "reverse", as("ben"));
    expect(once.status).toBe("approved");
    expect(codeOf(once, "reverse", as("ben"))).toBe("replayed");
    expect(step(once, "reverse", as("cyn")).status).toBe("reversed");
  });
});

describe("what has ended", () => {
  test("is opened again within 90 days, with no vote, hold, tier or claim left", () => {
    const denied = fresh({
      status: "denied",
      votes: [vote("ada", "deny")],
      tier: 2,
      assigneeId: "ada",
      isClaimLive: true,
      endedFor: 90 * 86_400,
    });
    const again = step(denied, "reopen", as("ben"));
    expect(again).toMatchObject({ status: "pending", tier: 0, isHeld: false, assigneeId: null, payloadRevision: 2 });
    expect(codeOf(again, "deny", as("ada"))).toBe("denied");
    expect(codeOf({ ...denied, endedFor: 90 * 86_400 + 1 }, "reopen", as("ben"))).toBe("invalid_transition");
  });

  test("answers the same again to whoever did it, and refuses everybody else", () => {
    const approved = step(fresh(), "approve", as("ada"));
    expect(codeOf(approved, "approve", as("ada"))).toBe("replayed");
    expect(codeOf(approved, "approve", as("ben"))).toBe("already_decided");
    expect(codeOf(approved, "deny", as("ada"))).toBe("already_decided");
    const gone = step(fresh(), "withdraw", as("req", { isRequester: true, isConflicted: true }));
    expect(codeOf(gone, "withdraw", as("req", { isRequester: true, isConflicted: true }))).toBe("replayed");
    expect(codeOf(gone, "approve", as("ada"))).toBe("invalid_transition");
    const empty = step(fresh(), "void", as("ada"));
    expect([codeOf(empty, "void", as("ada")), codeOf(empty, "void", as("ben"))]).toEqual(["replayed", "invalid_transition"]);
  });

  test("is told to nobody who is refused for other reasons", () => {
    const denied = step(fresh(), "deny", as("ada"));
    expect(codeOf(denied, "approve", as("ben", { isConflicted: true }))).toBe("conflict_of_interest");
    expect(codeOf(denied, "approve", as("ben", { isOutranked: true }))).toBe("hierarchy_violation");
    expect(codeOf(denied, "approve", as("ben", { can: without("workflows.punishment.decide") }))).toBe("permission_denied");
    expect(codeOf(denied, "approve", as("ben"), { isOutdated: true })).toBe("precondition_failed");
  });
});

test("an amendment that changes nothing is none, and tells nobody who may not amend that they guessed the payload", () => {
  const state = fresh({ status: "in_review", votes: [vote("ada")], approvalsRequired: 2 });
  const guess = (context: Context) => codeOf(state, "amend", context, { isChanged: false });
  expect(guess(as("req", { isRequester: true, isConflicted: true }))).toBe("replayed");
  expect(guess(as("ben"))).toBe("replayed");
  expect(guess(as("ben", { can: without("workflows.edit_any") }))).toBe("permission_denied");
});

test("an amendment of what only describes a request lapses no vote", () => {
  const state = fresh({ status: "in_review", votes: [vote("ada")], approvalsRequired: 2 });
  const described = step(state, "amend", as("ben"), { isChanged: false, isDescribed: true });
  expect(described).toMatchObject({ status: "in_review", payloadRevision: 1, revision: 2 });
  expect(approvalsOf(described)).toBe(1);
});

const people = ["ada", "ben", "cyn", "dov", "req"] as const;
const anyContext: fc.Arbitrary<Context> = fc
  .record({
    actorId: fc.constantFrom(...people),
    isOutranked: fc.boolean(),
    missing: fc.subarray(["workflows.override", "workflows.decide_escalated", "workflows.assign", "workflows.punishment.decide"]),
  })
  .map(({ actorId, isOutranked, missing }) =>
    as(actorId, {
      isRequester: actorId === "req",
      isConflicted: actorId === "req",
      isOutranked: isOutranked && actorId === "dov",
      can: without(...missing),
    }),
  );
const anyAttempt: fc.Arbitrary<Attempt> = fc.record(
  {
    action: fc.constantFrom(...actions),
    steal: fc.boolean(),
    override: fc.boolean(),
    isChanged: fc.boolean(),
    assignee: fc.record({ id: fc.constantFrom(...people), isEligible: fc.boolean() }),
  },
  { requiredKeys: ["action", "isChanged", "assignee"] },
);
const anyState: fc.Arbitrary<State> = fc
  .record({
    status: fc.constantFrom<Status>(...statuses),
    payloadRevision: fc.integer({ min: 1, max: 2 }),
    approvalsRequired: fc.integer({ min: 1, max: 3 }),
    reversalsRequired: fc.integer({ min: 1, max: 2 }),
    denyNeedsMajority: fc.boolean(),
    tier: fc.integer({ min: 0, max: 2 }),
    isHeld: fc.boolean(),
    holdBy: fc.constantFrom(null, ...people),
    assigneeId: fc.constantFrom(null, ...people),
    isClaimLive: fc.boolean(),
    votes: fc.uniqueArray(
      fc.record({
        actorId: fc.constantFrom(...people),
        verdict: fc.constantFrom<Vote["verdict"]>("approve", "deny", "abstain", "object", "reverse"),
        payloadRevision: fc.integer({ min: 1, max: 2 }),
      }),
      { selector: ({ actorId, verdict, payloadRevision }) => `${actorId} ${String(verdict === "reverse")} ${payloadRevision.toString()}` },
    ),
    endedFor: fc.constantFrom(0, 91 * 86_400),
    last: fc.option(fc.record({ action: fc.constantFrom(...actions), actorId: fc.constantFrom(null, ...people) })),
  })
  .map((state) => fresh(state));

describe("from any state, by anybody", () => {
  const each = (check: (state: State, asked: Attempt, context: Context) => void, numRuns = 4000) => {
    fc.assert(
      fc.property(anyState, anyAttempt, anyContext, (state, asked, context) => {
        check(state, asked, context);
      }),
      { numRuns },
    );
  };

  test("an ended request is left by reopen and reverse only, and a replay changes nothing", () => {
    each((state, asked, context) => {
      const frozen = structuredClone(state);
      const result = transition(state, asked, context);
      expect(state).toEqual(frozen);
      if (!result.ok) return;
      if (result.isReplay) {
        const { status, votes, tier, assigneeId, payloadRevision } = state;
        expect(result.next).toMatchObject({ status, votes, tier, assigneeId, payloadRevision });
      } else if (!isOpenStatus(state.status)) {
        expect(["reopen", "reverse"]).toContain(asked.action);
      }
    });
  });

  test("nobody moves anything without the permission, in spite of a conflict or of a rank, but as its requester or to let go of a claim", () => {
    each((state, asked, context) => {
      const result = transition(state, asked, context);
      if (!result.ok || result.isReplay) return;
      const isOwn = context.isRequester && moves[asked.action].isRequesters === true;
      const isLettingGo = asked.action === "unassign" && state.assigneeId === context.actorId;
      if (isOwn || isLettingGo) return;
      expect([context.isConflicted, context.isOutranked]).toEqual([false, false]);
      const permission = moves[asked.action].permission;
      expect(permission === null ? false : context.can(storedPermission(permission.replace("{type}", state.type)))).toBe(true);
    });
  });

  test("what is offered is what is accepted, and why-not names the rest", () => {
    each((state, { action }, context) => {
      const why = new Map<string, string>();
      const offered = allowedActions(state, context, (refusedAction, { refused }) => why.set(refusedAction, refused));
      const result = transition(state, { action, isChanged: true }, context);
      expect(offered.includes(action)).toBe(result.ok && !result.isReplay);
      expect(why.get(action)).toBe(result.ok ? undefined : result.refused);
    });
  });

  test("an approval has enough different people on this payload, or is break-glass by whoever may", () => {
    each((state, asked, context) => {
      const result = transition(state, asked, context);
      if (!result.ok || result.isReplay || result.next.status !== "approved" || asked.action !== "approve") return;
      const after = { ...state, ...result.next };
      const approvers = new Set(approversOf(after));
      expect(approvers.size).toBe(approversOf(after).length);
      expect(state.isHeld).toBe(false);
      if (result.isBreakGlass) expect([asked.override, context.can("workflows.override")]).toEqual([true, true]);
      else expect(approvers.size).toBeGreaterThanOrEqual(requiredOf(state));
    });
  });

  test("the tier falls with deescalate and reopen only, and rises by one", () => {
    each((state, asked, context) => {
      const result = transition(state, asked, context);
      if (!result.ok) return;
      if (result.next.tier < state.tier) expect(["deescalate", "reopen"]).toContain(asked.action);
      if (result.next.tier > state.tier)
        expect([asked.action === "escalate" || asked.action === "object", result.next.tier]).toEqual([true, state.tier + 1]);
    });
  });
});

test("a sequence of any moves keeps one vote a person and payload, and whoever is partial has none that counts", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 3 }),
      fc.array(fc.tuple(anyAttempt, anyContext), { maxLength: 30 }),
      (approvalsRequired, sequence) => {
        let state = fresh({ approvalsRequired });
        for (const [asked, context] of sequence) {
          const before = state;
          const result = transition(state, asked, context);
          if (result.ok && !result.isReplay) state = after(state, asked, context, result);
          const keys = state.votes.map(
            ({ actorId, verdict, payloadRevision }) => `${actorId} ${String(verdict === "reverse")} ${payloadRevision.toString()}`,
          );
          expect(new Set(keys).size).toBe(keys.length);
          expect(state.votes.some(({ actorId }) => actorId === "req")).toBe(false);
          if (state.payloadRevision !== before.payloadRevision) expect(approvalsOf(state)).toBe(0);
          if (state.isHeld) expect(isOpenStatus(state.status)).toBe(true);
          if (result.ok && !result.isReplay) {
            // The same again by the same person is no second move, unless the action is one that can be done twice.
            const again = transition(state, asked, context);
            if (["approve", "deny", "hold", "reverse", "withdraw", "void", "abstain", "object"].includes(asked.action))
              expect(again.ok && again.isReplay, asked.action).toBe(true);
          }
        }
      },
    ),
    { numRuns: runsOf(1500) },
  );
});
