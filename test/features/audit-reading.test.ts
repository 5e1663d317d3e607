// @module-tag both
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AuditFilters } from "../../src/features/audit/audit.schema.ts";
import { conditionsOf, ownCondition } from "../../src/features/audit/filters.ts";
import { createSpans } from "../../src/features/audit/spans.ts";
import { countAll, newestBefore, type WholeSearch } from "../../src/features/audit/walk.ts";
import type { AuditEntry } from "../../src/generated/sqlite/client.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { runsOf } from "../support/size.ts";
import { growChain } from "./audit-chain-ground.ts";

const length = 2300;
const people = ["80351110224678912", "80351110224678913"] as const;
const base = Date.parse("2026-01-01T00:00:00.000Z");
/** An hour after each other, but the clock went back once, by more than a part of the chain. */
const timeOf = (seq: number): Date => new Date(base + (seq < 1500 ? seq : seq - 1100) * 3_600_000);

/** Values of which each is frequent in one part of the chain and rare, or absent, in another. */
function columnsOf(seq: number): Partial<AuditEntry> {
  const early = seq < 900;
  const targetId = seq % 3 === 0 ? "hidden" : seq % 5 === 0 ? "kind:odd" : `record-${(seq % 40).toString()}`;
  return {
    at: timeOf(seq),
    action: early ? ["case.open", "case.note"][seq % 2] : ["case.note", "blacklist.create", "blacklist.revoke"][seq % 3],
    actorId: seq % 7 === 0 ? null : people[seq % 2],
    subjectUserId: early && seq % 2 === 0 ? people[0] : null,
    clientId: seq % 4 === 0 ? "the-key" : null,
    via: seq % 11 === 0 ? "slash" : "rest",
    outcome: seq === 17 ? "denied" : "ok",
    requestId: `request-${(seq % 50).toString()}`,
    targetKind: seq % 2 === 0 ? "kind" : "case",
    targetId,
    targetReference: seq % 9 === 0 ? "CASE-000001" : null,
  } as Partial<AuditEntry>;
}

const maybe = <Value>(value: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 2, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });
const time = fc.integer({ min: -5, max: length + 5 }).map((hours) => new Date(base + hours * 3_600_000).toISOString());
const asked = fc.record({
  actor: maybe(fc.constantFrom(...people)),
  action: maybe(fc.constantFrom("case.note", "case.open", "blacklist.create,blacklist.revoke", "case.note, case.open", "nothing")),
  action_prefix: maybe(fc.constantFrom("case.", "blacklist.", "Case.o", "x")),
  target: maybe(fc.constantFrom("kind:odd", "hidden", "kind:record-4", "record-7", "case-000001", "nothing")),
  subject: maybe(fc.constantFrom(...people)),
  client: maybe(fc.constantFrom("the-key", "nothing")),
  via: maybe(fc.constantFrom("rest", "slash", "web")),
  outcome: maybe(fc.constantFrom("ok", "denied", "failed")),
  request_id: maybe(fc.constantFrom("request-4", "nothing")),
  from: maybe(time),
  to: maybe(time),
});
const own = maybe(fc.constantFrom({ actor: { id: people[0] }, client: null }, { actor: null, client: { id: "the-key" } }));

/** What each filter means, for one entry. */
function meets(row: AuditEntry, filters: AuditFilters): boolean {
  const { actor, action, action_prefix: start, target, subject, client, via, outcome, request_id: request, from, to } = filters;
  const isTarget =
    [row.targetId, `${row.targetKind ?? ""}:${row.targetId ?? ""}`].includes(target ?? "") || row.targetReference === target?.toUpperCase();
  return (
    (actor === undefined || row.actorId === actor) &&
    (action === undefined || action.split(",").some((name) => name.trim() === row.action)) &&
    (start === undefined || row.action.startsWith(start.toLowerCase())) &&
    (target === undefined || isTarget) &&
    (subject === undefined || row.subjectUserId === subject) &&
    (client === undefined || row.clientId === client) &&
    (via === undefined || row.via === via) &&
    (outcome === undefined || row.outcome === outcome) &&
    (request === undefined || row.requestId === request) &&
    (from === undefined || row.at >= new Date(from)) &&
    (to === undefined || row.at < new Date(to))
  );
}

let opened: TestDatabase;
let rows: AuditEntry[];
beforeAll(async () => {
  opened = await createTestDatabase();
  await growChain(opened.database, length, columnsOf);
  rows = await opened.database.read.auditEntry.findMany({ orderBy: { seq: "desc" } });
});
afterAll(() => opened.drop());

test(
  "every combination of filters answers the entries it means, once, newest first, whichever index leads to them",
  { timeout: 240_000 },
  async () => {
    const db = opened.database.read;
    const spans = createSpans(db);
    const limits = fc.record({ few: fc.constantFrom(0, 40, 800), positions: fc.constantFrom(60, 500, 20_000) });
    // Cut into many pages, at whose ends some of its entries are.
    const sparse = { via: "slash", outcome: "ok" } as never;
    let bounded = 0;
    await fc.assert(
      fc.asyncProperty(asked, own, limits, fc.boolean(), async (filters, mine, limit, isHidden) => {
        const { from, to } = filters;
        const hidden = new Set(isHidden ? ["hidden"] : []);
        const search: WholeSearch = {
          filters,
          conditions: [...(mine === undefined ? [] : ownCondition(mine)), ...(await conditionsOf(db, filters))],
          range: from === undefined && to === undefined ? {} : await spans({ from, to }, length),
          hiddenAmong: (ids) => Promise.resolve(new Set(ids.filter((id) => hidden.has(id)))),
          hidden,
          seesConfidential: !isHidden,
          seesReasons: true,
        };
        const shown: number[] = [];
        for (let before: number | undefined, pages = 0; ; pages += 1) {
          const page = await newestBefore(db, search, { before, limit: 50, limits: limit });
          shown.push(...page.rows.map((row) => row.seq));
          if (page.reached === undefined) break;
          if (page.isCut) {
            bounded += 1;
            // The same for callers who see less: where a page ends says nothing of hidden entries.
            expect(Math.min(before ?? Infinity, (search.range?.lte ?? length) + 1) - page.reached).toBe(limit.positions);
          }
          before = page.reached;
          expect(pages).toBeLessThan(200);
        }
        const isOwn = (row: AuditEntry) =>
          mine === undefined || (mine.actor === null ? row.actorId === null && row.clientId === "the-key" : row.actorId === mine.actor.id);
        const wanted = rows.filter((row) => isOwn(row) && meets(row, filters as AuditFilters) && !hidden.has(row.targetId ?? ""));
        expect({ filters, mine, limit, shown }).toEqual({ filters, mine, limit, shown: wanted.map((row) => row.seq) });
        expect(await countAll(db, search)).toBe(wanted.length);
      }),
      { numRuns: runsOf(400), seed: 21, endOnFailure: true, examples: [[sparse, undefined, { few: 0, positions: 60 }, false]] },
    );
    expect(bounded).toBeGreaterThan(10);
  },
);
