import { beforeAll, describe, expect, test } from "vitest";
import type { User } from "../../src/sandbox/index.ts";
import { createWorld } from "../support/world.ts";
import { shareWorld } from "../contract/world.ts";
import {
  addPool,
  change,
  dayMs,
  employ,
  findingOf,
  giveCallsign,
  hire,
  job,
  ok,
  plants,
  run,
  setRole,
  still,
  write,
} from "./roster-audit-ground.ts";

const shared = shareWorld({ env: still });
let owner: User;
beforeAll(async () => {
  await addPool(shared.world, "main", "{callsign} | {name}");
  await setRole(shared.world, "moderator", { callsign_pool: "main" });
  owner = await hire(shared.world, "owner");
});

const fix = async (findings: string[], { actor = owner, ...more }: { actor?: User; dry_run?: boolean } = {}) =>
  ok(await shared.world.post("/roster/audit/fixes", { findings, reason: "found by the audit", ...more }, { actor })).data.results;
const entryOf = (userId: string) => shared.world.app.database.read.rosterEntry.findUnique({ where: { userId } });
const linesOf = (userId: string) => shared.world.app.database.read.rosterEvent.count({ where: { userId } });
const state = async () => {
  const { read } = shared.world.app.database;
  return [
    await read.rosterEntry.findMany(),
    await read.rosterEvent.count(),
    await read.callsignSlot.findMany(),
    await read.auditEntry.count(),
  ];
};
/** What the guild is told, in place of the room that does it. */
const told: { discord_user_id: string; direction: string; apply: string[]; reason: string }[] = [];
function listen(changes: object[]): void {
  told.length = 0;
  const syncMember = (_: unknown, input: (typeof told)[number]) => {
    told.push(input);
    return Promise.resolve({ changes });
  };
  Object.assign(shared.world.app.rosterSync, { syncMember });
}

/** Plant, audit, fix, and audit again. */
async function around(code: string) {
  const { world } = shared;
  const userId = await (plants[code] ?? expect.fail(code))(world);
  const finding = findingOf(await run(world, owner, { checks: [code] }), code, userId);
  const before = await state();
  expect(await fix([finding.id], { dry_run: true })).toMatchObject([
    { id: finding.id, outcome: finding.fix === null ? "unchanged" : "planned" },
  ]);
  expect(await state()).toEqual(before);
  const [result] = await fix([finding.id]);
  const report = await run(world, owner, { checks: [code] });
  const isLeft = report.findings.some((one: any) => one.user?.id === userId);
  return { userId: userId ?? "", finding, result, report, isLeft };
}

describe("each fix puts its finding right, and the next run resolves it", () => {
  test.each([
    ["left_guild", { status: "resigned" }],
    ["role_without_entry", { status: "active", staffRole: "viewer" }],
    ["callsign_missing", { status: "active" }],
    ["trial_overdue", { status: "active", trialEndsAt: null }],
    ["loa_overdue", { status: "active" }],
    ["suspended_with_access", { status: "suspended" }],
  ])("%s", async (code, entry) => {
    const { userId, finding, result, report, isLeft } = await around(code);
    expect(result).toMatchObject({ id: finding.id, outcome: "fixed" });
    expect(isLeft).toBe(false);
    expect(report.compared_to.resolved_findings.map((one: any) => one.id)).toContain(finding.id);
    expect(await entryOf(userId)).toMatchObject(entry);
    const noted = await shared.world.app.database.read.auditEntry.findMany({ where: { action: "roster.fix", targetId: finding.id } });
    expect(noted).toMatchObject([{ subjectUserId: userId, actorId: owner.id, permissionUsed: "roster.apply_fixes" }]);
    expect(await fix([finding.id])).toMatchObject([{ outcome: "gone" }]);
    const kept = await shared.world.app.database.read.rosterFinding.findUnique({ where: { id: finding.id } });
    expect(kept).toMatchObject({ fixedBy: owner.id });
  });

  test("whoever left lets their callsigns rest", async () => {
    const { world } = shared;
    const user = await hire(world, "moderator");
    await giveCallsign(world, user, "main");
    world.guild.kick(user);
    await world.sandbox.waitFor(() => !world.app.standing.of(user.id).isInGuild, 10_000);
    const { id } = findingOf(await run(world, owner), "left_guild", user.id);
    expect(await fix([id])).toMatchObject([{ outcome: "fixed" }]);
    expect(await world.app.database.read.callsignSlot.findMany({ where: { userId: user.id } })).toMatchObject([{ state: "held" }]);
  });

  test("a callsign is given from the pool of the staff role, and an empty pool is a failure that changes nothing", async () => {
    const { world } = shared;
    const user = await hire(world, "moderator");
    const { id } = findingOf(await run(world, owner), "callsign_missing", user.id);
    await write(world, ({ db }) => db.callsignPool.update({ where: { key: "main" }, data: { ranges: [] } }));
    const lines = await linesOf(user.id);
    expect(await fix([id])).toMatchObject([{ outcome: "failed" }]);
    expect(await linesOf(user.id)).toBe(lines);
    await write(world, ({ db }) => db.callsignPool.update({ where: { key: "main" }, data: { ranges: [[1, 99]] } }));
    expect(await fix([id])).toMatchObject([{ outcome: "fixed" }]);
    const slots = await world.app.database.read.callsignSlot.findMany({ where: { userId: user.id, state: "assigned" } });
    expect(slots).toMatchObject([{ pool: "main" }]);
  });

  test("who is suspended on the roster is suspended as staff, as long", async () => {
    const { world } = shared;
    const user = await hire(world, "viewer");
    const until = new Date(Date.now() + dayMs);
    await write(world, (tx) =>
      world.app.roster.moveWithin(tx, user.id, { causeReference: null, permission: "x", event: "suspended", until }),
    );
    const { id } = findingOf(await run(world, owner), "suspended_with_access", user.id);
    expect(world.app.standing.of(user.id).isBarred).toBe(false);
    expect(await fix([id])).toMatchObject([{ outcome: "fixed" }]);
    expect(world.app.standing.of(user.id)).toMatchObject({ isBarred: true, status: "suspended", expiresAt: until });
  });

  test.each([
    ["missing_role", ["held_roles"]],
    ["extra_role", ["held_roles"]],
    ["nickname_mismatch", ["nickname"]],
  ])("%s is brought in step by the room for that", async (code, apply) => {
    const { world } = shared;
    listen([{ field: apply[0], applied: true, reason: null }]);
    const userId = await (plants[code] ?? expect.fail(code))(world);
    const { id } = findingOf(await run(world, owner, { checks: [code] }), code, userId);
    expect(await fix([id])).toMatchObject([{ outcome: "fixed" }]);
    expect(told).toEqual([{ discord_user_id: userId, direction: "to_discord", apply, reason: "found by the audit" }]);
    listen([{ field: apply[0], applied: false, reason: "Discord refused." }]);
    expect(await fix([id])).toMatchObject([{ outcome: "failed", detail: "Discord refused." }]);
    expect(await world.app.database.read.auditEntry.count({ where: { action: "roster.fix", targetId: id } })).toBe(1);
  });

  test.each([
    "unmapped_staff_role",
    "inactive_n_days",
    "blacklisted_staff",
    "open_match_on_staff",
    "stale_authorization",
    "override_expiring",
  ])("%s has no fix, and nothing happens", async (code) => {
    const { finding, result, isLeft } = await around(code);
    expect(finding.fix).toBeNull();
    expect(result.outcome).toBe("unchanged");
    expect(isLeft).toBe(true);
  });
});

describe("what is not fixed", () => {
  test("a finding that does not hold any more is gone, and nothing changes", async () => {
    const { world } = shared;
    const userId = (await plants["trial_overdue"]?.(world)) ?? "";
    const { id } = findingOf(await run(world, owner), "trial_overdue", userId);
    await write(world, ({ db }) => db.rosterEntry.update({ where: { userId }, data: { trialEndsAt: new Date(Date.now() + dayMs) } }));
    const lines = await linesOf(userId);
    expect(await fix([id])).toMatchObject([{ outcome: "gone" }]);
    expect(await linesOf(userId)).toBe(lines);
    expect(await entryOf(userId)).toMatchObject({ status: "trial" });
  });

  test("nobody but an owner fixes what concerns their own rank or a higher one, and the others are fixed all the same", async () => {
    const { world } = shared;
    const [admin, peer, viewer] = [await hire(world, "admin"), await hire(world, "admin"), await hire(world, "viewer")];
    const gone = world.member();
    await employ(world, gone, "owner");
    for (const user of [admin, peer, viewer, gone]) await change(world, user, { status: "loa" });
    const report = await run(world, owner, { checks: ["loa_overdue"] });
    const ids = [peer, admin, gone, viewer].map((user) => findingOf(report, "loa_overdue", user.id).id);
    expect((await fix(ids, { actor: admin, dry_run: true })).map((one: any) => one.outcome)).toEqual([
      "refused",
      "refused",
      "refused",
      "planned",
    ]);
    expect((await fix(ids, { actor: admin })).map((one: any) => one.outcome)).toEqual(["refused", "refused", "refused", "fixed"]);
    for (const user of [admin, peer, gone]) expect(await entryOf(user.id)).toMatchObject({ status: "loa", revision: 1 });
    await world.app.audit.flushDenied();
    const denied = await world.app.database.read.auditEntry.findMany({ where: { outcome: "denied", actorId: admin.id } });
    expect(denied.map(({ targetId }) => targetId)).toContain(ids[0]);
    const senior = await world.staff("senior");
    expect((await world.post("/roster/audit/fixes", { findings: ids, reason: "found" }, { actor: senior })).status).toBe(403);
  });

  test("what somebody may not see, and what never was, is gone alike", async () => {
    const { world } = shared;
    const userId = await plants["blacklisted_staff"]?.(await fresh(world)).catch(() => null);
    const report = await run(world, owner, { checks: ["blacklisted_staff"] });
    const { id } = findingOf(report, "blacklisted_staff", userId ?? report.findings[0].user.id);
    const key = await world.makeKey(["roster.*"]);
    const unknown = "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f";
    const answer = ok(await world.post("/roster/audit/fixes", { findings: [id, unknown], reason: "found" }, { actor: owner, key })).data
      .results;
    expect(answer[0]).toEqual({ ...answer[1], id });
    expect(answer[1].outcome).toBe("gone");
  });

  test("one key, one set of fixes", async () => {
    const { world } = shared;
    const userId = (await plants["loa_overdue"]?.(world)) ?? "";
    const { id } = findingOf(await run(world, owner), "loa_overdue", userId);
    const headers = { "idempotency-key": "fix-it-once-1" };
    const ask = () => world.post("/roster/audit/fixes", { findings: [id], reason: "found" }, { actor: owner, headers });
    const first = await ask();
    expect(first.body.data.results).toMatchObject([{ outcome: "fixed" }]);
    const lines = await linesOf(userId);
    expect((await ask()).body).toEqual(first.body);
    expect(await linesOf(userId)).toBe(lines);
  });

  test("named twice is a wrong field", async () => {
    const id = "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f";
    const answer = await shared.world.post("/roster/audit/fixes", { findings: [id, id], reason: "found" }, { actor: owner });
    expect([answer.status, answer.body.errors[0].pointer]).toEqual([422, "/findings"]);
  });
});

/** The record of an earlier test would stand in the way of another one. */
async function fresh(world: typeof shared.world) {
  await write(world, ({ db }) => db.blacklistRecord.deleteMany({ where: { number: 900 } }));
  return world;
}

describe("time", () => {
  test("the nightly audit runs once a day in its hour, never for an empty roster, and old reports are deleted", async () => {
    const time = { now: Date.parse("2026-11-21T02:59:30.000Z") };
    const clock = { now: () => new Date(time.now) };
    const world = await createWorld({ env: { ...still, ROSTER_AUDIT_HOUR: "3" }, clock });
    const { read } = world.app.database;
    const nights = () => read.rosterAudit.count({ where: { trigger: "nightly" } });
    const sweep = () => world.app.rosterAudits.sweep(job());
    time.now += 60_000;
    expect(await sweep()).toBe(0);
    const viewer = await hire(world, "viewer");
    await change(world, viewer, { status: "loa" });
    time.now -= 60_000;
    expect(await sweep()).toBe(0);
    time.now += 60_000;
    await sweep();
    await sweep();
    expect(await nights()).toBe(1);
    await world.restart();
    time.now += 59 * 60_000;
    expect(await world.app.rosterAudits.sweep(job())).toBe(0);
    expect(await nights()).toBe(1);
    time.now += dayMs - 30 * 60_000;
    expect(await world.app.rosterAudits.sweep(job())).toBe(1);
    expect(await nights()).toBe(2);
    const runs = await world.app.database.read.rosterAudit.findMany({ orderBy: { startedAt: "asc" } });
    expect(runs[1]).toMatchObject({ comparedTo: runs[0]?.id, newCount: 0, status: "done", actorId: null });
    const events = await world.app.database.read.outboxEvent.findMany({ where: { type: "roster.audited" }, orderBy: { seq: "asc" } });
    expect(events.map(({ data }) => data)).toMatchObject([{ audit_id: runs[0]?.id, findings: 1, new: 1, resolved: 0 }, { new: 0 }]);
    time.now += 89.5 * dayMs;
    await world.app.rosterAudits.sweep(job());
    const left = await world.app.database.read.rosterAudit.findMany();
    expect(left.map(({ id }) => id)).not.toContain(runs[0]?.id);
    expect(left.map(({ id }) => id)).toContain(runs[1]?.id);
    expect(await world.app.database.read.rosterFinding.count({ where: { auditId: runs[0]?.id ?? "" } })).toBe(0);
  });

  test("two thousand entries are looked at in slices: others are answered meanwhile", async () => {
    const world = await createWorld({ env: still });
    const boss = await hire(world, "owner");
    const rows = Array.from({ length: 2000 }, (_, index) => ({
      userId: (900_000_000_000_000_000n + BigInt(index)).toString(),
      status: index % 2 === 0 ? "loa" : "active",
      staffRole: "viewer",
      joinedAt: new Date(),
      createdAt: new Date(),
      updatedAt: new Date(),
    }));
    for (let from = 0; from < rows.length; from += 500) {
      await write(world, ({ db }) => db.rosterEntry.createMany({ data: rows.slice(from, from + 500) }));
    }
    const waits: number[] = [];
    const going = { on: true };
    const running = run(world, boss).finally(() => (going.on = false));
    while (going.on) {
      const start = performance.now();
      expect((await world.get("/health", { key: null })).status).toBe(200);
      waits.push(performance.now() - start);
    }
    const report = await running;
    expect(report).toMatchObject({ members_scanned: 2001, summary: { loa_overdue: 1000 }, findings_total: 1000 });
    expect(report.findings).toHaveLength(200);
    // A run in one go would let nobody have their turn before it is done.
    expect(waits.length).toBeGreaterThan(10);
    expect(Math.max(...waits)).toBeLessThan(waits.reduce((sum, wait) => sum + wait, 0) / 2);
    expect(waits.toSorted((one, other) => one - other).at(Math.floor(waits.length / 2))).toBeLessThan(250);
    if (process.env["SHOW_TIMES"] === "yes") process.stdout.write(`${waits.map(Math.round).join(" ")}\n`);
  });
});
