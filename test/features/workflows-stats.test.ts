// @module-tag postgres
// @module-tag slow
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { statsLimits } from "../../src/features/workflows/stats/stats.service.ts";
import { openStatuses, statuses } from "../../src/features/workflows/state/table.ts";
import { createGround, freshId } from "./workflows-ground.ts";
import { decisionOf, keep, rowOf, type Row } from "./workflows-rows.ts";

const hour = 3_600_000;
const day = 24 * hour;
const base = Date.now();
const ago = (hours: number): Date => new Date(base - hours * hour);

const maybe = <T>(value: fc.Arbitrary<T>) => fc.oneof(fc.constant(null), value);
const hoursAgo = (min: number, max: number) =>
  fc.integer({ min: min * 3600, max: max * 3600 }).map((seconds) => new Date(base - seconds * 1000));

const anyRow: fc.Arbitrary<Row> = fc
  .record({
    type: fc.constantFrom("punishment", "poach", "appeal"),
    status: fc.constantFrom(...statuses),
    createdAt: hoursAgo(20, 60 * 24),
    firstTouchedAt: maybe(hoursAgo(1, 20)),
    dueDecisionAt: maybe(fc.oneof(hoursAgo(1, 40), fc.constant(new Date(base + day)))),
    pausedAt: maybe(hoursAgo(1, 40)),
    expiresAt: fc.constantFrom(null, ago(3), new Date(base + 10 * day)),
    decidedAt: hoursAgo(1, 20),
    breakGlass: fc.boolean(),
    reversedByOne: fc.boolean(),
  })
  .map(({ breakGlass, reversedByOne, decidedAt, ...row }) => {
    const isDecided = ["approved", "denied", "reversed"].includes(row.status);
    return rowOf({ ...row, ...(isDecided && { decidedAt, decision: decisionOf(row.status, { breakGlass, reversedByOne }) }) });
  });

const isOpenNow = (row: Row, now: number): boolean =>
  openStatuses.some((open) => open === row.status) && !(row.expiresAt instanceof Date && row.expiresAt.getTime() <= now);
const statusOf = (row: Row, now: number): string =>
  openStatuses.some((open) => open === row.status) && !isOpenNow(row, now) ? "expired" : row.status;
const ms = (value: unknown): number => (value as Date).getTime();

/** The shortest of these that at least this share does not exceed, counted out. */
function percentile(values: number[], part: number): number | null {
  const found = values.toSorted((a, b) => a - b).find((value) => values.filter((other) => other <= value).length >= part * values.length);
  return found === undefined ? null : Math.round(found / 1000);
}

const rate = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole);

function naive(rows: readonly Row[], now: number, from: Date, to: Date) {
  const filed = rows.filter(({ createdAt }) => createdAt >= from && createdAt < to);
  const open = rows.filter((row) => isOpenNow(row, now));
  const countOf = (status: string, among: readonly Row[]) => among.filter((row) => statusOf(row, now) === status).length;
  const outcomes = Object.fromEntries(
    ["approved", "denied", "withdrawn", "expired", "void", "reversed"].map((name) => [name, countOf(name, filed)]),
  );
  const { approved = 0, reversed = 0, denied = 0 } = outcomes;
  const ages = open.map(({ createdAt }) => now - createdAt.getTime());
  const spans = (end: "firstTouchedAt" | "decidedAt") =>
    filed.filter((row) => row[end] instanceof Date).map((row) => ms(row[end]) - row.createdAt.getTime());
  const timed = filed.filter((row) => row.dueDecisionAt instanceof Date && !["withdrawn", "void"].includes(statusOf(row, now)));
  const end = (row: Row): number =>
    row.decidedAt instanceof Date
      ? ms(row.decidedAt)
      : isOpenNow(row, now)
        ? row.pausedAt instanceof Date
          ? ms(row.pausedAt)
          : now
        : row.expiresAt instanceof Date
          ? ms(row.expiresAt)
          : -1;
  const measured = timed.filter((row) => end(row) >= 0);
  const isByOne = ({ decision }: Row): boolean => {
    const made = decision as ReturnType<typeof decisionOf> | undefined;
    return made?.break_glass === true || made?.reversal?.break_glass === true;
  };
  return {
    filed: filed.length,
    open: { total: open.length, ...Object.fromEntries(openStatuses.map((name) => [name, countOf(name, open)])) },
    open_age: { p50: percentile(ages, 0.5), p90: percentile(ages, 0.9), max: percentile(ages, 1) },
    overdue: open.filter((row) => row.pausedAt === null && row.dueDecisionAt instanceof Date && ms(row.dueDecisionAt) < now).length,
    first_touch: { p50: percentile(spans("firstTouchedAt"), 0.5), p90: percentile(spans("firstTouchedAt"), 0.9) },
    decision: { p50: percentile(spans("decidedAt"), 0.5), p90: percentile(spans("decidedAt"), 0.9) },
    outcomes,
    approval_rate: rate(approved + reversed, approved + reversed + denied),
    reversal_rate: rate(reversed, approved + reversed),
    breached_share: rate(measured.filter((row) => end(row) > ms(row.dueDecisionAt)).length, measured.length),
    break_glass: filed.filter(isByOne).length,
  };
}

test("the numbers are what one counts by hand, in all and for each kind", async () => {
  const ground = await createGround();
  const actor = ground.staff("senior");
  const samples = fc.sample(fc.array(anyRow, { minLength: 0, maxLength: 60 }), { numRuns: 12, seed: 7 });
  // More than one slice is read in the last.
  samples.push(fc.sample(anyRow, { numRuns: 2300, seed: 11 }));
  const kept: Row[] = [];
  for (const rows of samples) {
    await keep(ground, rows);
    kept.push(...rows);
    const [from, to] = [ago(40 * 24), ago(5 * 24)];
    const view = await ground.workflows.stats.read(ground.callOf({ actor }), {
      type: "appeal,punishment",
      from: from.toISOString(),
      to: to.toISOString(),
    });
    const now = new Date(view.evaluated_at).getTime();
    const about = (types: string[]) =>
      naive(
        kept.filter(({ type }) => types.includes(type)),
        now,
        from,
        to,
      );
    expect(view.all).toEqual(about(["appeal", "punishment"]));
    expect(view.types).toEqual(["punishment", "appeal"].map((type) => ({ type, ...about([type]) })));
  }
});

test("of more requests than one answer counts it counts the newest filed and the longest open, and says so", async () => {
  const ground = await createGround();
  const actor = ground.staff("senior");
  onTestFinished(() => void (statsLimits.counted = 5000));
  await keep(
    ground,
    [1, 2, 3, 4, 5].flatMap((hours) => [
      rowOf({ createdAt: ago(hours) }),
      rowOf({ createdAt: ago(hours), status: "denied", type: "poach" }),
    ]),
  );
  const read = () => ground.workflows.stats.read(ground.callOf({ actor }), {});
  expect(await read()).toMatchObject({ is_whole: true, all: { filed: 10, open: { total: 5 } } });
  statsLimits.counted = 5;
  const whole = await read();
  expect(whole).toMatchObject({ is_whole: true, all: { filed: 10, open: { total: 5 } } });
  statsLimits.counted = 3;
  const part = await read();
  expect(part).toMatchObject({ is_whole: false, all: { filed: 6, open: { total: 3 } } });
  expect(new Date(part.from).getTime()).toBe(ago(4).getTime() + 1);
  // The two youngest are left out of those that are open.
  const older = (part.all.open_age.max ?? Number.NaN) - (whole.all.open_age.max ?? Number.NaN);
  expect(older, "seconds between the two answers, where requests are an hour apart").toBeGreaterThanOrEqual(0);
  expect(older).toBeLessThan(600);
  expect(part.all.open_age.p50).toBeGreaterThan(whole.all.open_age.p50 ?? Number.NaN);
  expect(part.types.find(({ type }) => type === "poach")).toMatchObject({ filed: 3, open: { total: 0 } });
  const one = await ground.workflows.stats.read(ground.callOf({ actor }), { type: "appeal", from: ago(2).toISOString() });
  expect(one).toMatchObject({ from: ago(2).toISOString(), all: { filed: 0, open: { total: 0 } } });
});

describe("who is told what, and of which time", () => {
  test("the last 90 days and every kind unless told, and confidential requests only for who may know of them", async () => {
    const ground = await createGround();
    const [actor, outsider] = [ground.staff("senior"), ground.staff("moderator")];
    const about = { subject: { kind: "user", id: freshId() }, allegation: "Shared internal screenshots.", confidential: true };
    const filed = await ground.post("/workflows/investigation", about, { actor: outsider });
    expect(filed.status).toBe(201);
    await keep(ground, [rowOf({ createdAt: ago(91 * 24) })]);
    const view = await ground.workflows.stats.read(ground.callOf({ actor }), {});
    expect(view.types).toHaveLength(9);
    expect([view.all.filed, view.all.open.total]).toEqual([0, 1]);
    expect(view.types.find(({ type }) => type === "investigation")).toMatchObject({ filed: 0, open: { total: 0, pending: 0 } });
    const known = await ground.workflows.stats.read(ground.callOf({ actor: ground.staff("admin") }), {});
    expect([known.all.filed, known.all.open.total]).toEqual([1, 2]);
    expect(known.types.find(({ type }) => type === "investigation")).toMatchObject({ filed: 1, open: { total: 1, pending: 1 } });
    expect(new Date(view.to).getTime() - new Date(view.from).getTime()).toBe(90 * day);
    expect(JSON.stringify(view)).not.toContain(filed.body.reference);
    await expect(ground.workflows.stats.read(ground.callOf({ actor: outsider }), {})).rejects.toMatchObject({ code: "permission_denied" });
  });

  test.each([
    ["2026-02-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z", "not_before"],
    ["2025-02-01T00:00:00.000Z", "2026-02-02T00:00:00.001Z", "too_early"],
  ])("from %s to %s is refused", async (from, to, code) => {
    const ground = await createGround();
    const asked = ground.workflows.stats.read(ground.callOf({ actor: ground.staff("senior") }), { from, to });
    await expect(asked).rejects.toMatchObject({ code: "validation_failed", errors: [{ pointer: "/from", in: "query", code }] });
  });
});
