// @module-tag both
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { insertAll } from "../../src/database/insert.ts";
import { conditions, type Filters } from "../../src/features/blacklist/filters.ts";
import { statusAt } from "../../src/features/blacklist/blacklist.policy.ts";
import { kinds, statuses } from "../../src/features/blacklist/blacklist.schema.ts";
import { readPage } from "../../src/features/blacklist/reading.ts";
import { rowOf } from "../../src/features/blacklist/records.ts";
import { searchCondition } from "../../src/features/blacklist/search.ts";
import { wordRows } from "../../src/features/blacklist/changes.ts";
import type { BlacklistRecord } from "../../src/generated/sqlite/client.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { newestFirst } from "../../src/kernel/keyset.ts";
import type { Position } from "../../src/kernel/page.ts";
import { severities } from "../../src/kernel/vocabulary.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { runsOf } from "../support/size.ts";

const now = new Date("2026-11-25T12:00:00.000Z");
const hour = 3_600_000;
const at = (hours: number): Date => new Date(now.getTime() + hours * hour);
const categories = ["raid", "scam", "hate"] as const;
const around = [at(-2), at(-1), now, at(1)] as const;
const subjects = ["80351110224678912", "80351110224678913"] as const;
const words = ["lantern", "buoy", "anchor"] as const;
const take = 7;

/** Few values, so that each is frequent here and rare there, many records are of one moment, and the sweep is behind with some. */
const record = fc.record({
  kind: fc.constantFrom(...kinds),
  subjectId: fc.constantFrom(...subjects, "80351110224678914"),
  category: fc.constantFrom(...categories),
  severity: fc.constantFrom(...severities),
  status: fc.constantFrom(...statuses),
  reviewAt: fc.constantFrom(null, ...around),
  expiresAt: fc.constantFrom(null, ...around),
  startsAt: fc.constantFrom(at(-1), at(1)),
  createdAt: fc.constantFrom(at(-9), at(-8), at(-7)),
  updatedAt: fc.constantFrom(...around),
  open: fc.subarray([...words]),
  hidden: fc.subarray([...words]),
});
type Made = typeof record extends fc.Arbitrary<infer Value> ? Value : never;

const maybe = <Value>(value: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 2, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });
const asked = fc.record({
  kind: maybe(fc.constantFrom(...kinds)),
  status: maybe(fc.constantFrom(...statuses)),
  category: maybe(fc.constantFrom(...categories)),
  severity: maybe(fc.constantFrom(...severities)),
  subject: maybe(fc.constantFrom(...subjects)),
  review_due: maybe(fc.constantFrom("true", "false")),
  expires_before: maybe(fc.constantFrom(...around).map((time) => time.toISOString())),
  changed_since: maybe(fc.constantFrom(...around).map((time) => time.toISOString())),
  q: maybe(fc.constantFrom("lantern", "buo", "lan anch", "nothing")),
});

function stored(made: Made, index: number): BlacklistRecord {
  const { open, hidden, ...columns } = made;
  const draft = { ...columns, scope: "network", source: "direct", createdBy: null } as const;
  const texts = { reasonPublic: open.join(" "), reasonInternal: hidden.join(" ") };
  return { ...rowOf(made.createdAt, draft, index + 1, Buffer.alloc(32)), ...columns, ...texts, activeKey: null };
}

/** What each filter means, for one record. */
function meets(row: BlacklistRecord, filters: Filters, readsConfidential: boolean): boolean {
  const status = statusAt(row, now);
  const isLive = row.status === "active" || row.status === "scheduled";
  const isDue = isLive && row.reviewAt !== null && row.reviewAt <= now;
  const held = wordRows(row).filter(({ isHidden }) => readsConfidential || !isHidden);
  return (
    (filters.kind === undefined || row.kind === filters.kind) &&
    (filters.status === undefined || status === filters.status) &&
    (filters.category === undefined || row.category === filters.category) &&
    (filters.severity === undefined || row.severity === filters.severity) &&
    (filters.subject === undefined || row.subjectId === filters.subject) &&
    (filters.review_due === undefined || isDue === (filters.review_due === "true")) &&
    (filters.expires_before === undefined || (row.expiresAt !== null && row.expiresAt < new Date(filters.expires_before))) &&
    (filters.changed_since === undefined || row.updatedAt >= new Date(filters.changed_since)) &&
    (filters.q === undefined || filters.q.split(" ").every((start) => held.some(({ word }) => word.startsWith(start))))
  );
}

let databases: TestDatabase;
beforeAll(async () => void (databases = await createTestDatabase()));
afterAll(() => databases.drop());

test(
  "every combination of filters answers the records it means, once, newest first, whichever index leads to them",
  { timeout: 240_000 },
  async () => {
    const { database } = databases;
    const limits = fc.record({ few: fc.constantFrom(0, 3, 800), examined: fc.constantFrom(1, 5, 2000) });
    // Each status alone goes by what is stored, and by what the sweep has not come to.
    const alone = statuses.map((status) => [{ status }, { few: 800, examined: 5 }]);
    let bounded = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(record, { minLength: 20, maxLength: 60 }),
        fc.array(fc.tuple(asked, limits), { minLength: 8, maxLength: 8 }),
        fc.boolean(),
        async (made, questions, readsConfidential) => {
          const rows = made.map(stored);
          await database.write(systemCall("cli", "test"), async (tx) => {
            await tx.db.blacklistRecord.deleteMany({});
            await insertAll(tx, [
              { model: "BlacklistRecord", rows },
              { model: "BlacklistWord", rows: rows.flatMap(wordRows) },
            ]);
          });
          for (const [filters, limit] of [...questions, ...alone] as [Filters, { few: number; examined: number }][]) {
            const search = filters.q === undefined ? undefined : await searchCondition(database.read, { q: filters.q, readsConfidential });
            const shown: string[] = [];
            for (let position: Position | undefined, pages = 0; ; pages += 1) {
              const page = await readPage(database.read, { filters, now, search }, { position, take, limits: limit });
              expect(page.rows.length).toBeLessThanOrEqual(take);
              shown.push(...page.rows.map(({ id }) => id));
              if (page.reached !== undefined) bounded += 1;
              const last = page.rows.length === take ? page.rows.at(-1) : undefined;
              position = last === undefined ? page.reached : newestFirst.of(last);
              if (position === undefined) break;
              expect(pages).toBeLessThan(200);
            }
            const wanted = rows
              .filter((row) => meets(row, filters, readsConfidential))
              .toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || (a.id < b.id ? 1 : -1));
            expect({ filters, limit, shown }).toEqual({ filters, limit, shown: wanted.map(({ id }) => id) });
            expect(await database.read.blacklistRecord.count({ where: conditions({ filters, now, search }, "any") })).toBe(wanted.length);
          }
        },
      ),
      { numRuns: runsOf(30), seed: 21, endOnFailure: true },
    );
    expect(bounded).toBeGreaterThan(10);
  },
);
