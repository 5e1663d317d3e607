import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import type { Database, Tx } from "../../src/database/database.ts";
import { createAuditService } from "../../src/features/audit/audit.service.ts";
import { createGrantsService } from "../../src/features/authorization/grants/grants.service.ts";
import { createIntelligence } from "../../src/features/intelligence/feature.ts";
import { sumOf, type MatchChanges, type MatchRecord } from "../../src/features/intelligence/match-record.ts";
import { recordOf } from "../../src/features/intelligence/matches/store.ts";
import type { Access } from "../../src/features/permissions/access/access-directory.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { createCursors } from "../../src/kernel/page.ts";
import { createKeyring, keyedHash } from "../../src/kernel/secrets.ts";
import { createTestDatabase } from "../support/database.ts";
import { sizeOf } from "../support/size.ts";
import { createNeighbours } from "../support/rooms.ts";

const key = Buffer.alloc(32, 7);
const hashOf = (id: string): string => keyedHash(key, id);
const people = ["200000000000000001", "200000000000000002", "200000000000000003", "200000000000000004"];
const places = ["300000000000000001", "300000000000000002", "300000000000000003", "300000000000000004"];
const own = "300000000000000009";
const staff = people[3] ?? "";
const call = systemCall("job", "model");

function createRooms(database: Database) {
  const clock = { now: () => new Date() };
  return createIntelligence({
    database,
    clock,
    guildState: { lookUp: () => Promise.resolve({ members: [], isComplete: true }) },
    grants: createGrantsService({ read: database.read, clock }),
    keyring: createKeyring(new Map([["k", Buffer.alloc(32, 1)]])),
    cursors: createCursors(key),
    audit: createAuditService({ database, cursors: createCursors(key) }),
    access: { of: () => ({ isStaff: false, rank: 0 }) as Access },
    ...createNeighbours({ database, clock, serversKey: key }),
    servedGuilds: new Set([own]),
    isStaff: (userId) => userId === staff,
  });
}
type Rooms = ReturnType<typeof createRooms>;

type Step =
  | { do: "list"; person: string; held: string[]; relation: "owner" | "manager" | "member" }
  | { do: "record"; n: number; status: string; severity: string; exempt: string[]; alts: string }
  | { do: "link"; pair: string[]; confidence: string; propagates: boolean; isActive: boolean }
  | { do: "server"; place: string; status: string; into: string }
  | { do: "alias"; place: string; of: string; isOn: boolean }
  | { do: "agreement"; place: string; covers: string; isOn: boolean };

const person = fc.constantFrom(...people);
const place = fc.constantFrom(...places);
const recordStep = fc.record({
  do: fc.constant("record" as const),
  n: fc.integer({ min: 0, max: 7 }),
  status: fc.constantFrom("active", "active", "active", "revoked"),
  severity: fc.constantFrom("low", "high"),
  exempt: fc.subarray(people, { maxLength: 1 }),
  alts: fc.constantFrom("none", "confirmed", "probable"),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant("list" as const),
    person: fc.constantFrom(...people.slice(0, 3)),
    held: fc.subarray(places),
    relation: fc.constantFrom("owner" as const, "manager" as const, "member" as const),
  }),
  recordStep,
  fc.record({
    do: fc.constant("link" as const),
    pair: fc.uniqueArray(person, { minLength: 2, maxLength: 2 }).map((two) => two.toSorted()),
    confidence: fc.constantFrom("suspected", "probable", "confirmed", "confirmed"),
    propagates: fc.constantFrom(true, true, false),
    isActive: fc.constantFrom(true, true, false),
  }),
  fc.record({ do: fc.constant("server" as const), place, status: fc.constantFrom("known", "watched", "merged"), into: place }),
  fc.record({ do: fc.constant("alias" as const), place, of: place, isOn: fc.boolean() }),
  fc.record({
    do: fc.constant("agreement" as const),
    place,
    covers: fc.constantFrom("staff", "members", "both"),
    isOn: fc.constantFrom(true, true, false),
  }),
);

const [u1 = "", u2 = "", u3 = ""] = people;
const [s1 = "", s2 = "", s3 = "", s4 = ""] = places;
const none = { added: 0, changed: 0, removed: 0 };
const counting = { do: "record" as const, status: "active", severity: "high", exempt: [], alts: "probable" };
const holding = { do: "list", relation: "owner" } as const;
const linking = { do: "link", propagates: true, isActive: true } as const;
/** Changes that meet one another, whichever comes first. */
const meeting: Step[] = [
  { do: "alias", place: s2, of: s1, isOn: true },
  { do: "server", place: s3, status: "merged", into: s1 },
  { ...holding, person: u1, held: [s2] },
  { ...holding, person: u2, held: [s3, s4] },
  { ...counting, n: 0 },
  { ...counting, n: 4 },
  { ...linking, pair: [u1, u2], confidence: "confirmed" },
  { ...linking, pair: [u2, u3], confidence: "probable" },
  { ...holding, person: u3, held: [] },
  { do: "agreement", place: s4, covers: "both", isOn: true },
  { do: "server", place: s4, status: "watched", into: s1 },
];
const histories = fc
  .tuple(fc.shuffledSubarray(meeting, { minLength: 8 }), fc.array(step, { maxLength: 8 }))
  .map(([some, more]) => [...some, ...more]);

test("after any changes of records, lists, links, servers and agreements, comparing everybody and every record anew finds nothing to change", async () => {
  const { database, drop } = await createTestDatabase();
  onTestFinished(drop);
  await fc.assert(
    fc
      .asyncProperty(histories, fc.boolean(), async (drawn, isLoaded) => {
        const rooms = createRooms(database);
        if (isLoaded) await rooms.matches.load();
        const told = { added: 0, removed: 0 };
        for (const one of drawn) {
          for (const { added, removed } of await database.write(call, (tx) => take(tx, rooms, one))) {
            told.added += added;
            told.removed += removed;
          }
        }
        const access = await database.read.match.count({ where: { status: { in: ["open", "grace"] } } });
        expect(told.added - told.removed).toBe(access);
        const events = await database.read.outboxEvent.groupBy({ by: ["type"], _count: true });
        const count = (type: string): number => events.find((event) => event.type === type)?._count ?? 0;
        expect({ added: count("match.opened"), removed: count("match.closed") }).toEqual(told);
        const again = await database.write(call, (tx) => Promise.all(people.map((one) => rooms.matches.recomputeUser(tx, one))));
        expect(again).toEqual(people.map(() => none));
        for (const row of await database.read.blacklistRecord.findMany()) {
          expect(await database.write(call, (tx) => rooms.matches.applyRecord(tx, recordOf(row)))).toEqual(none);
        }
      })
      .beforeEach(() => emptied(database)),
    { numRuns: sizeOf({ quick: 8, all: 16, long: 400 }) },
  );
});

/** Records that concern somebody only in a roundabout way: through a linked account, and through a further id of a server. */
const roundabout: Step[] = [
  { ...holding, person: u2, held: [s1] },
  { ...linking, pair: [u1, u2], confidence: "confirmed" },
  { do: "alias", place: s2, of: s1, isOn: true },
];
const several = fc
  .uniqueArray(recordStep, { maxLength: 6, selector: ({ n }) => n })
  .map((some) => [{ ...counting, n: 4 }, { ...counting, n: 1 }, ...some.filter(({ n }) => n !== 4 && n !== 1)]);

test("many records compared at once make the matches that they make one after the other", async () => {
  const { database, drop } = await createTestDatabase();
  onTestFinished(drop);
  await fc.assert(
    fc
      .asyncProperty(fc.array(step, { maxLength: 8 }), several, async (more, records) => {
        const { matches, ...rooms } = createRooms(database);
        for (const one of [...roundabout, ...more]) await database.write(call, (tx) => take(tx, { ...rooms, matches }, one));
        const alone = await tryOut(database, records, async (tx, rows) => {
          const changes: MatchChanges[] = [];
          for (const row of rows) changes.push(await matches.applyRecord(tx, row));
          return sumOf(changes);
        });
        const together = await tryOut(database, records, (tx, rows) => matches.applyRecords(tx, rows));
        expect(together).toEqual(alone);
      })
      .beforeEach(() => emptied(database)),
    { numRuns: sizeOf({ quick: 4, all: 8, long: 160 }) },
  );
});

/** Takes away all that a run left: a database of its own for every run costs more than the run. */
async function emptied(database: Database): Promise<void> {
  await database.write(call, async ({ db }) => {
    await db.match.deleteMany();
    await db.blacklistRecord.deleteMany();
    await db.accountLink.deleteMany();
    await db.agreementParty.deleteMany();
    await db.agreement.deleteMany();
    await db.serverAlias.deleteMany();
    await db.userServer.deleteMany();
    await db.server.updateMany({ data: { mergedInto: null } });
    await db.server.deleteMany();
    await db.authorization.deleteMany();
    await db.outboxEvent.deleteMany();
  });
}

type Apply = (tx: Tx, records: readonly MatchRecord[]) => Promise<MatchChanges>;

/** What comparing some records does; it is taken back, so that it can be done in another way. */
async function tryOut(database: Database, records: readonly Extract<Step, { do: "record" }>[], apply: Apply) {
  const tried: { changes?: MatchChanges; rows?: object[] } = {};
  const write = database.write(call, async (tx) => {
    const rows = [];
    for (const one of records) rows.push(recordOf(await storeRecord(tx, one)));
    tried.changes = await apply(tx, rows);
    const found = await tx.db.match.findMany({ orderBy: [{ userId: "asc" }, { kind: "asc" }, { recordReference: "asc" }] });
    tried.rows = found.map(({ id: _, recordId: _record, firstSeenAt: _first, lastSeenAt: _last, closedAt, ...row }) => {
      return { ...row, isClosed: closedAt !== null };
    });
    throw new Error("only tried");
  });
  await expect(write).rejects.toThrow("only tried");
  return tried;
}

async function take(tx: Tx, { servers, matches }: Rooms, one: Step): Promise<MatchChanges[]> {
  switch (one.do) {
    case "list": {
      const { person: userId, held, relation } = one;
      const data = { status: "active", scopes: ["identify", "guilds"], purposes: [], consentVersion: "1", grantedAt: tx.now };
      await tx.db.authorization.upsert({ where: { userId }, create: { userId, ...data }, update: {} });
      await servers.store(
        tx,
        userId,
        held.map((id) => ({ id, name: id, icon: null, relation })),
        "listed",
      );
      return [await matches.recomputeUser(tx, userId)];
    }
    case "record":
      return [await matches.applyRecord(tx, recordOf(await storeRecord(tx, one)))];
    case "link": {
      await storeLink(tx, one);
      const changes: MatchChanges[] = [];
      for (const userId of people) changes.push(await matches.recomputeUser(tx, userId));
      return changes;
    }
    default:
      return [await matches.applyServer(tx, await storeServers(tx, one))];
  }
}

/** Every record has its fixed subject: four are about servers, four about people. */
async function storeRecord(tx: Tx, { n, status, severity, exempt, alts }: Extract<Step, { do: "record" }>) {
  const isServer = n < 4;
  const subjectId = (isServer ? places[n] : people[n - 4]) ?? "";
  const values = { status, severity, severityOrder: 0, exemptUserIds: exempt, includeAlts: alts, updatedAt: tx.now };
  const fixed = {
    kind: isServer ? "server" : "user",
    subjectId,
    subjectHash: isServer ? hashOf(subjectId) : null,
    number: n + 1,
    scope: "network",
    serverIds: [],
    category: "other",
    evidence: [],
    tags: [],
    source: "direct",
    approvedBy: [],
    startsAt: tx.now,
    createdAt: tx.now,
  };
  return tx.db.blacklistRecord.upsert({
    where: { number: n + 1 },
    create: { ...fixed, ...values },
    update: { ...values, revision: { increment: 1 } },
  });
}

async function storeLink(tx: Tx, { pair: [userA = "", userB = ""], confidence, propagates, isActive }: Extract<Step, { do: "link" }>) {
  const activeKey = `${userA}:${userB}`;
  await tx.db.accountLink.deleteMany({ where: { activeKey } });
  if (!isActive) return;
  const times = { createdAt: tx.now, updatedAt: tx.now };
  await tx.db.accountLink.create({
    data: {
      userA,
      userB,
      activeKey,
      confidence,
      kind: "declared_alt",
      basis: [],
      status: "active",
      ...times,
      propagates: propagates && confidence !== "suspected",
    },
  });
}

/** The servers whose members may match otherwise now: as the register does, those related before and after. */
async function storeServers(tx: Tx, one: Extract<Step, { do: "server" | "alias" | "agreement" }>): Promise<string[]> {
  const register = async (id: string): Promise<void> => {
    const row = { id, hash: hashOf(id), status: "known", contacts: [], tags: [], createdAt: tx.now, updatedAt: tx.now };
    await tx.db.server.upsert({ where: { id }, create: row, update: {} });
  };
  if (one.do === "agreement") {
    await tx.db.agreement.deleteMany({ where: { parties: { some: { serverId: one.place } } } });
    if (!one.isOn) return [one.place];
    const parties = { create: [one.place, own].map((serverId) => ({ serverId, serverHash: hashOf(serverId) })) };
    const times = { startsAt: tx.now, createdAt: tx.now };
    await tx.db.agreement.create({ data: { covers: one.covers, coolingOffDays: 30, status: "active", ...times, parties } });
    return [one.place];
  }
  if (one.do === "alias") {
    await tx.db.serverAlias.deleteMany({ where: { aliasId: one.place } });
    const isFree = one.place !== one.of && (await tx.db.server.findUnique({ where: { id: one.place } })) === null;
    if (one.isOn && isFree) {
      await register(one.of);
      await tx.db.serverAlias.create({ data: { aliasId: one.place, aliasHash: hashOf(one.place), serverId: one.of } });
    }
    return places;
  }
  if ((await tx.db.serverAlias.findUnique({ where: { aliasId: one.place } })) !== null) return [];
  await register(one.place);
  const leads = await tx.db.server.findMany({ where: { mergedInto: { not: null } }, select: { id: true } });
  const isMerge = one.status === "merged" && one.into !== one.place && leads.every(({ id }) => id === one.place);
  if (isMerge && (await tx.db.serverAlias.findUnique({ where: { aliasId: one.into } })) === null) {
    await register(one.into);
    await tx.db.server.update({ where: { id: one.place }, data: { status: "merged", mergedInto: one.into, revision: { increment: 1 } } });
  } else {
    const status = one.status === "merged" ? "known" : one.status;
    await tx.db.server.update({ where: { id: one.place }, data: { status, mergedInto: null, revision: { increment: 1 } } });
  }
  return places;
}
