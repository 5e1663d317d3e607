import { describe, expect, test } from "vitest";
import { createPeopleGround, type PeopleGround } from "./people-ground.ts";
import { roleRules } from "../../src/features/permissions/resolve.ts";
import { freshId } from "./workflows-ground.ts";

const reason = "Ignored the second warning about insults.";
const grounds = "The account was stolen on the day of the raid.";
const said = { reason: "We looked at all of it again." };

/** Somebody who may appeal for themselves. */
async function granted(ground: PeopleGround, userId: string): Promise<string> {
  await ground.write((db, now) =>
    db.authorization.create({
      data: { userId, status: "active", scopes: ["identify", "guilds"], purposes: ["appeal"], consentVersion: "1", grantedAt: now },
    }),
  );
  return userId;
}

/** Staff roles with ranks. */
function rankRoles(ground: PeopleGround, ranks: Readonly<Record<string, number>>): void {
  const rules = roleRules("", "viewer", new Set(), new Set());
  const role = (key: string) =>
    Object.hasOwn(ranks, key) ? { key, name: key, rank: ranks[key], level: "viewer", rules, discord: [] } : undefined;
  Object.assign(ground.services.access, { role });
}
const secret = (subject: string, more: object = {}) => ({
  subject,
  allegation: "Shared internal screenshots outside.",
  confidential: true,
  ...more,
});

describe("a confidential investigation", () => {
  test("is not found out by appealing against its number", async () => {
    const ground = await createPeopleGround();
    const user = await granted(ground, freshId());
    const { reference } = await ground.file("investigation", secret(user));
    const answer = await ground.post("/workflows/appeal", { target: reference, grounds }, { actor: user });
    const nothing = await ground.post("/workflows/appeal", { target: "INV-REQ-999999", grounds }, { actor: user });
    expect([answer.status, answer.body.errors]).toEqual([422, nothing.body.errors]);
    await ground.approve("investigation", reference);
    const opened = await ground.database.read.case.findFirstOrThrow({ where: { originReference: reference } });
    const named = await ground.post("/workflows/appeal", { target: opened.id, grounds }, { actor: user });
    expect(named.status).toBe(422);
  });

  test("is not touched by an appeal that somebody decides who may not know of it", async () => {
    const ground = await createPeopleGround();
    const { reference } = await ground.file("investigation", secret(freshId()));
    await ground.approve("investigation", reference);
    const appeal = await ground.file("appeal", { target: reference, grounds });
    const actor = ground.staff("senior");
    for (const target of [actor]) {
      const known = await ground.get(`/workflows/investigation/${reference}`, { actor: target });
      expect(known.status).toBe(404);
    }
    const tried = await ground.decide("appeal", appeal.reference, { decision: "overturn", ...said }, actor, "?dry_run=true");
    expect(tried.body.blockers).toEqual([expect.objectContaining({ code: "target_missing" })]);
    const decided = await ground.decide("appeal", appeal.reference, { decision: "overturn", ...said }, actor);
    expect(decided.status).toBe(409);
    expect((await ground.view("investigation", reference)).status).toBe("approved");
  });

  test("does not pass its evidence or its name on to a request that everybody reads", async () => {
    const ground = await createPeopleGround();
    const user = freshId();
    const hidden = await ground.file("investigation", secret(user, { evidence: ["A witness wrote to us."] }));
    const open = await ground.file("investigation", { subject: freshId(), allegation: "Shared internal screenshots outside." });
    for (const [from, kept] of [
      [hidden, open],
      [open, hidden],
    ] as const) {
      const body = { decision: "void", duplicate_of: kept.reference };
      const answer = await ground.decide("investigation", from.reference, body, ground.decider);
      expect([answer.status, answer.body.errors?.[0]?.pointer]).toEqual([422, "/duplicate_of"]);
    }
    expect((await ground.view("investigation", open.reference)).evidence).toEqual([]);
  });

  test("is nothing to a subject who joined it before it became confidential", async () => {
    const ground = await createPeopleGround();
    const user = ground.staff("moderator");
    const body = { subject: user, allegation: "Shared internal screenshots outside." };
    const { reference } = await ground.file("investigation", body);
    const joined = await ground.post("/workflows/investigation", { ...body, on_duplicate: "join" }, { actor: user });
    expect(joined.body.joined).toBe(true);
    const amended = await ground.decide(
      "investigation",
      reference,
      { decision: "amend", payload: { confidential: true } },
      ground.requester,
    );
    expect(amended.status, JSON.stringify(amended.body)).toBe(200);
    expect((await ground.get(`/workflows/investigation/${reference}`, { actor: user })).status).toBe(404);
    expect((await ground.get("/workflows", { actor: user })).body.data).toEqual([]);
  });

  test("is nothing to a further account of whom it is about", async () => {
    const ground = await createPeopleGround();
    const [user, twin] = [freshId(), ground.staff("owner")];
    const { reference } = await ground.file("investigation", secret(user));
    expect((await ground.get(`/workflows/investigation/${reference}`, { actor: twin })).status).toBe(200);
    const linking = await ground.file("alt-request", {
      user_ids: [user, twin],
      confidence: "confirmed",
      basis: [{ type: "behaviour", note: "Same phrases, never online together." }],
    });
    await ground.approve("alt-request", linking.reference);
    expect((await ground.get(`/workflows/investigation/${reference}`, { actor: twin })).status).toBe(404);
    const list = await ground.get("/workflows?type=investigation", { actor: twin });
    expect(list.body.data).toEqual([]);
  });
});

test("nobody makes a punishment permanent alone by the length they decide", async () => {
  const ground = await createPeopleGround();
  const { reference } = await ground.file("punishment", { user_id: freshId(), action: "suspension", duration: "P7D", reason });
  const body = { decision: "approve", duration: null, ...said };
  const tried = await ground.decide("punishment", reference, body, ground.decider, "?dry_run=true");
  const first = await ground.decide("punishment", reference, body, ground.decider);
  expect([tried.body.blockers?.length, first.status]).toEqual([1, 422]);
  expect(first.body.errors[0]).toMatchObject({ pointer: "/duration", code: "needs_more_people" });
  expect((await ground.view("punishment", reference)).status).toBe("pending");
  const shorter = await ground.decide("punishment", reference, { ...body, duration: "P3D" }, ground.decider);
  expect(shorter.body.status).toBe("approved");
});

describe("a position", () => {
  test("of one's own rank or above is given by nobody but an owner", async () => {
    const ground = await createPeopleGround();
    rankRoles(ground, { admin: 80, helper: 10 });
    const senior = ground.staff("senior");
    const user = freshId();
    const old = String((BigInt(Date.now() - 400 * 86_400_000 - 1_420_070_400_000) << 22n) + (BigInt(user) & 0xffffn));
    const { reference } = await ground.file("recruitment", { user_id: old, position: "admin" });
    const body = { decision: "approve", ...said };
    const refused = await ground.decide("recruitment", reference, body, senior);
    expect([refused.status, refused.body.blockers?.[0]?.code]).toEqual([409, "hierarchy_violation"]);
    const forced = await ground.decide("recruitment", reference, { ...body, override: true }, senior);
    expect(forced.status).not.toBe(200);
    expect(await ground.database.read.rosterEntry.count()).toBe(0);
    expect((await ground.decide("recruitment", reference, body, ground.decider)).status).toBe(200);
  });

  test("above one's own is not what a demotion leads to", async () => {
    const ground = await createPeopleGround();
    rankRoles(ground, { admin: 80, moderator: 40, helper: 10 });
    await ground.addPool();
    const user = freshId();
    await ground.employ(user);
    const { reference } = await ground.file("punishment", { user_id: user, action: "demotion", demote_to: "admin", reason });
    const body = { decision: "approve", ...said };
    const refused = await ground.decide("punishment", reference, body, ground.staff("senior"));
    expect([refused.status, refused.body.blockers?.[0]?.code]).toEqual([409, "hierarchy_violation"]);
    const upward = await ground.decide("punishment", reference, body, ground.decider);
    expect([upward.status, upward.body.blockers?.[0]?.code]).toEqual([409, "no_demotion"]);
  });

  test("in the plan of a merger is not decided by whom it is for, nor by their equals", async () => {
    const ground = await createPeopleGround();
    const [mover, above] = [ground.staff("admin"), ground.staff("owner")];
    const plan = (user: string, role: string) => ({
      source_server_id: freshId(),
      target_server_id: freshId(),
      effective_at: "2100-01-01T00:00:00.000Z",
      staff_plan: [{ user_id: user, to_role: role }],
    });
    const body = { decision: "approve", ...said };
    const own = await ground.file("server-merge", plan(mover, "admin"));
    expect((await ground.decide("server-merge", own.reference, body, mover)).body.code).toBe("conflict_of_interest");
    const higher = await ground.file("server-merge", plan(above, "release"));
    expect((await ground.decide("server-merge", higher.reference, body, mover)).body.code).toBe("hierarchy_violation");
  });
});

describe("an appeal", () => {
  test("against a strike is decided by none of those who approved the punishment", async () => {
    const ground = await createPeopleGround();
    const user = freshId();
    const { reference } = await ground.file("punishment", { user_id: user, action: "strike", points: 2, duration: null, reason });
    const [first, second] = [ground.staff("owner"), ground.staff("owner")];
    for (const actor of [first, second]) await ground.decide("punishment", reference, { decision: "approve", ...said }, actor);
    const strike = await ground.database.read.caseAction.findFirstOrThrow({
      where: { originReference: reference },
      include: { case: true },
    });
    for (const target of [strike.id, strike.caseId]) {
      const appeal = await ground.file("appeal", { target, grounds, user_id: user });
      for (const actor of [first, second]) {
        const answer = await ground.decide("appeal", appeal.reference, { decision: "overturn", ...said }, actor);
        expect([answer.status, answer.body.code]).toEqual([403, "conflict_of_interest"]);
      }
    }
  });

  test("against an appeal is decided neither by who decided what that was against nor by whom that was about", async () => {
    const ground = await createPeopleGround();
    const user = ground.staff("owner");
    const [decider, second, third] = [ground.staff("owner"), ground.staff("owner"), ground.staff("owner")];
    const { reference } = await ground.file("punishment", { user_id: user, action: "strike", points: 2, reason });
    await ground.decide("punishment", reference, { decision: "approve", ...said }, decider);
    const appeal = await ground.file("appeal", { target: reference, grounds });
    await ground.decide("appeal", appeal.reference, { decision: "overturn", ...said }, second);
    const again = await ground.file("appeal", { target: appeal.reference, grounds });
    for (const actor of [decider, second, user]) {
      const answer = await ground.decide("appeal", again.reference, { decision: "overturn", ...said }, actor);
      expect([answer.status, answer.body.code]).toEqual([403, "conflict_of_interest"]);
    }
    expect((await ground.decide("appeal", again.reference, { decision: "overturn", ...said }, third)).status).toBe(200);
  });
});

test("whoever is partial reads nothing that is for those who decide, whatever they hold", async () => {
  const ground = await createPeopleGround();
  const user = ground.staff("owner");
  const requester = ground.staff("owner");
  const filed = await ground.post("/workflows/punishment", { user_id: user, action: "strike", points: 2, reason }, { actor: requester });
  const body = { decision: "approve", ...said, reason_internal: "The witness is their neighbour." };
  await ground.decide("punishment", filed.body.reference, body, ground.decider);
  const read = async (actor: string) => (await ground.get(`/workflows/punishment/${filed.body.reference}`, { actor })).body.data;
  for (const actor of [user, requester]) {
    const view = await read(actor);
    expect(view.decision).not.toHaveProperty("reason_internal");
    expect(view.approvals.votes[0]).not.toHaveProperty("note");
    expect(JSON.stringify(view)).not.toContain("neighbour");
    const [row] = (await ground.get("/workflows?type=punishment", { actor })).body.data;
    expect(JSON.stringify(row)).not.toContain("neighbour");
  }
  expect((await read(ground.staff("owner"))).decision.reason_internal).toContain("neighbour");
});

test("a key that files nothing changes and withdraws nothing for whoever filed it", async () => {
  const ground = await createPeopleGround();
  const { reference } = await ground.file("punishment", { user_id: freshId(), action: "strike", points: 2, reason });
  const ask = (body: object, scopes: string) =>
    ground.post(`/workflows/punishment/${reference}/decision`, body, { actor: ground.requester, scopes });
  for (const scopes of ["workflows.claim", "workflows.recruitment.decide", "workflows.read"])
    expect((await ask({ decision: "withdraw" }, scopes)).status).toBe(403);
  expect((await ground.view("punishment", reference)).status).toBe("pending");
  expect((await ask({ decision: "withdraw" }, "workflows.punishment.create")).status).toBe(200);
});
