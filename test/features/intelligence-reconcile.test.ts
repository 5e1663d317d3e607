// @module-tag postgres
import type { MatchDraft } from "../../src/features/intelligence/match-drafts.ts";
import { type Severity, severities } from "../../src/kernel/vocabulary.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isActive, reconcile, type StoredMatch } from "../../src/features/intelligence/reconcile.ts";
import { allowedMoves, exemptionEnd, statusAfter } from "../../src/features/intelligence/matches/matches.service.ts";
import { runsOf } from "../support/size.ts";

const start = new Date("2026-11-20T12:00:00.000Z").getTime();
const day = 86_400_000;
const at = (days: number): Date => new Date(start + days * day);
const now = at(0);

const draftOf = (change: Partial<MatchDraft> = {}): MatchDraft => ({
  kind: "server_blacklist",
  recordId: "r1",
  reference: "BL-000001",
  revision: 1,
  serverId: "s1",
  viaUserId: null,
  severity: "medium",
  confidence: 100,
  status: "open",
  why: [{ rule: "member_of_blacklisted_server", detail: "Member of a server." }],
  suggestedAction: "flag",
  graceUntil: null,
  ...change,
});

const stored = (change: Partial<StoredMatch> = {}): StoredMatch => {
  const { revision: recordRevision, reference: _reference, ...rest } = draftOf();
  return { ...rest, id: "m1", recordRevision, resolution: null, exemptUntil: null, closedAt: null, ...change };
};

/** What the database holds after a reconciliation of one match was written. */
function written(match: StoredMatch | undefined, drafts: readonly MatchDraft[], when: Date) {
  const result = reconcile(match === undefined ? [] : [match], drafts, when, () => "cleared");
  const [create] = result.create;
  if (create !== undefined) {
    const { revision: recordRevision, reference: _reference, ...rest } = create;
    return { result, match: { ...stored(), ...rest, recordRevision } };
  }
  if (match === undefined) return { result, match };
  const [update] = result.update;
  const [close] = result.close;
  if (close !== undefined) return { result, match: { ...match, status: close.status, closedAt: when } };
  if (result.revive.length > 0) return { result, match: { ...match, closedAt: null } };
  if (update === undefined) return { result, match };
  const { status, draft, keepsDecision } = update.to;
  const { revision: recordRevision, reference: _reference, ...rest } = draft;
  const lost = keepsDecision ? {} : { resolution: null, exemptUntil: null };
  return { result, match: { ...match, ...rest, recordRevision, status, closedAt: null, ...lost } };
}

/** The decision that leads to a status. */
const outcomes = new Map([
  ["dismissed", "dismiss"],
  ["exempt", "exempt"],
  ["acknowledged", "acknowledge"],
  ["confirmed", "confirm"],
]);

describe("reconciling stored matches", () => {
  const states = fc.record({
    status: fc.constantFrom("open", "grace", "acknowledged", "confirmed", "dismissed", "exempt", "cleared", "expired", "void"),
    severity: fc.constantFrom(...severities),
    isDecided: fc.boolean(),
    exemptFor: fc.option(fc.integer({ min: -2, max: 2 })),
    isGone: fc.boolean(),
  });
  const changes = fc.record({
    severity: fc.constantFrom(...severities),
    status: fc.constantFrom("open" as const, "grace" as const, "exempt" as const),
    revision: fc.integer({ min: 1, max: 3 }),
  });

  test("a second reconciliation changes nothing, the counts are the difference in standing matches, and turns say the same", () => {
    fc.assert(
      fc.property(states, fc.option(changes), (state, change) => {
        const outcome = outcomes.get(state.status);
        const isClosed = ["cleared", "expired", "void"].includes(state.status);
        const isRemembered = state.status === "dismissed" || state.status === "exempt";
        const before = stored({
          status: state.status,
          severity: state.severity,
          resolution: outcome !== undefined && state.isDecided ? { outcome } : null,
          exemptUntil: state.status === "exempt" && state.exemptFor !== null ? at(state.exemptFor) : null,
          closedAt: isClosed || (isRemembered && state.isGone) ? at(-1) : null,
        });
        const drafts = change === null ? [] : [draftOf(change)];
        const first = written(before, drafts, now);
        const after = first.match ?? before;
        const delta = Number(isActive(after.status)) - Number(isActive(before.status));
        expect(first.result.changes.added - first.result.changes.removed).toBe(delta);
        const turns = [...first.result.update, ...first.result.close].flatMap(({ change }) => change ?? []);
        const isGraceOver = before.status === "grace" && after.status === "open";
        expect(turns).toEqual(delta === 1 || isGraceOver ? ["opened"] : delta === -1 ? ["closed"] : []);
        const { create, update, close, revive, changes: none } = written(after, drafts, now).result;
        expect({ create, update, close, revive, none }).toEqual({
          create: [],
          update: [],
          close: [],
          revive: [],
          none: { added: 0, changed: 0, removed: 0 },
        });
      }),
      { numRuns: runsOf(2000) },
    );
  });

  type Step =
    | { do: "record"; severity: Severity; exempt: boolean; grace: number | null }
    | { do: "leave" | "return" | "look" }
    | { do: "wait"; days: number }
    | { do: "decide"; outcome: "acknowledge" | "confirm" | "dismiss" | "exempt" | "reopen"; until: number | null };
  const steps: fc.Arbitrary<Step[]> = fc.array(
    fc.oneof(
      fc.record({
        do: fc.constant("record" as const),
        severity: fc.constantFrom(...severities),
        exempt: fc.integer({ min: 0, max: 4 }).map((n) => n === 0),
        grace: fc.option(fc.integer({ min: -3, max: 8 })),
      }),
      fc.record({ do: fc.constantFrom("leave" as const, "return" as const, "look" as const) }),
      fc.record({ do: fc.constant("wait" as const), days: fc.integer({ min: 1, max: 5 }) }),
      fc.record({
        do: fc.constant("decide" as const),
        outcome: fc.constantFrom("acknowledge", "confirm", "dismiss", "exempt", "reopen"),
        until: fc.option(fc.integer({ min: 1, max: 6 })),
      }),
    ),
    { minLength: 3, maxLength: 30 },
  );

  test("over any history, what was dismissed or exempt asks for attention again only for one of the named reasons", () => {
    fc.assert(
      fc.property(steps, (drawn) => {
        let days = 0;
        let isIn = true;
        let draft = draftOf();
        let match: StoredMatch | undefined;
        /** The decision that holds, with the severity and the end it was made with. */
        let decided: { outcome: string; severity: number; until: number | null } | undefined;
        for (const step of drawn) {
          if (step.do === "wait") days += step.days;
          if (step.do === "leave") isIn = false;
          if (step.do === "return") isIn = true;
          if (step.do === "record") {
            const graceUntil = step.grace === null ? null : at(days + step.grace);
            draft = Object.assign({}, draft, {
              revision: draft.revision + 1,
              severity: step.severity,
              graceUntil,
              status: step.exempt ? "exempt" : "open",
            });
          }
          if (step.do === "decide" && match !== undefined && allowedMoves(match, at(days)).includes(step.outcome)) {
            const { outcome } = step;
            const until = outcome === "exempt" ? step.until : null;
            const end = exemptionEnd(until === null ? undefined : at(days + until).toISOString(), at(days));
            const status = statusAfter(match, outcome, at(days));
            match = Object.assign({}, match, { status, exemptUntil: end, resolution: outcome === "reopen" ? null : { outcome } });
            decided =
              outcome === "dismiss" || outcome === "exempt"
                ? { outcome, severity: severities.indexOf(match.severity as Severity), until: until === null ? null : days + until }
                : undefined;
          }
          const inGrace = draft.graceUntil !== null && draft.graceUntil > at(days);
          const current: MatchDraft = { ...draft, status: draft.status === "exempt" ? "exempt" : inGrace ? "grace" : "open" };
          match = written(match, isIn ? [current] : [], at(days)).match;
          const isOver = decided !== undefined && decided.until !== null && decided.until <= days;
          const hasRisen = decided !== undefined && severities.indexOf(current.severity) > decided.severity;
          if (decided !== undefined && isIn && (isOver || hasRisen) && current.status !== "exempt") decided = undefined;
          else if (decided !== undefined && isIn && isOver && current.status === "exempt") decided = undefined;
          else if (decided?.outcome === "exempt" && isOver) continue;
          const access = match !== undefined && isActive(match.status) && match.closedAt === null;
          if (!isIn) expect(access).toBe(false);
          else if (decided !== undefined) expect(access).toBe(false);
          else expect(access).toBe(current.status !== "exempt");
          if (match?.status === "dismissed" || match?.status === "exempt") expect(match.closedAt === null).toBe(isIn);
        }
      }),
      { numRuns: runsOf(3000) },
    );
  });

  test("a dismissal outlives new revisions until one is more severe than what it was given for", () => {
    const dismissed = stored({ status: "dismissed", resolution: { outcome: "dismiss" } });
    const updates = (change: Partial<MatchDraft>) => reconcile([dismissed], [draftOf(change)], now, () => "cleared").update;
    expect(updates({ revision: 5 })).toEqual([]);
    expect(updates({ revision: 5, severity: "low" })).toEqual([]);
    expect(updates({ severity: "critical" })).toEqual([]);
    expect(updates({ revision: 6, severity: "high" })).toMatchObject([{ change: "opened", to: { status: "open", keepsDecision: false } }]);
  });

  test("a dismissed match whose ground is gone is closed and remembered, and comes back dismissed", () => {
    const gone = written(stored({ status: "dismissed" }), [], at(1));
    expect(gone.match).toMatchObject({ status: "dismissed", closedAt: at(1) });
    expect(gone.result.changes).toEqual({ added: 0, changed: 0, removed: 0 });
    const back = written(gone.match, [draftOf({ revision: 2 })], at(2));
    expect(back.match).toMatchObject({ status: "dismissed", closedAt: null });
  });

  test("an acknowledged match stays so until the severity rises; a confirmed one stays confirmed", () => {
    const after = (status: string, change: Partial<MatchDraft>) => written(stored({ status }), [draftOf(change)], now).match?.status;
    expect(after("acknowledged", { revision: 2 })).toBe("acknowledged");
    expect(after("acknowledged", { severity: "critical", revision: 2 })).toBe("open");
    expect(after("confirmed", { severity: "critical", revision: 2 })).toBe("confirmed");
  });

  test("an exemption that is over leaves the record to decide", () => {
    const over = stored({ status: "exempt", resolution: { outcome: "exempt" }, exemptUntil: at(-1) });
    expect(written(over, [draftOf()], now).match).toMatchObject({ status: "open", resolution: null, exemptUntil: null });
    expect(written(over, [draftOf({ status: "exempt" })], now).match).toMatchObject({
      status: "exempt",
      resolution: null,
      exemptUntil: null,
    });
    const lasting = { ...over, exemptUntil: at(1) };
    expect(written(lasting, [draftOf({ revision: 2 })], now).match).toEqual(lasting);
  });
});

test("a transaction that began before the end of a grace period does not bring back what another has opened since", () => {
  const graceUntil = at(1);
  const opened = stored({ status: "open", graceUntil });
  const { update, keep, changes } = reconcile([opened], [draftOf({ status: "grace", graceUntil })], now, () => "cleared");
  expect([update, keep, changes]).toEqual([[], ["m1"], { added: 0, changed: 0, removed: 0 }]);
  const longer = reconcile([opened], [draftOf({ status: "grace", graceUntil: at(2), revision: 2 })], now, () => "cleared");
  expect(longer.update.map(({ to, change }) => [to.status, change])).toEqual([["grace", null]]);
});
