import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { existsSync } from "node:fs";
import { beforeAll, afterAll, expect, inject, test } from "vitest";
import type { TransactionClient } from "../../src/database/database.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createWorld, type World } from "../support/world.ts";
import { within } from "./stances-community.ts";
import { execute } from "../database/sql.ts";

const day = 86_400_000;
const secret = "told in confidence";
const call = systemCall("cli", uuid7());
const time = { offset: 0 };
const now = (days = 0): Date => new Date(Date.now() + time.offset + days * day);
const lines: string[] = [];
let world: World;
let end = (): Promise<void> => Promise.resolve();

beforeAll(async () => {
  world = await createWorld({
    clock: { now: () => now() },
    log: (line) => void lines.push(line),
    onEnd: (way) => (end = way),
  });
  // What the start leaves to be written is written.
  await world.app.runJobs();
});
afterAll(() => end());

/** What a job does something for, when its time comes. */
interface Item {
  /** Of its own, in the order in which the job comes to it. */
  id: string;
  userId: string;
  index: number;
}

interface Kind {
  /** What is due. */
  due: string;
  job: string;
  /** What the job writes: the statement that the database refuses for one item, the table, and the column that says which item it is. */
  writes: readonly ["UPDATE" | "INSERT" | "DELETE", table: string, column: string, by?: "userId"];
  /** Store some that are due. */
  store(db: TransactionClient, item: Item): unknown;
  /** Whether the job has done it. */
  isDone(item: Item): Promise<boolean>;
}

const read = <Name extends keyof World["app"]["database"]["read"]>(name: Name): World["app"]["database"]["read"][Name] =>
  world.app.database.read[name];
const statusOf = async (name: string, { id }: Item): Promise<string | undefined> =>
  ((await (read(name as "match").findFirst({ where: { id } }) as Promise<{ status: string } | null>)) ?? undefined)?.status;

const request = ({ id, index, userId }: Item) => ({
  id,
  reference: `INV-REQ-9${uuid7().slice(-9)}${index.toString()}`,
  type: "investigation",
  status: "pending",
  priority: "normal",
  urgent: false,
  title: secret,
  summary: secret,
  payload: {},
  extra: {},
  requestedVia: "api",
  evidence: [],
  related: [],
  approvalsRequired: 1,
  links: [],
  createdAt: now(-9),
  updatedAt: now(-9),
  subjects: { create: [{ kind: "user", subjectId: userId }] },
});

const blacklisted = ({ id, userId, index }: Item) => ({
  id,
  number: 900_000 + Number(userId.slice(-4)) + index,
  kind: "user",
  subjectId: userId,
  scope: "network",
  serverIds: [],
  category: "raid",
  severity: "low",
  severityOrder: 1,
  status: "active",
  reasonPublic: secret,
  exemptUserIds: [],
  evidence: [],
  tags: [],
  source: "direct",
  approvedBy: [],
  startsAt: now(-9),
  createdAt: now(-9),
  updatedAt: now(-9),
});

const closedCase = ({ id, index, userId }: Item) => ({
  id,
  number: 900_000 + Number(userId.slice(-4)) + index,
  type: "general",
  title: secret,
  status: "closed",
  priority: "normal",
  isConfidential: false,
  policies: [],
  createdAt: now(-900),
  updatedAt: now(-900),
});

const kinds: readonly Kind[] = [
  {
    due: "a clearance that has run out",
    job: "registry",
    writes: ["UPDATE", "poach_clearances", "id"],
    store: (db, { id, userId }) =>
      db.poachClearance.create({
        data: {
          id,
          userId,
          fromServerId: "1",
          toServerId: "2",
          status: "active",
          validUntil: now(-1),
          originReference: "R",
          createdAt: now(-2),
        },
      }),
    isDone: async (item) => (await statusOf("poachClearance", item)) === "expired",
  },
  {
    due: "an agreement that is over",
    job: "registry",
    writes: ["UPDATE", "agreements", "id"],
    store: (db, { id }) =>
      db.agreement.create({
        data: {
          id,
          covers: "staff",
          coolingOffDays: 0,
          terms: secret,
          startsAt: now(-9),
          endsAt: now(-1),
          status: "active",
          createdAt: now(-9),
          parties: { create: ["1", "2"].map((serverId) => ({ serverId, serverHash: serverId })) },
        },
      }),
    isDone: async (item) => (await statusOf("agreement", item)) === "ended",
  },
  {
    due: "the invite of a server",
    job: "registry",
    writes: ["UPDATE", "servers", "id", "userId"],
    store: (db, { userId }) =>
      db.server.create({
        data: {
          id: userId,
          hash: userId,
          status: "known",
          contacts: [],
          tags: [],
          inviteCode: userId,
          note: secret,
          createdAt: now(),
          updatedAt: now(),
        },
      }),
    isDone: async ({ userId }) => (await read("server").findFirstOrThrow({ where: { id: userId } })).inviteCheckedAt !== null,
  },
  {
    due: "a suspension on the roster",
    job: "roster",
    writes: ["UPDATE", "roster_entries", "user_id", "userId"],
    store: (db, { userId }) =>
      db.rosterEntry.create({
        data: {
          userId,
          status: "suspended",
          statusBefore: "active",
          suspendedUntil: now(-1),
          notes: secret,
          createdAt: now(-9),
          updatedAt: now(-9),
        },
      }),
    isDone: async ({ userId }) => (await read("rosterEntry").findFirstOrThrow({ where: { userId } })).status === "active",
  },
  {
    due: "a callsign at rest",
    job: "callsigns",
    writes: ["UPDATE", "callsign_slots", "id"],
    store: (db, { id, userId, index }) =>
      db.callsignSlot.create({
        data: {
          id,
          pool: "patrol",
          number: index,
          callsign: `P-${index.toString()}`,
          state: "held",
          liveKey: `patrol:${index.toString()}`,
          userId,
          since: now(-9),
          until: now(-1),
          createdAt: now(-9),
        },
      }),
    isDone: async ({ id }) => (await read("callsignSlot").findFirstOrThrow({ where: { id } })).state === "ended",
  },
  {
    due: "a request past its end",
    job: "workflows",
    writes: ["UPDATE", "workflow_requests", "id"],
    store: (db, item) => db.workflowRequest.create({ data: { ...request(item), expiresAt: now(-1) } }),
    isDone: async (item) => (await statusOf("workflowRequest", item)) === "expired",
  },
  {
    due: "a request that waits too long",
    job: "reminders",
    writes: ["UPDATE", "workflow_requests", "id"],
    store: (db, item) => db.workflowRequest.create({ data: { ...request(item), dueDecisionAt: now(-1), remindAt: now(-1) } }),
    isDone: async ({ id }) => (await read("workflowRequest").findFirstOrThrow({ where: { id } })).remindAt === null,
  },
  {
    due: "a blacklist record past its end",
    job: "blacklist",
    writes: ["UPDATE", "blacklist_records", "id"],
    store: (db, item) => db.blacklistRecord.create({ data: { ...blacklisted(item), expiresAt: now(-1) } }),
    isDone: async (item) => (await statusOf("blacklistRecord", item)) === "expired",
  },
  {
    due: "the review of a blacklist record",
    job: "blacklist",
    writes: ["UPDATE", "blacklist_records", "id"],
    store: (db, item) => db.blacklistRecord.create({ data: { ...blacklisted(item), reviewAt: now(-1) } }),
    isDone: async ({ id }) => (await read("blacklistRecord").findFirstOrThrow({ where: { id } })).reviewToldFor !== null,
  },
  {
    due: "a leave that is over",
    job: "staff",
    writes: ["UPDATE", "staff_profiles", "user_id", "userId"],
    store: (db, { userId }) =>
      db.staffProfile.create({ data: { userId, leaveFrom: now(-9), leaveUntil: now(-1), leaveReason: secret, updatedAt: now(-9) } }),
    isDone: async ({ userId }) => (await read("staffProfile").findFirstOrThrow({ where: { userId } })).leaveFrom === null,
  },
  {
    due: "a session that is over",
    job: "authorization",
    writes: ["UPDATE", "authorization_sessions", "id"],
    store: (db, { id, userId }) =>
      db.authorizationSession.create({
        data: {
          id,
          userId,
          purpose: "recruitment",
          scopes: ["identify"],
          tokenHash: id,
          status: "pending",
          createdAt: now(-2),
          expiresAt: now(-1),
        },
      }),
    isDone: async (item) => (await statusOf("authorizationSession", item)) === "expired",
  },
  {
    due: "a grant that was over long ago",
    job: "authorization",
    writes: ["DELETE", "authorizations", "user_id", "userId"],
    store: (db, { userId }) =>
      db.authorization.create({
        data: {
          userId,
          status: "expired",
          scopes: ["identify"],
          purposes: ["recruitment"],
          consentVersion: "1",
          grantedAt: now(-900),
          endedAt: now(-800),
        },
      }),
    isDone: async ({ userId }) => (await read("authorization").findFirst({ where: { userId } })) === null,
  },
  {
    due: "an audit of the roster that was interrupted",
    job: "rosterAudits",
    writes: ["UPDATE", "roster_audits", "id"],
    store: (db, { id }) =>
      db.rosterAudit.create({
        data: {
          id,
          scope: {},
          checks: { run: [], skipped: [] },
          comparison: id,
          status: "running",
          trigger: "request",
          startedAt: now(-1),
          summary: {},
        },
      }),
    isDone: async (item) => (await statusOf("rosterAudit", item)) === "failed",
  },
  {
    due: "a change nobody confirmed",
    job: "confirmations",
    writes: ["UPDATE", "confirmations", "id"],
    store: (db, { id, userId }) =>
      db.confirmation.create({
        data: {
          id,
          code: id.slice(-9),
          action: "permissions.users.update",
          input: {},
          summary: secret,
          permission: "system.permissions.manage",
          needs: ["acting_user"],
          keys: [],
          rank: 0,
          actorId: userId,
          status: "pending",
          answers: [],
          createdAt: now(-2),
          expiresAt: now(-1),
        },
      }),
    isDone: async (item) => (await statusOf("confirmation", item)) === "expired",
  },
  {
    due: "a suspicion nobody looked at",
    job: "links",
    writes: ["UPDATE", "account_links", "id"],
    store: (db, { id, userId }) =>
      db.accountLink.create({
        data: {
          id,
          userA: userId,
          userB: `${userId}0`,
          activeKey: `${userId}:${userId}0`,
          confidence: "suspected",
          kind: "declared_alt",
          basis: [{ type: "other", note: secret }],
          propagates: false,
          status: "active",
          reviewAt: now(-1),
          createdAt: now(-9),
          updatedAt: now(-9),
        },
      }),
    isDone: async (item) => (await statusOf("accountLink", item)) === "ended",
  },
  {
    due: "an exemption that is over",
    job: "exemptions",
    writes: ["DELETE", "list_exemptions", "user_id", "userId"],
    store: (db, { userId }) =>
      db.listExemption.create({ data: { guildId: world.guild.id, userId, reason: secret, until: now(-1), createdAt: now(-9) } }),
    isDone: async ({ userId }) => (await read("listExemption").findFirst({ where: { userId } })) === null,
  },
  {
    due: "a suggestion whose points are over",
    job: "strikes",
    writes: ["UPDATE", "request_drafts", "subject_id", "userId"],
    store: (db, { id, userId }) =>
      db.requestDraft.create({
        data: {
          id,
          type: "punishment",
          payload: {},
          subjectKind: "user",
          subjectId: userId,
          cause: secret,
          openKey: `strikes:${userId}:3`,
          status: "open",
          createdAt: now(-9),
        },
      }),
    isDone: async (item) => (await statusOf("requestDraft", item)) === "dismissed",
  },
  {
    due: "a case kept long enough",
    job: "cases",
    writes: ["UPDATE", "cases", "id"],
    store: (db, item) => db.case.create({ data: { ...closedCase(item), retentionUntil: now(-1) } }),
    isDone: async (item) => (await statusOf("case", item)) === "archived",
  },
  {
    due: "a case in the bin",
    job: "cases",
    writes: ["DELETE", "cases", "id"],
    store: (db, item) => db.case.create({ data: { ...closedCase(item), deletedAt: now(-99) } }),
    isDone: async (item) => (await statusOf("case", item)) === undefined,
  },
  {
    due: "the notice that a key ends soon",
    job: "keys",
    writes: ["UPDATE", "api_keys", "id"],
    store: (db, { id }) =>
      db.apiKey.create({
        data: {
          id,
          keyId: id.slice(-12),
          name: secret,
          secretHash: id,
          scopes: [],
          delegation: "none",
          ipAllowlist: [],
          createdAt: now(-9),
          expiresAt: now(25),
        },
      }),
    isDone: async ({ id }) => (await read("apiKey").findFirstOrThrow({ where: { id } })).noticeDays !== null,
  },
  {
    due: "a match whose grace is over",
    job: "matches",
    writes: ["UPDATE", "matches", "id"],
    store: (db, { id, userId }) =>
      db.match.create({
        data: {
          id,
          userId,
          kind: "blacklisted_server",
          recordId: id,
          recordReference: "BL-1",
          recordRevision: 1,
          severity: "low",
          confidence: 1,
          status: "grace",
          why: {},
          graceUntil: now(-1),
          firstSeenAt: now(-9),
          lastSeenAt: now(-9),
        },
      }),
    isDone: async (item) => (await statusOf("match", item)) === "open",
  },
];

/** From now on the database does not take this statement for one row. @returns takes it again */
async function refuse(url: string, [event, table, column]: Kind["writes"], value: string): Promise<() => Promise<void>> {
  const row = event === "DELETE" ? "OLD" : "NEW";
  const on = `BEFORE ${event} ON ${table}`;
  const isSqlite = inject("dialect") === "sqlite";
  await execute(
    url,
    isSqlite
      ? `CREATE TRIGGER test_refuses ${on} WHEN ${row}.${column} = '${value}' BEGIN SELECT RAISE(ABORT, 'not this one'); END`
      : `CREATE FUNCTION test_refuses() RETURNS trigger AS $$ BEGIN IF ${row}.${column} = '${value}' THEN RAISE 'not this one'; END IF; RETURN ${row}; END $$ LANGUAGE plpgsql;
         CREATE TRIGGER test_refuses ${on} FOR EACH ROW EXECUTE FUNCTION test_refuses()`,
  );
  return () => execute(url, isSqlite ? "DROP TRIGGER test_refuses" : `DROP TRIGGER test_refuses ON ${table}; DROP FUNCTION test_refuses()`);
}

/** What the log says of a round of jobs: everything that went wrong, and which jobs failed. */
async function runJobs(): Promise<{ errors: string; failed: unknown[] }> {
  lines.length = 0;
  await world.app.runJobs();
  const said = lines.map((line) => JSON.parse(line) as { level: number | string; job?: string; msg: string });
  const errors = lines.filter((_line, index) => ["error", "fatal", 50, 60].includes(said[index]?.level ?? ""));
  return { errors: errors.join("\n"), failed: said.flatMap(({ job, msg }) => (msg.startsWith("a job failed") ? [job] : [])) };
}

const cases = kinds.map((kind, place) => [kind.due, kind, 1000 + place * 10] as const);

test.each(cases)("%s that cannot be written stops no other", async (_due, { job, writes, store, isDone }, number) => {
  const items = [0, 1, 2].map((index): Item => ({ id: uuid7(), userId: `70000000000${(number + index).toString()}`, index }));
  await world.app.database.write(call, async ({ db }) => {
    for (const item of items) await store(db, item);
  });
  const done = () => Promise.all(items.map(isDone));
  expect(await done()).toEqual([false, false, false]);
  const bad = items[1]?.[writes[3] ?? "id"] ?? "";
  const take = await refuse(world.databaseUrl, writes, bad);
  const first = await runJobs().finally(take);
  expect(await done()).toEqual([true, false, true]);
  expect(first.failed).toEqual([job]);
  expect(first.errors).toContain("not this one");
  expect(first.errors).toContain(bad);
  expect(first.errors).not.toContain(secret);

  time.offset += day;
  expect(await runJobs()).toEqual({ errors: "", failed: [] });
  expect(await done()).toEqual([true, true, true]);
});

test("a file of evidence that cannot be deleted keeps no other", async () => {
  time.offset += day;
  const files = ["a", "b", "c"].map((letter) => join(world.dataDir, "evidence", "ab", `ab${letter.repeat(62)}`));
  const [first = "", bad = "", last = ""] = files;
  await mkdir(bad, { recursive: true });
  for (const file of [first, last]) await writeFile(file, secret);
  const { errors, failed } = await runJobs();
  expect(failed).toEqual(["evidence"]);
  expect(errors).toContain("ab".concat("b".repeat(62)));
  expect(files.map((file) => existsSync(file))).toEqual([false, true, false]);

  await rm(bad, { recursive: true });
  await writeFile(bad, secret);
  time.offset += day;
  expect(await runJobs()).toEqual({ errors: "", failed: [] });
  expect(existsSync(bad)).toBe(false);
});

test("somebody whose place on the roster cannot be written keeps nobody else off it", async () => {
  const said: string[] = [];
  const other = await createWorld({ env: { ROSTER_FOLLOWS_DISCORD: "true" }, log: (line) => void said.push(line) });
  const users = ["bad", "good", "fine"].map((name) => other.sandbox.createUser(name));
  const [bad, ...good] = users.map(({ id }) => id);
  await other.app.runJobs();
  const take = await refuse(other.databaseUrl, ["INSERT", "roster_entries", "user_id"], bad ?? "");
  for (const user of users) other.guild.addMember(user, { roles: [other.roles.viewer] });
  await other.sandbox.waitFor(() => users.every(({ id }) => other.app.access.of(id).isStaff));
  const entries = async () =>
    (await other.app.database.read.rosterEntry.findMany({ where: { userId: { in: users.map(({ id }) => id) } } })).map(
      ({ userId }) => userId,
    );
  await within(async () => (await entries()).length === good.length);
  await other.app.runJobs();
  expect((await entries()).toSorted()).toEqual(good.toSorted());
  expect(said.filter((line) => line.includes('"job":"rosterSync"') && line.includes("a job failed"))).not.toEqual([]);

  await take();
  await other.app.runJobs();
  expect(await entries()).toContain(bad);
});
