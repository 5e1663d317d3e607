// @module-tag both
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { createChanges } from "../../src/cluster/changes.ts";
import type { Database } from "../../src/database/database.ts";
import { anyRevision } from "../../src/kernel/revision.ts";
import { flat, setting, type ServedSetting, type Setting, type SettingDeps } from "../../src/kit/setting.ts";
import { sampleCall } from "../database/samples.ts";
import { createTestDatabase } from "../support/database.ts";
import { runsOf } from "../support/size.ts";

const Value = z.object({ number: z.int(), word: z.string().nullable().default(null) });
type Value = z.output<typeof Value>;
const permission = { read: "system.settings.read", manage: "system.settings.manage" } as const;
const declared = { per: "guild", schema: Value, nothing: { number: 0, word: null }, permission, action: "sample.update" } as const;
const nested = setting({ ...declared, key: "sample:" });
const beside = setting({ ...declared, key: "beside:", field: null, lock: "all of them" });

const places = ["a", "b"] as const;
const valueOf = (number: number): Value => ({ number, word: null });

interface Entry {
  target: { id: string };
  before: object;
  after: object;
}

type Served = ServedSetting<Value, string, Value & { place: string; revision: number }>;

function createStage(database: Database, kind: Setting<Value>, more: Partial<SettingDeps<Value, string, never>> = {}) {
  const written: (Entry & { at: number })[] = [];
  let recorded = 0;
  const audit: SettingDeps<Value, string, never>["audit"] = {
    record(tx, entry) {
      const at = (recorded += 1);
      tx.afterCommit(() => written.push({ ...entry, at }));
    },
  };
  const memory = kind.hold(database);
  const served: Served = kind.serve({
    database,
    audit,
    memory,
    placeOf: (name) => places.find((place) => place === name),
    present: (place, stored) => ({ place, ...flat(stored) }),
    ...more,
  });
  const put = (place: string, number: number, ifMatch?: number) => served.put(sampleCall(), place, () => valueOf(number), ifMatch);
  /** What the audit says of a place, in the order of its changes. */
  const entriesOf = (place: string) => written.filter(({ target }) => target.id === place).toSorted((a, b) => a.at - b.at);
  return { served, memory, put, entriesOf };
}

async function fresh(kind = nested, more: Partial<SettingDeps<Value, string, never>> = {}) {
  const { database, drop } = await createTestDatabase();
  onTestFinished(drop);
  return { database, ...createStage(database, kind, more) };
}

test.each([
  ["a value under a name", nested],
  ["a value beside its revision", beside],
])("of changes at once that mean the same revision one wins, none is lost, and memory says what the database says: %s", async (_, kind) => {
  const { database, drop } = await createTestDatabase();
  onTestFinished(drop);
  const puts = fc.record({ place: fc.constantFrom(...places), number: fc.nat(3), means: fc.constantFrom("now", "now", "any", "before") });
  const rounds = fc.array(fc.array(puts, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 4 });
  const { memory, put, entriesOf } = createStage(database, kind);
  await fc.assert(
    fc.asyncProperty(rounds, async (played) => {
      for (const round of played) {
        const before = await kind.readEach(database.read, places);
        const counts = new Map(places.map((place) => [place, entriesOf(place).length]));
        const revisionOf = (place: (typeof places)[number]): number => before.get(place)?.revision ?? 0;
        const meant = { now: revisionOf, any: () => undefined, before: (place: "a" | "b") => revisionOf(place) - 1 };
        const ends = await Promise.allSettled(round.map(({ place, number, means }) => put(place, number, meant[means](place))));
        for (const [index, end] of ends.entries()) {
          const { means, number } = round[index] ?? { means: "any" };
          if (means === "before") expect(end.status).toBe("rejected");
          if (means === "any") expect(end.status).toBe("fulfilled");
          if (end.status === "fulfilled") expect(end.value.number).toBe(number);
          else expect(end.reason).toMatchObject({ code: "precondition_failed" });
        }
        for (const place of places) {
          const now = await kind.read(database.read, place);
          const entries = entriesOf(place);
          const isOther = (number: number): boolean => number !== before.get(place)?.value.number;
          const wanted = round.filter((one) => one.place === place && one.means !== "before" && isOther(one.number));
          if (round.every((one) => one.place !== place || one.means !== "any"))
            expect(now.revision - revisionOf(place)).toBe(wanted.length > 0 ? 1 : 0);
          expect(entries.length - (counts.get(place) ?? 0)).toBe(now.revision - revisionOf(place));
          for (const [index, { before: from }] of entries.entries()) expect(from).toEqual(entries[index - 1]?.after ?? valueOf(0));
          expect(memory.known(place)).toEqual(now);
        }
      }
    }),
    { numRuns: runsOf(40) },
  );
});

test("the same again writes nothing, whatever the order of its fields, and what is asked for an old revision is refused before that", async () => {
  const { database, served, put, entriesOf } = await fresh();
  expect(await put("a", 0)).toMatchObject({ number: 0, revision: 1, updated_at: null });
  expect(await database.read.setting.count({ where: { key: nested.keyOf("a") } })).toBe(0);
  await put("a", 1, 1);
  const row = await database.read.setting.findUnique({ where: { key: nested.keyOf("a") } });
  expect(await served.put(sampleCall(), "a", () => ({ word: null, number: 1 }), 2)).toMatchObject({ revision: 2 });
  await expect(put("a", 1, 1)).rejects.toMatchObject({ code: "precondition_failed", extra: { current_etag: '"v2"' } });
  expect(await put("a", 1, anyRevision)).toMatchObject({ revision: 2 });
  expect(await database.read.setting.findUnique({ where: { key: nested.keyOf("a") } })).toEqual(row);
  expect(entriesOf("a")).toHaveLength(1);
  expect(entriesOf("a")[0]).toMatchObject({
    action: "sample.update",
    target: { kind: "guild", id: "a" },
    guildId: "a",
    before: valueOf(0),
    after: valueOf(1),
    permission: permission.manage,
  });
});

test("a lacking permission is refused before what was sent is read, and a place that does not exist after that", async () => {
  const { served } = await fresh();
  const call = { ...sampleCall(), client: { id: "key", name: "key", allows: () => false } };
  const parse = (): Value => Value.parse({ number: "one" });
  await expect(served.put(call, "c", parse)).rejects.toMatchObject({ code: "permission_denied" });
  await expect(served.get(call, "c")).rejects.toMatchObject({ code: "permission_denied" });
  await expect(served.put(sampleCall(), "c", parse)).rejects.toBeInstanceOf(z.ZodError);
  await expect(served.put(sampleCall(), "c", () => valueOf(1))).rejects.toMatchObject({ code: "record_not_found" });
  await expect(served.get(sampleCall(), "c")).rejects.toMatchObject({ code: "record_not_found" });
});

test("what cannot be read of a row counts as never chosen, and the next choice replaces it", async () => {
  const { database, put } = await fresh();
  const frame = { revision: 5, updated_by: null, updated_at: "2026-01-01T00:00:00.000Z" };
  for (const value of [
    { value: { number: "five" }, ...frame },
    { value: valueOf(5) },
    "five",
    [5],
    { value: valueOf(5), ...frame, revision: 0 },
  ]) {
    expect(nested.parse(value)).toEqual({ value: valueOf(0), revision: 1, updated_by: null, updated_at: null });
    await database.write(sampleCall(), async ({ db }) => {
      await db.setting.upsert({ where: { key: "sample:a" }, create: { key: "sample:a", value }, update: { value } });
    });
    expect(await nested.read(database.read, "a")).toEqual(nested.parse(undefined));
    expect(await put("a", 6, 1)).toMatchObject({ number: 6, revision: 2 });
  }
  expect(nested.parse({ value: { number: 5 }, ...frame })).toEqual({ value: valueOf(5), ...frame });
  expect(beside.parse({ number: 5, ...frame })).toEqual({ value: valueOf(5), ...frame });
});

test("a change that is refused in its transaction leaves row, audit and memory as they were", async () => {
  const { database, memory, put, entriesOf } = await fresh(nested, {
    onChange(_tx, _place, { number }) {
      if (number === 13) throw new Error("unlucky");
    },
  });
  await put("a", 1);
  await expect(put("a", 13)).rejects.toThrow("unlucky");
  expect(memory.known("a")).toEqual(await nested.read(database.read, "a"));
  expect(memory.known("a")).toMatchObject({ value: valueOf(1), revision: 2 });
  expect(entriesOf("a")).toHaveLength(1);
});

test("several places change in one transaction, and only those that become another value", async () => {
  const { database, served, memory, put, entriesOf } = await fresh(beside);
  await put("b", 1);
  await database.write(sampleCall(), (tx) => served.changeEach(tx, places, ({ number }) => valueOf(Math.min(number, 0))));
  expect([memory.known("a").revision, memory.known("b").revision]).toEqual([1, 3]);
  expect([entriesOf("a").length, entriesOf("b").length]).toEqual([0, 2]);
});

test("memory follows what another process has written, and holds nothing of other settings", async () => {
  const { database, put } = await fresh();
  const changes = createChanges();
  const other = nested.hold(database);
  await put("a", 1);
  await createStage(database, beside).put("a", 9);
  await other.follow(changes);
  expect(other.known("a")).toEqual(await nested.read(database.read, "a"));
  await put("b", 2);
  expect(other.known("b").revision).toBe(1);
  changes.tell("settings", { isOwn: false });
  await expect.poll(() => other.known("b")).toEqual(await nested.read(database.read, "b"));
});
