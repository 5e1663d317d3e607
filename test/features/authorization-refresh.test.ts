// @module-tag postgres
// @module-tag slow
import { describe, expect, test } from "vitest";
import { systemCall, type Call } from "../../src/kernel/call.ts";
import type { User } from "../../sandbox/index.ts";
import { createWorld, type World } from "./authorization.setup.ts";

const staffId = "100000000000000001";
const tokenCalls = (world: World): number => world.sandbox.exchanges.filter(({ path }) => path.endsWith("/oauth2/token")).length;
const guildCalls = (world: World): number => world.sandbox.exchanges.filter(({ path }) => path.endsWith("/users/@me/guilds")).length;
const refresh = (world: World, user: User, body?: object) => world.post(`/users/${user.id}/refresh`, body, { actor: staffId });

/** A world with a person who has granted access and is in one server. */
async function createGranted() {
  const world = await createWorld();
  const ann = world.sandbox.createUser("ann");
  const first = world.sandbox.createGuild({ name: "First", withBot: false });
  first.addMember(ann);
  await world.grant(ann);
  return { world, ann, first };
}

/** The access token is about to end here and has ended at Discord. */
function expireToken(world: World, user: User): void {
  world.clock.forward(604_800);
  world.sandbox.expireAccessTokens(user);
}

async function storedTokens(world: World, user: User) {
  return world.database.read.authorization.findUniqueOrThrow({ where: { userId: user.id } });
}

describe("a refresh", () => {
  test("tells what came and went, and the lists follow", async () => {
    const { world, ann, first } = await createGranted();
    const second = world.sandbox.createGuild({ name: "Second", withBot: false });
    second.addMember(ann);
    first.kick(ann);
    const answer = await refresh(world, ann, { reason: "Applied for the team" });
    expect(answer.status).toBe(200);
    expect(answer.body.data).toMatchObject({
      status: "active",
      servers: { added: 1, removed: 1, total: 1 },
      matches: { opened: 0, closed: 0 },
    });
    const servers: { server: { id: string }; relation: { is_member: boolean; left_at?: string } }[] = (
      await world.get(`/users/${ann.id}/servers`)
    ).body.data;
    expect(servers.find(({ server }) => server.id === first.id)?.relation).toMatchObject({
      is_member: false,
      left_at: answer.body.data.refreshed_at,
    });
    expect(servers.find(({ server }) => server.id === second.id)?.relation).toMatchObject({ is_member: true });
    expect((await world.actions()).at(-1)).toBe("authorization.refresh");
  });

  test("within the cool-down is refused with the time to wait, unless forced by someone who may", async () => {
    const { world, ann } = await createGranted();
    expect((await refresh(world, ann)).status).toBe(200);
    const refused = await refresh(world, ann);
    expect(refused.status).toBe(429);
    expect(refused.body.code).toBe("refresh_cooldown");
    const wait = Number(refused.headers.get("retry-after"));
    expect(wait).toBeGreaterThan(590);
    expect(wait).toBeLessThanOrEqual(600);
    const path = `/users/${ann.id}/refresh`;
    expect((await world.post(path, { force: true }, { actor: staffId, scopes: ["users.refresh"] })).body.required).toBe(
      "users.refresh.force",
    );
    expect((await refresh(world, ann, { force: true })).status).toBe(200);
    world.clock.forward(601);
    expect((await refresh(world, ann)).status).toBe(200);
  });

  test("fifty at once: Discord is asked once, everyone gets the same answer, and the token rotates once", async () => {
    const { world, ann } = await createGranted();
    expireToken(world, ann);
    const [tokens, guilds] = [tokenCalls(world), guildCalls(world)];
    const call = (): Call => systemCall("job", "fifty");
    const views = await Promise.all(Array.from({ length: 50 }, () => world.rooms.authorization.refresh(call(), ann.id, {})));
    expect(new Set(views.map((view) => JSON.stringify(view))).size).toBe(1);
    expect([tokenCalls(world) - tokens, guildCalls(world) - guilds]).toEqual([1, 1]);
    expect((await world.actions()).filter((action) => action === "authorization.refresh")).toHaveLength(1);
  });

  test("the new pair of tokens is stored before it is used", async () => {
    const { world, ann } = await createGranted();
    const before = await storedTokens(world, ann);
    expireToken(world, ann);
    world.sandbox.faults.rest({ route: "GET /users/@me/guilds", status: 500, times: 1 });
    expect((await refresh(world, ann)).status).toBe(503);
    const after = await storedTokens(world, ann);
    expect(after.status).toBe("active");
    expect(after.refreshToken).not.toBe(before.refreshToken);
    expect(after.accessToken).not.toBe(before.accessToken);
    const tokens = tokenCalls(world);
    await world.restart();
    expect((await refresh(world, ann)).status).toBe(200);
    expect(tokenCalls(world)).toBe(tokens);
  });

  test("a withdrawn consent ends the grant once: tokens gone, no retry storm", async () => {
    const { world, ann } = await createGranted();
    world.sandbox.withdrawConsent(ann);
    const refused = await refresh(world, ann);
    expect(refused.status).toBe(409);
    expect(refused.body).toMatchObject({ code: "authorization_required", session_hint: { path: "/authorize/sessions" } });
    expect(await storedTokens(world, ann)).toMatchObject({ status: "reauthorization_required", accessToken: null, refreshToken: null });
    expect((await world.get(`/users/${ann.id}/authorization`)).body.data.status).toBe("reauthorization_required");
    const calls = world.sandbox.exchanges.length;
    expect((await refresh(world, ann)).status).toBe(409);
    expect((await world.get(`/users/${ann.id}/servers`)).status).toBe(409);
    expect(world.sandbox.exchanges.length).toBe(calls);
    expect((await world.actions()).filter((action) => action === "authorization.lose")).toHaveLength(1);
    expect((await world.events()).at(-1)).toEqual({ type: "authorization.expired", user_id: ann.id, status: "reauthorization_required" });
    await world.grant(ann);
    expect((await world.get(`/users/${ann.id}/authorization`)).body.data.status).toBe("active");
  });

  test.each([
    ["servers", {}, "GET /users/@me/guilds"],
    ["account", { scopes: ["identify"] }, "GET /users/@me"],
  ])("an access token that Discord does not take for the %s is rotated once, and the question asked again", async (_name, input, route) => {
    const world = await createWorld();
    const ann = world.sandbox.createUser("ann");
    await world.grant(ann, input);
    const before = await storedTokens(world, ann);
    world.sandbox.expireAccessTokens(ann);
    const tokens = tokenCalls(world);
    expect((await refresh(world, ann)).status).toBe(200);
    expect(tokenCalls(world) - tokens).toBe(1);
    const after = await storedTokens(world, ann);
    expect(after.status).toBe("active");
    expect(after.refreshToken).not.toBe(before.refreshToken);
    world.sandbox.faults.rest({ route, status: 401, times: 1 });
    expect((await refresh(world, ann, { force: true })).status).toBe(200);
    expect(tokenCalls(world) - tokens).toBe(2);
    expect(await world.actions()).not.toContain("authorization.lose");
  });

  test("fifty at once with a token that Discord does not take: it rotates once, and everyone gets the same answer", async () => {
    const { world, ann } = await createGranted();
    world.sandbox.expireAccessTokens(ann);
    const tokens = tokenCalls(world);
    const call = (): Call => systemCall("job", "fifty");
    const views = await Promise.all(Array.from({ length: 50 }, () => world.rooms.authorization.refresh(call(), ann.id, {})));
    expect(new Set(views.map((view) => JSON.stringify(view))).size).toBe(1);
    expect(tokenCalls(world) - tokens).toBe(1);
  });

  test.each([
    ["as it was stored", () => undefined],
    ["that was about to end", (world: World) => world.clock.forward(604_800)],
  ])("a new token that Discord does not take either is discord_error for a token %s, and the grant stays", async (_name, age) => {
    const { world, ann } = await createGranted();
    age(world);
    const fault = world.sandbox.faults.rest({ route: "GET /users/@me/guilds", status: 401, times: 10 });
    const tokens = tokenCalls(world);
    const answer = await refresh(world, ann);
    expect([answer.status, answer.body.code]).toEqual([502, "discord_error"]);
    expect(tokenCalls(world) - tokens).toBe(1);
    expect((await storedTokens(world, ann)).status).toBe("active");
    fault.clear();
    expect((await refresh(world, ann)).status).toBe(200);
  });

  test("a refused refresh token ends the grant", async () => {
    const { world, ann } = await createGranted();
    expireToken(world, ann);
    world.sandbox.withdrawConsent(ann);
    expect((await refresh(world, ann)).status).toBe(409);
    expect(await storedTokens(world, ann)).toMatchObject({ status: "reauthorization_required", refreshToken: null });
  });

  test("Discord being down is 503 and loses nothing", async () => {
    const { world, ann } = await createGranted();
    expireToken(world, ann);
    const before = await storedTokens(world, ann);
    const fault = world.sandbox.faults.oauth({ route: "token", status: 502, times: 10 });
    const answer = await refresh(world, ann);
    expect([answer.status, answer.body.code]).toEqual([503, "discord_unavailable"]);
    expect(await storedTokens(world, ann)).toEqual(before);
    fault.clear();
    expect((await refresh(world, ann)).status).toBe(200);
  });

  test.each([
    ["a wrong shape", { guilds: [] }],
    ["a hostile name", [{ id: "613425648685547541", name: "x".repeat(101), icon: null, owner: false, permissions: "0" }]],
  ])("an answer with %s is discord_error, and what was known stays", async (_name, body) => {
    const { world, ann } = await createGranted();
    const before = await world.database.read.userServer.findMany();
    world.sandbox.faults.rest({ route: "GET /users/@me/guilds", status: 200, body });
    const answer = await refresh(world, ann);
    expect([answer.status, answer.body.code]).toEqual([502, "discord_error"]);
    expect(await world.database.read.userServer.findMany()).toEqual(before);
    expect((await storedTokens(world, ann)).status).toBe("active");
  });

  test("the same idempotency key answers the first result although the cool-down runs", async () => {
    const { world, ann } = await createGranted();
    expireToken(world, ann);
    const options = { actor: staffId, headers: { "idempotency-key": "refresh-key-1" } };
    const first = await world.post(`/users/${ann.id}/refresh`, {}, options);
    const second = await world.post(`/users/${ann.id}/refresh`, {}, options);
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get("idempotency-replayed")).toBe("true");
  });

  test("without a grant is the same refusal for a person nobody knows", async () => {
    const world = await createWorld();
    const ann = world.sandbox.createUser("ann");
    await world.session(ann);
    const texts = await Promise.all(
      [ann.id, "999999999999999999"].flatMap((id) =>
        [
          world.post(`/users/${id}/refresh`, {}, { actor: staffId }),
          world.get(`/users/${id}/servers`),
          world.get(`/users/${id}/matches`),
        ].map(async (asked) => {
          const { status, body } = await asked;
          const { request_id: _id, ...rest } = body;
          return `${status.toString()} ${JSON.stringify(rest).replaceAll(id, "<id>")}`;
        }),
      ),
    );
    expect(texts.slice(0, 3)).toEqual(texts.slice(3));
    expect(texts[0]).toMatch(/^409 /);
  });

  test("a refused caller changes nothing and leaves no audit row", async () => {
    const { world, ann } = await createGranted();
    const audited = (await world.actions()).length;
    expect((await world.post(`/users/${ann.id}/refresh`, {}, { actor: staffId, scopes: ["users.servers.read"] })).status).toBe(403);
    expect((await world.actions()).length).toBe(audited);
  });
});

describe("the status", () => {
  test("goes stale after seven days and expires after thirty, when the sweep forgets the servers", async () => {
    const { world, ann } = await createGranted();
    const status = async () => (await world.get(`/users/${ann.id}/authorization`)).body.data.status;
    world.clock.forward(7 * 86_400 + 60);
    expect(await status()).toBe("stale");
    expect((await world.get(`/users/${ann.id}/servers`)).status).toBe(200);
    world.clock.forward(23 * 86_400);
    expect(await status()).toBe("expired");
    expect((await world.get(`/users/${ann.id}/servers`)).status).toBe(409);
    const swept = await world.rooms.authorization.sweep(systemCall("job", "sweep"));
    const nothing = { revocations_told: 0, grants_refreshed: 0, grants_deleted: 0 };
    expect(swept).toEqual({ sessions_expired: 0, sessions_deleted: 1, grants_expired: 1, ...nothing });
    expect(await world.database.read.tokenRevocation.count()).toBe(0);
    expect((await world.events()).at(-1)).toEqual({ type: "authorization.expired", user_id: ann.id });
    expect(await storedTokens(world, ann)).toMatchObject({ status: "expired", accessToken: null, refreshToken: null });
    expect(await world.database.read.userServer.count()).toBe(0);
    expect(world.sandbox.revokedTokens).toHaveLength(1);
    expect(await status()).toBe("expired");
    world.clock.forward(30 * 86_400 - 60);
    expect((await world.rooms.authorization.sweep(systemCall("job", "sweep"))).grants_deleted).toBe(0);
    world.clock.forward(120);
    expect((await world.rooms.authorization.sweep(systemCall("job", "sweep"))).grants_deleted).toBe(1);
    expect(await world.database.read.authorization.count()).toBe(0);
    expect(await status()).toBe("none");
  });

  test("a server that a person left is forgotten thirty days later", async () => {
    const { world, ann } = await createGranted();
    const away = world.sandbox.createGuild({ name: "Away", withBot: false });
    away.addMember(ann);
    const refreshed = async () => (await world.post(`/users/${ann.id}/refresh`, { force: true }, { actor: staffId })).body.data.servers;
    const stored = () => world.database.read.userServer.count({ where: { serverHash: world.rooms.hashOf(away.id) } });
    await refreshed();
    away.kick(ann);
    expect(await refreshed()).toMatchObject({ removed: 1 });
    for (const days of [20, 9]) {
      world.clock.forward(days * 86_400);
      await refreshed();
      expect(await stored()).toBe(1);
    }
    world.clock.forward(86_400 + 60);
    await refreshed();
    expect(await stored()).toBe(0);
  });

  test("a sweep expires waiting sessions once and says so in the audit", async () => {
    const world = await createWorld();
    const ann = world.sandbox.createUser("ann");
    await world.session(ann);
    expect((await world.rooms.authorization.sweep(systemCall("job", "sweep"))).sessions_expired).toBe(0);
    world.clock.forward(16 * 60);
    expect((await world.rooms.authorization.sweep(systemCall("job", "sweep"))).sessions_expired).toBe(1);
    expect((await world.rooms.authorization.sweep(systemCall("job", "sweep"))).sessions_expired).toBe(0);
    expect(await world.actions()).toEqual(["authorization_session.create", "authorization_session.expire"]);
    world.clock.forward(8 * 86_400);
    expect((await world.rooms.authorization.sweep(systemCall("job", "sweep"))).sessions_deleted).toBe(1);
  });

  test("has an entity tag that follows the sessions and the clock", async () => {
    const { world, ann } = await createGranted();
    const path = `/users/${ann.id}/authorization`;
    const tag = (await world.get(path)).headers.get("etag") ?? "";
    expect((await world.get(path, { headers: { "if-none-match": tag } })).status).toBe(304);
    await world.session(ann);
    expect((await world.get(path, { headers: { "if-none-match": tag } })).status).toBe(200);
  });

  test("is a person's own to read, and not a stranger's", async () => {
    const world = await createWorld();
    const call = (id: string): Call => ({
      client: null,
      actor: {
        id,
        isStaff: false,
        isOwner: false,
        rank: 0,
        isStale: () => false,
        decide: () => ({ allowed: false, reasons: [] }),
        heldUntil: () => undefined,
      },
      via: "web",
      requestId: "own",
      idempotency: null,
      replayed: false,
    });
    expect((await world.rooms.authorization.get(call("200000000000000001"), "200000000000000001")).status).toBe("none");
    await expect(world.rooms.authorization.get(call("200000000000000002"), "200000000000000001")).rejects.toMatchObject({
      code: "acting_user_not_staff",
    });
  });
});
