// @module-tag postgres
// @module-tag slow
import { describe, expect, inject, test } from "vitest";
import { webCall, systemCall } from "../../src/kernel/call.ts";
import type { User } from "../../sandbox/index.ts";
import { answerAtDiscord, createWorld, press, visit, type World } from "./authorization.setup.ts";

const staffId = "100000000000000001";
const revoke = (world: World, user: Pick<User, "id">, body?: object, headers: Record<string, string> = {}) =>
  world.delete(`/users/${user.id}/authorization`, body, { actor: staffId, headers });
const sweep = (world: World) => world.rooms.authorization.sweep(systemCall("job", "sweep"));

/** A person who has granted access, is in one server, and matches a record about it. */
async function createGranted() {
  const world = await createWorld();
  const ann = world.sandbox.createUser("ann");
  const raid = world.sandbox.createGuild({ name: "Raid Base", withBot: false });
  raid.addMember(ann);
  await world.record({ kind: "server", subjectId: raid.id });
  await world.grant(ann);
  expect(await world.database.read.match.count({ where: { status: { notIn: ["void", "cleared", "expired"] } } })).toBe(1);
  return { world, ann };
}

async function keepsNothing(world: World, user: User): Promise<void> {
  const { read } = world.database;
  const grant = await read.authorization.findUnique({ where: { userId: user.id } });
  expect({ ...grant }).toMatchObject({ status: "revoked", accessToken: null, refreshToken: null, tokenExpiresAt: null });
  expect(await read.userServer.count({ where: { userId: user.id } })).toBe(0);
  expect(await read.match.count({ where: { userId: user.id, closedAt: null } })).toBe(0);
}

/** Every table that could hold a token in clear. */
async function stored(world: World): Promise<string> {
  const { read } = world.database;
  const rows = [await read.tokenRevocation.findMany(), await read.authorization.findMany(), await read.auditPayload.findMany()];
  return JSON.stringify(rows, (_, value: unknown) => (typeof value === "bigint" ? value.toString() : value));
}

describe("taking a grant back", () => {
  test("deletes tokens, servers and matches at once, tells Discord, and is done once", async () => {
    const { world, ann } = await createGranted();
    const tag = (await world.get(`/users/${ann.id}/authorization`)).headers.get("etag");
    const answer = await revoke(world, ann, { reason: "They asked us to." });
    expect(answer.status).toBe(200);
    expect(answer.body.data).toMatchObject({ status: "revoked", servers_seen_count: 0, next_refresh_at: null, revision: 2 });
    expect(answer.headers.get("etag")).toMatch(/^"v2-/);
    expect(answer.headers.get("etag")).not.toBe(tag);
    await keepsNothing(world, ann);
    expect(world.sandbox.revokedTokens).toHaveLength(1);
    expect(await world.database.read.tokenRevocation.count()).toBe(0);
    expect((await world.actions()).at(-1)).toBe("authorization.revoke");
    expect((await world.events()).at(-1)).toEqual({ type: "authorization.revoked", user_id: ann.id });
    expect((await world.get(`/users/${ann.id}/authorization`)).body.data.status).toBe("revoked");
    expect((await world.get(`/users/${ann.id}/servers`)).status).toBe(409);

    const [entries, events] = [(await world.actions()).length, (await world.events()).length];
    const again = await revoke(world, ann);
    expect(again.status).toBe(409);
    expect(again.body).toMatchObject({ code: "invalid_transition", from: "revoked", action: "revoke", allowed: [] });
    expect([(await world.actions()).length, (await world.events()).length]).toEqual([entries, events]);
    expect(world.sandbox.revokedTokens).toHaveLength(1);
  });

  test("the reason is kept in the audit, and the deletion in the journal of deletions", async () => {
    const { world, ann } = await createGranted();
    await revoke(world, ann, { reason: "They asked us to." });
    const entry = await world.database.read.auditEntry.findFirstOrThrow({ where: { action: "authorization.revoke" } });
    const payload = await world.database.read.auditPayload.findFirst({ where: { seq: entry.seq } });
    expect(JSON.stringify({ ...payload, seq: 0 })).toContain("They asked us to.");
    expect(await world.database.read.erasure.findMany()).toMatchObject([{ kind: "revocation" }]);
  });

  test("a person nobody knows has nothing to take back", async () => {
    const world = await createWorld();
    const answer = await revoke(world, { id: "999999999999999999" });
    expect(answer.status).toBe(409);
    expect(answer.body).toMatchObject({ code: "invalid_transition", from: "none" });
    expect(await world.actions()).toEqual([]);
    expect(await world.events()).toEqual([]);
    expect(await world.database.read.erasure.count()).toBe(0);
  });

  test("calls off open sessions, whose addresses then have ended", async () => {
    const world = await createWorld();
    const ann = world.sandbox.createUser("ann");
    const address = await world.session(ann);
    const started = await press(address, "start");
    const answer = await revoke(world, ann);
    expect(answer.body.data).toMatchObject({ status: "none", revision: 0, last_session: { status: "cancelled", failure: null } });
    expect(answer.body.data).not.toHaveProperty("session");
    expect((await visit(address)).status).toBe(410);
    expect((await visit(await answerAtDiscord(started.location, ann), started.cookie)).location).not.toBe("/authorize/result/done");
    expect(await world.database.read.authorization.count()).toBe(0);
    expect(await world.actions()).toEqual(["authorization_session.create", "authorization_session.cancel", "authorization.revoke"]);
    expect((await revoke(world, ann)).status).toBe(409);
  });

  test("is the person's own to do, and not a stranger's", async () => {
    const { world, ann } = await createGranted();
    const ben = world.sandbox.createUser("ben");
    const entries = (await world.actions()).length;
    await expect(world.rooms.authorization.revoke(webCall("r1", ben.id), ann.id, {})).rejects.toMatchObject({
      code: "acting_user_not_staff",
    });
    await expect(world.rooms.authorization.revoke(webCall("r2"), ann.id, {})).rejects.toMatchObject({ code: "permission_denied" });
    expect((await world.delete(`/users/${ann.id}/authorization`, {}, { actor: staffId, scopes: ["users.refresh"] })).status).toBe(403);
    expect((await world.actions()).length).toBe(entries);
    expect((await world.get(`/users/${ann.id}/authorization`)).body.data.status).toBe("active");
    expect(await world.rooms.authorization.revoke(webCall("r3", ann.id), ann.id, {})).toMatchObject({ status: "revoked" });
    await keepsNothing(world, ann);
  });

  test("the same idempotency key gives the first answer, and Discord is told once", async () => {
    const { world, ann } = await createGranted();
    const first = await revoke(world, ann, {}, { "idempotency-key": "revoke-key-1" });
    await world.grant(ann);
    const second = await revoke(world, ann, {}, { "idempotency-key": "revoke-key-1" });
    expect(second.body).toEqual(first.body);
    expect(second.headers.get("idempotency-replayed")).toBe("true");
    expect(world.sandbox.revokedTokens).toHaveLength(1);
    expect((await world.get(`/users/${ann.id}/authorization`)).body.data.status).toBe("active");
  });

  test("an older state than the present one is refused, and nothing changes", async () => {
    const { world, ann } = await createGranted();
    const answer = await revoke(world, ann, {}, { "if-match": '"v7"' });
    expect([answer.status, answer.body.code]).toEqual([412, "precondition_failed"]);
    expect(world.sandbox.revokedTokens).toEqual([]);
    const tag = (await world.get(`/users/${ann.id}/authorization`)).headers.get("etag") ?? "";
    expect((await revoke(world, ann, {}, { "if-match": tag })).status).toBe(200);
  });

  test("a grant that Discord ended is taken back, too: what was stored of it goes", async () => {
    const { world, ann } = await createGranted();
    world.sandbox.withdrawConsent(ann);
    expect((await world.post(`/users/${ann.id}/refresh`, {}, { actor: staffId })).status).toBe(409);
    expect(await world.database.read.userServer.count()).toBe(1);
    expect((await revoke(world, ann)).status).toBe(200);
    await keepsNothing(world, ann);
    expect(await world.database.read.tokenRevocation.count()).toBe(0);
  });
});

describe("while Discord is down", () => {
  test("the token waits encrypted, and is told after about 1, 2, 4 … minutes", async () => {
    const { world, ann } = await createGranted();
    const fault = world.sandbox.faults.oauth({ route: "revoke", status: 503, times: 100 });
    expect((await revoke(world, ann)).status).toBe(200);
    await keepsNothing(world, ann);
    const tokens =
      JSON.stringify(world.sandbox.exchanges.map(({ responseBody }) => responseBody)).match(/sandbox-(?:access|refresh)-[\w-]+/g) ?? [];
    expect(tokens.length).toBeGreaterThanOrEqual(2);
    const text = await stored(world);
    for (const token of tokens) expect(text.includes(token)).toBe(false);
    expect(await world.database.read.tokenRevocation.findMany()).toMatchObject([{ attempts: 1 }]);
    expect(JSON.stringify(await world.database.read.tokenRevocation.findMany())).not.toContain(ann.id);

    for (const minutes of [1, 2, 4]) {
      const hits = fault.hits;
      world.clock.forward(minutes * 42);
      await sweep(world);
      expect(fault.hits).toBe(hits);
      world.clock.forward(minutes * 34);
      expect((await sweep(world)).revocations_told).toBe(0);
      expect(fault.hits).toBe(hits + 1);
    }
    fault.clear();
    world.clock.forward(3600);
    await world.restart();
    expect((await sweep(world)).revocations_told).toBe(1);
    expect(world.sandbox.revokedTokens).toHaveLength(1);
    expect(await world.database.read.tokenRevocation.count()).toBe(0);
  });

  test("what could not be told until the token ended by itself is forgotten", async () => {
    const { world, ann } = await createGranted();
    const fault = world.sandbox.faults.oauth({ route: "revoke", status: 503, times: 1 });
    await revoke(world, ann);
    fault.clear();
    world.clock.forward(604_801);
    expect((await sweep(world)).revocations_told).toBe(0);
    expect(await world.database.read.tokenRevocation.count()).toBe(0);
    expect(world.sandbox.revokedTokens).toEqual([]);
  });

  test("a new grant is not ended by what was still to be told of the old one", async () => {
    const { world, ann } = await createGranted();
    const fault = world.sandbox.faults.oauth({ route: "revoke", status: 503, times: 1 });
    await revoke(world, ann);
    fault.clear();
    expect(await world.database.read.tokenRevocation.count()).toBe(1);
    await world.grant(ann);
    world.clock.forward(3600);
    expect((await sweep(world)).revocations_told).toBe(0);
    expect(world.sandbox.revokedTokens).toEqual([]);
    expect((await world.post(`/users/${ann.id}/refresh`, {}, { actor: staffId })).status).toBe(200);
  });

  test("a token whose key is gone is forgotten, and the job goes on", async () => {
    const { world, ann } = await createGranted();
    world.sandbox.faults.oauth({ route: "revoke", status: 503, times: 1 });
    await revoke(world, ann);
    await world.session(ann, { ttl_minutes: 5 });
    await world.restart({ encryptionKeys: new Map([["k2", Buffer.alloc(32, 7)]]) });
    world.clock.forward(3600);
    expect(await sweep(world)).toMatchObject({ sessions_expired: 1 });
    expect(await world.database.read.tokenRevocation.count()).toBe(0);
    expect(world.sandbox.revokedTokens).toEqual([]);
  });
});

describe("what runs while a grant is taken back loses", () => {
  const answered = (world: World, path: string, from: number) =>
    world.sandbox.waitFor(() => world.sandbox.exchanges.slice(from).some((exchange) => exchange.path.endsWith(path)));

  test("a refresh that waits for the list of servers stores nothing", async () => {
    const { world, ann } = await createGranted();
    const from = world.sandbox.exchanges.length;
    const release = world.holdDiscord();
    const refreshing = world.post(`/users/${ann.id}/refresh`, {}, { actor: staffId });
    await answered(world, "/users/@me/guilds", from);
    expect((await revoke(world, ann)).status).toBe(200);
    release();
    expect((await refreshing).body.code).toBe("authorization_required");
    await keepsNothing(world, ann);
    expect(await world.actions()).not.toContain("authorization.refresh");
  });

  test("a refresh that waits for fresh tokens does not store them, and they are ended", async () => {
    const { world, ann } = await createGranted();
    world.clock.forward(604_800);
    world.sandbox.expireAccessTokens(ann);
    const from = world.sandbox.exchanges.length;
    const release = world.holdDiscord();
    const refreshing = world.post(`/users/${ann.id}/refresh`, {}, { actor: staffId });
    await answered(world, "/oauth2/token", from);
    expect((await revoke(world, ann)).status).toBe(200);
    expect(world.sandbox.revokedTokens).toEqual([]);
    release();
    expect((await refreshing).body.code).toBe("authorization_required");
    await keepsNothing(world, ann);
    expect(world.sandbox.revokedTokens).toHaveLength(1);
  });

  test("a person on the way back from Discord gives no grant, and the fresh tokens are ended", async () => {
    const { world, ann } = await createGranted();
    const started = await press(await world.session(ann), "start");
    const back = await answerAtDiscord(started.location, ann);
    const from = world.sandbox.exchanges.length;
    const release = world.holdDiscord();
    const returning = visit(back, started.cookie);
    await answered(world, "/users/@me/guilds", from);
    expect((await revoke(world, ann)).status).toBe(200);
    release();
    expect((await returning).location).toMatch(/\/authorize\/result\/(expired|cancelled)/);
    await keepsNothing(world, ann);
    expect((await world.actions()).filter((action) => action === "authorization.grant")).toHaveLength(1);
    const tokens = world.sandbox.exchanges.flatMap(
      ({ responseBody }) => JSON.stringify(responseBody ?? "").match(/sandbox-access-[\w-]+/g) ?? [],
    );
    expect(new Set(tokens).size).toBe(2);
    for (const token of new Set(tokens)) {
      const answer = await fetch(`${world.sandbox.apiBase}/v10/users/@me`, { headers: { authorization: `Bearer ${token}` } });
      expect(answer.status).toBe(401);
    }
  });
});

/** Transactions that run side by side exist on PostgreSQL alone: SQLite takes one after the other. */
describe.runIf(inject("dialect") === "postgres")("while a refresh is being stored", () => {
  /** Waits until so many transactions of this database wait for another one. */
  async function waiting({ sandbox, database }: World, count: number): Promise<void> {
    let found = 0;
    while (found < count) {
      const [row] = await database.read.$queryRaw<{ count: bigint }[]>`
        SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      found = Number(row?.count ?? 0);
      await sandbox.waitFor(() => true);
    }
  }

  /** Start something while a refresh has changed the grant and is not committed, then let the refresh go on. */
  async function during<T>(world: World, user: User, work: () => Promise<T>): Promise<T> {
    world.clock.forward(3600);
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    let begun = (): void => undefined;
    const held = new Promise<void>((resolve) => (begun = resolve));
    const holding = world.database.write(systemCall("job", "hold"), async (tx) => {
      await tx.lock("matches");
      begun();
      await gate;
    });
    await held;
    const refreshing = world.post(`/users/${user.id}/refresh`, {}, { actor: staffId });
    await waiting(world, 1);
    const working = work();
    await waiting(world, 2);
    release();
    await holding;
    expect((await refreshing).status).toBe(200);
    return working;
  }

  test("a revocation ends what the refresh left, and does not only say so", async () => {
    const { world, ann } = await createGranted();
    const answer = await during(world, ann, () => revoke(world, ann));
    expect(answer.body.data).toMatchObject({ status: "revoked", servers_seen_count: 0 });
    await keepsNothing(world, ann);
    expect(world.sandbox.revokedTokens).toHaveLength(1);
  });

  test("a revocation of the state before it is refused, and nothing changes", async () => {
    const { world, ann } = await createGranted();
    const tag = (await world.get(`/users/${ann.id}/authorization`)).headers.get("etag") ?? "";
    const answer = await during(world, ann, () => revoke(world, ann, {}, { "if-match": tag }));
    expect([answer.status, answer.body.code]).toEqual([412, "precondition_failed"]);
    expect((await world.get(`/users/${ann.id}/authorization`)).body.data.status).toBe("active");
    expect(await world.database.read.erasure.count()).toBe(0);
  });
});

test("somebody who opens another person's link keeps what they granted themself", async () => {
  const { world, ann } = await createGranted();
  const ben = world.sandbox.createUser("ben");
  const end = await world.sandbox.as(ann).authorize(await world.session(ben), { approve: true });
  expect(new URL(end.redirectedTo).pathname).toBe("/authorize/result/wrong-account");
  expect(world.sandbox.revokedTokens).toEqual([]);
  world.clock.forward(3600);
  expect((await world.post(`/users/${ann.id}/refresh`, {}, { actor: staffId })).status).toBe(200);
  expect((await world.get(`/users/${ben.id}/authorization`)).body.data.status).toBe("none");
});

test("a revocation within another change stands and falls with it", async () => {
  const { world, ann } = await createGranted();
  const { database, rooms } = world;
  const failing = database.write(systemCall("job", "erase"), async (tx) => {
    expect((await rooms.authorization.revokeInTx(tx, ann.id)).hasEnded).toBe(true);
    throw new Error("the rest failed");
  });
  await expect(failing).rejects.toThrow("the rest failed");
  expect((await world.get(`/users/${ann.id}/authorization`)).body.data.status).toBe("active");
  expect(world.sandbox.revokedTokens).toEqual([]);
  const done = await database.write(systemCall("job", "erase"), (tx) => rooms.authorization.revokeInTx(tx, ann.id));
  expect(done.hasEnded).toBe(true);
  await done.tellDiscord();
  expect(world.sandbox.revokedTokens).toHaveLength(1);
  await keepsNothing(world, ann);
  const none = await database.write(systemCall("job", "erase"), (tx) => rooms.authorization.revokeInTx(tx, ann.id));
  expect(none.hasEnded).toBe(false);
});
