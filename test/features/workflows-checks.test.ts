import { describe, expect, test } from "vitest";
import { createChecks } from "../../src/features/workflows/checks/checks.ts";
import { worded } from "../../src/kit/say.ts";
import { createPeopleGround, guilds, type PeopleGround } from "./people-ground.ts";
import { freshId } from "./workflows-ground.ts";

const day = 86_400_000;
const reason = "Led the raid of last night.";

async function createCheckGround() {
  const ground = await createPeopleGround();
  const { services } = ground;
  const reach = { linkedAccountsOf: linkedOver(ground) };
  const checks = createChecks({ ...services, reach });
  const all = async (userId: string, reference?: string) => checks.of(ground.database.read, userId, services.clock.now(), reference);
  return {
    ...ground,
    all,
    check: async (userId: string, key: string) => {
      const found = (await all(userId)).find((check) => check.key === key);
      return found === undefined ? undefined : [found.result, worded(found.detail)];
    },
    inDays: (days: number) => new Date(services.clock.now().getTime() + days * day),
  };
}

/** Confirmed links as they are stored, one step far. */
function linkedOver(ground: PeopleGround) {
  return async (_db: unknown, userId: string): Promise<string[]> => {
    const rows = await ground.database.read.accountLink.findMany({
      where: { status: "active", confidence: "confirmed", OR: [{ userA: userId }, { userB: userId }] },
    });
    return rows.map(({ userA, userB }) => (userA === userId ? userB : userA));
  };
}

async function link(ground: PeopleGround, userIds: string[], confidence: string) {
  const { reference } = await ground.file("alt-request", { user_ids: userIds, confidence, basis: [{ type: "admission" }] });
  await ground.approve("alt-request", reference);
}

test("Somebody of whom nothing is known passes every check but the authorization, in one order", async () => {
  const ground = await createCheckGround();
  const found = await ground.all(freshId());
  expect(found.map(({ key, result }) => [key, result])).toEqual([
    ["authorization", "warn"],
    ["matches", "pass"],
    ["blacklist", "pass"],
    ["prior_denials", "pass"],
    ["no_poach", "pass"],
    ["account_age", "pass"],
    ["linked_accounts", "pass"],
    ["roster", "pass"],
  ]);
});

test("An authorization passes while it is in force and fresh", async () => {
  const ground = await createCheckGround();
  const cases = [
    [{ status: "active", refreshedAt: ground.inDays(-6) }, "pass"],
    [{ status: "active", refreshedAt: ground.inDays(-8) }, "warn"],
    [{ status: "active", refreshedAt: ground.inDays(-1), expiresAt: ground.inDays(-0.5) }, "warn"],
    [{ status: "revoked", refreshedAt: ground.inDays(-1) }, "warn"],
    [{ status: "reauthorization_required", refreshedAt: ground.inDays(-1) }, "warn"],
  ] as const;
  for (const [grant, result] of cases) {
    const userId = freshId();
    const data = { userId, scopes: [], purposes: [], consentVersion: "2", grantedAt: ground.inDays(-20), ...grant };
    await ground.write((db) => db.authorization.create({ data }));
    expect([grant, (await ground.check(userId, "authorization"))?.[0]]).toEqual([grant, result]);
  }
});

test("Open matches warn, grave ones fail, closed ones and those with a check of their own do not count", async () => {
  const ground = await createCheckGround();
  const match = async (fields: { severity: string; status?: string; kind?: string }) => {
    const userId = freshId();
    const now = ground.inDays(0);
    const data = {
      kind: "server_blacklist",
      recordId: freshId(),
      recordReference: "BL-000001",
      recordRevision: 1,
      confidence: 100,
      status: "open",
      why: [],
      firstSeenAt: now,
      lastSeenAt: now,
    };
    await ground.write((db) => db.match.create({ data: { ...data, ...fields, userId } }));
    return (await ground.check(userId, "matches"))?.[0];
  };
  expect(await match({ severity: "low" })).toBe("warn");
  expect(await match({ severity: "medium", status: "grace" })).toBe("warn");
  expect(await match({ severity: "high" })).toBe("fail");
  expect(await match({ severity: "critical", status: "confirmed" })).toBe("fail");
  for (const status of ["dismissed", "exempt", "cleared", "expired", "void"])
    expect(await match({ severity: "critical", status })).toBe("pass");
  for (const kind of ["no_poach", "prior_denial"]) expect(await match({ severity: "high", kind })).toBe("pass");
});

test("A record in force fails, also through a confirmed linked account, and names nobody else", async () => {
  const ground = await createCheckGround();
  const [user, other, stranger] = [freshId(), freshId(), freshId()];
  await link(ground, [user, other], "confirmed");
  await link(ground, [other, stranger], "probable");
  const { reference } = await ground.file("blacklist-user", {
    user_id: other,
    category: "raid",
    severity: "high",
    reason,
    server_ids: [guilds[0]],
    duration: "P30D",
  });
  await ground.approve("blacklist-user", reference);
  expect(await ground.check(other, "blacklist")).toEqual(["fail", "They are on the blacklist."]);
  expect(await ground.check(user, "blacklist")).toEqual(["fail", "A confirmed linked account of theirs is on the blacklist."]);
  expect((await ground.check(stranger, "blacklist"))?.[0]).toBe("pass");
  expect(JSON.stringify(await ground.all(user))).not.toContain(other);
  expect(await ground.check(user, "linked_accounts")).toEqual(["warn", "Linked accounts: 1 confirmed, 0 probable."]);
  expect(await ground.check(stranger, "linked_accounts")).toEqual(["warn", "Linked accounts: 0 confirmed, 1 probable."]);
  ground.pass(31 * 86_400);
  expect((await ground.check(other, "blacklist"))?.[0]).toBe("pass");
});

test("Earlier denials warn with their number and the newest; the request itself is none", async () => {
  const ground = await createCheckGround();
  const user = freshId();
  const deny = async () => {
    const { reference } = await ground.file("recruitment", { user_id: user, position: "helper" });
    expect(
      (await ground.decide("recruitment", reference, { decision: "deny", reason: "Too little time for it." }, ground.decider)).status,
    ).toBe(200);
    ground.pass(31 * 86_400);
    return reference;
  };
  const first = await deny();
  const second = await deny();
  expect(await ground.check(user, "prior_denials")).toEqual(["warn", `Denied before: 2, last in ${second}.`]);
  const asked = (await ground.all(user, second)).find(({ key }) => key === "prior_denials");
  expect(worded(asked?.detail ?? "")).toBe(`Denied before: 1, last in ${first}.`);
});

test("A young account warns, and never keeps anybody out by itself", async () => {
  const ground = await createCheckGround();
  const made = (days: number) => ((BigInt(ground.inDays(-days).getTime()) - 1_420_070_400_000n) << 22n).toString();
  const results = [];
  for (const days of [0, 6.9, 7.1, 29.9, 30.1, 400]) results.push((await ground.check(made(days), "account_age"))?.[0]);
  expect(results).toEqual(["warn", "warn", "warn", "warn", "pass", "pass"]);
});

test("Somebody on the roster fails, somebody who was terminated warns, somebody who left passes", async () => {
  const ground = await createCheckGround();
  await ground.addPool();
  const user = ground.person();
  await ground.employ(user);
  expect(await ground.check(user, "roster")).toEqual(["fail", "They are on the roster already: active."]);
  const become = (status: string) => ground.write((db) => db.rosterEntry.update({ where: { userId: user }, data: { status } }));
  await become("terminated");
  expect((await ground.check(user, "roster"))?.[0]).toBe("warn");
  await become("resigned");
  expect((await ground.check(user, "roster"))?.[0]).toBe("pass");
});

describe("a no-poach agreement", () => {
  /** An agreement of a server with ours, and somebody who is in it. */
  async function agreed(ground: Awaited<ReturnType<typeof createCheckGround>>, { covers = "both", relation = "member" } = {}) {
    const [server, user] = [freshId(), freshId()];
    const body = { kind: "agreement", party_server_ids: [server, guilds[0]], covers, cooling_off_days: 10 };
    const { reference } = await ground.file("poach", body);
    await ground.approve("poach", reference);
    const { serverHash } = await ground.database.read.agreementParty.findFirstOrThrow({ where: { serverId: server } });
    const seen = { userId: user, serverHash, relation, firstSeenAt: ground.inDays(-40), lastSeenAt: ground.inDays(0) };
    await ground.write((db) => db.userServer.create({ data: seen }));
    const clear = async (to: string = guilds[0]) => {
      const asked = await ground.file("poach", {
        kind: "clearance",
        user_id: user,
        from_server_id: server,
        to_server_id: to,
        valid_until: ground.inDays(5).toISOString(),
      });
      await ground.approve("poach", asked.reference);
      return asked.reference;
    };
    const leave = (leftAt: Date) => ground.write((db) => db.userServer.updateMany({ where: { userId: user }, data: { leftAt } }));
    return { user, server, clear, leave };
  }

  test("fails for whoever is in the other server, until they left as long ago as it says", async () => {
    const ground = await createCheckGround();
    const { user, leave } = await agreed(ground);
    expect(await ground.check(user, "no_poach")).toEqual(["fail", "An agreement between servers keeps us from recruiting them."]);
    await leave(ground.inDays(-9));
    expect((await ground.check(user, "no_poach"))?.[0]).toBe("fail");
    await leave(ground.inDays(-11));
    expect((await ground.check(user, "no_poach"))?.[0]).toBe("pass");
    expect((await ground.check(freshId(), "no_poach"))?.[0]).toBe("pass");
  });

  test("of the staff does not concern members, and the other way round", async () => {
    const ground = await createCheckGround();
    const results = [];
    for (const covers of ["staff", "members", "both"])
      for (const relation of ["manager", "member"])
        results.push((await ground.check((await agreed(ground, { covers, relation })).user, "no_poach"))?.[0]);
    expect(results).toEqual(["fail", "pass", "pass", "fail", "fail", "fail"]);
  });

  test("passes with a clearance for this person, this server and ours, while it is valid", async () => {
    const ground = await createCheckGround();
    const { user, clear } = await agreed(ground);
    await clear(freshId());
    expect((await ground.check(user, "no_poach"))?.[0]).toBe("fail");
    const reference = await clear();
    expect(await ground.check(user, "no_poach")).toEqual(["pass", `Cleared by ${reference}.`]);
    const other = await agreed(ground);
    expect((await ground.check(other.user, "no_poach"))?.[0]).toBe("fail");
    ground.pass(6 * 86_400);
    expect((await ground.check(user, "no_poach"))?.[0]).toBe("fail");
  });

  test("is known from an open match, too", async () => {
    const ground = await createCheckGround();
    const { server } = await agreed(ground);
    const { id } = await ground.database.read.agreement.findFirstOrThrow();
    const user = freshId();
    const now = ground.inDays(0);
    const data = {
      userId: user,
      kind: "no_poach",
      recordId: id,
      recordReference: "PCH",
      recordRevision: 1,
      serverId: server,
      severity: "medium",
      confidence: 100,
      why: [],
      firstSeenAt: now,
      lastSeenAt: now,
    };
    await ground.write((db) => db.match.create({ data: { ...data, status: "open" } }));
    expect((await ground.check(user, "no_poach"))?.[0]).toBe("fail");
    await ground.write((db) => db.match.updateMany({ where: { userId: user }, data: { status: "dismissed" } }));
    expect((await ground.check(user, "no_poach"))?.[0]).toBe("pass");
  });
});

describe("the approval of a recruitment", () => {
  test("checks again: a failed check is in its way, break-glass passes it, and the fresh checks are kept", async () => {
    const ground = await createCheckGround();
    const user = freshId();
    const { reference } = await ground.file("recruitment", { user_id: user, position: "helper" });
    const resultOf = async () => {
      const { checks } = (await ground.get(`/workflows/recruitment/${reference}`, { actor: ground.decider })).body.data;
      return checks.find(({ key }: { key: string }) => key === "blacklist").result;
    };
    expect(await resultOf()).toBe("pass");
    const list = await ground.file("blacklist-user", {
      user_id: user,
      category: "raid",
      severity: "medium",
      reason,
      server_ids: [guilds[0]],
    });
    await ground.approve("blacklist-user", list.reference);
    await ground.decide("recruitment", reference, { decision: "release", reason: "Looked into." }, ground.decider);
    const audited = await ground.database.read.auditEntry.count();
    const refused = await ground.decide("recruitment", reference, { decision: "approve" }, ground.decider);
    expect(refused.body).toMatchObject({
      status: 409,
      code: "invalid_transition",
      blockers: [{ code: "check_failed", detail: "They are on the blacklist." }],
    });
    const tried = await ground.decide("recruitment", reference, { decision: "approve" }, ground.decider, "?dry_run=true");
    expect(tried.body).toMatchObject({ dry_run: true, blockers: [{ code: "check_failed", waivable: true }] });
    expect([await resultOf(), await ground.database.read.auditEntry.count()]).toEqual(["pass", audited]);
    expect(await ground.database.read.rosterEntry.count({ where: { userId: user } })).toBe(0);
    const override = { decision: "approve", override: true, reason: "It was somebody else with a stolen account." };
    const passed = await ground.decide("recruitment", reference, override, ground.decider);
    expect(passed.body).toMatchObject({ status: "approved" });
    expect(await resultOf()).toBe("fail");
    const entry = await ground.database.read.auditEntry.findFirst({ where: { action: "workflow.approve", targetReference: reference } });
    expect(entry).toMatchObject({ breakGlass: true });
  });

  test("without the right to break the glass stays refused", async () => {
    const ground = await createCheckGround();
    const user = freshId();
    const listing = { user_id: user, category: "raid", severity: "medium", reason, server_ids: [guilds[0]] };
    await ground.approve("blacklist-user", (await ground.file("blacklist-user", listing)).reference);
    const { reference } = await ground.file("recruitment", { user_id: user, position: "helper" });
    const override = { decision: "approve", override: true, reason: "It was somebody else with a stolen account." };
    const answer = await ground.decide("recruitment", reference, override, ground.staff("senior"));
    expect(answer.body).toMatchObject({ status: 409, blockers: [{ code: "check_failed" }] });
    expect(await ground.database.read.rosterEntry.count()).toBe(0);
  });
});
