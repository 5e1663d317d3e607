import type { Person, MatchDraft } from "../../src/features/intelligence/match-drafts.ts";
import { severities } from "../../src/kernel/vocabulary.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createCandidateIndex } from "../../src/features/intelligence/candidates.ts";
import type { MatchRecord } from "../../src/features/intelligence/match-record.ts";
import { knownFrom, matchUser, type Facts } from "../../src/features/intelligence/match-kinds.ts";
import { runsOf } from "../support/size.ts";

const now = new Date("2026-11-20T12:00:00.000Z");
const hour = 3_600_000;
const hashOf = (id: string): string => `hash of ${id}`;
const people = ["u1", "u2", "u3"];
const places = ["s1", "s2", "s3", "s4"];

const record = (change: Partial<MatchRecord> = {}): MatchRecord => ({
  id: "r1",
  number: 1,
  reference: "BL-000001",
  revision: 1,
  kind: "server",
  subjectId: "s1",
  subjectHash: null,
  serverName: "Raid Base",
  severity: "medium",
  status: "active",
  recommendedAction: null,
  memberPolicy: null,
  gracePeriodSeconds: null,
  exemptUserIds: [],
  includeAlts: "confirmed",
  startsAt: new Date(now.getTime() - hour),
  expiresAt: null,
  ...change,
});

const match = (person: Partial<Person>, facts: Partial<Facts>): MatchDraft[] =>
  matchUser(
    { userId: "u1", servers: [], linked: [], denials: [], ...person },
    knownFrom({ records: [], related: [], watched: [], agreements: [], ...facts }, now, hashOf),
  );

const inside = (id: string, relation = "member") => ({ hash: hashOf(id), relation });
const related = (of: string, to: string, how: "alias" | "merged") => ({ of: hashOf(of), hash: hashOf(to), serverId: to, how });
const agreement = (covers: "staff" | "members" | "both", change: object = {}) => ({
  id: "a1",
  serverHash: hashOf("s1"),
  serverId: "s1",
  covers,
  reference: "PCH-REQ-000001",
  startsAt: now,
  endsAt: null,
  revision: 3,
  ...change,
});
const userRecord = (change: Partial<MatchRecord> = {}) => record({ kind: "user", subjectId: "u2", severity: "high", ...change });
const linked = (confidence: "confirmed" | "probable", userId = "u2") => ({ userId, confidence });
const watched = { id: "s1", hash: hashOf("s1"), name: "Watched", revision: 2 };

interface Case {
  name: string;
  person: Partial<Person>;
  facts: Partial<Facts>;
  made: object[];
}

const cases: Case[] = [
  {
    name: "the owner of a listed server",
    person: { servers: [inside("s1", "owner")] },
    facts: { records: [record()] },
    made: [{ kind: "server_blacklist", recordId: "r1", serverId: "s1", confidence: 100, why: [{ rule: "owner_of_blacklisted_server" }] }],
  },
  {
    name: "a member of another id of a listed server",
    person: { servers: [inside("s2")] },
    facts: { records: [record()], related: [related("s2", "s1", "alias")] },
    made: [{ kind: "server_blacklist", recordId: "r1", serverId: "s1", confidence: 100, why: [{ rule: "alias_of_blacklisted_server" }] }],
  },
  {
    name: "a member of both: one match, by the server itself",
    person: { servers: [inside("s2", "owner"), inside("s1")] },
    facts: { records: [record()], related: [related("s2", "s1", "alias")] },
    made: [{ kind: "server_blacklist", why: [{ rule: "member_of_blacklisted_server" }] }],
  },
  {
    name: "a member of a server merged with a listed one",
    person: { servers: [inside("s2")] },
    facts: { records: [record()], related: [related("s2", "s1", "merged")] },
    made: [{ kind: "merged_server", recordId: "r1", confidence: 60, why: [{ rule: "merged_with_blacklisted_server" }] }],
  },
  {
    name: "a listed person",
    person: { userId: "u2" },
    facts: { records: [userRecord()] },
    made: [{ kind: "user_blacklist", serverId: null, viaUserId: null, confidence: 100, suggestedAction: "deny_entry" }],
  },
  {
    name: "a confirmed account of a listed person",
    person: { linked: [linked("confirmed")] },
    facts: { records: [userRecord()] },
    made: [{ kind: "alt_of_blacklisted", viaUserId: "u2", confidence: 95, why: [{ rule: "confirmed_account_of_blacklisted_user" }] }],
  },
  {
    name: "a probable account where the record takes in confirmed ones only",
    person: { linked: [linked("probable")] },
    facts: { records: [userRecord()] },
    made: [],
  },
  {
    name: "a probable account where the record takes those in, too",
    person: { linked: [linked("probable")] },
    facts: { records: [userRecord({ includeAlts: "probable" })] },
    made: [{ kind: "alt_of_blacklisted", viaUserId: "u2", confidence: 60 }],
  },
  {
    name: "a confirmed account where the record takes in none",
    person: { linked: [linked("confirmed")] },
    facts: { records: [userRecord({ includeAlts: "none" })] },
    made: [],
  },
  {
    name: "a confirmed account that the record exempts",
    person: { linked: [linked("confirmed")] },
    facts: { records: [userRecord({ exemptUserIds: ["u1"] })] },
    made: [{ kind: "alt_of_blacklisted", status: "exempt" }],
  },
  {
    name: "a member of a watched server",
    person: { servers: [inside("s1")] },
    facts: { watched: [watched] },
    made: [{ kind: "watch", recordId: "s1", reference: "s1", severity: "low", suggestedAction: "monitor", revision: 2 }],
  },
  {
    name: "the owner of a party of an agreement about staff",
    person: { servers: [inside("s1", "owner")] },
    facts: { agreements: [agreement("staff")] },
    made: [
      { kind: "no_poach", recordId: "a1", reference: "PCH-REQ-000001", serverId: "s1", severity: "medium", suggestedAction: "verify" },
    ],
  },
  { name: "a member of that party", person: { servers: [inside("s1")] }, facts: { agreements: [agreement("staff")] }, made: [] },
  {
    name: "its manager under an agreement about members",
    person: { servers: [inside("s1", "manager")] },
    facts: { agreements: [agreement("members")] },
    made: [],
  },
  {
    name: "a member of two parties of one agreement about both",
    person: { servers: [inside("s2"), inside("s1", "manager")] },
    facts: { agreements: [agreement("both"), agreement("both", { serverId: "s2", serverHash: hashOf("s2"), reference: null })] },
    made: [{ kind: "no_poach", serverId: "s1", why: [{ rule: "manager_of_agreement_party" }] }],
  },
  {
    name: "somebody whose application was denied",
    person: { denials: [{ id: "q1", reference: "REC-REQ-000001", revision: 1 }] },
    facts: {},
    made: [{ kind: "prior_denial", recordId: "q1", reference: "REC-REQ-000001", severity: "low", serverId: null }],
  },
  {
    name: "somebody else's record and server",
    person: { servers: [inside("s3")] },
    facts: { records: [record(), userRecord()] },
    made: [],
  },
];

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
  test.each(cases)("$name", ({ person, facts, made }) => {
    const drafts = match(person, facts);
    expect(drafts).toMatchObject(made);
    expect(drafts).toHaveLength(made.length);
    for (const { why } of drafts) {
      expect(why.length).toBeGreaterThan(0);
      expect(JSON.stringify(why)).not.toMatch(/Raid Base|Watched|BL-|REQ/);
    }
  });

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
        const drafts = match({ userId, servers: held.map((id) => inside(id)) }, { records: all });
        expect(drafts.map((draft) => draft.recordId).toSorted()).toEqual(naive.map((one) => one.id).toSorted());
        for (const draft of drafts) {
          const made = all.find(({ id }) => id === draft.recordId) ?? record();
          expect(draft.kind).toBe(made.kind === "user" ? "user_blacklist" : "server_blacklist");
          const end = made.gracePeriodSeconds === null ? undefined : made.startsAt.getTime() + made.gracePeriodSeconds * 1000;
          const inGrace = end !== undefined && end > now.getTime() ? "grace" : "open";
          const expected = made.kind === "user" ? "open" : made.exemptUserIds.includes(userId) ? "exempt" : inGrace;
          expect(draft.status).toBe(expected);
        }
      }),
      { numRuns: runsOf(500) },
    );
  });

  test("suggests what the record's policy says, else what its severity implies", () => {
    const suggested = (change: Partial<MatchRecord>) =>
      match({ servers: [inside("s1")] }, { records: [record(change)] })[0]?.suggestedAction;
    expect(suggested({ memberPolicy: "deny_staff", recommendedAction: "kick" })).toBe("deny_staff");
    expect(suggested({ recommendedAction: "kick" })).toBe("kick");
    expect(suggested({ severity: "critical" })).toBe("deny_entry");
  });
});

describe("the index of candidates", () => {
  const subjects = Array.from({ length: 40 }, (_, n) => ({
    kind: n % 2 === 0 ? ("user" as const) : ("server" as const),
    subjectId: (90_000_000_000_000_000n + BigInt(n >> 1) * 1_000_000_000n).toString(),
  }));
  const keyed = (id: string): string => Buffer.from(`${id.slice(-12)}${id}`).toString("base64url");
  const steps = fc.array(
    fc.record({ put: fc.boolean(), subject: fc.nat({ max: subjects.length - 1 }), number: fc.integer({ min: 1, max: 60 }) }),
    { minLength: 1, maxLength: 400 },
  );

  test("answers what a map of sets answers, after any puts and removals", () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: 0, max: 3000 }), (drawn, crowd) => {
        const index = createCandidateIndex(keyed);
        // Others, so that the table is full enough for entries to lie in the way of each other, and grows.
        for (let n = 1; n <= crowd; n += 1)
          index.put({ number: 1000 + n, kind: "user", subjectId: (50_000_000_000_000_000n + BigInt(n)).toString(), subjectHash: null });
        const model = new Map<number, Set<number>>();
        for (const { put, subject, number } of drawn) {
          const { kind, subjectId } = subjects[subject] ?? { kind: "user" as const, subjectId: "" };
          const one = { number, kind, subjectId, subjectHash: null };
          const known = model.get(subject) ?? new Set<number>();
          expect(index.has(one)).toBe(known.has(number));
          if (put) expect(index.put(one)).toBe(!known.has(number));
          else index.remove(one);
          if (put) known.add(number);
          else known.delete(number);
          model.set(subject, known);
        }
        for (const [n, { kind, subjectId }] of subjects.entries()) {
          const found = kind === "user" ? index.find([], [subjectId]) : index.find([keyed(subjectId)], []);
          expect(found).toEqual(model.get(n) ?? new Set());
        }
        const size = [...model.values()].reduce((sum, { size: some }) => sum + some, 0);
        expect(index.size).toBe(size + crowd);
      }),
      { numRuns: runsOf(200) },
    );
  });

  test("keeps a hundred thousand records apart, and finds each of them after half were taken out", () => {
    const index = createCandidateIndex(keyed);
    const idOf = (n: number): string => (80_000_000_000_000_000n + BigInt(n) * 4_194_304n).toString();
    const all = Array.from({ length: 100_000 }, (_, n) => ({
      number: n + 1,
      kind: "user" as const,
      subjectId: idOf(n),
      subjectHash: null,
    }));
    for (const one of all) index.put(one);
    for (const one of all) if (one.number % 2 === 0) index.remove(one);
    const wrong = all.filter(({ number, subjectId }) => {
      const found = index.find([], [subjectId]);
      return number % 2 === 0 ? found.size !== 0 : !(found.size === 1 && found.has(number));
    });
    expect(wrong).toEqual([]);
    expect(index.size).toBe(50_000);
  });
});
