import { describe, expect, test } from "vitest";
import { createWorld } from "../support/world.ts";

describe("the whole service", () => {
  test("a moderator asks, the member agrees, and a record made later finds them", async () => {
    const world = await createWorld();
    const moderator = await world.staff("moderator", "Mo");
    const admin = await world.staff("admin");
    const ann = world.member("ann");
    const base = world.sandbox.createGuild({ name: "Raid Base", withBot: false });
    base.addMember(ann);
    const opened = await world.post("/authorize/sessions", { discord_user_id: ann.id }, { actor: moderator });
    expect(opened.status).toBe(201);
    const page = await fetch(opened.body.url);
    const text = await page.text();
    expect(text).toContain("<strong>Mo</strong>");
    expect(text).toContain("<strong>world</strong>");
    expect(text).toContain("<strong>Harbour</strong>");
    const end = await world.sandbox.as(ann).authorize(opened.body.url, { approve: true });
    expect(end.redirectedTo).toBe(`${world.url}/authorize/result/done`);

    const record = {
      kind: "server",
      subject_id: base.id,
      category: "raiding",
      severity: "high",
      reason_public: "Raids other communities.",
    };
    const created = await world.post("/blacklist", record, { actor: admin });
    expect(created.status).toBe(201);
    const matches = await world.get(`/users/${ann.id}/matches`, { actor: moderator });
    expect(matches.body.data).toMatchObject([
      { kind: "server_blacklist", record_ref: created.body.data.number, severity: "high", server: { name_snapshot: "Raid Base" } },
    ]);
    const servers = await world.get(`/users/${ann.id}/servers`, { actor: moderator });
    const listed = servers.body.data.find((entry: { server: { id: string } }) => entry.server.id === base.id);
    expect(listed).toMatchObject({ blacklist_id: created.body.data.id, server: { status: "blacklisted" } });
    const refreshed = await world.post(`/users/${ann.id}/refresh`, undefined, { actor: moderator });
    expect(refreshed.body.data).toMatchObject({ status: "active", servers: { total: 2 }, matches: { opened: 0, closed: 0 } });
  });

  test("a viewer may read the status but not ask, read servers, matches, or refresh; force takes an admin", async () => {
    const world = await createWorld();
    const viewer = await world.staff("viewer");
    const moderator = await world.staff("moderator");
    const id = "80351110224678912";
    expect((await world.get(`/users/${id}/authorization`, { actor: viewer })).body.data.status).toBe("none");
    for (const answer of [
      await world.post("/authorize/sessions", { discord_user_id: id }, { actor: viewer }),
      await world.get(`/users/${id}/servers`, { actor: viewer }),
      await world.get(`/users/${id}/matches`, { actor: viewer }),
      await world.post(`/users/${id}/refresh`, undefined, { actor: viewer }),
      await world.post(`/users/${id}/refresh`, { force: true }, { actor: moderator }),
    ]) {
      expect(answer.body).toMatchObject({ status: 403, code: "permission_denied", missing_in: "acting_user" });
    }
    expect((await world.get("/users/bob/authorization", { actor: viewer })).body).toMatchObject({
      status: 422,
      errors: [{ in: "path", code: "invalid_snowflake" }],
    });
  });

  test("a member reads their own status and servers, and nobody else's", async () => {
    const world = await createWorld();
    const moderator = await world.staff("moderator");
    const ann = world.member("ann");
    const ben = world.member("ben");
    const { url } = (await world.post("/authorize/sessions", { discord_user_id: ann.id }, { actor: moderator })).body;
    await world.sandbox.as(ann).authorize(url, { approve: true });
    expect((await world.get(`/users/${ann.id}/authorization`, { actor: ann })).body.data.status).toBe("active");
    const [own] = (await world.get(`/users/${ann.id}/servers`, { actor: ann })).body.data;
    expect(own.server).not.toHaveProperty("status");
    expect((await world.get(`/users/${ann.id}/servers`, { actor: ben })).body.code).toBe("acting_user_not_staff");
    expect((await world.get(`/users/${ann.id}/matches`, { actor: ann })).body.code).toBe("acting_user_not_staff");
  });

  test("a grant is taken back by the member or by a senior, and not by a moderator or another member", async () => {
    const world = await createWorld();
    const moderator = await world.staff("moderator");
    const senior = await world.staff("senior");
    const [ann, ben] = [world.member("ann"), world.member("ben")];
    const grant = async () => {
      const { url } = (await world.post("/authorize/sessions", { discord_user_id: ann.id }, { actor: moderator })).body;
      await world.sandbox.as(ann).authorize(url, { approve: true });
    };
    const path = `/users/${ann.id}/authorization`;
    await grant();
    expect((await world.delete(path, undefined, { actor: moderator })).body).toMatchObject({ status: 403, required: "authorize.revoke" });
    expect((await world.delete(path, undefined, { actor: ben })).body.code).toBe("acting_user_not_staff");
    expect((await world.delete(path, undefined, {})).body.code).toBe("acting_user_required");
    const limited = await world.makeKey(["users.authorization.read"]);
    expect((await world.delete(path, undefined, { actor: ann, key: limited })).body).toMatchObject({ status: 403, missing_in: "key" });
    expect((await world.get(path, { actor: ann })).body.data.status).toBe("active");
    const own = await world.delete(path, { reason: "I left." }, { actor: ann });
    expect(own.body.data.status).toBe("revoked");
    expect(own.body.data).not.toHaveProperty("last_session");
    await grant();
    expect((await world.delete(path, { reason: "x".repeat(1001) }, { actor: senior })).body.errors).toMatchObject([{ pointer: "/reason" }]);
    expect((await world.delete(path, { because: "x" }, { actor: senior })).body.errors).toMatchObject([{ code: "unknown_field" }]);
    const taken = await world.delete(path, undefined, { actor: senior });
    expect(taken.body.data).toMatchObject({ status: "revoked", last_session: { status: "authorized" } });
    expect(await world.app.database.read.userServer.count()).toBe(0);
    expect(await world.app.database.read.erasure.count({ where: { kind: "revocation" } })).toBe(2);
    expect(world.sandbox.revokedTokens).toHaveLength(2);
  });

  test("staff match a record about themselves without a grant", async () => {
    const world = await createWorld();
    const owner = await world.staff("owner");
    const viewer = await world.staff("viewer");
    const record = { kind: "user", subject_id: viewer.id, category: "raid", severity: "high", reason_public: "Took part in a raid." };
    expect((await world.post("/blacklist", record, { actor: owner })).status).toBe(201);
    expect(await world.app.database.read.match.findMany()).toMatchObject([{ userId: viewer.id, kind: "user_blacklist", status: "open" }]);
    expect((await world.get(`/users/${viewer.id}/matches`, { actor: owner })).body.code).toBe("authorization_required");
  });
});
