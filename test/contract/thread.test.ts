// @module-tag postgres
// @module-tag slow
import { describe, expect, test } from "vitest";
import { visit } from "../features/authorization.setup.ts";
import { authorize, createJudgedWorld, everyRow, shareWorld, staffAtConsole } from "./world.ts";
import { approve } from "../features/review-ground.ts";

const shared = shareWorld();

test("a person consents, their servers are known, a server is blacklisted, and the match follows", async () => {
  const world = await createJudgedWorld();
  const [moderator, admin, owner] = [await world.staff("moderator"), await world.staff("admin"), await world.staff("owner")];
  const person = world.member("rogue");
  const quarry = world.sandbox.createGuild({ name: "Quarry", withBot: false });
  quarry.addMember(person);
  const at = `/users/${person.id}`;
  const asked = { actor: moderator };
  const statusOf = async () => (await world.get(`${at}/authorization`, asked)).body.data.status;

  expect(await statusOf()).toBe("none");
  for (const path of ["servers", "matches"])
    expect((await world.get(`${at}/${path}`, asked)).body).toMatchObject({ code: "authorization_required" });
  const session = await world.post("/authorize/sessions", { discord_user_id: person.id }, asked);
  expect(await statusOf()).toBe("pending");

  const before = await everyRow(world);
  const page = await visit(session.body.url);
  expect([page.status, page.headers.get("content-type")?.toLowerCase()]).toEqual([200, "text/html; charset=utf-8"]);
  expect(await everyRow(world)).toEqual(before);

  const end = await world.sandbox.as(person).authorize(session.body.url, { approve: true });
  expect([end.status, new URL(end.redirectedTo).pathname]).toEqual([200, "/authorize/result/done"]);
  expect(end.hops.some(({ url }) => url.startsWith(world.sandbox.apiBase.replace(/\/api$/, "")))).toBe(true);
  expect(await statusOf()).toBe("active");
  const servers = (await world.get(`${at}/servers`, asked)).body.data;
  expect(servers.map((entry: any) => entry.server.id).toSorted()).toEqual([world.guild.id, quarry.id].toSorted());
  expect((await world.get(`${at}/matches`, asked)).body.data).toEqual([]);

  const body = {
    server_id: quarry.id,
    server_name: "Quarry",
    category: "raiding",
    severity: "high",
    member_policy: "flag",
    reason: "Three raids this month.",
  };
  const { reference } = (await world.post("/workflows/blacklist-server", body, asked)).body;
  const decision = `/workflows/blacklist-server/${reference}/decision`;
  expect((await world.post(decision, { decision: "approve" }, { actor: admin })).body).toMatchObject({
    final: false,
    approvals: { have: 1, required: 2 },
  });
  expect((await world.get(`${at}/matches`, asked)).body.data).toEqual([]);
  expect((await world.post(decision, { decision: "approve" }, { actor: owner })).body).toMatchObject({ final: true, status: "approved" });

  const [match, ...others] = (await world.get(`${at}/matches`, asked)).body.data;
  expect(others).toEqual([]);
  expect(match).toMatchObject({ kind: "server_blacklist", severity: "high", server: { id: quarry.id } });
  expect(match.why.length).toBeGreaterThan(0);
  const known = (await world.get(`${at}/servers`, asked)).body.data.find((entry: any) => entry.server.id === quarry.id);
  expect(known.blacklist_id).toBe((await world.get("/blacklist/BL-000001", asked)).body.data.id);

  quarry.kick(person);
  const refreshed = await world.post(`${at}/refresh`, { force: true }, { actor: admin });
  expect(refreshed.body.data).toMatchObject({ servers: { added: 0, removed: 1 }, matches: { opened: 0, closed: 1 } });
  for (const status of ["open", "grace"]) expect((await world.get(`${at}/matches?status=${status}`, asked)).body.data).toEqual([]);
  expect((await world.get(`${at}/matches?status=cleared`, asked)).body.data).toMatchObject([{ id: match.id, server: { id: quarry.id } }]);
  const again = await world.post(`${at}/refresh`, {}, asked);
  expect(again.body).toMatchObject({ status: 429, code: "refresh_cooldown" });
  expect(Number(again.headers.get("retry-after"))).toBeGreaterThan(0);
  expect((await world.get("/audit/verify")).body.data.ok).toBe(true);
});

describe("another account that finishes a session", () => {
  test("is refused, its token is revoked, and nothing of it is kept", async () => {
    const world = await createJudgedWorld();
    const [moderator, person, other] = [await world.staff("moderator"), world.member(), world.member("other")];
    world.sandbox.createGuild({ name: "Secret place of the other", withBot: false }).addMember(other);
    const end = await authorize(world, person, { by: moderator, account: other });
    expect(new URL(end.redirectedTo).pathname).toBe("/authorize/result/wrong-account");
    expect(end.body).toMatch(/This was another account/);
    const issued = world.sandbox.exchanges.filter(({ path }) => path.endsWith("/oauth2/token"));
    expect(issued.length).toBe(1);
    expect(world.sandbox.revokedTokens.length).toBeGreaterThan(0);
    const rows = await everyRow(world);
    expect([rows["Authorization"], rows["UserServer"], rows["Match"]]).toEqual([[], [], []]);
    expect(JSON.stringify(rows)).not.toContain("Secret place");
    for (const id of [person.id, other.id]) {
      expect((await world.get(`/users/${id}/authorization`, { actor: moderator })).body.data.status).toBe("none");
      expect((await world.get(`/users/${id}/servers`, { actor: moderator })).body).toMatchObject({ code: "authorization_required" });
    }
    const actions = (await world.get("/audit")).body.data.map((entry: any) => entry.action);
    expect(actions.filter((action: string) => action.includes("grant"))).toEqual([]);
  });

  test("leaves the person free to consent with a session of their own", async () => {
    const { world } = shared;
    const [moderator, person] = [await world.staff("moderator"), world.member()];
    const refused = await authorize(world, person, { by: moderator, account: world.member() });
    const reused = await world.sandbox.as(person).authorize(refused.session.url, { approve: true });
    expect(new URL(reused.redirectedTo).pathname).not.toBe("/authorize/result/done");
    expect((await world.get(`/users/${person.id}/authorization`)).body.data.status).toBe("none");
    expect(new URL((await authorize(world, person, { by: moderator })).redirectedTo).pathname).toBe("/authorize/result/done");
  });
});

describe("slash commands and REST", () => {
  test("tell the same about access", async () => {
    const { world } = shared;
    const [viewer, senior] = [await staffAtConsole(world, "viewer"), await world.staff("senior")];
    for (const person of [senior, world.member()]) {
      const access = (await world.get(`/staff/${person.id}/access`, { actor: viewer })).body.data;
      const said = await world.slash(viewer, "staff access", { user: person });
      expect(said).toContain(access.allowed ? "**has access**" : "**has no access**");
      expect(said).toContain(
        `Level: ${access.level} · status: ${access.status ?? "never was staff"} · permissions: ${access.permissions.length}`,
      );
    }
  });

  test("tell the same about the blacklist", async () => {
    const { world } = shared;
    const [moderator, admin] = [await staffAtConsole(world, "moderator"), await world.staff("admin")];
    const [listed, free] = [world.member(), world.member()];
    const record = await world.post(
      "/blacklist",
      { kind: "user", subject_id: listed.id, category: "scam", severity: "low" },
      { actor: admin },
    );
    const said = await world.slash(moderator, "blacklist check", { ids: `${listed.id} ${free.id}` });
    const check = await world.post("/blacklist/check", { user_ids: [listed.id, free.id] }, { actor: moderator });
    expect(check.body.data.users.map((user: any) => user.listed)).toEqual([true, false]);
    expect(said).toContain(`\`${listed.id}\` **is listed**: ${record.body.data.number} · user · low · scam`);
    expect(said).toContain(`\`${free.id}\` is not listed`);
  });

  test("count the votes of one request together", async () => {
    const { world } = shared;
    const [requester, first, second] = [await world.staff("moderator"), await staffAtConsole(world, "admin"), await world.staff("owner")];
    const body = {
      server_id: "80351110224678999",
      category: "scam",
      severity: "high",
      member_policy: "flag",
      reason: "Phishing pages are posted there.",
    };
    const { reference } = (await world.post("/workflows/blacklist-server", body, { actor: requester })).body;
    const decision = `/workflows/blacklist-server/${reference}/decision`;
    expect(await approve(world, first, reference)).toContain("1 of 2 approvals");
    expect((await world.post(decision, { decision: "approve" }, { actor: first })).body).toMatchObject({ replayed: true, final: false });
    expect((await world.post(decision, { decision: "approve" }, { actor: second })).body).toMatchObject({
      final: true,
      approvals: { have: 2 },
    });
    expect(await world.slash(first, "review deny", { reference, reason: "Too late to say no to it." })).toContain("already_decided");
    const { data } = (await world.get(`/workflows/blacklist-server/${reference}`, { actor: first })).body;
    expect(data).toMatchObject({ status: "approved", decision: { by: second.id } });
    expect(data.approvals.votes.map((vote: any) => vote.actor.id ?? vote.actor).toSorted()).toEqual([first.id, second.id].toSorted());
    const entries = (await world.get(`/audit?target=${reference}`)).body.data;
    // What is left for the bot is done in its own time.
    const told = entries.filter(({ action }: any) => action !== "workflow.effect");
    expect(told.map((entry: any) => [entry.action, entry.via])).toEqual([
      ["workflow.approve", "rest"],
      ["workflow.vote", "slash"],
      ["workflow.create", "rest"],
    ]);
  });
});
