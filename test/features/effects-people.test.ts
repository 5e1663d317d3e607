import { describe, expect, test } from "vitest";
import { gained, inForce } from "./in-force.ts";
import { brief, createPeopleGround, guilds, roles, type PeopleGround } from "./people-ground.ts";
import { freshId } from "./workflows-ground.ts";

const reason = "Ignored the second warning about insults.";

/** An employed moderator in both servers. */
async function moderator(ground: PeopleGround): Promise<string> {
  const user = ground.person(guilds, ["moderator"]);
  await ground.addPool();
  await ground.employ(user);
  return user;
}

const inDays = (ground: PeopleGround, days: number) =>
  new Date(ground.services.clock.now().getTime() + days * 86_400_000).toISOString().slice(0, 10);
const day = (text: unknown): string => String(text).slice(0, 10);

describe("a punishment", () => {
  const punishments = [
    ["note", {}, []],
    ["warning", {}, []],
    ["strike", { points: 2 }, []],
    ["probation", { duration: "P7D" }, ["roster.probation: done"]],
    ["suspension", { duration: "P7D" }, ["staff.suspend: done", "roster.suspend: done"]],
    [
      "demotion",
      { demote_to: "helper" },
      ["roster.demote: done", "discord.roles_remove: pending", "discord.roles_remove: pending", "discord.roles_add: pending"],
    ],
    [
      "termination",
      {},
      ["roster.terminate: done", "callsign.hold: done", "discord.roles_remove: pending", "discord.roles_remove: pending"],
    ],
    ["blacklist_referral", {}, ["draft.blacklist: done"]],
  ] as const;

  test("of every kind does what it says, and its reversal leaves what was before", async () => {
    const ground = await createPeopleGround();
    await ground.addPool();
    for (const [action, more, effects] of punishments) {
      const user = ground.person(guilds, ["moderator"]);
      await ground.employ(user);
      const before = await inForce(ground, [user]);
      const { reference } = await ground.file("punishment", { user_id: user, action, reason, ...more });
      const approved = await ground.approve("punishment", reference);
      const isTold = action !== "note" && action !== "blacklist_referral";
      expect(brief(approved.effects)).toEqual([
        "case.append: done",
        "case.action: done",
        ...effects,
        `notice.subject: ${isTold ? "pending" : "skipped"}`,
        "notice.requester: pending",
      ]);
      expect(gained(await inForce(ground, [user]), before)).not.toEqual({});
      const reversed = await ground.reverse("punishment", reference);
      expect(reversed.effects.filter((effect: { status: string }) => effect.status === "done")).toEqual([]);
      expect(await inForce(ground, [user])).toEqual(before);
      const again = await ground.reverseAgain("punishment", reference);
      expect(again.body.code).toBe("invalid_transition");
      expect(await inForce(ground, [user])).toEqual(before);
    }
  });

  test("that suspends takes the permissions and the place on the roster for as long as it says", async () => {
    const ground = await createPeopleGround();
    const user = await moderator(ground);
    const before = await inForce(ground, [user]);
    const { reference } = await ground.file("punishment", { user_id: user, action: "suspension", duration: "P7D", reason });
    await ground.approve("punishment", reference);
    const { permissions, roster, strikes, cases, ...rest } = gained(await inForce(ground, [user]), before);
    expect(permissions).toMatchObject([{ userId: user, permission: "*", effect: "deny" }]);
    expect(day(permissions?.[0]?.["expiresAt"])).toBe(inDays(ground, 7));
    expect(roster).toMatchObject([{ status: "suspended", statusBefore: "active" }]);
    expect(day(roster?.[0]?.["suspendedUntil"])).toBe(inDays(ground, 7));
    expect([strikes?.length, cases?.length, Object.keys(rest)]).toEqual([1, 1, []]);
  });

  test("of the length the decision says lasts that long", async () => {
    const ground = await createPeopleGround();
    const user = await moderator(ground);
    const { reference } = await ground.file("punishment", { user_id: user, action: "suspension", duration: "P7D", reason });
    await ground.approve("punishment", reference, { duration: "P2D" });
    const { permissions, roster } = await inForce(ground, [user]);
    expect([day(permissions[0]?.["expiresAt"]), day(roster[0]?.["suspendedUntil"])]).toEqual([inDays(ground, 2), inDays(ground, 2)]);
  });

  test("of somebody who is not on the roster leaves the roster alone and says why", async () => {
    const ground = await createPeopleGround();
    const user = ground.person();
    const { reference } = await ground.file("punishment", { user_id: user, action: "termination", reason });
    const { effects } = await ground.approve("punishment", reference);
    expect(brief(effects).slice(2, 5)).toEqual(["roster.terminate: skipped", "callsign.hold: skipped", "discord.roles_remove: skipped"]);
    expect(effects[2].detail).toBe("This person is not on the roster.");
    expect(await ground.database.read.rosterEntry.count()).toBe(0);
    expect((await ground.reverse("punishment", reference)).status).toBe("reversed");
  });

  test("taken back leaves what somebody changed since, and says so", async () => {
    const ground = await createPeopleGround();
    const user = await moderator(ground);
    const { reference } = await ground.file("punishment", { user_id: user, action: "suspension", duration: "P7D", reason });
    await ground.approve("punishment", reference);
    const other = await ground.file("punishment", { user_id: user, action: "termination", reason });
    await ground.approve("punishment", other.reference);
    const { effects } = await ground.reverse("punishment", reference);
    const entry = effects.find((effect: { key: string }) => effect.key === "roster.suspend");
    expect(entry.status).toBe("done");
    expect(entry.detail).toContain("Changed since and left as it is: status");
    expect(await ground.database.read.rosterEntry.findUnique({ where: { userId: user } })).toMatchObject({ status: "terminated" });
  });

  test("that is only tried out shows what it would do and writes nothing", async () => {
    const ground = await createPeopleGround();
    const user = await moderator(ground);
    const before = await inForce(ground, [user]);
    const { reference } = await ground.file("punishment", { user_id: user, action: "suspension", duration: "P7D", reason });
    const written = () => Promise.all([ground.database.read.auditEntry.count(), ground.database.read.rosterEvent.count()]);
    const stood = await written();
    const tried = await ground.decide("punishment", reference, { decision: "approve" }, ground.decider, "?dry_run=true");
    expect(tried.body).toMatchObject({ dry_run: true, blockers: [], status: "approved" });
    expect(brief(tried.body.effects).slice(2, 4)).toEqual(["staff.suspend: done", "roster.suspend: done"]);
    expect(await inForce(ground, [user])).toEqual(before);
    expect(await written()).toEqual(stood);
  });
});

describe("an investigation", () => {
  const interims = [
    ["suspend_permissions", ["*"]],
    ["remove_from_queue", ["workflows.claim", "workflows.review"]],
  ] as const;

  test.each(interims)("with the interim measure %s takes these permissions until it is due, and gives them back", async (interim, keys) => {
    const ground = await createPeopleGround();
    const user = ground.person();
    const before = await inForce(ground, [user]);
    const dueAt = new Date(Date.now() + 3 * 86_400_000).toISOString();
    const { reference } = await ground.file("investigation", {
      subject: { kind: "staff", id: user },
      allegation: reason,
      interim,
      due_at: dueAt,
    });
    const { effects } = await ground.approve("investigation", reference);
    expect(brief(effects).slice(0, 2)).toEqual(["case.open: done", "interim.measure: done"]);
    const { permissions } = gained(await inForce(ground, [user]), before);
    expect(permissions?.map((entry) => [entry["permission"], entry["effect"], entry["expiresAt"]])).toEqual(
      keys.map((key) => [key, "deny", dueAt]),
    );
    await ground.reverse("investigation", reference);
    expect(await inForce(ground, [user])).toEqual(before);
  });

  test("without a date keeps its interim measure two weeks, and a server loses no permissions", async () => {
    const ground = await createPeopleGround();
    const user = ground.person();
    const about = async (subject: object) => {
      const { reference } = await ground.file("investigation", { subject, allegation: reason, interim: "suspend_permissions" });
      return (await ground.approve("investigation", reference)).effects[1];
    };
    expect(await about({ kind: "user", id: user })).toMatchObject({ status: "done" });
    expect(await about({ kind: "server", id: freshId() })).toMatchObject({ status: "skipped" });
    const { permissions } = await inForce(ground, [user]);
    expect(permissions.map((entry) => day(entry["expiresAt"]))).toEqual([inDays(ground, 14)]);
  });

  test("that is confidential is named neither in the entry its subject sees nor in the audit others read", async () => {
    const ground = await createPeopleGround();
    const user = ground.person();
    const body = { subject: { kind: "staff", id: user }, allegation: reason, confidential: true, interim: "suspend_permissions" };
    const { reference } = await ground.file("investigation", body);
    await ground.approve("investigation", reference);
    const entry = await ground.database.read.userPermission.findFirst({ where: { userId: user } });
    const entries = await ground.database.read.auditEntry.findMany({ where: { action: "staff.suspend" }, select: { seq: true } });
    const told = await ground.database.read.auditPayload.findMany({ where: { seq: { in: entries.map(({ seq }) => seq) } } });
    expect(JSON.stringify(entry)).not.toContain(reference);
    expect(told).toHaveLength(1);
    expect(JSON.stringify(told)).not.toContain(reference);
  });
});

describe("a blacklisting of a user", () => {
  const listing = { category: "raid", severity: "high", reason, server_ids: ["700000000000000002"] };

  test("suspends them on the roster and holds their recruitment, and its reversal leaves what was before", async () => {
    const ground = await createPeopleGround();
    const user = await moderator(ground);
    const recruitment = await ground.file("recruitment", { user_id: user, position: "helper" });
    const before = await inForce(ground, [user]);
    const { reference } = await ground.file("blacklist-user", { user_id: user, ...listing, duration: "P30D" });
    const { effects } = await ground.approve("blacklist-user", reference);
    expect(brief(effects).slice(3, 5)).toEqual(["recruitment.hold: done", "roster.suspend: done"]);
    const { holds, roster } = gained(await inForce(ground, [user]), before);
    expect(holds).toEqual([{ reference: recruitment.reference, holdBy: null, holdReference: reference }]);
    expect(roster).toMatchObject([{ status: "suspended" }]);
    expect(day(roster?.[0]?.["suspendedUntil"])).toBe(inDays(ground, 30));
    const held = await ground.view("recruitment", recruitment.reference);
    expect(held.revision).toBe(2);
    const decided = await ground.decide("recruitment", recruitment.reference, { decision: "approve" }, ground.decider);
    expect(decided.status).toBe(409);
    await ground.reverse("blacklist-user", reference);
    expect(await inForce(ground, [user])).toEqual(before);
    const steps = await ground.database.read.workflowStep.findMany({ where: { requestId: recruitment.id }, orderBy: { revision: "asc" } });
    expect(steps.map(({ revision, action }) => [revision, action])).toEqual([
      [1, "create"],
      [2, "hold"],
      [3, "release"],
    ]);
  });

  test("holds the recruitment of a confirmed linked account; two of them hold it until both are reversed", async () => {
    const ground = await createPeopleGround();
    const [user, other] = [ground.person(), ground.person()];
    const link = await ground.file("alt-request", { user_ids: [user, other], confidence: "confirmed", basis: [{ type: "admission" }] });
    await ground.approve("alt-request", link.reference);
    const recruitment = await ground.file("recruitment", { user_id: other, position: "helper" });
    const list = async (id: string) => {
      const { reference } = await ground.file("blacklist-user", { user_id: id, ...listing });
      await ground.approve("blacklist-user", reference);
      return reference;
    };
    const [one, two] = [await list(user), await list(other)];
    const holder = async () => (await inForce(ground, [])).holds.map((hold) => hold["holdReference"]);
    expect(await holder()).toEqual([one]);
    await ground.reverse("blacklist-user", one);
    expect(await holder()).toEqual([two]);
    await ground.reverse("blacklist-user", two);
    expect(await holder()).toEqual([]);
    expect((await ground.view("recruitment", recruitment.reference)).hold).toBeNull();
  });

  test("leaves the hold of a person alone, also when it is taken back", async () => {
    const ground = await createPeopleGround();
    const user = ground.person();
    const recruitment = await ground.file("recruitment", { user_id: user, position: "helper" });
    const hold = await ground.decide("recruitment", recruitment.reference, { decision: "hold", reason: "Wait." }, ground.decider);
    expect(hold.status).toBe(200);
    const before = await inForce(ground, [user]);
    const { reference } = await ground.file("blacklist-user", { user_id: user, ...listing });
    const { effects } = await ground.approve("blacklist-user", reference);
    expect(brief(effects)[3]).toBe("recruitment.hold: skipped");
    await ground.reverse("blacklist-user", reference);
    expect((await inForce(ground, [user])).holds).toEqual(before.holds);
  });
});

describe("a recruitment", () => {
  const body = (user: string, more: object = {}) => ({
    user_id: user,
    position: "moderator",
    trial_days: 14,
    callsign: { pool: "main", preferred: 7 },
    ...more,
  });

  test("puts them on the roster with a callsign and the roles; taken back they have left and the callsign rests", async () => {
    const ground = await createPeopleGround();
    await ground.addPool();
    const user = ground.person([guilds[0]]);
    const before = await inForce(ground, [user]);
    const { reference } = await ground.file("recruitment", body(user));
    const { effects } = await ground.approve("recruitment", reference);
    expect(brief(effects).filter((one) => !one.startsWith("clearance.use"))).toEqual([
      "roster.trial: done",
      "callsign.allocate: done",
      "discord.roles_add: pending",
      "notice.welcome: pending",
      "notice.trial_review: pending",
      "notice.requester: pending",
    ]);
    const { roster, callsigns, outward, ...rest } = gained(await inForce(ground, [user]), before);
    expect(roster).toMatchObject([{ userId: user, status: "trial", staffRole: "moderator" }]);
    expect(day(roster?.[0]?.["trialEndsAt"])).toBe(inDays(ground, 14));
    expect(callsigns).toEqual([{ userId: user, pool: "main", number: 7, callsign: "M-007", state: "assigned" }]);
    // What waits is the reminder that the trial ends.
    expect(outward).toEqual([{ kind: "role_add", userId: user, reason: reference, ...roles.moderator[0] }, { waits: true }]);
    expect(rest).toEqual({});
    const seen = await ground.get(`/workflows/recruitment/${reference}`, { actor: ground.decider });
    expect(seen.body.data.checks.map((check: { key: string }) => check.key)).toContain("roster");
    await ground.reverse("recruitment", reference);
    expect(await inForce(ground, [user])).toEqual(before);
    expect(await ground.database.read.rosterEntry.findUnique({ where: { userId: user } })).toMatchObject({ status: "terminated" });
    expect(await ground.database.read.callsignSlot.findFirst({ where: { userId: user } })).toMatchObject({ state: "held" });
  });

  test("that an appeal overturned comes back whole when the appeal is reversed, with the same callsign", async () => {
    const ground = await createPeopleGround();
    await ground.addPool();
    const user = ground.person([guilds[0]]);
    const { reference } = await ground.file("recruitment", body(user));
    await ground.approve("recruitment", reference);
    const before = await inForce(ground, [user]);
    const appeal = await ground.file("appeal", { target: reference, grounds: "Somebody was passed over for this place." });
    const panel = [ground.staff("owner"), ground.staff("owner")] as const;
    const ruled = await ground.decide("appeal", appeal.reference, { decision: "overturn", reason: "It was not fair to others." }, panel[0]);
    expect(ruled.body).toMatchObject({ status: "approved" });
    expect((await inForce(ground, [user])).roster).toEqual([]);
    const back = await ground.decide(
      "appeal",
      appeal.reference,
      { decision: "reverse", reason: "It was fair after all, as it turned out." },
      panel[1],
    );
    expect(back.body).toMatchObject({ status: "reversed" });
    const after = await inForce(ground, [user]);
    expect(after.callsigns).toEqual(before.callsigns);
    expect(after.roster).toMatchObject([{ userId: user, status: "trial", staffRole: "moderator" }]);
  });

  test("that needs a number of a pool that has none leaves nothing behind", async () => {
    const ground = await createPeopleGround();
    await ground.addPool("main", [[7, 7]]);
    const [user, other] = [ground.person(), ground.person()];
    await ground.employ(other);
    const before = await inForce(ground, [user, other]);
    const { reference, id } = await ground.file("recruitment", body(user));
    const refused = await ground.decide("recruitment", reference, { decision: "approve" }, ground.decider);
    expect(refused.body).toMatchObject({ status: 409, code: "invalid_transition", blockers: [{ code: "pool_exhausted" }] });
    const tried = await ground.decide("recruitment", reference, { decision: "approve" }, ground.decider, "?dry_run=true");
    expect(tried.body.blockers).toMatchObject([{ code: "pool_exhausted" }]);
    expect(await inForce(ground, [user, other])).toEqual(before);
    expect(await ground.database.read.workflowEffect.count({ where: { requestId: id } })).toBe(0);
    expect(await ground.database.read.rosterEntry.count({ where: { userId: user } })).toBe(0);
  });

  test("into a pool nobody made is refused by its name", async () => {
    const ground = await createPeopleGround();
    const { reference } = await ground.file("recruitment", body(ground.person(), { callsign: { pool: "nowhere" } }));
    const refused = await ground.decide("recruitment", reference, { decision: "approve" }, ground.decider);
    expect(refused.body).toMatchObject({ code: "invalid_transition", blockers: [{ code: "unknown_pool" }] });
  });

  test("of somebody on the roster is refused, and no override passes it", async () => {
    const ground = await createPeopleGround();
    const user = await moderator(ground);
    const { reference } = await ground.file("recruitment", { user_id: user, position: "helper" });
    const body = { decision: "approve", override: true, reason: "Nobody else is there to decide it." };
    const refused = await ground.decide("recruitment", reference, body, ground.decider);
    expect(refused.body).toMatchObject({ code: "invalid_transition", blockers: [{ code: "roster_refuses" }] });
    expect(refused.body.blockers).toHaveLength(1);
  });

  test("of somebody who was terminated needs a reason by whoever may put the roster right", async () => {
    const ground = await createPeopleGround();
    const user = await moderator(ground);
    const end = await ground.file("punishment", { user_id: user, action: "termination", reason });
    await ground.approve("punishment", end.reference);
    const { reference } = await ground.file("recruitment", { user_id: user, position: "helper" });
    const senior = ground.staff("senior");
    expect(
      (await ground.decide("recruitment", reference, { decision: "approve", reason: "Come back." }, senior)).body.blockers,
    ).toMatchObject([{ code: "roster_refuses" }]);
    expect((await ground.decide("recruitment", reference, { decision: "approve" }, ground.decider)).status).toBe(409);
    expect((await ground.approve("recruitment", reference)).status).toBe("approved");
    expect((await inForce(ground, [user])).roster).toMatchObject([{ status: "trial", staffRole: "helper" }]);
  });
});
