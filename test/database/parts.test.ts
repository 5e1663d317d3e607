// @module-tag both
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { count, part, withParts, withPartsOf } from "../../src/database/parts.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createTestDatabase } from "../support/database.ts";
import { runsOf } from "../support/size.ts";
import { sampleCall } from "./samples.ts";

const text = fc.string({ unit: "grapheme", maxLength: 30 }).map((one) => one.replaceAll("\0", ""));
const time = fc.date({ min: new Date("2020-01-01"), max: new Date("2040-01-01"), noInvalidDate: true });
// What JSON keeps as it is, on both databases.
const json = fc.option(fc.dictionary(fc.constantFrom("a", "b", "c"), fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null))));
const effect = fc.record({ detail: text, lastError: fc.option(text), input: json, attempts: fc.nat(9), dueAt: fc.option(time), at: time });
const request = fc.record({
  effects: fc.array(effect, { maxLength: 4 }),
  steps: fc.array(fc.record({ at: time, noteInternal: fc.option(text) }), { maxLength: 3 }),
  comments: fc.array(fc.constantFrom("internal", "requester"), { maxLength: 4 }),
});

const parts = {
  effects: part({ model: "WorkflowEffect", of: "requestId", orderBy: ["place"] }),
  steps: part({ model: "WorkflowStep", of: "requestId", orderBy: ["revision"], lastBy: "revision" }),
  comments: count({ model: "WorkflowComment", of: "requestId", countBy: "visibility" }),
};

/** Counts come in no order. */
function inOrder<Counted extends { value: unknown }>(counts: readonly Counted[]): Counted[] {
  return counts.toSorted((a, b) => (String(a.value) < String(b.value) ? -1 : 1));
}

test("what belongs to records is read in one go as the client of the models reads it table by table", async () => {
  const { database, drop } = await createTestDatabase();
  onTestFinished(drop);
  const source = { db: database.read, dialect: database.dialect };
  let made = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(request, { maxLength: 4 }), async (wanted) => {
      const ids = wanted.map(() => uuid7());
      await database.write(sampleCall(), async ({ db, now }) => {
        for (const [index, { effects, steps, comments }] of wanted.entries()) {
          const requestId = ids[index] ?? "";
          const lists = { payload: {}, extra: {}, evidence: [], related: [], links: [] };
          const words = {
            type: "poach",
            status: "pending",
            priority: "normal",
            urgent: false,
            title: "",
            summary: "",
            requestedVia: "rest",
          };
          const rest = { reference: `PCH-REQ-${(made += 1).toString()}`, approvalsRequired: 1, createdAt: now, updatedAt: now };
          await db.workflowRequest.create({ data: { id: requestId, ...lists, ...words, ...rest } });
          for (const [place, { input, ...columns }] of effects.toReversed().entries())
            await db.workflowEffect.create({
              data: { requestId, place, key: "k", status: "done", updatedAt: now, ...columns, ...(input !== null && { input }) },
            });
          for (const [revision, step] of steps.entries())
            await db.workflowStep.create({
              data: { requestId, revision, action: "create", via: "rest", to: "pending", data: {}, ...step },
            });
          for (const visibility of comments)
            await db.workflowComment.create({ data: { requestId, body: "b", visibility, createdAt: now } });
        }
      });
      const rows = await database.read.workflowRequest.findMany({ where: { id: { in: ids } }, orderBy: { id: "asc" } });
      const found = await withParts(source, rows, parts);
      const include = {
        effects: { orderBy: { place: "asc" } },
        steps: { orderBy: { revision: "desc" }, take: 1 },
        comments: true,
      } as const;
      const expected = await database.read.workflowRequest.findMany({ where: { id: { in: ids } }, orderBy: { id: "asc" }, include });
      const countOf = (list: readonly { visibility: string }[], value: string) =>
        list.filter(({ visibility }) => visibility === value).length;
      expect(found.map(({ comments, ...row }) => ({ ...row, comments: inOrder(comments) }))).toEqual(
        expected.map(({ comments, ...row }) => ({
          ...row,
          comments: ["internal", "requester"].flatMap((value) => {
            const counted = countOf(comments, value);
            return counted === 0 ? [] : [{ value, count: counted }];
          }),
        })),
      );
      const [first = null] = rows;
      const [one] = [await withPartsOf(source, first, parts)].map((row) => row && { ...row, comments: inOrder(row.comments) });
      const [same] = found.map((row) => ({ ...row, comments: inOrder(row.comments) }));
      expect(one).toEqual(same ?? null);
    }),
    { numRuns: runsOf(40) },
  );
  expect(made).toBeGreaterThan(10);
});
