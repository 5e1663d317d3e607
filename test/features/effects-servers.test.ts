import { describe, expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { inForce } from "./in-force.ts";
import { brief, createPeopleGround, guilds, type PeopleGround } from "./people-ground.ts";
import { freshId } from "./workflows-ground.ts";

const day = 86_400;
const reason = "Both owners asked for it at the meeting.";
const inDays = (ground: PeopleGround, days: number): string =>
  new Date(ground.services.clock.now().getTime() + days * day * 1000).toISOString();
const deliver = (ground: PeopleGround) => ground.services.deliveries.deliverDue(systemCall("job", "test"));
const effectOf = async (ground: PeopleGround, kind: string, key: string, effect: string) =>
  (await ground.view(kind, key)).effects.find((one: { key: string }) => one.key === effect);
const agreements = async (ground: PeopleGround) => {
  const rows = await ground.database.read.agreement.findMany({ include: { parties: true }, orderBy: { createdAt: "asc" } });
  return rows.map(({ status, parties }) => [status, parties.map(({ serverId }) => serverId).toSorted()]);
};
const agree = async (ground: PeopleGround, parties: readonly string[], more: object = {}) => {
  const { reference } = await ground.file("poach", { kind: "agreement", party_server_ids: parties, reason, ...more });
  return { reference, answer: await ground.approve("poach", reference) };
};
const report = async (ground: PeopleGround, server: string, daysAgo: number) => {
  const body = { kind: "report", offending_server_id: server, victim_server_id: freshId(), occurred_at: inDays(ground, -daysAgo), reason };
  const { reference } = await ground.file("poach", body);
  return { reference, answer: await ground.approve("poach", reference) };
};

describe("a merger", () => {
  async function filed(ground: PeopleGround, more: object = {}) {
    const [source, target, owner] = [freshId(), freshId(), freshId()];
    const consents = [source, target].map((server) => ({ server_id: server, user_id: owner, at: inDays(ground, -1) }));
    const body = {
      source_server_id: source,
      target_server_id: target,
      owner_consents: consents,
      effective_at: inDays(ground, 2),
      reason,
      ...more,
    };
    const { reference } = await ground.file("server-merge", body);
    return { source, target, owner, reference };
  }

  test("waits for its date, is carried out once, and is taken back whole", async () => {
    const ground = await createPeopleGround();
    await ground.addPool();
    const [moves, leaves] = [ground.person(guilds, ["moderator"]), ground.person(guilds, ["moderator"])];
    for (const user of [moves, leaves]) await ground.employ(user);
    const plan = [
      { user_id: moves, to_role: "helper" },
      { user_id: leaves, to_role: "release" },
      { user_id: freshId(), to_role: "helper" },
    ];
    const { source, target, reference } = await filed(ground, { staff_plan: plan });
    const third = freshId();
    await agree(ground, [source, third]);
    await agree(ground, [source, target]);
    // Registering stays, so both stand there before.
    await ground.write((db, now) =>
      db.server.createMany({
        data: [source, target].map((id) => ({ id, hash: id, status: "known", contacts: [], tags: [], createdAt: now, updatedAt: now })),
      }),
    );
    const before = await inForce(ground, [moves, leaves]);
    await ground.approve("server-merge", reference);
    await deliver(ground);
    expect(await effectOf(ground, "server-merge", reference, "server.merge")).toMatchObject({ status: "pending", attempts: 0 });
    expect(await ground.database.read.server.count({ where: { status: "merged" } })).toBe(0);

    ground.pass(2 * day + 1);
    await deliver(ground);
    await deliver(ground);
    const merged = await effectOf(ground, "server-merge", reference, "server.merge");
    expect(merged).toMatchObject({ status: "done", attempts: 1, last_error: null, due_at: null });
    expect(merged.detail).toContain("2 of 3 staff members moved");
    expect(await ground.database.read.server.findUnique({ where: { id: source } })).toMatchObject({ status: "merged", mergedInto: target });
    expect(await agreements(ground)).toEqual([
      ["active", [target, third].toSorted()],
      ["ended", [source, target].toSorted()],
    ]);
    const roster = await ground.database.read.rosterEntry.findMany({ orderBy: { userId: "asc" } });
    expect(roster.map(({ userId, status, staffRole }) => [userId, status, staffRole])).toEqual([
      [moves, "active", "helper"],
      [leaves, "transferred", "moderator"],
    ]);

    await ground.reverse("server-merge", reference);
    expect(await inForce(ground, [moves, leaves])).toEqual(before);
  });

  test("that is taken back before its date never happens", async () => {
    const ground = await createPeopleGround();
    const { reference } = await filed(ground);
    await ground.approve("server-merge", reference);
    const { effects } = await ground.reverse("server-merge", reference);
    expect(brief(effects)).toContain("server.merge: skipped");
    ground.pass(3 * day);
    await deliver(ground);
    expect(await effectOf(ground, "server-merge", reference, "server.merge")).toMatchObject({ status: "skipped", due_at: null });
    expect(await ground.database.read.server.count()).toBe(0);
  });

  test("is called off when what it was planned with has changed", async () => {
    const ground = await createPeopleGround();
    const { source, reference } = await filed(ground);
    await ground.approve("server-merge", reference);
    await agree(ground, [source, freshId()]);
    const before = await inForce(ground, []);
    ground.pass(3 * day);
    await deliver(ground);
    const failed = await effectOf(ground, "server-merge", reference, "server.merge");
    expect(failed).toMatchObject({ status: "failed", due_at: null });
    expect(failed.last_error).toContain("changed since the plan was frozen");
    const { outward: _before, ...held } = before;
    const { outward: _after, ...holds } = await inForce(ground, []);
    expect(holds).toEqual(held);
  });

  test("that was carried out more than 30 days ago is not taken back, and says so", async () => {
    const ground = await createPeopleGround();
    const { source, target, reference } = await filed(ground);
    await ground.approve("server-merge", reference);
    ground.pass(3 * day);
    await deliver(ground);
    ground.pass(31 * day);
    const reversal = { decision: "reverse", reason: "The servers want to part again.", override: true };
    const refused = await ground.decide("server-merge", reference, reversal, ground.staff("owner"));
    expect(refused.body).toMatchObject({ status: 409, detail: expect.stringContaining("more than 30 days ago") });
    expect((await ground.view("server-merge", reference)).status).toBe("approved");
    expect(await ground.database.read.server.findUnique({ where: { id: source } })).toMatchObject({ mergedInto: target });
  });

  test("needs the consent of both owners, of those the register names", async () => {
    const ground = await createPeopleGround();
    const decide = (key: string, body: object = {}) =>
      ground.decide("server-merge", key, { decision: "approve", ...body }, ground.decider, "?dry_run=true");
    const missing = await filed(ground, { owner_consents: [] });
    const other = await filed(ground);
    await ground.write((db, now) =>
      db.server.create({
        data: {
          id: other.source,
          hash: other.source,
          status: "known",
          ownerUserId: freshId(),
          contacts: [],
          tags: [],
          createdAt: now,
          updatedAt: now,
        },
      }),
    );
    const second = ground.staff("owner");
    for (const { reference } of [missing, other]) await ground.decide("server-merge", reference, { decision: "approve" }, second);
    const codes = async (key: string) => (await decide(key)).body.blockers.map(({ code }: { code: string }) => code);
    expect(await codes(missing.reference)).toEqual(["owner_consent_missing", "owner_consent_missing"]);
    expect(await codes(other.reference)).toEqual(["owner_consent_missing"]);
    const refused = await ground.decide("server-merge", other.reference, { decision: "approve" }, ground.decider);
    expect([refused.status, refused.body.code]).toEqual([409, "invalid_transition"]);
    expect((await ground.view("server-merge", other.reference)).status).toBe("in_review");
    const waived = await decide(other.reference, { override: true, reason: "The owner left Discord a year ago." });
    expect(waived.body).toMatchObject({ status: "approved", blockers: [] });
  });
});

describe("agreements", () => {
  test("are made between their parties and ended by the reversal; one that is over already is not made", async () => {
    const ground = await createPeopleGround();
    const parties = [freshId(), freshId()].toSorted();
    const { reference } = await agree(ground, parties);
    expect(await agreements(ground)).toEqual([["active", parties]]);
    await ground.reverse("poach", reference);
    expect(await agreements(ground)).toEqual([["ended", parties]]);
    const over = await agree(ground, [freshId(), freshId()], { ends_at: inDays(ground, -1) });
    expect(brief(over.answer.effects)).toContain("agreement.create: skipped");
    expect(await ground.database.read.agreement.count()).toBe(1);
  });

  test("are suspended while one of their servers is listed, and resume with the last reversal", async () => {
    const ground = await createPeopleGround();
    const [one, other] = [freshId(), freshId()];
    const parties = [one, other].toSorted();
    await agree(ground, parties);
    const references: string[] = [];
    for (const server of parties) {
      const { reference } = await ground.file("blacklist-server", {
        server_id: server,
        category: "raiding",
        severity: "high",
        member_policy: "flag",
        reason,
      });
      await ground.approve("blacklist-server", reference);
      references.push(reference);
      expect(await agreements(ground)).toEqual([["suspended", parties]]);
    }
    await ground.reverse("blacklist-server", references[0] ?? "");
    expect(await agreements(ground)).toEqual([["suspended", parties]]);
    await ground.reverse("blacklist-server", references[1] ?? "");
    expect(await agreements(ground)).toEqual([["active", parties]]);
    expect(await ground.database.read.agreement.findFirst()).toMatchObject({ suspendedBy: null });
  });
});

describe("incidents", () => {
  test("suggest a blacklist request from the third in 180 days on, once, and a reversal takes both back", async () => {
    const ground = await createPeopleGround();
    const server = freshId();
    await report(ground, server, 200);
    await report(ground, server, 100);
    await report(ground, server, 2);
    expect(await ground.database.read.requestDraft.count()).toBe(0);
    const third = await report(ground, server, 1);
    expect(brief(third.answer.effects)).toContain("draft.blacklist: done");
    const [draft] = await ground.database.read.requestDraft.findMany();
    expect(draft).toMatchObject({ type: "blacklist-server", subjectId: server, status: "open", causeReference: third.reference });
    const fourth = await report(ground, server, 0);
    expect(brief(fourth.answer.effects)).not.toContain("draft.blacklist: done");
    await ground.reverse("poach", fourth.reference);
    await ground.reverse("poach", third.reference);
    expect(await ground.database.read.requestDraft.findMany()).toMatchObject([{ status: "dismissed" }]);
    const rows = await ground.database.read.poachIncident.findMany({ orderBy: { createdAt: "asc" } });
    expect(rows.map(({ status }) => status)).toEqual(["active", "active", "active", "voided", "voided"]);
  });
});

describe("a clearance", () => {
  test("is used up by a recruitment and given back with it; one that was revoked meanwhile stays so", async () => {
    const ground = await createPeopleGround();
    const user = ground.person();
    const clear = async () => {
      const { reference } = await ground.file("poach", {
        kind: "clearance",
        user_id: user,
        from_server_id: freshId(),
        to_server_id: freshId(),
        reason,
      });
      await ground.approve("poach", reference);
      return reference;
    };
    const state = async () =>
      (await ground.database.read.poachClearance.findMany({ orderBy: { createdAt: "asc" } })).map(({ status, usedReference }) => [
        status,
        usedReference,
      ]);
    const cleared = await clear();
    const { reference } = await ground.file("recruitment", { user_id: user, position: "moderator" });
    const { effects } = await ground.approve("recruitment", reference);
    expect(brief(effects)).toContain("clearance.use: done");
    expect(await state()).toEqual([["used", reference]]);
    await ground.reverse("recruitment", reference);
    expect(await state()).toEqual([["active", null]]);
    await ground.reverse("poach", cleared);
    expect(await state()).toEqual([["revoked", null]]);
    await ground.reverseAgain("poach", cleared);
    expect(await state()).toEqual([["revoked", null]]);
  });
});
