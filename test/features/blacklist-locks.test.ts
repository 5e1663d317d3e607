import { createListChecks } from "../../src/features/lists/checks.ts";
// @module-tag postgres
import { expect, onTestFinished, test } from "vitest";
import { silent } from "../support/rooms.ts";
import type { Database, Tx } from "../../src/database/database.ts";
import { createBlacklistRecords, type RecordDraft } from "../../src/features/blacklist/records.ts";
import { createSweep } from "../../src/features/blacklist/upkeep.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { createTestDatabase } from "../support/database.ts";

const call = systemCall("job", "test");
const start = new Date("2026-11-20T12:00:00.000Z").getTime();
const note = { action: "blacklist.create", permission: "blacklist.create" } as const;

/** The room's writes on a fresh database; what each transaction waits for is written down in its order. */
async function createGround() {
  let now = new Date(start);
  const clock = { now: () => now };
  const { database, drop } = await createTestDatabase({ clock });
  onTestFinished(drop);
  const waits: string[] = [];
  const watched: Database = {
    ...database,
    write: (given, work) => database.write(given, (tx) => work(watch(tx, waits))),
  };
  const none = { added: 0, changed: 0, removed: 0 };
  const compare = () => {
    waits.push("matches");
    return Promise.resolve(none);
  };
  const matches = {
    lock: () => Promise.resolve(void waits.push("matches")),
    concernedBy: () => {
      waits.push("matches");
      return Promise.resolve({ accounts: [] });
    },
    applyRecord: compare,
    applyRecords: compare,
  };
  const records = createBlacklistRecords({
    audit: { record: () => undefined } as never,
    events: { emit: () => undefined },
    matches,
    access: { noteRecord: () => undefined },
    listChecks: createListChecks(),
    serversKey: Buffer.alloc(32, 1),
  });
  const sweep = createSweep({ database: watched, records, clock, logger: silent });
  const create = (subjectId: string) =>
    watched.write(call, (tx) =>
      records.create(tx, { ...draft, subjectId, expiresAt: new Date(now.getTime() + 60_000) } satisfies RecordDraft, note),
    );
  /** As an approval lists a server with its aliases: what is listed already is strengthened. */
  const createAll = (subjectIds: readonly string[]) =>
    watched.write(call, async (tx) => {
      const drafts = subjectIds.map((subjectId) => ({ ...draft, subjectId }) satisfies RecordDraft);
      await records.lockSubjects(tx, drafts);
      for (const one of drafts) await records.createOrMerge(tx, one, note);
    });
  return { waits, sweep, create, createAll, pass: (ms: number) => (now = new Date(now.getTime() + ms)), read: database.read };
}

const draft = { kind: "user", scope: "network", category: "other", severity: "low", source: "direct", createdBy: null } as const;

function watch(tx: Tx, waits: string[]): Tx {
  const counting = (...given: Parameters<Tx["db"]["$queryRaw"]>) => {
    waits.push("number");
    return tx.db.$queryRaw(...given);
  };
  const db = new Proxy(tx.db, { get: (target, key) => (key === "$queryRaw" ? counting : Reflect.get(target, key)) });
  const { knownEnds } = tx;
  const take = async (...given: [name: string, isBehind: boolean]) => {
    const end = await knownEnds?.take(...given);
    if (end !== undefined) waits.push("number");
    return end;
  };
  return {
    ...tx,
    db,
    knownEnds: knownEnds && { ...knownEnds, take },
    // The journals number what they hold right before the commit, in an order of their own.
    beforeCommit: () => undefined,
    lock(name) {
      waits.push(/^blacklist:[0-9a-f-]{36}$/.test(name) ? "record" : "subject");
      return tx.lock(name);
    },
  };
}

test("what ends many records takes all their locks before the first one's matches", async () => {
  const { waits, sweep, create, pass, read } = await createGround();
  for (const subject of ["200000000000000001", "200000000000000002", "200000000000000003"]) await create(subject);
  pass(120_000);
  waits.length = 0;
  expect(await sweep.expireDue(call)).toBe(3);
  expect(waits).toEqual(["record", "record", "record", "matches"]);
  expect(await read.blacklistRecord.count({ where: { status: "expired", activeKey: null } })).toBe(3);
});

test("a record that takes the place of an expired one takes the matches before its number, as every record does", async () => {
  const { waits, create, pass, read } = await createGround();
  await create("200000000000000001");
  expect(waits).toEqual(["subject", "matches", "number", "matches"]);
  pass(120_000);
  waits.length = 0;
  await create("200000000000000001");
  expect(waits).toEqual(["subject", "record", "matches", "matches", "number", "matches"]);
  const rows = await read.blacklistRecord.findMany({ orderBy: { number: "asc" } });
  expect(rows.map(({ number, status }) => [number, status])).toEqual([
    [1, "expired"],
    [2, "active"],
  ]);
});

test("what lists several subjects takes their locks and those of their records before the first one's matches, and numbers after them", async () => {
  const { waits, create, createAll, read } = await createGround();
  const subjects = ["200000000000000003", "200000000000000001", "200000000000000002"];
  for (const subject of subjects.slice(0, 2)) await create(subject);
  waits.length = 0;
  await createAll(subjects);
  const before = waits.slice(0, waits.indexOf("matches"));
  expect(before.slice(0, 5)).toEqual(["subject", "subject", "subject", "record", "record"]);
  expect(before).not.toContain("number");
  expect(waits.filter((wait) => wait === "number")).toHaveLength(1);
  expect((await read.blacklistRecord.findMany({ orderBy: { number: "asc" } })).map(({ number }) => number)).toEqual([1, 2, 3]);
});
