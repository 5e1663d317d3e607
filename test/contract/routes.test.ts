// @module-tag sqlite
import { describe, expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import type { World } from "../support/world.ts";
import { documentedRoutes, filing } from "./document.ts";
import { authorize, shareWorld } from "./world.ts";

const shared = shareWorld();
const without = shareWorld({ env: { SWITCHED_OFF: "callsigns,roster" } });
const lacking = shareWorld({ env: { SWITCHED_OFF: "callsigns,roster", UNSUPPORTED_STATUS: "404" } });

/** The kinds of the contract with the prefix of their references. */
const kinds = [
  ["blacklist-server", "BLS"],
  ["blacklist-user", "BLU"],
  ["investigation", "INV"],
  ["recruitment", "REC"],
  ["server-merge", "SMR"],
  ["alt-request", "ALT"],
  ["punishment", "PUN"],
  ["poach", "PCH"],
] as const;

const optional = [
  ["POST", "/callsigns/next", "callsigns.next"],
  ["GET", "/callsigns/next", "callsigns.lookup"],
  ["POST", "/callsigns/repair", "callsigns.repair"],
  ["GET", "/roster/history", "roster.history"],
  ["POST", "/roster/sync-member", "roster.sync_member"],
  ["POST", "/roster/audit", "roster.audit"],
] as const;

/** Lists that hang on no record. */
const lists = documentedRoutes.filter(
  ({ method, path, operation }) =>
    method === "GET" &&
    !path.replace("{discord_user_id}", "").includes("{") &&
    operation.parameters?.some(({ name }) => name === "cursor") === true,
);

test.each(lists)("GET $path says that a cursor is none of ours before it looks at the state of anything", async ({ path }) => {
  const { world } = shared;
  const owner = await world.staff("owner");
  const address = path.replace("{discord_user_id}", world.member().id);
  const { status, body } = await world.get(`${address}?cursor=none_of_ours`, { actor: owner });
  expect([status, body.code]).toEqual([400, "invalid_cursor"]);
});

test("a kind of request nobody knows is told to those who may decide one, and nothing is told to others", async () => {
  const { world } = shared;
  const owner = await world.staff("owner");
  const { body: narrow } = await world.post("/keys", { name: "narrow", scopes: ["staff.read"], delegation: "trusted" }, { actor: owner });
  const decide = (kind: string, key?: string) =>
    world.post(
      `/workflows/${kind}/PUN-000001/decision`,
      { decision: "deny", reason: "There is nothing in it." },
      { actor: owner, ...(key !== undefined && { key }) },
    );
  expect((await decide("punishment", narrow.data.key)).body).toMatchObject({ status: 403, code: "permission_denied" });
  expect((await decide("bogus", narrow.data.key)).body).toMatchObject({ status: 403, code: "permission_denied" });
  expect((await decide("bogus")).body).toMatchObject({ status: 422, errors: [{ in: "path", pointer: "/type" }] });
});

describe("core routes", () => {
  let people: Promise<{ senior: User; person: User }> | undefined;
  /** A senior, and a person who has granted access. */
  const cast = () =>
    (people ??= (async () => {
      const { world } = shared;
      const [senior, person] = [await world.staff("senior"), world.member()];
      await authorize(world, person, { by: senior });
      return { senior, person };
    })());

  test.each([
    ["/users/{id}/authorization", "single"],
    ["/users/{id}/servers", "list"],
    ["/users/{id}/matches", "list"],
    ["/staff/{id}/access", "single"],
    ["/staff", "list"],
    ["/staffroles", "list"],
    ["/permissions/catalog", "list"],
    ["/permissions/roles", "list"],
  ])("GET %s answers 200 with its envelope", async (path, shape) => {
    const { senior, person } = await cast();
    const { status, headers, body } = await shared.world.get(path.replace("{id}", person.id), { actor: senior });
    expect(status, JSON.stringify(body)).toBe(200);
    expect(headers.get("content-type")).toMatch(/^application\/json/);
    expect(headers.get("api-version")).toBe("1");
    expect(body.success).toBe(true);
    if (shape === "single") expect(Object.keys(body).toSorted()).toEqual(["data", "success"]);
    else {
      expect(Object.keys(body).toSorted()).toEqual(["data", "meta", "page", "success"]);
      expect(Array.isArray(body.data)).toBe(true);
      expect(Object.keys(body.page).toSorted()).toEqual(["has_more", "limit", "next_cursor"]);
    }
  });

  test("GET /health answers without a key", async () => {
    const { status, body } = await shared.world.get("/health", { key: null });
    expect(status).toBe(200);
    expect(body).toMatchObject({ success: true, status: "ok", api: { contract: "community-moderation/1", compatible: true } });
  });

  test("POST /authorize/sessions answers 201 with an address of this service for the user", async () => {
    const { senior } = await cast();
    const { status, body } = await shared.world.post(
      "/authorize/sessions",
      { discord_user_id: shared.world.member().id },
      { actor: senior },
    );
    expect(status).toBe(201);
    expect(Object.keys(body).toSorted()).toEqual(["expires_at", "id", "status", "success", "url"]);
    expect(body).toMatchObject({ success: true, status: "pending" });
    expect(body.url).toMatch(new RegExp(`^${shared.world.url}/authorize/[\\w-]{30,}$`));
  });

  test("POST /users/{id}/refresh answers 200 with what changed", async () => {
    const { world } = shared;
    const [{ person }, admin] = [await cast(), await world.staff("admin")];
    const { status, body } = await world.post(`/users/${person.id}/refresh`, { force: true }, { actor: admin });
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body).toMatchObject({ success: true, data: { servers: { added: 0, removed: 0, total: 1 }, matches: { opened: 0, closed: 0 } } });
  });

  test("GET /staff/{id}/profile answers 200 for staff", async () => {
    const { senior } = await cast();
    const { status, body } = await shared.world.get(`/staff/${senior.id}/profile`, { actor: senior });
    expect(status).toBe(200);
    expect(body.data.user.id).toBe(senior.id);
  });

  test("GET /staff/{id}/access answers a stranger with a refusal, never with 404", async () => {
    const { status, body } = await shared.world.get("/staff/80351110224678912/access");
    expect(status).toBe(200);
    expect(body.data).toMatchObject({ allowed: false, level: "none", permissions: [] });
  });

  test("an id that is none answers 422 on every route about a person", async () => {
    for (const path of ["/users/x/authorization", "/users/x/servers", "/users/x/matches", "/staff/x/access", "/staff/x/profile"]) {
      const { status, body } = await shared.world.get(path);
      expect([path, status, body.errors?.[0]]).toMatchObject([path, 422, { in: "path", pointer: "/discord_user_id" }]);
    }
  });
});

describe("workflow routes", () => {
  test.each(kinds)("POST /workflows/%s answers 201 with the reference of its kind", async (kind, prefix) => {
    const { world } = shared;
    const actor = await world.staff("senior");
    const { status, body, headers } = await world.post(`/workflows/${kind}`, filing(kind), { actor });
    expect(status, JSON.stringify(body)).toBe(201);
    expect(headers.get("content-type")).toMatch(/^application\/json/);
    const { success, id, reference, status: state, ...additions } = body;
    expect({ success, state }).toEqual({ success: true, state: "pending" });
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(reference).toBe(`${prefix}-REQ-000001`);
    for (const name of Object.keys(additions)) expect(["warnings", "duplicates", "effects_preview"]).toContain(name);
    for (const key of [id, reference, reference.toLowerCase()]) {
      const read = await world.get(`/workflows/${kind.replace("-", "_")}/${key}`, { actor });
      expect(read.body.data).toMatchObject({ id, reference, type: kind, status: "pending" });
    }
  });

  test.each(kinds.map(([kind]) => kind))("a decision on a %s request answers success", async (kind) => {
    const { world } = shared;
    const [requester, decider] = [await world.staff("senior"), await world.staff("owner")];
    const made = await world.post(`/workflows/${kind}`, filing(kind), { actor: requester });
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    const body = { decision: "denied", reason: "There is not enough to go on." };
    const decided = await world.post(`/workflows/${kind}/${made.body.id}/decision`, body, { actor: decider });
    expect(decided.status, JSON.stringify(decided.body)).toBe(200);
    expect(decided.body).toMatchObject({ success: true, id: made.body.id, status: "denied", final: true });
  });

  test("a type that is none is a wrong path, and a request of another type is not found", async () => {
    const { world } = shared;
    const actor = await world.staff("owner");
    const made = await world.post("/workflows/poach", filing("poach"), { actor });
    const decide = async (type: string) =>
      (await world.post(`/workflows/${type}/${String(made.body.id)}/decision`, { decision: "approve" }, { actor })).body;
    expect(await decide("nonsense")).toMatchObject({ success: false, status: 422, errors: [{ in: "path", pointer: "/type" }] });
    expect(await decide("punishment")).toMatchObject({ success: false, status: 404, code: "record_not_found" });
    expect(await decide("POACH")).toMatchObject({ success: false, code: "conflict_of_interest" });
  });
});

describe("optional routes", () => {
  const answer = async (world: World, method: string, path: string) =>
    world.request(method, path, method === "POST" ? {} : undefined, { actor: await world.staff("owner") });

  test.each(optional)("%s %s answers 501 with its capability, and is not to be stored", async (method, path, capability) => {
    const { status, headers, body } = await answer(without.world, method, path);
    expect(status).toBe(501);
    expect(body).toMatchObject({ success: false, code: "unsupported_operation", capability });
    expect(headers.get("cache-control")).toBe("no-store");
  });

  test.each(optional)("%s %s answers 404 with the same code for clients that know only that", async (method, path, capability) => {
    const { status, headers, body } = await answer(lacking.world, method, path);
    expect(status).toBe(404);
    expect(body).toMatchObject({ success: false, code: "unsupported_operation", capability });
    expect(headers.get("cache-control")).toBe("no-store");
  });

  test("an address that is no route answers 404 with another code", async () => {
    expect((await lacking.world.get("/callsigns-none")).body).toMatchObject({ status: 404, code: "route_not_found" });
  });
});
