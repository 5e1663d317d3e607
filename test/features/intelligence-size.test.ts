// @module-tag both
import type { SqlDriverAdapter } from "@prisma/driver-adapter-utils";
import Sqlite from "better-sqlite3";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import type { Database } from "../../src/database/database.ts";
import { sqliteFile } from "../../src/database/dialect.ts";
import { createSqliteAdapter } from "../../src/database/client.ts";
import { createRaw } from "../../src/database/raw.ts";
import { createCandidateIndex } from "../../src/features/intelligence/candidates.ts";
import { applyRecord } from "../../src/features/intelligence/matches/apply.ts";
import { createIndexKeeper } from "../../src/features/intelligence/matches/matches.service.ts";
import { recordOf } from "../../src/features/intelligence/matches/store.ts";
import { createMatchSweep } from "../../src/features/intelligence/matches/sweep.ts";
import { createLinkReach } from "../../src/features/links/reach.ts";
import { createLinkRecords } from "../../src/features/links/records.ts";
import { createLinksService } from "../../src/features/links/links.service.ts";
import { createServerFacts } from "../../src/features/servers/facts.ts";
import { recordsInForce } from "../../src/features/servers/known.ts";
import { PrismaClient } from "../../src/generated/sqlite/client.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { createCursors } from "../../src/kernel/page.ts";
import { keyedHash } from "../../src/kernel/secrets.ts";
import { createEmptyCopy, createTestDatabase } from "../support/database.ts";
import { createNeighbours } from "../support/rooms.ts";

const key = Buffer.alloc(32, 7);
const hashOf = (id: string): string => keyedHash(key, id);
const call = systemCall("job", "size");
const now = new Date("2026-11-20T12:00:00.000Z");

/** What a room asks of a fresh SQLite database, and how that would be looked up: the table and the index of every statement. */
async function createPlanner() {
  const { url, remove } = await createEmptyCopy();
  const file = sqliteFile(url);
  const asked: { sql: string; values: unknown[] }[] = [];
  const factory = createSqliteAdapter({ file, synchronous: "normal" });
  const stock = await factory.connect();
  const adapter: SqlDriverAdapter = {
    ...stock,
    queryRaw: (query) => {
      asked.push({ sql: query.sql, values: query.args });
      return stock.queryRaw(query);
    },
  };
  const models = new PrismaClient({ adapter: { ...factory, connect: () => Promise.resolve(adapter) } });
  const client = Object.assign(models, { $select: createRaw("sqlite", adapter).$select });
  const plain = new Sqlite(file);
  onTestFinished(async () => {
    plain.close();
    await client.$disconnect();
    await remove();
  });
  return {
    client,
    async plansOf(table: string, ask: () => Promise<unknown>): Promise<string[]> {
      asked.length = 0;
      await ask();
      const about = asked.filter(({ sql }) => /^\s*SELECT/.test(sql));
      return about.flatMap(({ sql, values }) => {
        const rows = plain.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values.map(bound)) as { detail: string }[];
        return rows.map(({ detail }) => detail).filter((detail) => detail.includes(table) || detail.includes("FOR ORDER BY"));
      });
    },
  };
}

const bound = (value: unknown): unknown =>
  value instanceof Date ? value.toISOString() : typeof value === "boolean" ? Number(value) : value;

/** The read side alone: nothing is written while plans are looked at. */
function onlyReads(client: PrismaClient): Database {
  return { read: client, dialect: "sqlite", write: () => Promise.resolve(0) } as unknown as Database;
}

const compareDeps = (database: Database) => ({
  ...createNeighbours({ database, clock: systemClock, serversKey: key }),
  index: createCandidateIndex(hashOf),
  isStaff: () => false,
});

describe.skipIf(inject("dialect") === "postgres")("on SQLite, which keeps no counts of what is stored, a look-up", () => {
  test("of the links of accounts goes by the accounts, not through all links that count", async () => {
    const { client, plansOf } = await createPlanner();
    const ends = [expect.stringContaining("user_a_status_idx (user_a=?)"), expect.stringContaining("user_b_status_idx (user_b=?)")];
    const indexes = (plans: string[]) => plans.filter((plan) => plan.includes("USING INDEX"));
    expect(indexes(await plansOf("account_links", () => createLinkReach().reachOf(client, "200000000000000001")))).toEqual(ends);
    const deps = { database: onlyReads(client), clock: systemClock, cursors: createCursors(key) };
    const links = createLinksService(deps as unknown as Parameters<typeof createLinksService>[0]);
    for (const status of ["active", "ended"] as const)
      expect(indexes(await plansOf("account_links", () => links.list(call, "200000000000000001", { status })))).toEqual(ends);
    const records = createLinkRecords({
      reach: { reachOf: () => Promise.resolve([]), linkedAccountsOf: () => Promise.resolve([]) },
    } as never);
    const making = () => records.create({ db: client } as never, { userIds: ["1", "2"] } as never, {} as never).catch(() => undefined);
    expect(indexes(await plansOf("account_links", making))).toEqual([...ends, ...ends]);
  });

  test("of what is known about servers goes by the servers, not through all records in force or the whole register", async () => {
    const { client, plansOf } = await createPlanner();
    const hashes = Array.from({ length: 200 }, (_, n) => hashOf(n.toString()));
    const plans = await plansOf("blacklist_records", () => recordsInForce(client, hashes, now));
    expect(plans[0]).toContain("subject_hash_idx (subject_hash=?)");
    const facts = createServerFacts();
    const times = { createdAt: now, updatedAt: now };
    await client.server.create({ data: { id: "1", hash: hashOf("1"), status: "known", contacts: [], tags: [], ...times } });
    const [watched] = await plansOf("main.servers", () => facts.watchedAmong(client, hashes));
    expect(watched).toContain("servers_hash_key (hash=?)");
    const known = await plansOf("main.servers", () => facts.knownAmong(client, hashes, now));
    expect(known.filter((plan) => plan.includes("SCAN"))).toEqual([]);
  });

  test("that fills the index, or catches up with other processes, goes on where the page before ended", async () => {
    const { client, plansOf } = await createPlanner();
    const database = onlyReads(client);
    const keeper = createIndexKeeper({ ...compareDeps(database), database, clock: systemClock });
    const filling = await plansOf("blacklist_records", keeper.load);
    expect(filling.at(-1)).toContain("blacklist_records_number_key (number>?)");
    expect(filling).not.toContainEqual(expect.stringContaining("FOR ORDER BY"));
    const [catching] = await plansOf("blacklist_records", () => keeper.catchUp(call));
    expect(catching).toContain("updated_at_idx (updated_at>?)");
  });

  test("of what time does to matches goes by what is due, not through all matches that are open", async () => {
    const { client, plansOf } = await createPlanner();
    const given = {
      type: "recruitment",
      status: "denied",
      priority: "normal",
      urgent: false,
      title: "t",
      summary: "",
      requestedVia: "rest",
    };
    const json = { payload: {}, extra: {}, evidence: [], related: [], links: [] };
    const at = new Date("2025-01-01T00:00:00.000Z");
    const times = { decidedAt: at, createdAt: at, updatedAt: at };
    await client.workflowRequest.create({ data: { ...given, ...json, ...times, reference: "REC-REQ-000001", approvalsRequired: 1 } });
    const database = onlyReads(client);
    const sweep = createMatchSweep({ ...compareDeps(database), database, clock: systemClock, audit: { record: () => undefined } });
    const plans = await plansOf("matches", () => sweep.sweep(call));
    expect(plans).toContainEqual(expect.stringContaining("record_id_idx (record_id=?)"));
    expect(plans).toContainEqual(expect.stringContaining("closed_at_idx (closed_at<?)"));
    for (const walk of ["closed_at_idx (closed_at=?)", "SCAN"]) expect(plans).not.toContainEqual(expect.stringContaining(walk));
  });
});

test("a record that is over closes every match of everybody, also where a page of people ends between two of one person", async () => {
  const { database, drop } = await createTestDatabase();
  onTestFinished(drop);
  const record = { id: "r1", number: 1, kind: "server", subjectId: "300000000000000001", subjectHash: hashOf("300000000000000001") };
  const told = { category: "other", severity: "low", severityOrder: 0, status: "revoked", scope: "network", source: "direct" };
  const lists = { serverIds: [], exemptUserIds: [], evidence: [], tags: [], approvedBy: [] };
  const row = { ...record, ...told, ...lists, startsAt: now, createdAt: now, updatedAt: now };
  const match = (person: number, kind: string, isClosed: boolean) => ({
    userId: (200_000_000_000_000_000n + BigInt(person)).toString(),
    kind,
    recordId: "r1",
    recordReference: "BL-000001",
    recordRevision: 1,
    severity: "low",
    confidence: 100,
    status: isClosed ? "void" : "open",
    why: [],
    firstSeenAt: now,
    lastSeenAt: now,
    closedAt: isClosed ? now : null,
  });
  const ofOthers = Array.from({ length: 999 }, (_, person) => match(person, "server_blacklist", false));
  const ofLast = [match(999, "server_blacklist", true), match(999, "merged_server", false)];
  const changes = await database.write(call, async (tx) => {
    const stored = await tx.db.blacklistRecord.create({ data: row });
    for (const data of [ofOthers.slice(0, 500), ofOthers.slice(500), ofLast]) await tx.db.match.createMany({ data });
    return applyRecord(tx, recordOf(stored), compareDeps(database));
  });
  expect(changes.removed).toBe(1000);
  expect(await database.read.match.count({ where: { closedAt: null } })).toBe(0);
});
