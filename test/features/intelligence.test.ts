// @module-tag postgres
// @module-tag slow
import { severities } from "../../src/kernel/vocabulary.ts";
import { createAuditService } from "../../src/features/audit/audit.service.ts";
import type { Access } from "../../src/features/permissions/access/access-directory.ts";
import { createNeighbours } from "../support/rooms.ts";
import fc from "fast-check";
import { describe, expect, inject, test } from "vitest";
import type { Database, Tx } from "../../src/database/database.ts";
import { createGrantsService } from "../../src/features/authorization/grants/grants.service.ts";
import { createIntelligence } from "../../src/features/intelligence/feature.ts";
import type { MatchRecord } from "../../src/features/intelligence/match-record.ts";
import type { SeenServer } from "../../src/features/intelligence/user-servers/user-servers.service.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { createCursors } from "../../src/kernel/page.ts";
import { createKeyring, keyedHash } from "../../src/kernel/secrets.ts";
import type { User } from "../../sandbox/index.ts";
import { createTestDatabase } from "../support/database.ts";
import { createWorld, storeRecord, type World } from "./authorization.setup.ts";
import { runsOf } from "../support/size.ts";

const staffId = "100000000000000001";

const matchesOf = async (world: World, user: Pick<User, "id">, query = "") => {
  const { status, body } = await world.get(`/users/${user.id}/matches${query}`);
  expect(status).toBe(200);
  return body.data;
};

async function createGranted() {
  const world = await createWorld();
  const ann = world.sandbox.createUser("ann");
  const base = world.sandbox.createGuild({ name: "Raid Base", withBot: false });
  base.addMember(ann);
  await world.grant(ann);
  return { world, ann, base };
}

describe("records and people meet", () => {
  test("a new record about a server matches people whose servers are stored already", async () => {
    const { world, ann, base } = await createGranted();
    const { changes } = await world.record({ kind: "server", subjectId: base.id, severity: "high" });
    expect(changes).toEqual({ added: 1, changed: 0, removed: 0 });
    const [match] = await matchesOf(world, ann);
    expect(match).toMatchObject({
      user: { id: ann.id, in_community: false },
      kind: "server_blacklist",
      server: { id: base.id, name_snapshot: "Raid Base" },
      severity: "high",
      confidence: 100,
      status: "open",
      why: [{ rule: "member_of_blacklisted_server" }],
      suggested_action: "verify",
      revision: 1,
    });
    expect(match.record_ref).toMatch(/^BL-\d{6}$/);
    expect(JSON.stringify(match)).not.toContain("secret reason");
    const [server] = (await world.get(`/users/${ann.id}/servers`)).body.data;
    expect(server).toMatchObject({ server: { status: "blacklisted" } });
    expect(server.blacklist_id).toEqual(expect.any(String));
  });

  test("a person who grants access later matches the records that are there, after a restart too", async () => {
    const world = await createWorld();
    const ann = world.sandbox.createUser("ann");
    const base = world.sandbox.createGuild({ name: "Raid Base", owner: ann, withBot: false });
    await world.record({ kind: "server", subjectId: base.id });
    await world.record({ kind: "user", subjectId: ann.id, severity: "critical" });
    await world.restart();
    await world.grant(ann);
    const kinds = (await matchesOf(world, ann)).map((match: { kind: string; why: { rule: string }[] }) => [match.kind, match.why[0]?.rule]);
    expect(kinds.toSorted()).toEqual([
      ["server_blacklist", "owner_of_blacklisted_server"],
      ["user_blacklist", "blacklisted_user"],
    ]);
    expect((await world.get(`/users/${ann.id}/servers`)).body.data[0].server.status).toBe("blacklisted");
  });

  test("who may not read the blacklist sees neither the reference nor which server is listed", async () => {
    const { world, ann, base } = await createGranted();
    await world.record({ kind: "server", subjectId: base.id });
    const scopes = ["users.matches.read", "users.servers.read"];
    const [match] = (await world.get(`/users/${ann.id}/matches`, { scopes })).body.data;
    expect(match).not.toHaveProperty("record_ref");
    const [entry] = (await world.get(`/users/${ann.id}/servers`, { scopes })).body.data;
    expect(entry).not.toHaveProperty("blacklist_id");
    expect(entry.server).not.toHaveProperty("status");
    expect((await world.get(`/users/${ann.id}/matches`, { scopes: ["users.servers.read"] })).status).toBe(403);
  });

  test("leaving the server clears the match at the next refresh, coming back opens it again", async () => {
    const { world, ann, base } = await createGranted();
    await world.record({ kind: "server", subjectId: base.id });
    base.kick(ann);
    const path = `/users/${ann.id}/refresh`;
    expect((await world.post(path, {}, { actor: staffId })).body.data.matches).toEqual({ opened: 0, closed: 1 });
    expect((await matchesOf(world, ann))[0]).toMatchObject({ status: "cleared", closed_at: expect.any(String) });
    base.addMember(ann);
    expect((await world.post(path, { force: true }, { actor: staffId })).body.data.matches).toEqual({ opened: 1, closed: 0 });
    const all = await matchesOf(world, ann);
    expect(all).toHaveLength(1);
    expect(all[0]).toMatchObject({ status: "open", closed_at: null, revision: 3 });
  });

  test("a revoked record makes its matches void, an expired one lets them expire", async () => {
    const { world, ann, base } = await createGranted();
    const server = await world.record({ kind: "server", subjectId: base.id });
    const user = await world.record({ kind: "user", subjectId: ann.id });
    expect((await world.record({ id: server.id, kind: "server", subjectId: base.id, status: "revoked" })).changes).toEqual({
      added: 0,
      changed: 0,
      removed: 1,
    });
    expect((await world.record({ id: user.id, kind: "user", subjectId: ann.id, status: "expired" })).changes.removed).toBe(1);
    const statuses = (await matchesOf(world, ann)).map((match: { kind: string; status: string }) => `${match.kind} ${match.status}`);
    expect(statuses.toSorted()).toEqual(["server_blacklist void", "user_blacklist expired"]);
    expect((await world.get(`/users/${ann.id}/servers`)).body.data[0].server.status).toBe("known");
  });

  test("a grace period reads as open once it is over, and filters agree", async () => {
    const { world, ann, base } = await createGranted();
    await world.record({ kind: "server", subjectId: base.id, gracePeriodSeconds: 3600, memberPolicy: "inform" });
    const [match] = await matchesOf(world, ann, "?status=grace");
    expect(match).toMatchObject({ status: "grace", suggested_action: "inform", grace_until: expect.any(String) });
    expect(await matchesOf(world, ann, "?status=open")).toEqual([]);
    world.clock.forward(3601);
    expect((await matchesOf(world, ann, "?status=open"))[0]).toMatchObject({ id: match.id, status: "open" });
    expect(await matchesOf(world, ann, "?status=grace")).toEqual([]);
    expect(await matchesOf(world, ann, "?kind=user_blacklist")).toEqual([]);
    expect((await world.get(`/users/${ann.id}/matches?state=open`)).body.code).toBe("unknown_parameter");
  });

  test("an exempted person has a match that asks for nothing", async () => {
    const { world, ann, base } = await createGranted();
    const { id, changes } = await world.record({ kind: "server", subjectId: base.id, exemptUserIds: [ann.id] });
    expect(changes).toEqual({ added: 0, changed: 0, removed: 0 });
    expect((await matchesOf(world, ann))[0].status).toBe("exempt");
    expect((await world.record({ id, kind: "server", subjectId: base.id })).changes.added).toBe(1);
    expect((await matchesOf(world, ann))[0].status).toBe("open");
  });

  test("nothing about a record stays when its transaction comes to nothing", async () => {
    const { world, ann, base } = await createGranted();
    const { matches, hashOf } = world.rooms;
    const failing: Pick<typeof matches, "applyRecord"> = {
      async applyRecord(tx, record) {
        await matches.applyRecord(tx, record);
        throw new Error("the workflow failed");
      },
    };
    const broken = { matches: { ...matches, ...failing }, hashOf };
    await expect(storeRecord(world.database, broken, { kind: "server", subjectId: base.id })).rejects.toThrow("the workflow failed");
    expect(await world.database.read.match.count()).toBe(0);
    expect((await world.get(`/users/${ann.id}/servers`)).body.data[0].server.status).toBe("known");
  });

  test("a record and a grant written at the same moment find each other", async () => {
    const world = await createWorld();
    const people = Array.from({ length: 6 }, (_, n) => world.sandbox.createUser(`person${n}`));
    const base = world.sandbox.createGuild({ name: "Raid Base", withBot: false });
    for (const person of people) base.addMember(person);
    const others = Array.from({ length: 6 }, (_, n) => world.sandbox.createGuild({ name: `Other ${n}`, withBot: false }));
    for (const other of others) for (const person of people) other.addMember(person);
    await Promise.all([
      ...people.map((person) => world.grant(person)),
      ...[base, ...others].map((guild) => world.record({ kind: "server", subjectId: guild.id })),
    ]);
    expect(await world.database.read.match.count({ where: { status: "open" } })).toBe(people.length * (others.length + 1));
  });

  test("pages of servers and matches hold every entry once", async () => {
    const world = await createWorld();
    const ann = world.sandbox.createUser("ann");
    const guilds = Array.from({ length: 25 }, (_, n) => world.sandbox.createGuild({ name: `Guild ${n}`, withBot: false }));
    for (const guild of guilds) guild.addMember(ann);
    await world.grant(ann);
    for (const guild of guilds) await world.record({ kind: "server", subjectId: guild.id });
    for (const list of ["servers", "matches"]) {
      const seen: string[] = [];
      let query = "?limit=10";
      for (let pages = 0; pages < 5 && query !== ""; pages += 1) {
        const { body } = await world.get(`/users/${ann.id}/${list}${query}`);
        seen.push(...body.data.map((entry: { server: { id: string } }) => entry.server.id));
        query = body.page.has_more ? `?limit=10&cursor=${body.page.next_cursor}` : "";
      }
      expect(seen.toSorted()).toEqual(guilds.map(({ id }) => id).toSorted());
    }
  });
});

const people = ["200000000000000001", "200000000000000002", "200000000000000003"];
const places = ["300000000000000001", "300000000000000002", "300000000000000003"];
const key = Buffer.alloc(32, 7);

function createRooms(database: Database) {
  const clock = { now: () => new Date() };
  const grants = createGrantsService({ read: database.read, clock });
  const keyring = createKeyring(new Map([["k", Buffer.alloc(32, 1)]]));
  const deps = {
    database,
    guildState: { lookUp: () => Promise.resolve({ members: [], isComplete: true }) },
    grants,
    keyring,
    cursors: createCursors(key),
    clock,
    audit: createAuditService({ database, cursors: createCursors(key) }),
    access: { of: () => ({ isStaff: false, rank: 0 }) as Access },
    ...createNeighbours({ database, clock, serversKey: key }),
  };
  return createIntelligence({ ...deps, isStaff: (userId) => userId === people[2] });
}

type Step =
  | { do: "servers"; person: string; held: string[] }
  | { do: "record"; n: number; status: string; severity: MatchRecord["severity"]; exempt: string[] };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant("servers" as const), person: fc.constantFrom(...people.slice(0, 2)), held: fc.subarray(places) }),
    fc.record({
      do: fc.constant("record" as const),
      n: fc.integer({ min: 0, max: 5 }),
      status: fc.constantFrom("active", "active", "revoked", "expired"),
      severity: fc.constantFrom(...severities),
      exempt: fc.subarray(people),
    }),
  ),
  { minLength: 1, maxLength: 14 },
);

/** Every record has its fixed subject: three are about servers, three about people. */
const subjectOf = (n: number) =>
  n < 3 ? { kind: "server" as const, subjectId: places[n] ?? "" } : { kind: "user" as const, subjectId: people[n - 3] ?? "" };

test("whatever the order of records and lists, the standing matches are those a naive model makes", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (drawn) => {
      const { database, drop } = await createTestDatabase();
      try {
        const { servers, matches } = createRooms(database);
        const rooms = { matches, hashOf: (id: string) => keyedHash(key, id) };
        const ids = new Map<number, string>();
        const model = { held: new Map<string, string[]>(), records: new Map<number, Extract<Step, { do: "record" }>>() };
        for (const step of drawn) {
          if (step.do === "record") {
            const id = ids.get(step.n);
            const change = { ...subjectOf(step.n), status: step.status, severity: step.severity, exemptUserIds: step.exempt };
            ids.set(step.n, (await storeRecord(database, rooms, id === undefined ? change : { ...change, id })).id);
            model.records.set(step.n, step);
          } else {
            await storeList(database, { servers, matches }, step.person, step.held);
            model.held.set(step.person, step.held);
          }
        }
        expect(await access(database, ids)).toEqual(naive(model));
      } finally {
        await drop();
      }
    }),
    { numRuns: runsOf(25) },
  );
});

function naive({ held, records }: { held: Map<string, string[]>; records: Map<number, Extract<Step, { do: "record" }>> }): string[] {
  const found: string[] = [];
  for (const [n, record] of records) {
    if (record.status !== "active") continue;
    const { kind, subjectId } = subjectOf(n);
    for (const person of people) {
      const isKnown = held.has(person);
      const isMember = held.get(person)?.includes(subjectId) === true;
      const concerns = kind === "user" ? person === subjectId && (isKnown || person === people[2]) : isMember;
      const isExempt = kind === "server" && record.exempt.includes(person);
      if (concerns && !isExempt) found.push(`${person} ${n.toString()} ${record.severity}`);
    }
  }
  return found.toSorted();
}

async function access(database: Database, ids: ReadonlyMap<number, string>): Promise<string[]> {
  const rows = await database.read.match.findMany({ where: { status: { in: ["open", "grace"] } } });
  const numbers = new Map([...ids].map(([n, id]) => [id, n]));
  return rows.map((row) => `${row.userId} ${String(numbers.get(row.recordId))} ${row.severity}`).toSorted();
}

/** Grant and list of a person in one transaction, as the authorization flow writes them. */
async function storeList(
  database: Database,
  { servers, matches }: ReturnType<typeof createRooms>,
  userId: string,
  held: readonly string[],
): Promise<void> {
  const seen = held.map((id): SeenServer => ({ id, name: id, icon: null, relation: "member" }));
  await database.write(systemCall("job", "model"), async (tx) => {
    const data = { status: "active", scopes: ["identify", "guilds"], purposes: [], consentVersion: "1", grantedAt: tx.now };
    await tx.db.authorization.upsert({ where: { userId }, create: { userId, ...data }, update: {} });
    await servers.store(tx, userId, seen);
    await matches.recomputeUser(tx, userId);
  });
}

describe("a record and a list in transactions that overlap find each other", () => {
  const [person = "", place = ""] = [people[0], places[0]];

  test.each(["record", "list"])("with the %s first", async (first) => {
    const { database, drop } = await createTestDatabase();
    try {
      const rooms = createRooms(database);
      await storeList(database, rooms, person, []);
      const other = createSignal();
      const slow =
        first === "record"
          ? { applyRecord: lingering(other, rooms.matches.applyRecord) }
          : { recomputeUser: lingering(other, rooms.matches.recomputeUser) };
      const matches = { ...rooms.matches, ...slow };
      const writeRecord = () =>
        storeRecord(database, { matches, hashOf: (id) => keyedHash(key, id) }, { kind: "server", subjectId: place });
      const writeList = () => storeList(database, { servers: rooms.servers, matches }, person, [place]);
      const [one, two] = first === "record" ? [writeRecord, writeList] : [writeList, writeRecord];
      const leading = one();
      await other.canStart;
      await Promise.all([leading, two().finally(other.end)]);
      expect(await database.read.match.count({ where: { userId: person, status: "open" } })).toBe(1);
    } finally {
      await drop();
    }
  });
});

/** Tells the second transaction when to start, and the first one that the second has ended. */
function createSignal() {
  let start = (): void => undefined;
  const canStart = new Promise<void>((resolve) => {
    start = resolve;
  });
  const signal = { canStart, start, hasEnded: false, end: () => void (signal.hasEnded = true) };
  return signal;
}

/** Keep a transaction open after its comparison, as long as the other one can still get done: on SQLite it waits for this one anyway. */
function lingering<Subject, T>(other: ReturnType<typeof createSignal>, compare: (tx: Tx, subject: Subject) => Promise<T>) {
  return async (tx: Tx, subject: Subject): Promise<T> => {
    const result = await compare(tx, subject);
    other.start();
    const turns = inject("dialect") === "postgres" ? 300 : 0;
    for (let turn = 0; turn < turns && !other.hasEnded; turn += 1) await tx.db.$queryRaw`SELECT 1`;
    return result;
  };
}
