import { describe, expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { inForce } from "./in-force.ts";
import { brief, createPeopleGround, guilds, type PeopleGround } from "./people-ground.ts";
import { freshId } from "./workflows-ground.ts";

const reason = "Ignored the second warning about insults.";
const grounds = "The account was stolen on the day of the raid.";
const listing = { category: "raid", severity: "high", scope: "network", reason };

/** Two people who have decided nothing yet. */
const panel = (ground: PeopleGround) => [ground.staff("owner"), ground.staff("owner")] as const;

async function appeal(ground: PeopleGround, target: string, more: object = {}): Promise<string> {
  return (await ground.file("appeal", { target, grounds, ...more })).reference;
}
async function decide(ground: PeopleGround, reference: string, body: object, actor: string) {
  const answer = await ground.decide("appeal", reference, { reason: "We looked at all of it again.", ...body }, actor);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body;
}
async function listed(ground: PeopleGround, user: string) {
  const { reference } = await ground.file("blacklist-user", { user_id: user, ...listing });
  await ground.approve("blacklist-user", reference);
  const record = await ground.database.read.blacklistRecord.findFirstOrThrow({ where: { originReference: reference } });
  return { reference, record, name: `BL-${record.number.toString().padStart(6, "0")}` };
}
async function struck(ground: PeopleGround, user: string, points = 2) {
  const { reference } = await ground.file("punishment", { user_id: user, action: "strike", points, reason });
  await ground.approve("punishment", reference);
  const strike = await ground.database.read.caseAction.findFirstOrThrow({ where: { originReference: reference }, include: { case: true } });
  return { reference, strike, name: `CASE-${strike.case.number.toString().padStart(6, "0")}` };
}
const strikes = async (ground: PeopleGround) =>
  (await ground.database.read.caseAction.findMany({ orderBy: [{ at: "asc" }, { id: "asc" }] })).map(({ points, voidedAt }) => [
    points,
    voidedAt === null,
  ]);

describe("an appeal that overturns", () => {
  test("a request takes back all it did, and its own reversal puts all of it in force again", async () => {
    const ground = await createPeopleGround();
    await ground.addPool();
    const user = ground.person(guilds, ["moderator"]);
    await ground.employ(user);
    const before = await inForce(ground, [user]);
    const { reference } = await listed(ground, user);
    const after = await inForce(ground, [user]);
    expect(after).not.toEqual(before);
    const [decider, other] = panel(ground);
    const filed = await appeal(ground, reference, { user_id: user });
    const answer = await decide(ground, filed, { decision: "overturn" }, decider);
    expect([answer.status, ...brief(answer.effects)]).toEqual(["approved", "appeal.ruling: done", expect.any(String)]);
    expect(await inForce(ground, [user])).toEqual(before);
    expect(await ground.view("blacklist-user", reference)).toMatchObject({ status: "reversed", decision: { reversal: { by: decider } } });

    expect((await decide(ground, filed, { decision: "reverse" }, other)).status).toBe("reversed");
    expect(await inForce(ground, [user])).toEqual(after);
    const view = await ground.view("blacklist-user", reference);
    expect([view.status, view.decision.outcome, view.decision.reversal]).toEqual(["approved", "approved", undefined]);
    // What was put in force again can be reversed as ever.
    await ground.reverse("blacklist-user", reference);
    expect(await inForce(ground, [user])).toEqual(before);
  });

  test("a recruitment whose reversal is taken back counts from the day they joined, and so does its trial", async () => {
    const ground = await createPeopleGround();
    const user = ground.person();
    const { reference } = await ground.file("recruitment", { user_id: user, position: "helper", trial_days: 14 });
    await ground.approve("recruitment", reference, { override: true, reason: "Nobody else has the time to look at it." });
    const joined = await inForce(ground, [user]);
    expect(joined.roster).toMatchObject([{ status: "trial", joinedAt: expect.any(String), trialEndsAt: expect.any(String) }]);
    const filed = await appeal(ground, reference, { user_id: user });
    const [decider, other] = panel(ground);
    await decide(ground, filed, { decision: "overturn" }, decider);
    expect(await inForce(ground, [user])).not.toEqual(joined);
    await decide(ground, filed, { decision: "reverse" }, other);
    expect(await inForce(ground, [user])).toEqual(joined);
  });

  test.each(["number", "id"] as const)("a record by its %s reverses the request it comes from", async (by) => {
    const ground = await createPeopleGround();
    const user = freshId();
    const before = await inForce(ground, [user]);
    const { reference, record, name } = await listed(ground, user);
    const after = await inForce(ground, [user]);
    const [decider, other] = panel(ground);
    const filed = await appeal(ground, by === "id" ? record.id : name.toLowerCase(), { user_id: user });
    await decide(ground, filed, { decision: "overturn" }, decider);
    expect(await inForce(ground, [user])).toEqual(before);
    expect((await ground.view("blacklist-user", reference)).status).toBe("reversed");
    await decide(ground, filed, { decision: "reverse" }, other);
    expect(await inForce(ground, [user])).toEqual(after);
  });

  test("a record made without a request revokes it, and gives it back", async () => {
    const ground = await createPeopleGround();
    const user = freshId();
    const made = await ground.post(
      "/blacklist",
      { kind: "user", subject_id: user, category: "raid", severity: "high", reason_public: reason },
      { actor: ground.requester },
    );
    expect(made.status).toBe(201);
    const after = await inForce(ground, [user]);
    const [decider, other] = panel(ground);
    const filed = await appeal(ground, made.body.data.number, { user_id: user });
    await decide(ground, filed, { decision: "overturn" }, decider);
    expect(await ground.database.read.blacklistRecord.findFirst()).toMatchObject({ status: "revoked", activeKey: null });
    await decide(ground, filed, { decision: "reverse" }, other);
    expect(await inForce(ground, [user])).toEqual(after);
  });

  test("a case lets what was done to the appellant count no more; a strike, that one alone", async () => {
    const ground = await createPeopleGround();
    const user = freshId();
    const first = await struck(ground, user, 1);
    const { name } = await struck(ground, user, 2);
    const [decider, other] = panel(ground);
    const one = await appeal(ground, first.strike.id, { user_id: user });
    await decide(ground, one, { decision: "overturn" }, decider);
    expect(await strikes(ground)).toEqual([
      [1, false],
      [2, true],
    ]);
    const all = await appeal(ground, name, { user_id: user });
    await decide(ground, all, { decision: "overturn" }, decider);
    expect(await strikes(ground)).toEqual([
      [1, false],
      [2, false],
    ]);
    await decide(ground, all, { decision: "reverse" }, other);
    expect(await strikes(ground)).toEqual([
      [1, false],
      [2, true],
    ]);
    await decide(ground, one, { decision: "reverse" }, other);
    expect(await strikes(ground)).toEqual([
      [1, true],
      [2, true],
    ]);
  });
});

describe("an appeal that reduces", () => {
  test("makes a record milder and shorter, and gives it back as it was", async () => {
    const ground = await createPeopleGround();
    const user = freshId();
    const { reference, record } = await listed(ground, user);
    const after = await inForce(ground, [user]);
    const [decider, other] = panel(ground);
    const filed = await appeal(ground, reference, { user_id: user, desired_outcome: "reduce" });
    const how = await ground.decide("appeal", filed, { decision: "approve", reason }, decider);
    expect([how.status, how.body.errors[0].code]).toEqual([422, "required"]);
    await decide(ground, filed, { decision: "reduce", new_severity: "low", new_duration: "P10D" }, decider);
    const reduced = await ground.database.read.blacklistRecord.findUniqueOrThrow({ where: { id: record.id } });
    const end = ground.services.clock.now().getTime() + 10 * 86_400_000;
    expect([reduced.severity, reduced.status, Math.abs((reduced.expiresAt?.getTime() ?? 0) - end) < 60_000]).toEqual([
      "low",
      "active",
      true,
    ]);
    expect((await ground.view("blacklist-user", reference)).status).toBe("approved");
    await decide(ground, filed, { decision: "reverse" }, other);
    expect(await inForce(ground, [user])).toEqual(after);
  });

  test("takes points from a strike, and leaves other strikes alone", async () => {
    const ground = await createPeopleGround();
    const user = freshId();
    const { reference } = await struck(ground, user, 3);
    await struck(ground, user, 1);
    const [decider, other] = panel(ground);
    const filed = await appeal(ground, reference, { user_id: user });
    await decide(ground, filed, { decision: "reduce", new_points: 1 }, decider);
    expect(await strikes(ground)).toEqual([
      [1, true],
      [1, true],
    ]);
    await decide(ground, filed, { decision: "reverse" }, other);
    expect(await strikes(ground)).toEqual([
      [3, true],
      [1, true],
    ]);
  });
});

describe("an appeal that goes back", () => {
  test("to those who denied a request has it decided anew with the instructions; its reversal restores the denial", async () => {
    const ground = await createPeopleGround();
    const user = freshId();
    const { reference } = await ground.file("blacklist-user", { user_id: user, ...listing });
    await ground.decide("blacklist-user", reference, { decision: "deny", reason }, ground.decider);
    const [decider, other] = panel(ground);
    const filed = await appeal(ground, reference);
    await decide(ground, filed, { decision: "remit", instructions: "Look at the second clip as well." }, decider);
    expect(await ground.view("blacklist-user", reference)).toMatchObject({ status: "pending", decision: null, payload_revision: 2 });
    expect(await ground.database.read.workflowComment.findMany()).toMatchObject([
      { visibility: "internal", authorId: decider, body: expect.stringContaining("second clip") },
    ]);
    await decide(ground, filed, { decision: "reverse" }, other);
    expect(await ground.view("blacklist-user", reference)).toMatchObject({
      status: "denied",
      decision: { outcome: "denied", by: ground.decider },
      payload_revision: 1,
    });
  });

  test("is for requests alone, and one that was approved stands meanwhile", async () => {
    const ground = await createPeopleGround();
    const user = freshId();
    const { reference, name } = await listed(ground, user);
    const before = await inForce(ground, [user]);
    const [decider] = panel(ground);
    const record = await appeal(ground, name, { user_id: user });
    const refused = await ground.decide("appeal", record, { decision: "remit", reason }, decider);
    expect([refused.status, refused.body.code, refused.body.blockers[0].code]).toEqual([409, "invalid_transition", "not_remittable"]);
    const request = await appeal(ground, reference, { user_id: user });
    await decide(ground, request, { decision: "remit" }, decider);
    expect(await inForce(ground, [user])).toEqual(before);
    expect((await ground.view("blacklist-user", reference)).status).toBe("approved");
  });
});

test("an appeal that is upheld changes nothing", async () => {
  const ground = await createPeopleGround();
  const user = freshId();
  const { reference } = await listed(ground, user);
  const before = await inForce(ground, [user]);
  const filed = await appeal(ground, reference, { user_id: user });
  const answer = await decide(ground, filed, { decision: "uphold" }, panel(ground)[0]);
  expect([answer.status, answer.final]).toEqual(["denied", true]);
  expect(await inForce(ground, [user])).toEqual(before);
  expect((await ground.view("blacklist-user", reference)).status).toBe("approved");
});

test("an appeal against nothing is not granted", async () => {
  const ground = await createPeopleGround();
  const filed = await appeal(ground, "BLU-REQ-999999");
  const refused = await ground.decide("appeal", filed, { decision: "overturn", reason }, panel(ground)[0]);
  expect([refused.status, refused.body.blockers]).toEqual([409, [expect.objectContaining({ code: "target_missing" })]]);
});

describe("who takes part", () => {
  test("never somebody who voted on what is appealed against, nor whom it is about, with any account", async () => {
    const ground = await createPeopleGround();
    const [user, linked] = [freshId(), ground.staff("owner")];
    await ground.database.write(systemCall("job", "test"), (tx) =>
      ground.services.links.createLinkInTx(tx, {
        userIds: [user, linked],
        confidence: "confirmed",
        kind: "declared_alt",
        basis: [],
        propagates: false,
        primaryUserId: null,
        reviewAt: new Date(tx.now.getTime() + 1e9),
        originReference: "ALT-REQ-900000",
        permission: "workflows.alt-request.decide",
      }),
    );
    const { reference, name } = await listed(ground, user);
    const voted = (await ground.view("blacklist-user", reference)).approvals.votes.map(({ actor }: { actor: { id: string } }) => actor.id);
    expect(voted).toHaveLength(2);
    for (const target of [reference, name]) {
      const filed = await appeal(ground, target);
      for (const actor of [...voted, linked, ground.requester]) {
        const refused = await ground.decide("appeal", filed, { decision: "overturn", reason }, actor);
        expect([refused.status, refused.body.code]).toEqual([403, "conflict_of_interest"]);
        expect((await ground.get(`/workflows/appeal/${filed}`, { actor })).body.data.allowed_actions).not.toContain("approve");
      }
    }
    expect((await ground.view("blacklist-user", reference)).status).toBe("approved");
  });

  test("somebody who is not staff appeals against what is about them, once they have granted access, and sees only that", async () => {
    const ground = await createPeopleGround();
    const [user, other] = [freshId(), freshId()];
    const { reference, name } = await listed(ground, user);
    const foreign = await listed(ground, other);
    const file = (body: object) => ground.post("/workflows/appeal", { grounds, ...body }, { actor: user });
    const refused = await file({ target: reference });
    expect([refused.status, refused.body.code]).toEqual([409, "authorization_required"]);
    await ground.write((db, now) =>
      db.authorization.create({
        data: { userId: user, status: "active", scopes: ["identify", "guilds"], purposes: ["appeal"], consentVersion: "1", grantedAt: now },
      }),
    );
    for (const target of [foreign.reference, foreign.name, "BLU-REQ-999999"]) {
      const unknown = await file({ target });
      expect([unknown.status, unknown.body.errors?.[0]]).toEqual([
        422,
        expect.objectContaining({ pointer: "/target", code: "unknown_reference" }),
      ]);
    }
    expect((await file({ target: reference, user_id: other })).status).toBe(403);
    expect(await ground.database.read.workflowRequest.count({ where: { type: "appeal" } })).toBe(0);

    const filed = await file({ target: name });
    expect(filed.status).toBe(201);
    const again = await file({ target: reference });
    expect([again.status, again.body.code, again.body.reference]).toEqual([409, "duplicate_open", filed.body.reference]);
    const mine = await ground.get(`/workflows/appeal/${filed.body.reference}`, { actor: user });
    expect([mine.status, mine.body.data.status, mine.body.data.requester.id]).toEqual([200, "pending", user]);
    for (const path of [`/workflows/blacklist-user/${reference}`, `/workflows/blacklist-user/${foreign.reference}`])
      expect((await ground.get(path, { actor: user })).status).toBe(404);
    const list = await ground.get("/workflows", { actor: user });
    expect(list.body.data.map((row: { reference: string }) => row.reference)).toEqual([filed.body.reference]);
    const decided = await ground.decide("appeal", filed.body.reference, { decision: "overturn", reason }, user);
    expect(decided.status).toBe(403);
    const withdrawn = await ground.decide("appeal", filed.body.reference, { decision: "withdraw" }, user);
    expect([withdrawn.status, withdrawn.body.status]).toEqual([200, "withdrawn"]);
  });
});
