import { pino } from "pino";
import { beforeAll, describe, expect, test } from "vitest";
import { createRosterAudits } from "../../src/features/roster/audit/audits.service.ts";
import type { User } from "../../sandbox/index.ts";
import { createWorld } from "../support/world.ts";
import { shareWorld } from "../contract/world.ts";
import {
  addPool,
  change,
  codesAbout,
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

/** The Discord roles somebody holds now. */
const held = (user: User): readonly string[] => shared.world.guild.member(user)?.roles ?? [];

async function planted(code: string): Promise<{ user: User; finding: any }> {
  const userId = await (plants[code] ?? expect.fail(code))(shared.world);
  const finding = findingOf(await run(shared.world, owner, { checks: [code] }), code, userId);
  return { user: { id: userId } as User, finding };
}

/** The next run does not find it any more, and the audit says once who put it right. */
async function isResolved(code: string, user: User, id: string): Promise<void> {
  const { world } = shared;
  const report = await run(world, owner, { checks: [code] });
  expect(report.compared_to.resolved_findings.map((one: any) => one.id)).toContain(id);
  const noted = await world.app.database.read.auditEntry.findMany({ where: { action: "roster.fix", targetId: id } });
  expect(noted).toMatchObject([{ subjectUserId: user.id, actorId: owner.id, permissionUsed: "roster.apply_fixes" }]);
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
    await world.sandbox.waitFor(() => !world.app.access.of(user.id).isInGuild, 60_000);
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
      world.app.roster.moveInTx(tx, user.id, { causeReference: null, permission: "roster.edit", event: "suspended", until }),
    );
    const { id } = findingOf(await run(world, owner), "suspended_with_access", user.id);
    expect(world.app.access.of(user.id).isBarred).toBe(false);
    expect(await fix([id])).toMatchObject([{ outcome: "fixed" }]);
    expect(world.app.access.of(user.id)).toMatchObject({ isBarred: true, status: "suspended", expiresAt: until });
  });

  test.each(["missing_role", "extra_role"])(
    "%s: they hold the Discord role of their staff role, and no other of the ladder",
    async (code) => {
      const { world } = shared;
      const { user, finding } = await planted(code);
      const colour = world.guild.createRole("colour");
      const before = [...held(user), colour.id];
      const kept = Object.values(world.roles).filter(({ id }) => before.includes(id));
      world.guild.setRoles(user, [...kept, colour]);
      expect(await fix([finding.id], { dry_run: true })).toMatchObject([{ outcome: "planned" }]);
      expect(held(user).toSorted()).toEqual(before.toSorted());
      expect(await fix([finding.id])).toMatchObject([{ outcome: "fixed" }]);
      expect(held(user).toSorted()).toEqual([world.roles.viewer.id, colour.id].toSorted());
      await world.sandbox.waitFor(
        () =>
          world.app.access
            .of(user.id)
            .held.map(({ role }) => role.key)
            .join() === "viewer",
        10_000,
      );
      await isResolved(code, user, finding.id);
    },
  );

  test("nickname_mismatch: the name in the guild shows the callsign", async () => {
    const { world } = shared;
    const { user, finding } = await planted("nickname_mismatch");
    expect(await fix([finding.id])).toMatchObject([{ outcome: "fixed" }]);
    expect(world.guild.member(user)?.nick).toMatch(/^M-\d+ \| wrongly-named$/);
    await world.sandbox.waitFor(() => world.app.access.of(user.id).members[0]?.nick?.startsWith("M-") === true, 60_000);
    await isResolved("nickname_mismatch", user, finding.id);
  });

  test("what Discord does not let the bot do leaves the finding as it is, also when only a part of it was done", async () => {
    const { world } = shared;
    const user = await hire(world, "viewer");
    world.guild.setRoles(user, [world.roles.moderator]);
    await world.sandbox.waitFor(() => world.app.access.of(user.id).held[0]?.role.key === "moderator", 60_000);
    const { id } = findingOf(await run(world, owner, { checks: ["extra_role"] }), "extra_role", user.id);
    world.sandbox.faults.rest({ route: "DELETE /guilds/:g/members/:u/roles/:r", status: 403, body: { code: 50_013, message: "No." } });
    expect(await fix([id])).toMatchObject([{ outcome: "failed", detail: expect.stringContaining("Changes in Discord: 1.") }]);
    expect(held(user).toSorted()).toEqual([world.roles.viewer.id, world.roles.moderator.id].toSorted());
    expect(await world.app.database.read.auditEntry.count({ where: { action: "roster.fix", targetId: id } })).toBe(0);
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

describe("those on the roster who never held a role of the ladder", () => {
  test("miss it, and have left when they leave; and are no former staff", async () => {
    const { world } = shared;
    const user = world.member("newcomer");
    await employ(world, user, "viewer");
    await world.app.rosterSync.catchUp(job());
    await world.sandbox.waitFor(() => world.app.access.of(user.id).isInGuild, 60_000);
    expect(findingOf(await run(world, owner, { checks: ["missing_role"] }), "missing_role", user.id).facts.staff_role).toBe("viewer");
    expect(world.app.access.of(user.id).status).toBeNull();
    const former = ok(await world.get("/staff?status=former&limit=200", { actor: owner })).data;
    expect(former.map((one: any) => one.user?.id ?? one.id)).not.toContain(user.id);
    world.guild.kick(user);
    await world.sandbox.waitFor(() => !world.app.access.of(user.id).isInGuild, 60_000);
    findingOf(await run(world, owner, { checks: ["left_guild"] }), "left_guild", user.id);
  });

  test("are former staff once they held one, as before", async () => {
    const { world } = shared;
    const user = await world.staff("viewer");
    ok(await world.post("/roster/sync-member", { discord_user_id: user.id, direction: "from_discord" }, { actor: owner }));
    world.guild.setRoles(user, []);
    await world.sandbox.waitFor(() => !world.app.access.of(user.id).isStaff, 60_000);
    ok(await world.post("/roster/sync-member", { discord_user_id: user.id, direction: "from_discord" }, { actor: owner }));
    await world.app.rosterSync.catchUp(job());
    expect(world.app.access.of(user.id).status).toBe("former");
  });
});

describe("what is not fixed", () => {
  test("one of several Discord roles of a guild that stand for a staff role is enough, as it is for who gives them", async () => {
    const { world } = shared;
    const { key, name, rank, level, discord } = world.app.access.role("senior") ?? expect.fail("senior");
    const second = world.guild.createRole("second");
    await world.sandbox.waitFor(() => world.app.guildState.role(world.guild.id, second.id) !== undefined, 60_000);
    const mapped = [...discord, { guildId: world.guild.id, roleId: second.id }];
    const wanted = mapped.map(({ guildId, roleId }) => ({ guild_id: guildId, role_id: roleId }));
    await world.app.staff.roles.put(job(), key, { name, rank, level, discord: wanted });
    const user = await hire(world, "senior");
    expect(codesAbout(await run(world, owner, { checks: ["missing_role"] }), user.id)).toEqual([]);
  });

  test("nobody takes away what staff may do without the permission for that", async () => {
    const { world } = shared;
    const { user, finding } = await planted("suspended_with_access");
    const key = await world.makeKey(["roster.*"]);
    const body = { findings: [finding.id], reason: "found" };
    const answer = ok(await world.post("/roster/audit/fixes", body, { actor: owner, key }));
    expect(answer.data.results).toMatchObject([{ outcome: "refused" }]);
    expect(world.app.access.of(user.id).isBarred).toBe(false);
  });

  test("a finding that names a person who is forgotten as another's account is forgotten, too", async () => {
    const { world } = shared;
    const userId = (await plants["linked_alt_on_roster"]?.(world)) ?? "";
    const { id, facts } = findingOf(await run(world, owner, { checks: ["linked_alt_on_roster"] }), "linked_alt_on_roster", userId);
    const other = facts.user_ids.find((one: string) => one !== userId);
    await write(world, (tx) => world.app.roster.dropFindingsNaming(tx, other));
    expect(await world.app.database.read.rosterFinding.count({ where: { id } })).toBe(0);
  });

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
  test("two processes over one database make one night, and a run that the other ended never counts as done", async () => {
    const clock = { now: () => new Date("2026-11-21T03:10:00.000Z") };
    const world = await createWorld({ env: { ...still, ROSTER_AUDIT_HOUR: "3" }, clock });
    for (let count = 0; count < 3; count += 1) await change(world, await hire(world, "viewer"), { status: "loa" });
    const { read } = world.app.database;
    await write(world, ({ db }) => db.rosterAudit.deleteMany({}));
    const nobody = { linkedAccountsOf: () => Promise.resolve([]) } as never;
    const deps = { ...world.app, reach: nobody, cursors: {} as never, clock, logger: pino({ level: "silent" }) };
    const other = createRosterAudits({ ...deps, hour: 3, inactiveDays: 30 });
    const running = () => read.rosterAudit.count({ where: { status: "running" } });
    const first = world.app.rosterAudits.sweep(job());
    while ((await running()) === 0) await new Promise(setImmediate);
    expect((await Promise.all([first, other.sweep(job())])).toSorted((a, b) => a - b)).toEqual([0, 1]);
    const done = await read.rosterAudit.findMany({ where: { trigger: "nightly", status: "done" } });
    expect(done).toHaveLength(1);
    for (const { id, summary } of done) {
      const found = Object.values(summary as Record<string, number>).reduce((sum, count) => sum + count, 0);
      expect(await read.rosterFinding.count({ where: { auditId: id } })).toBe(found);
    }
  });

  test("the nightly audit runs once a day in its hour, never for an empty roster, and old reports are deleted", async () => {
    const time = { now: Date.parse("2026-11-21T02:59:30.000Z") };
    const clock = { now: () => new Date(time.now) };
    const world = await createWorld({ env: { ...still, ROSTER_AUDIT_HOUR: "3" }, clock });
    const nights = () => world.app.database.read.rosterAudit.count({ where: { trigger: "nightly" } });
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
