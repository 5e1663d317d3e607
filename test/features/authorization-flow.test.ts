import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { readElsewhere } from "../support/elsewhere.ts";
import { webCall, systemCall } from "../../src/kernel/call.ts";
import { answerAtDiscord, createWorld, press, visit, type World } from "./authorization.setup.ts";

const staffId = "100000000000000001";

async function statusOf(world: World, userId: string): Promise<string> {
  return (await world.get(`/users/${userId}/authorization`)).body.data.status;
}

async function storedNothing(world: World): Promise<void> {
  const { read } = world.database;
  expect(await read.authorization.count()).toBe(0);
  expect(await read.userServer.count()).toBe(0);
  expect(await read.match.count()).toBe(0);
}

describe("the whole flow", () => {
  test("a person agrees, and their servers and status can be read", async () => {
    const world = await createWorld();
    const ann = world.sandbox.createUser("ann");
    const raid = world.sandbox.createGuild({ name: "Raid & <b>Base</b>", withBot: false });
    raid.addMember(ann);
    const own = world.sandbox.createGuild({ name: "Ann's own", owner: ann, withBot: false });
    expect(await statusOf(world, ann.id)).toBe("none");
    const address = await world.session(ann);
    expect(await statusOf(world, ann.id)).toBe("pending");

    const done = await world.sandbox.as(ann).authorize(address, { approve: true });
    expect(done.redirectedTo).toBe(`${world.url}/authorize/result/done`);
    expect(done.status).toBe(200);
    expect(done.cookies).toEqual({});

    const status = (await world.get(`/users/${ann.id}/authorization`)).body.data;
    expect(status).toMatchObject({
      status: "active",
      scopes: ["identify", "guilds"],
      purposes: ["verification"],
      servers_seen_count: 2,
      revision: 1,
    });
    expect(status).not.toHaveProperty("session");
    const servers = (await world.get(`/users/${ann.id}/servers`)).body.data;
    const byId = new Map(servers.map((entry: { server: { id: string } }) => [entry.server.id, entry]));
    expect(byId.get(raid.id)).toMatchObject({
      server: { name_snapshot: "Raid & <b>Base</b>", status: "known" },
      relation: { is_owner: false, can_manage: false, is_member: true },
      blacklist_id: null,
    });
    expect(byId.get(own.id)).toMatchObject({ relation: { is_owner: true, can_manage: true } });
    expect(await world.actions()).toEqual(["authorization_session.create", "authorization.grant"]);
  });

  test("looking at the consent page changes nothing, runs no script, and says who asks for what", async () => {
    const world = await createWorld();
    const ann = world.sandbox.createUser("ann");
    const address = await world.session(ann, { purpose: "recruitment", request_reference: "rec-req-000012" });
    const before = await world.database.read.authorizationSession.findMany();
    const page = await visit(address);
    expect(page.status).toBe(200);
    expect(page.headers.get("content-security-policy")).toBe(
      `default-src 'none'; style-src 'self'; form-action 'self' ${new URL(world.sandbox.apiBase).origin}; frame-ancestors 'none'; base-uri 'none'`,
    );
    expect(page.headers.get("cache-control")).toBe("no-store");
    expect(page.headers.get("referrer-policy")).toBe("no-referrer");
    expect(page.body).not.toMatch(/<script|style=|\son\w+=/i);
    expect(page.body).toContain("Harbour &amp; &lt;Sons&gt;");
    expect(page.body).toContain("REC-REQ-000012");
    expect(page.body).toContain("The list of servers you are in");
    expect(page.body).toContain("Authorized Apps");
    expect(await world.database.read.authorizationSession.findMany()).toEqual(before);
    const style = await visit(`${world.url}/authorize/style.css`);
    expect(style.headers.get("content-type")).toBe("text/css; charset=utf-8");
  });

  test("a restart between the button and the way back is not noticed", async () => {
    const world = await createWorld();
    const ann = world.sandbox.createUser("ann");
    const started = await press(await world.session(ann), "start");
    await world.restart();
    const back = await visit(await answerAtDiscord(started.location, ann), started.cookie);
    expect(back.location).toBe("/authorize/result/done");
    expect(await statusOf(world, ann.id)).toBe("active");
  });

  test("no token, code or state is in the database files, the log or the audit", async () => {
    const world = await createWorld();
    const ann = world.sandbox.createUser("ann");
    world.sandbox.createGuild({ name: "A very telling name", withBot: false }).addMember(ann);
    const address = await world.session(ann);
    const started = await press(address, "start");
    const back = await answerAtDiscord(started.location, ann);
    expect((await visit(back, started.cookie)).location).toBe("/authorize/result/done");
    const issued = world.sandbox.exchanges.find(({ path }) => path.endsWith("/oauth2/token"));
    const tokens = JSON.stringify(issued?.responseBody ?? issued).match(/sandbox-(?:access|refresh)-[\w-]+/g) ?? [];
    expect(tokens.length).toBeGreaterThanOrEqual(2);
    const query = new URL(back).searchParams;
    const secrets = [
      ...tokens,
      address.split("/").at(-1) ?? "",
      query.get("code") ?? "",
      query.get("state") ?? "",
      started.cookie.split("=")[1] ?? "",
    ];
    const texts = [world.log.join("\n"), JSON.stringify(await world.database.read.auditPayload.findMany()), await everything(world)];
    for (const secret of secrets) {
      expect(secret.length).toBeGreaterThan(20);
      for (const text of texts) expect(text.includes(secret)).toBe(false);
    }
    for (const text of texts) expect(text.includes("A very telling name")).toBe(false);
  });
});

/** The bytes of the database, or all rows that could hold a secret where it is no file. */
async function everything(world: World): Promise<string> {
  if (inject("dialect") === "sqlite") {
    const folder = dirname(world.databaseUrl.slice("file:".length));
    const files = await Promise.all((await readdir(folder)).map((name) => readElsewhere(join(folder, name))));
    expect(Buffer.concat(files).length).toBeGreaterThan(10_000);
    return Buffer.concat(files).toString("latin1");
  }
  const { read } = world.database;
  return JSON.stringify([
    await read.authorization.findMany(),
    await read.authorizationSession.findMany(),
    await read.userServer.findMany(),
  ]);
}

describe("every other ending has its page and leaves nothing behind", () => {
  test("declined on our page", async () => {
    const world = await createWorld();
    const ann = world.sandbox.createUser("ann");
    const end = await world.sandbox.as(ann).authorize(await world.session(ann), { approve: false, at: "backend" });
    expect(end.redirectedTo).toBe(`${world.url}/authorize/result/declined`);
    expect(await statusOf(world, ann.id)).toBe("declined");
    expect(await world.actions()).toEqual(["authorization_session.create", "authorization_session.decline"]);
    await storedNothing(world);
  });

  test("declined on Discord's page", async () => {
    const world = await createWorld();
    const ann = world.sandbox.createUser("ann");
    const address = await world.session(ann);
    const end = await world.sandbox.as(ann).authorize(address, { approve: false });
    expect(end.redirectedTo).toBe(`${world.url}/authorize/result/declined`);
    expect(await statusOf(world, ann.id)).toBe("declined");
    const again = await visit(address);
    expect([again.status, again.body.includes("You declined")]).toEqual([410, true]);
    await storedNothing(world);
  });

  test("another account: refused, the token revoked at Discord, nothing stored", async () => {
    const world = await createWorld();
    const ann = world.sandbox.createUser("ann");
    const eve = world.sandbox.createUser("eve");
    const end = await world.sandbox.as(eve).authorize(await world.session(ann), { approve: true });
    expect(end.redirectedTo).toBe(`${world.url}/authorize/result/wrong-account`);
    expect(world.sandbox.revokedTokens).toHaveLength(1);
    await storedNothing(world);
    const [session] = await world.database.read.authorizationSession.findMany();
    expect(session).toMatchObject({ status: "failed", failure: "wrong_account" });
    const { read } = world.database;
    const stored = [await read.auditPayload.findMany(), await read.authorizationSession.findMany(), await read.outboxEvent.findMany()];
    expect(
      JSON.stringify([...stored, await read.tokenRevocation.findMany()], (_, value) => (typeof value === "bigint" ? "" : value)),
    ).not.toContain(eve.id);
  });

  test("another account: whoever asked learns it from the status and from the event; the person's own status does not say it", async () => {
    const world = await createWorld();
    const ann = world.sandbox.createUser("ann");
    const eve = world.sandbox.createUser("eve");
    await world.sandbox.as(eve).authorize(await world.session(ann), { approve: true });
    const [session] = await world.database.read.authorizationSession.findMany();
    const view = (await world.get(`/users/${ann.id}/authorization`)).body.data;
    expect(view).toMatchObject({ status: "none", last_session: { id: session?.id, status: "failed", failure: "wrong_account" } });
    expect(view.last_session.ended_at).toBe(session?.endedAt?.toISOString());
    expect(await world.events()).toEqual([
      { type: "authorization.failed", user_id: ann.id, session_id: session?.id, failure: "wrong_account" },
    ]);
    expect(await world.actions()).toEqual(["authorization_session.create", "authorization_session.fail"]);
    const own = await world.rooms.authorization.get(webCall("own", ann.id), ann.id);
    expect(own).not.toHaveProperty("last_session");
    expect((await world.get(`/users/${eve.id}/authorization`)).body.data).toMatchObject({ status: "none" });
  });

  test("each ending is told to those who follow along, with the session it ended", async () => {
    const world = await createWorld();
    const [ann, ben, eve] = [world.sandbox.createUser("ann"), world.sandbox.createUser("ben"), world.sandbox.createUser("eve")];
    await world.grant(ann);
    await world.sandbox.as(ben).authorize(await world.session(ben), { approve: false });
    await world.session(eve, { ttl_minutes: 5 });
    world.clock.forward(301);
    await world.rooms.authorization.sweep(systemCall("job", "sweep"));
    const sessions = await world.database.read.authorizationSession.findMany({ orderBy: { createdAt: "asc" } });
    expect(await world.events()).toEqual([
      { type: "authorization.granted", user_id: ann.id, session_id: sessions[0]?.id },
      { type: "authorization.declined", user_id: ben.id, session_id: sessions[1]?.id },
      { type: "authorization.expired", user_id: eve.id, session_id: sessions[2]?.id },
    ]);
  });

  test("expired before the button and before the way back", async () => {
    const world = await createWorld();
    const ann = world.sandbox.createUser("ann");
    const address = await world.session(ann, { ttl_minutes: 5 });
    const started = await press(address, "start");
    const back = await answerAtDiscord(started.location, ann);
    world.clock.forward(301);
    expect((await visit(back, started.cookie)).location).toBe("/authorize/result/expired");
    expect((await press(address, "start")).location).toBe("/authorize/result/expired");
    expect((await visit(address)).body).toContain("This link has expired");
    expect(await statusOf(world, ann.id)).toBe("none");
    await storedNothing(world);
  });

  test("an unknown address and an unknown result", async () => {
    const world = await createWorld();
    const page = await visit(`${world.url}/authorize/${"x".repeat(43)}`);
    expect([page.status, page.body.includes("This link has expired")]).toEqual([404, true]);
    expect((await visit(`${world.url}/authorize/result/nonsense`)).status).toBe(404);
  });

  test("used: the address, and the way back, a second time", async () => {
    const world = await createWorld();
    const ann = world.sandbox.createUser("ann");
    const address = await world.session(ann);
    const started = await press(address, "start");
    const back = await answerAtDiscord(started.location, ann);
    expect((await visit(back, started.cookie)).location).toBe("/authorize/result/done");
    expect((await visit(back, started.cookie)).location).toBe("/authorize/result/used");
    expect((await press(address, "start")).location).toBe("/authorize/result/used");
    const page = await visit(address);
    expect([page.status, page.body.includes("This link has been used")]).toEqual([410, true]);
    expect(world.sandbox.revokedTokens).toEqual([]);
    expect(await statusOf(world, ann.id)).toBe("active");
  });

  test("two ways back at the same moment: one grant", async () => {
    const world = await createWorld();
    const ann = world.sandbox.createUser("ann");
    const started = await press(await world.session(ann), "start");
    const back = await answerAtDiscord(started.location, ann);
    const ends = await Promise.all([visit(back, started.cookie), visit(back, started.cookie)]);
    expect(ends.map(({ location }) => location).toSorted()).toEqual(["/authorize/result/done", "/authorize/result/used"]);
    expect((await world.actions()).filter((action) => action === "authorization.grant")).toHaveLength(1);
    expect(await statusOf(world, ann.id)).toBe("active");
  });

  test("another browser does not get through, and does not use up the state", async () => {
    const world = await createWorld();
    const ann = world.sandbox.createUser("ann");
    const started = await press(await world.session(ann), "start");
    const back = await answerAtDiscord(started.location, ann);
    expect((await visit(back)).location).toBe("/authorize/result/other-browser");
    expect((await visit(back, `${started.cookie.split("=")[0] ?? ""}=${"x".repeat(43)}`)).location).toBe("/authorize/result/other-browser");
    await storedNothing(world);
    expect((await visit(back, started.cookie)).location).toBe("/authorize/result/done");
  });

  test("a missing, foreign or replaced state", async () => {
    const world = await createWorld();
    const ann = world.sandbox.createUser("ann");
    const address = await world.session(ann);
    const first = await press(address, "start");
    const oldBack = await answerAtDiscord(first.location, ann);
    const second = await press(address, "start");
    expect((await visit(oldBack, first.cookie)).location).toBe("/authorize/result/failed");
    expect((await visit(`${world.url}/authorize/callback?code=abc`, second.cookie)).location).toBe("/authorize/result/failed");
    const foreign = `${world.url}/authorize/callback?code=abc&state=${"y".repeat(43)}`;
    expect((await visit(foreign, second.cookie)).location).toBe("/authorize/result/failed");
    await storedNothing(world);
    const back = await answerAtDiscord(second.location, ann);
    expect((await visit(back, second.cookie)).location).toBe("/authorize/result/done");
  });

  test("a foreign issuer", async () => {
    const world = await createWorld();
    const ann = world.sandbox.createUser("ann");
    const started = await press(await world.session(ann), "start");
    const back = new URL(await answerAtDiscord(started.location, ann));
    back.searchParams.set("iss", "https://evil.example");
    expect((await visit(back.href, started.cookie)).location).toBe("/authorize/result/failed");
    await storedNothing(world);
  });

  test("Discord is down: nothing is lost, the same address works again", async () => {
    const world = await createWorld();
    const ann = world.sandbox.createUser("ann");
    const address = await world.session(ann);
    const fault = world.sandbox.faults.oauth({ route: "token", status: 503, times: 100 });
    const end = await world.sandbox.as(ann).authorize(address, { approve: true });
    expect(end.redirectedTo).toBe(`${world.url}/authorize/result/discord-unreachable`);
    await storedNothing(world);
    expect(await statusOf(world, ann.id)).toBe("pending");
    fault.clear();
    const again = await world.sandbox.as(ann).authorize(address, { approve: true });
    expect(again.redirectedTo).toBe(`${world.url}/authorize/result/done`);
  });

  test.each([
    ["a list of a wrong shape", { nonsense: true }],
    ["a hostile name", [{ id: "613425648685547541", name: "x".repeat(5000), icon: null, owner: false, permissions: "0" }]],
    ["an id that is none", [{ id: "1; DROP TABLE", name: "x", icon: null, owner: false, permissions: "0" }]],
  ])("Discord answers %s: nothing is stored and the token is revoked", async (_name, body) => {
    const world = await createWorld();
    const ann = world.sandbox.createUser("ann");
    world.sandbox.faults.rest({ route: "GET /users/@me/guilds", status: 200, body });
    const end = await world.sandbox.as(ann).authorize(await world.session(ann), { approve: true });
    expect(end.redirectedTo).toBe(`${world.url}/authorize/result/failed`);
    expect(world.sandbox.revokedTokens).toHaveLength(1);
    await storedNothing(world);
  });

  test("Discord grants less than was asked for", async () => {
    const world = await createWorld();
    const ann = world.sandbox.createUser("ann");
    const started = await press(await world.session(ann), "start");
    const less = new URL(started.location);
    less.searchParams.set("scope", "identify");
    expect((await visit(await answerAtDiscord(less.href, ann), started.cookie)).location).toBe("/authorize/result/scope-missing");
    expect(world.sandbox.revokedTokens).toHaveLength(1);
    await storedNothing(world);
  });
});

describe("the forms", () => {
  test.each<[string, Record<string, string>]>([
    ["another site", { "sec-fetch-site": "cross-site", origin: "https://evil.example" }],
    ["another site of the same host", { "sec-fetch-site": "same-site", origin: "null" }],
    ["a browser without fetch metadata and another origin", { origin: "https://evil.example" }],
    ["nothing that says where it comes from", {}],
  ])("are refused when sent from %s", async (_name, headers) => {
    const world = await createWorld();
    const ann = world.sandbox.createUser("ann");
    const address = await world.session(ann);
    expect((await press(address, "start", headers)).status).toBe(403);
    expect((await press(address, "decline", headers)).status).toBe(403);
    expect(await world.database.read.authorizationSession.findMany()).toMatchObject([{ status: "pending", stateHash: null }]);
    expect((await press(address, "start", { origin: world.url })).status).toBe(303);
  });

  test("two sessions in one browser do not disturb each other", async () => {
    const world = await createWorld();
    const ann = world.sandbox.createUser("ann");
    const ben = world.sandbox.createUser("ben");
    const one = await press(await world.session(ann), "start");
    const two = await press(await world.session(ben), "start");
    const cookies = `${one.cookie}; ${two.cookie}`;
    expect((await visit(await answerAtDiscord(one.location, ann), cookies)).location).toBe("/authorize/result/done");
    expect((await visit(await answerAtDiscord(two.location, ben), cookies)).location).toBe("/authorize/result/done");
  });
});

describe("opening a session", () => {
  test("answers flat, with an address of ours", async () => {
    const world = await createWorld();
    const answer = await world.post("/authorize/sessions", { discord_user_id: "80351110224678912" }, { actor: staffId });
    expect(answer.status).toBe(201);
    expect(Object.keys(answer.body).toSorted()).toEqual(["expires_at", "id", "status", "success", "url"]);
    expect(answer.body).toMatchObject({ success: true, status: "pending" });
    expect(answer.body.url).toMatch(new RegExp(`^${world.url}/authorize/[\\w-]{43}$`));
  });

  test("the same idempotency key answers the same address, which is not stored", async () => {
    const world = await createWorld();
    const options = { actor: staffId, headers: { "idempotency-key": "session-key-1" } };
    const first = await world.post("/authorize/sessions", { discord_user_id: "80351110224678912" }, options);
    const second = await world.post("/authorize/sessions", { discord_user_id: "80351110224678912" }, options);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get("idempotency-replayed")).toBe("true");
    expect(await world.database.read.authorizationSession.count()).toBe(1);
    expect(JSON.stringify(await world.database.read.idempotencyRecord.findMany())).not.toContain(first.body.url.split("/").at(-1));
  });

  test("a fourth open session is refused, also when all are asked for at once", async () => {
    const world = await createWorld();
    const ask = () => world.post("/authorize/sessions", { discord_user_id: "80351110224678912" }, { actor: staffId });
    const answers = await Promise.all(Array.from({ length: 8 }, ask));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(3);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(5);
    expect(answers.find(({ status }) => status === 409)?.body.code).toBe("too_many_open_sessions");
    world.clock.forward(16 * 60);
    expect((await ask()).status).toBe(201);
  });

  test.each([
    [{}, "/discord_user_id"],
    [{ discord_user_id: 80351110224678 }, "/discord_user_id"],
    [{ discord_user_id: "80351110224678912", detail: "some" }, "/detail"],
    [{ discord_user_id: "80351110224678912", return_to: "https://evil.example" }, "/return_to"],
    [{ discord_user_id: "80351110224678912", ttl_minutes: 61 }, "/ttl_minutes"],
    [{ discord_user_id: "80351110224678912", scopes: ["bot"] }, "/scopes/0"],
    [{ discord_user_id: "80351110224678912", status: "authorized" }, "/status"],
  ])("refuses %o", async (body, pointer) => {
    const world = await createWorld();
    const answer = await world.post("/authorize/sessions", body, { actor: staffId });
    expect(answer.status).toBe(422);
    expect(answer.body.errors[0].pointer).toBe(pointer);
    expect(await world.database.read.authorizationSession.count()).toBe(0);
  });

  test("the detail is the installation's own unless told, never more, and goes along with the grant", async () => {
    const world = await createWorld({ serverDetail: "listed" });
    const ann = world.sandbox.createUser("ann");
    const refused = await world.post("/authorize/sessions", { discord_user_id: ann.id, detail: "full" }, { actor: staffId });
    expect(refused.status).toBe(422);
    expect(refused.body.errors).toEqual([
      { pointer: "/detail", in: "body", code: "not_offered", detail: "This installation keeps listed servers only." },
    ]);
    expect(await world.database.read.authorizationSession.count()).toBe(0);
    await world.grant(ann);
    expect(await world.database.read.authorizationSession.findMany()).toMatchObject([{ detail: "listed", status: "authorized" }]);
    expect(await world.database.read.authorization.findMany()).toMatchObject([{ detail: "listed" }]);
    await world.restart({ serverDetail: "full" });
    const ben = world.sandbox.createUser("ben");
    await world.grant(ben, { detail: "listed" });
    await world.grant(ann);
    const details = await world.database.read.authorization.findMany({ select: { userId: true, detail: true } });
    expect(new Map(details.map(({ userId, detail }) => [userId, detail]))).toEqual(
      new Map([
        [ann.id, "full"],
        [ben.id, "listed"],
      ]),
    );
  });

  test("what stays readable of the servers follows the detail, also once the operator asks for less", async () => {
    const world = await createWorld();
    const ann = world.sandbox.createUser("ann");
    world.sandbox.createGuild({ name: "Somewhere", withBot: false }).addMember(ann);
    const readable = async () => (await world.database.read.userServer.findMany()).map(({ details }) => details !== null);
    await world.grant(ann, { detail: "listed" });
    expect(await readable()).toEqual([false]);
    await world.grant(ann);
    expect(await readable()).toEqual([true]);
    await world.restart({ serverDetail: "listed" });
    expect((await world.post(`/users/${ann.id}/refresh`, {}, { actor: staffId })).status).toBe(200);
    expect(await readable()).toEqual([false]);
  });

  test("a return address is stored by its name; an unknown one is told which there are", async () => {
    const world = await createWorld();
    const body = { discord_user_id: "80351110224678912", return_to: "site", locale: "pt-BR" };
    expect((await world.post("/authorize/sessions", body, { actor: staffId })).status).toBe(201);
    expect(await world.database.read.authorizationSession.findMany()).toMatchObject([{ returnTo: "site", locale: "pt-BR" }]);
    const refused = await world.post("/authorize/sessions", { ...body, return_to: "shop" }, { actor: staffId });
    expect(refused.body.errors).toMatchObject([{ code: "unknown_return_to", detail: "The return addresses here are: site." }]);
    expect(await world.database.read.authorizationSession.count()).toBe(1);
  });

  test("a person whose data was redacted is not asked again", async () => {
    const world = await createWorld();
    const ann = world.sandbox.createUser("ann");
    await world.database.write(systemCall("job", "redact"), (tx) => world.rooms.erasures.note(tx, "suppression", ann.id));
    const refused = await world.post("/authorize/sessions", { discord_user_id: ann.id }, { actor: staffId });
    expect(refused.status).toBe(409);
    expect(refused.body).toMatchObject({ code: "invalid_transition", from: "redacted", action: "authorize", allowed: [] });
    expect(await world.database.read.authorizationSession.count()).toBe(0);
    expect(await world.actions()).toEqual([]);
  });

  test("a caller without the permission, or without an acting user, changes nothing", async () => {
    const world = await createWorld();
    const body = { discord_user_id: "80351110224678912" };
    expect((await world.post("/authorize/sessions", body, { actor: staffId, scopes: ["users.refresh"] })).status).toBe(403);
    expect((await world.post("/authorize/sessions", body, { scopes: ["authorize.create"] })).body.code).toBe("acting_user_required");
    expect(await world.database.read.authorizationSession.count()).toBe(0);
    expect(await world.database.read.auditEntry.count()).toBe(0);
  });
});
