import { beforeAll, describe, expect, test } from "vitest";
import { auditCodes } from "../../src/features/roster/audit/audit.schema.ts";
import type { User } from "../../sandbox/index.ts";
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

const time = { ahead: 0 };
const shared = shareWorld({ env: still, clock: { now: () => new Date(Date.now() + time.ahead) } });
const later = (): number => (time.ahead += 1000);
let owner: User;
let colleague: User;
beforeAll(async () => {
  const { world } = shared;
  await addPool(world, "main", "{callsign} | {name}");
  await setRole(world, "moderator", { callsign_pool: "main" });
  owner = await hire(world, "owner");
  colleague = await hire(world, "moderator");
  const callsign = await giveCallsign(world, colleague, "main");
  world.guild.setNick(colleague, `${callsign} | Colleague`);
  await world.sandbox.waitFor(() => world.app.access.of(colleague.id).members[0]?.nick !== null, 60_000);
});
const rows = async () => {
  const { read } = shared.world.app.database;
  return { runs: await read.rosterAudit.count(), findings: await read.rosterFinding.count(), entries: await read.auditEntry.count() };
};

describe("what an audit finds", () => {
  const planted: Record<string, string | null> = {};

  test("a healthy roster has no findings", async () => {
    const report = await run(shared.world, owner);
    expect(report.findings).toEqual([]);
    expect(report).toMatchObject({
      status: "done",
      members_scanned: 2,
      findings_total: 0,
      compared_to: null,
      skipped: [],
      stale: false,
      withheld: 0,
    });
    expect(report.checks).toEqual([...auditCodes]);
  });

  test("each of the eighteen kinds is found exactly once where it is planted, and nothing else", async () => {
    const { world } = shared;
    expect(Object.keys(plants).toSorted()).toEqual([...auditCodes].toSorted());
    for (const code of auditCodes) planted[code] = await (plants[code] ?? expect.fail(code))(world);
    // Who planted an expiring permission is on the roster, too.
    later();
    const report = await run(world, owner);
    expect(report.findings).toHaveLength(auditCodes.length);
    expect(Object.fromEntries(report.findings.map((one: any) => [one.code, one.user?.id ?? null]))).toEqual(planted);
    expect(report.summary).toEqual(Object.fromEntries(auditCodes.map((code) => [code, 1])));
    expect(report.compared_to).toMatchObject({ new: 18, resolved: 0, resolved_findings: [] });
    expect(report.findings.every((one: any) => one.is_new)).toBe(true);
    const grave = report.findings.map((one: any) => one.severity);
    expect(grave).toEqual(grave.toSorted((a: string, b: string) => order.indexOf(a) - order.indexOf(b)));
  });

  test("the next run knows since when each stands, and what was resolved", async () => {
    const { world } = shared;
    const before = await run(world, owner);
    const first = findingOf(before, "trial_overdue", planted["trial_overdue"] ?? null);
    await write(world, ({ db }) =>
      db.rosterEntry.update({ where: { userId: planted["trial_overdue"] ?? "" }, data: { status: "active" } }),
    );
    later();
    const after = await run(world, owner);
    expect(after.compared_to).toMatchObject({ id: before.id, new: 0, resolved: 1 });
    expect(after.compared_to.resolved_findings).toMatchObject([{ id: first.id, code: "trial_overdue" }]);
    expect(after.findings_total).toBe(17);
    const { since } = findingOf(after, "left_guild", planted["left_guild"] ?? null);
    expect(since < before.started_at).toBe(true);
    await write(world, ({ db }) => db.rosterEntry.update({ where: { userId: planted["trial_overdue"] ?? "" }, data: { status: "trial" } }));
    later();
    const again = await run(world, owner);
    expect(findingOf(again, "trial_overdue", planted["trial_overdue"] ?? null)).toMatchObject({ is_new: true, since: again.started_at });
    expect(again.compared_to).toMatchObject({ new: 1, resolved: 0 });
  });

  test("runs of other checks or another scope are not compared", async () => {
    const { world } = shared;
    const few = await run(world, owner, { checks: ["trial_overdue", "left_guild"] });
    expect(few.compared_to).toBeNull();
    expect(few.summary).toEqual({ trial_overdue: 1, left_guild: 1 });
    const same = await run(world, owner, { checks: ["left_guild", "trial_overdue"] });
    expect(same.compared_to.id).toBe(few.id);
    const moderators = await run(world, owner, { scope: { role: "moderator" } });
    expect(moderators.compared_to).toBeNull();
    expect(moderators.members_scanned).toBe(3);
    expect(Object.keys(moderators.summary).toSorted()).toEqual(["callsign_missing", "nickname_mismatch"]);
    const pool = await run(world, owner, { scope: { pool: "main" } });
    expect(pool.members_scanned).toBe(3);
    await change(world, colleague, { department: "north" });
    const north = await run(world, owner, { scope: { department: "north" } });
    expect(north).toMatchObject({ members_scanned: 1, findings: [] });
  });

  test("a check, a staff role or a pool that nobody knows is a wrong field, and nothing is kept", async () => {
    const { world } = shared;
    const before = await rows();
    for (const [body, pointer] of [
      [{ checks: ["no_such_check"] }, "/checks/0"],
      [{ scope: { role: "no-such-role" } }, "/scope/role"],
      [{ scope: { pool: "no-such-pool" } }, "/scope/pool"],
      [{ scope: { guild: "x" } }, "/scope/guild"],
    ] as const) {
      const answer = await world.post("/roster/audit", body, { actor: owner });
      expect(answer.status).toBe(422);
      expect(answer.body.errors[0].pointer).toBe(pointer);
    }
    expect(await rows()).toEqual(before);
    expect(await run(world, owner, { scope: { role: "ghost" } })).toMatchObject({ members_scanned: 1 });
  });

  test("a report that is not to be kept leaves nothing behind", async () => {
    const before = await rows();
    const report = await run(shared.world, owner, { save: false });
    expect(report).toMatchObject({ id: null, findings_total: 18 });
    expect(report.findings.every((one: any) => one.id === null)).toBe(true);
    expect(await rows()).toEqual(before);
  });

  test("a request that is sent twice with one key makes one run", async () => {
    const { world } = shared;
    const before = await rows();
    const headers = { "idempotency-key": "audit-twice-1" };
    const first = await world.post("/roster/audit", { checks: ["left_guild"] }, { actor: owner, headers });
    const second = await world.post("/roster/audit", { checks: ["left_guild"] }, { actor: owner, headers });
    expect(second.body).toEqual(first.body);
    expect(second.headers.get("idempotency-replayed")).toBe("true");
    expect((await rows()).runs).toBe(before.runs + 1);
  });

  test("two runs at once: the second is told to come again", async () => {
    const { world } = shared;
    const answers = await Promise.all([1, 2, 3].map(() => world.post("/roster/audit", { save: false }, { actor: owner })));
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused.length).toBeGreaterThan(0);
    for (const { status, body, headers } of refused) {
      expect({ status, code: body.code, retryable: body.retryable }).toEqual({ status: 409, code: "sync_in_progress", retryable: true });
      expect(headers.get("retry-after")).not.toBeNull();
    }
  });

  test("those who lack a permission learn nothing of its kind: not in the list, the counts nor what was resolved", async () => {
    const { world } = shared;
    const senior = await hire(world, "admin");
    const key = await world.makeKey(["roster.audit", "roster.read"]);
    later();
    const body = ok(await world.post("/roster/audit", {}, { actor: senior, key })).data;
    const secret = ["blacklisted_staff", "open_match_on_staff", "stale_authorization", "override_expiring", "linked_alt_on_roster"];
    expect(body.withheld).toBe(secret.length);
    expect(body.findings_total).toBe(13);
    for (const code of secret) {
      expect(body.summary).not.toHaveProperty(code);
      expect(body.findings.some((one: any) => one.code === code)).toBe(false);
    }
    expect(body.compared_to).toMatchObject({ resolved: 0, resolved_findings: [] });
    await write(world, ({ db }) => db.match.updateMany({ data: { status: "dismissed" } }));
    later();
    const after = ok(await world.post("/roster/audit", {}, { actor: senior, key })).data;
    expect(after.compared_to).toMatchObject({ new: 0, resolved: 0, resolved_findings: [] });
    const full = ok(await world.get(`/roster/audits/${after.id}`, { actor: owner })).data;
    expect(full.compared_to).toMatchObject({ resolved: 1, resolved_findings: [{ code: "open_match_on_staff" }] });
    const list = ok(await world.get(`/roster/audits/${body.id}/findings?count=true&limit=200`, { actor: senior, key }));
    expect(list.page.total).toBe(13);
    expect(list.data.some((one: any) => secret.includes(one.code))).toBe(false);
    const runs = ok(await world.get("/roster/audits", { actor: senior, key }));
    expect(runs.data.find((one: any) => one.id === body.id)).toMatchObject({ findings_total: 13, summary: body.summary });
    const events = await world.app.database.read.outboxEvent.findMany({ where: { type: "roster.audited" }, orderBy: { seq: "desc" } });
    expect(events[0]?.data).toEqual({ audit_id: after.id, findings: 13, new: 0, resolved: 0 });
  });

  test("nobody is told what was found about their own accounts", async () => {
    const { world } = shared;
    const admin = await hire(world, "admin");
    const alt = await hire(world, "viewer");
    const [userA = "", userB = ""] = [admin.id, alt.id].toSorted();
    const link = {
      confidence: "confirmed",
      kind: "declared_alt",
      basis: [],
      propagates: false,
      status: "active",
      activeKey: `${userA}:${userB}`,
    };
    await write(world, async ({ db, now }) => {
      await db.accountLink.create({ data: { ...link, userA, userB, createdAt: now, updatedAt: now } });
      await db.blacklistRecord.updateMany({ where: { number: 900 }, data: { subjectId: alt.id } });
    });
    const own = await run(world, admin);
    expect(own.summary).toMatchObject({ linked_alt_on_roster: 1 });
    expect(own.summary).not.toHaveProperty("blacklisted_staff");
    const report = ok(await world.get(`/roster/audits/${own.id}`, { actor: owner })).data;
    expect(report.summary).toMatchObject({ linked_alt_on_roster: 2, blacklisted_staff: 1 });
    const hidden = findingOf(report, "blacklisted_staff", alt.id);
    const answer = ok(await world.post("/roster/audit/acknowledgements", { findings: [hidden.id], reason: "for now" }, { actor: admin }));
    const unknown = { findings: ["0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f"], reason: "for now" };
    const other = ok(await world.post("/roster/audit/acknowledgements", unknown, { actor: admin }));
    expect(answer.data.results).toEqual([{ ...other.data.results[0], id: hidden.id }]);
    expect(await world.app.database.read.rosterAcknowledgement.count()).toBe(0);
  });
});

const order = ["critical", "warning", "info"];

describe("reports", () => {
  test("runs are listed newest first and paged, and a report is read again as it was", async () => {
    const { world } = shared;
    const made = await run(world, owner, { checks: ["left_guild"] });
    const first = ok(await world.get("/roster/audits?limit=2&count=true", { actor: owner }));
    expect(first.data).toHaveLength(2);
    expect(first.page.total).toBe(await world.app.database.read.rosterAudit.count());
    const second = ok(await world.get(`/roster/audits?limit=2&cursor=${first.page.next_cursor}`, { actor: owner }));
    expect(second.data[0].started_at <= first.data[1].started_at).toBe(true);
    expect(first.data.map((one: any) => one.id)).not.toContain(second.data[0].id);
    const again = ok(await world.get(`/roster/audits/${made.id}`, { actor: owner })).data;
    expect(again).toEqual({ state: "present", ...made });
    expect(ok(await world.get("/roster/audits?trigger=nightly", { actor: owner })).data).toEqual([]);
  });

  test("a report that does not exist is absent, never 404, and has no findings", async () => {
    const { world } = shared;
    const id = "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f";
    expect(ok(await world.get(`/roster/audits/${id}`, { actor: owner })).data).toEqual({ state: "absent" });
    expect(ok(await world.get(`/roster/audits/${id}/findings`, { actor: owner })).data).toEqual([]);
  });

  test("findings are filtered and paged, the gravest first", async () => {
    const { world } = shared;
    const { id, findings } = await run(world, owner);
    const path = `/roster/audits/${id}/findings`;
    const seen: string[] = [];
    for (let cursor = ""; ;) {
      const page = ok(await world.get(`${path}?limit=5${cursor}`, { actor: owner }));
      seen.push(...page.data.map((one: any) => one.id));
      if (!page.page.has_more) break;
      cursor = `&cursor=${page.page.next_cursor}`;
    }
    expect(seen).toEqual(findings.map((one: any) => one.id));
    const critical = ok(await world.get(`${path}?severity=critical`, { actor: owner })).data;
    expect(critical.map((one: any) => one.id)).toEqual(
      findings.filter((one: any) => one.severity === "critical").map((one: any) => one.id),
    );
    const { user } = critical[0];
    const theirs = ok(await world.get(`${path}?user_id=${user.id}&code=${critical[0].code}&is_new=false`, { actor: owner })).data;
    expect(theirs.map((one: any) => one.id)).toEqual([critical[0].id]);
    expect(ok(await world.get(`${path}?is_new=true`, { actor: owner })).data).toEqual([]);
    expect((await world.get(`${path}?kind=x`, { actor: owner })).status).toBe(400);
  });

  test("an acknowledged finding stays in every report, marked and counted apart, until it is withdrawn or over", async () => {
    const { world } = shared;
    const before = await run(world, owner);
    const { id, user } = before.findings.find((one: any) => one.code === "trial_overdue");
    const until = new Date(Date.now() + time.ahead + 2 * dayMs).toISOString();
    const past = { findings: [id], reason: "for now", until: "2020-01-01T00:00:00.000Z" };
    expect((await world.post("/roster/audit/acknowledgements", past, { actor: owner })).body.errors[0].pointer).toBe("/until");
    const said = { findings: [id], reason: "made longer by word", until };
    expect(ok(await world.post("/roster/audit/acknowledgements", said, { actor: owner })).data.results).toMatchObject([
      { id, outcome: "acknowledged" },
    ]);
    const after = await run(world, owner);
    expect(after).toMatchObject({ findings_total: before.findings_total, acknowledged_total: 1 });
    const marked = findingOf(after, "trial_overdue", user.id);
    expect(marked.acknowledged).toMatchObject({ by: owner.id, reason: "made longer by word", until });
    const list = (which: string) => world.get(`/roster/audits/${after.id}/findings?acknowledged=${which}&count=true`, { actor: owner });
    expect(ok(await list("true"))).toMatchObject({ data: [{ id: marked.id }], page: { total: 1 } });
    expect(ok(await list("false")).page.total).toBe(before.findings_total - 1);
    time.ahead += 3 * dayMs;
    expect((await run(world, owner)).acknowledged_total).toBe(0);
    const withdraw = () => world.post("/roster/audit/acknowledgements/withdraw", { findings: [marked.id] }, { actor: owner });
    expect(ok(await withdraw()).data.results).toMatchObject([{ outcome: "withdrawn" }]);
    expect(ok(await withdraw()).data.results).toMatchObject([{ outcome: "unchanged" }]);
    expect((await run(world, owner)).acknowledged_total).toBe(0);
    const entries = await world.app.database.read.auditEntry.findMany({
      where: { action: { startsWith: "roster." }, targetKind: "roster_finding" },
    });
    expect(entries.map(({ action }) => action)).toEqual(["roster.acknowledge", "roster.withdraw_acknowledgement"]);
  });

  test("nobody acknowledges what was found about themselves", async () => {
    const { world } = shared;
    const admin = await hire(world, "admin");
    await change(world, admin, { status: "loa" });
    const report = await run(world, admin);
    const { id } = findingOf(report, "loa_overdue", admin.id);
    const answer = ok(await world.post("/roster/audit/acknowledgements", { findings: [id], reason: "it is me" }, { actor: admin }));
    expect(answer.data.results).toMatchObject([{ id, outcome: "refused" }]);
    expect(await world.app.database.read.rosterAcknowledgement.count()).toBe(0);
  });

  test("a run that was cut off has failed, at once and for good", async () => {
    const { world } = shared;
    const [id] = await write(world, async ({ db, now }) => {
      const shape = { scope: {}, checks: { run: [], skipped: [] }, comparison: "x", trigger: "request", summary: {} };
      return [(await db.rosterAudit.create({ data: { ...shape, status: "running", startedAt: now } })).id];
    });
    expect(ok(await world.get(`/roster/audits/${id}`, { actor: owner })).data.status).toBe("failed");
    await world.app.rosterAudits.sweep(job());
    expect(await world.app.database.read.rosterAudit.findUnique({ where: { id } })).toMatchObject({ status: "failed" });
  });

  test("viewers may not audit, and a refused caller changes nothing", async () => {
    const { world } = shared;
    const moderator = await world.staff("moderator");
    const before = await rows();
    expect((await world.post("/roster/audit", {}, { actor: moderator })).status).toBe(403);
    expect((await world.get("/roster/audits", { actor: moderator })).status).toBe(403);
    expect(await rows()).toMatchObject({ runs: before.runs, findings: before.findings });
  });
});

test("while the guilds are not known well enough their checks are left out, and nothing counts as resolved", async () => {
  const { world } = shared;
  const before = await run(world, owner, { save: true });
  const { guildState } = world.app;
  const fresh = guildState.freshness;
  guildState.freshness = () => ({ ...fresh(), stale: true });
  try {
    const stale = await run(world, owner);
    expect(stale.stale).toBe(true);
    expect(stale.skipped).toEqual([
      "left_guild",
      "missing_role",
      "extra_role",
      "role_without_entry",
      "nickname_mismatch",
      "suspended_with_access",
    ]);
    expect(stale.compared_to).toBeNull();
    for (const code of stale.skipped) expect(stale.summary).not.toHaveProperty(code);
  } finally {
    guildState.freshness = fresh;
  }
  const after = await run(world, owner);
  expect(after.compared_to).toMatchObject({ id: before.id, new: 0, resolved: 0 });
});

test("somebody of whom the guilds say nothing has not left", async () => {
  const { world } = shared;
  const user = world.member();
  await employ(world, user, "viewer");
  expect(codesAbout(await run(world, owner, { checks: ["left_guild", "missing_role"] }), user.id)).toEqual([]);
});
