import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createBlacklistIndex } from "../../src/features/intelligence/blacklist-index.ts";
import type { MatchRecord } from "../../src/features/intelligence/match-record.ts";
import { severities } from "../../src/features/intelligence/match-record.ts";
import { matchUser } from "../../src/features/intelligence/matching.ts";
import type { MatchDraft } from "../../src/features/intelligence/matching.ts";
import type { StoredMatch } from "../../src/features/intelligence/reconcile.ts";
import { isStanding, reconcile } from "../../src/features/intelligence/reconcile.ts";

const now = new Date("2026-11-20T12:00:00.000Z");
const hour = 3_600_000;
const hashOf = (id: string): string => `hash of ${id}`;
const people = ["u1", "u2", "u3"];
const places = ["s1", "s2", "s3", "s4"];

const record = (change: Partial<MatchRecord> = {}): MatchRecord => ({
  id: "r1",
  reference: "BL-000001",
  revision: 1,
  kind: "server",
  subjectId: "s1",
  subjectHash: hashOf("s1"),
  serverName: "Raid Base",
  severity: "medium",
  status: "active",
  recommendedAction: null,
  memberPolicy: null,
  gracePeriodSeconds: null,
  exemptUserIds: [],
  startsAt: new Date(now.getTime() - hour),
  expiresAt: null,
  ...change,
});

const draftOf = (change: Partial<MatchRecord> = {}): MatchDraft => {
  const index = createBlacklistIndex([record(change)], hashOf);
  const [draft] = matchUser({ userId: "u1", servers: [{ hash: hashOf("s1"), relation: "member" }], index, now });
  if (draft === undefined) throw new Error("the record makes no match");
  return draft;
};

const stored = (change: Partial<StoredMatch> = {}): StoredMatch => {
  const { kind, severity, why, suggestedAction, graceUntil } = draftOf();
  return {
    id: "m1",
    kind,
    recordId: "r1",
    recordRevision: 1,
    severity,
    status: "open",
    why,
    suggestedAction,
    graceUntil,
    resolution: null,
    ...change,
  };
};

const instant = fc.integer({ min: -3, max: 3 }).map((hours) => new Date(now.getTime() + hours * hour));
const records = fc.uniqueArray(
  fc.record({
    id: fc.constantFrom(...Array.from({ length: 12 }, (_, n) => `r${n}`)),
    kind: fc.constantFrom("user" as const, "server" as const),
    person: fc.constantFrom(...people),
    place: fc.constantFrom(...places),
    hasHash: fc.boolean(),
    severity: fc.constantFrom(...severities),
    status: fc.constantFrom("active", "active", "scheduled", "expired", "revoked"),
    gracePeriodSeconds: fc.constantFrom(null, 0, 1800, 7200, 86_400),
    exemptUserIds: fc.subarray(people),
    startsAt: instant,
    expiresAt: fc.option(instant),
  }),
  { selector: ({ id }) => id, maxLength: 12 },
);

describe("matching one person", () => {
  test("finds what a walk over every record and every server finds, once each", () => {
    fc.assert(
      fc.property(records, fc.constantFrom(...people), fc.subarray(places), (drawn, userId, held) => {
        const all = drawn.map(({ person, place, hasHash, ...rest }) =>
          record({
            ...rest,
            subjectId: rest.kind === "user" ? person : place,
            subjectHash: rest.kind === "server" && hasHash ? hashOf(place) : null,
          }),
        );
        const naive = all.filter((one) => {
          const started = one.status === "active" || (one.status === "scheduled" && one.startsAt.getTime() <= now.getTime());
          const ended = one.expiresAt !== null && one.expiresAt.getTime() <= now.getTime();
          return started && !ended && (one.kind === "user" ? one.subjectId === userId : held.includes(one.subjectId));
        });
        const servers = held.map((id) => ({ hash: hashOf(id), relation: "member" }));
        const drafts = matchUser({ userId, servers, index: createBlacklistIndex(all, hashOf), now });
        expect(drafts.map((draft) => draft.record.id).toSorted()).toEqual(naive.map((one) => one.id).toSorted());
        for (const draft of drafts) {
          const { record: made } = draft;
          expect(draft.kind).toBe(made.kind === "user" ? "user_blacklist" : "server_blacklist");
          const end = made.gracePeriodSeconds === null ? undefined : made.startsAt.getTime() + made.gracePeriodSeconds * 1000;
          const expected =
            made.kind === "user"
              ? "open"
              : made.exemptUserIds.includes(userId)
                ? "exempt"
                : end !== undefined && end > now.getTime()
                  ? "grace"
                  : "open";
          expect(draft.status).toBe(expected);
        }
      }),
      { numRuns: 500 },
    );
  });

  test("a later revision takes the place of the earlier one, and an earlier one does not come back", () => {
    const index = createBlacklistIndex([record({ revision: 2, status: "revoked" })], hashOf);
    index.put(record({ revision: 1 }));
    expect(index.byServer("s1").map(({ revision }) => revision)).toEqual([2]);
    index.put(record({ revision: 3 }));
    expect(index.byServerHash(hashOf("s1")).map(({ revision }) => revision)).toEqual([3]);
  });

  test("suggests what the record's policy says, else what its severity implies", () => {
    expect(draftOf({ memberPolicy: "deny_staff", recommendedAction: "kick" }).suggestedAction).toBe("deny_staff");
    expect(draftOf({ recommendedAction: "kick" }).suggestedAction).toBe("kick");
    expect(draftOf({ severity: "critical" }).suggestedAction).toBe("deny_entry");
  });
});

describe("reconciling stored matches", () => {
  const states = fc.record({
    status: fc.constantFrom("open", "grace", "acknowledged", "confirmed", "dismissed", "exempt", "cleared", "expired", "void"),
    severity: fc.constantFrom(...severities),
    isExemptByPerson: fc.boolean(),
  });
  const changes = fc.record({
    severity: fc.constantFrom(...severities),
    exempt: fc.boolean(),
    grace: fc.boolean(),
    revision: fc.integer({ min: 1, max: 3 }),
  });

  test("a second reconciliation with the same records changes nothing, and the counts are the difference in standing matches", () => {
    fc.assert(
      fc.property(states, fc.option(changes), (state, change) => {
        const resolution = state.isExemptByPerson ? { outcome: "exempt" } : null;
        const before = stored({ status: state.status, severity: state.severity, resolution });
        const drafts =
          change === null
            ? []
            : [
                draftOf({
                  severity: change.severity,
                  revision: change.revision,
                  exemptUserIds: change.exempt ? ["u1"] : [],
                  gracePeriodSeconds: change.grace ? 86_400 : null,
                }),
              ];
        const first = reconcile([before], drafts, () => "cleared");
        expect(first.create).toEqual([]);
        const update = first.update[0]?.to;
        const after: StoredMatch = {
          ...before,
          ...(update !== undefined && update),
          ...(first.close[0] !== undefined && { status: first.close[0].status }),
        };
        const delta = Number(isStanding(after.status)) - Number(isStanding(before.status));
        expect(first.changes.added - first.changes.removed).toBe(delta);
        const second = reconcile([after], drafts, () => "cleared");
        expect({ update: second.update, close: second.close, changes: second.changes }).toEqual({
          update: [],
          close: [],
          changes: { added: 0, changed: 0, removed: 0 },
        });
      }),
      { numRuns: 1000 },
    );
  });

  test("a dismissal outlives new revisions until the severity rises above the one it was given for", () => {
    const dismissed = stored({ status: "dismissed" });
    expect(reconcile([dismissed], [draftOf({ revision: 5 })], () => "cleared").update).toEqual([]);
    expect(reconcile([dismissed], [draftOf({ revision: 5, severity: "low" })], () => "cleared").update).toEqual([]);
    const risen = reconcile([dismissed], [draftOf({ revision: 6, severity: "high" })], () => "cleared");
    expect(risen.update[0]?.to).toMatchObject({ status: "open", severity: "high", recordRevision: 6 });
    expect(risen.changes).toEqual({ added: 1, changed: 0, removed: 0 });
  });

  test("a match that was closed opens again when the person comes back", () => {
    const back = reconcile([stored({ status: "cleared" })], [draftOf()], () => "cleared");
    expect(back.update[0]?.to.status).toBe("open");
    expect(back.changes.added).toBe(1);
  });

  test("a grace period that is over opens the match", () => {
    const graceUntil = new Date(now.getTime() - 1000);
    const over = reconcile([stored({ status: "grace", graceUntil })], [draftOf({ gracePeriodSeconds: 3599 })], () => "cleared");
    expect(over.update[0]?.to.status).toBe("open");
  });

  test("an acknowledged match stays so until the severity rises; a confirmed one stays confirmed", () => {
    const risen = [draftOf({ severity: "critical", revision: 2 })];
    expect(reconcile([stored({ status: "acknowledged" })], [draftOf({ revision: 2 })], () => "cleared").update[0]?.to.status).toBe(
      "acknowledged",
    );
    expect(reconcile([stored({ status: "acknowledged" })], risen, () => "cleared").update[0]?.to.status).toBe("open");
    expect(reconcile([stored({ status: "confirmed" })], risen, () => "cleared").update[0]?.to.status).toBe("confirmed");
  });
});
