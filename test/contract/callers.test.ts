// @module-tag sqlite
import { beforeAll, describe, expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { soonBack } from "../support/pauses.ts";
import type { AskOptions } from "../support/world.ts";
import { documentedCodes, documentedRoutes, filing, freshExample, freshId, writeRoutes } from "./document.ts";
import { authorize, createJudgedWorld, everyRow, shareWorld, until } from "./world.ts";

const shared = shareWorld();

/** One staff member per level, a member who is not staff, and records the write routes could change. */
interface Cast {
  owner: User;
  moderator: User;
  nobody: User;
  outsider: User;
  place: (path: string) => string;
}
let cast: Cast | undefined;
const scene = (): Cast => {
  if (cast === undefined) throw new Error("the cast is made before the tests");
  return cast;
};

beforeAll(async () => {
  const { world } = shared;
  const [owner, moderator] = [await world.staff("owner"), await world.staff("moderator")];
  const [nobody, outsider, person] = [world.member(), world.member(), world.member()];
  const powerless = world.guild.createRole("powerless");
  const role = { name: "Powerless", rank: 1, level: "none", discord: [{ guild_id: world.guild.id, role_id: powerless.id }] };
  expect((await world.put("/staffroles/powerless", role, { actor: owner })).body).toMatchObject({ success: true });
  world.guild.setRoles(nobody, [powerless]);
  await world.sandbox.waitFor(() => world.app.access.of(nobody.id).isStaff);
  await authorize(world, person, { by: moderator });
  const record = await world.post("/blacklist", { kind: "user", subject_id: person.id }, { actor: owner });
  const request = await world.post("/workflows/punishment", filing("punishment"), { actor: moderator });
  const places: Record<string, string> = {
    discord_user_id: person.id,
    guild_id: world.guild.id,
    key: "moderator",
    callsign: "M-001",
    role_key: "moderator",
    id: record.body.data.id,
    type: "punishment",
    website_id: request.body.id,
    code: "rate_limited",
    place: "1",
    number: "BL-000001",
    match_id: "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f",
    link_id: "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f",
    comment_id: "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f",
    note_id: "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f",
    delivery: "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f",
    action_id: "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f",
  };
  cast = {
    owner,
    moderator,
    nobody,
    outsider,
    place: (path) => path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => places[name] ?? expect.unreachable(`${path} has a {${name}}`)),
  };
});

/** What the body of an example that changes nothing lacks to ask for a change. */
const toChange: Record<string, object> = { "/roster/sync-member": { direction: "from_discord" } };

describe("a refused caller changes nothing, and no audit entry claims otherwise", () => {
  const guarded = writeRoutes.filter(({ operation }) => operation["x-permission"] !== undefined);
  const holders: [string, () => Promise<AskOptions>, { status: number; code: string; missing_in?: string }][] = [
    ["without a key", async () => ({ key: null }), { status: 401, code: "invalid_credentials" }],
    [
      "with a key that is none",
      async () => ({ key: "prv_live_aaaaaaaaaaaa_b", actor: scene().owner }),
      { status: 401, code: "invalid_credentials" },
    ],
    [
      "whose key lacks the scope",
      async () => ({ key: await shared.world.makeKey(["staff.read"]), actor: scene().owner }),
      { status: 403, code: "permission_denied", missing_in: "key" },
    ],
    [
      "whose key may not name anybody",
      async () => ({ key: await shared.world.makeKey(["*"], "none"), actor: scene().owner }),
      { status: 403, code: "permission_denied", missing_in: "key" },
    ],
    ["who names nobody", async () => ({}), { status: 403, code: "acting_user_required" }],
    ["who is not staff", async () => ({ actor: scene().outsider }), { status: 403, code: "acting_user_not_staff" }],
    [
      "who is staff without the permission",
      async () => ({ actor: scene().nobody }),
      { status: 403, code: "permission_denied", missing_in: "acting_user" },
    ],
  ];

  test.each(holders)("%s", async (_name, asking, refusal) => {
    const { world } = shared;
    const asked = await asking();
    const before = await everyRow(world);
    expect(guarded.length).toBeGreaterThan(20);
    expect(guarded.filter((route) => !documentedCodes(route).includes("acting_user_required")).map(({ path }) => path)).toEqual([
      "/permissions/explain",
      "/permissions/simulate",
      "/blacklist/check",
    ]);
    for (const route of guarded.filter((one) => documentedCodes(one).includes(refusal.code))) {
      const path = scene().place(route.path);
      const headers = { "idempotency-key": `refused-${route.operation.operationId}` };
      const body = { ...freshExample(route), ...toChange[route.path] };
      const answer = await world.request(route.method, path, body, { ...asked, headers });
      // Where everybody named is answered about their own matters, nothing here is theirs.
      const isAsked =
        route.operation["x-own-matters"] === true && (refusal.code === "acting_user_not_staff" || refusal.missing_in === "acting_user");
      if (isAsked) expect([path, [403, 404, 409, 422].includes(answer.status)]).toEqual([path, true]);
      else expect({ path, ...answer.body }).toMatchObject({ path, ...refusal });
    }
    expect(await everyRow(world)).toEqual(before);
  });
});

test("a permission counts only when the key and the acting user both hold it", async () => {
  const { world } = shared;
  const { owner, moderator } = scene();
  const [reader, creator] = [await world.makeKey(["blacklist.read"]), await world.makeKey(["blacklist.*"])];
  const body = () => ({ kind: "user", subject_id: filing("punishment").user_id });
  const create = (key: string, actor: User) => world.post("/blacklist", body(), { key, actor });
  expect((await create(reader, owner)).body).toMatchObject({ code: "permission_denied", required: "blacklist.create", missing_in: "key" });
  expect((await create(creator, moderator)).body).toMatchObject({ code: "permission_denied", missing_in: "acting_user" });
  expect((await create(creator, owner)).status).toBe(201);
  expect((await world.get("/blacklist", { key: reader })).status).toBe(200);
  expect((await world.get("/staff", { key: reader, actor: owner })).body).toMatchObject({ code: "permission_denied", missing_in: "key" });
  const access = (await world.get(`/staff/${moderator.id}/access`, { actor: owner })).body.data.permissions as string[];
  for (const { method, path, operation } of documentedRoutes.filter((route) => route.method === "GET" && !route.path.includes("{"))) {
    const permission = operation["x-permission"];
    if (permission === undefined) continue;
    const { body: said } = await world.request(method, path, undefined, { actor: moderator });
    expect([path, said.code === "permission_denied"]).toEqual([path, !access.includes(permission)]);
  }
});

test("a person who is not staff reads what is their own, and nothing of anybody else", async () => {
  const { world } = shared;
  const [own, other] = [world.member(), world.member()];
  for (const person of [own, other]) await authorize(world, person, { by: scene().moderator });
  for (const path of ["authorization", "servers"]) {
    expect((await world.get(`/users/${own.id}/${path}`, { actor: own })).status).toBe(200);
    expect((await world.get(`/users/${other.id}/${path}`, { actor: own })).body).toMatchObject({ code: "acting_user_not_staff" });
  }
  expect((await world.get(`/staff/${own.id}/access`, { actor: own })).body.data).toMatchObject({ user_id: own.id, allowed: false });
  expect((await world.get(`/staff/${other.id}/access`, { actor: own })).body).toMatchObject({ code: "acting_user_not_staff" });
  expect((await world.get(`/users/${own.id}/matches`, { actor: own })).body).toMatchObject({ code: "acting_user_not_staff" });
});

test("a role removed or given in Discord changes access and the right to write within a second", async () => {
  const { world } = shared;
  const person = await world.staff("admin");
  const access = () => world.get(`/staff/${person.id}/access`);
  const write = () => world.post("/blacklist", { kind: "user", subject_id: freshId() }, { actor: person });
  expect((await write()).status).toBe(201);
  for (let round = 0; round < 3; round += 1) {
    world.guild.setRoles(person, []);
    const gone = await until(access, ({ body }) => body.data.allowed === false, 60_000);
    expect(gone.answer.body.data).toMatchObject({ level: "none", permissions: [] });
    expect((await write()).body).toMatchObject({ status: 403, code: "acting_user_not_staff" });
    world.guild.setRoles(person, [world.roles.admin]);
    const back = await until(access, ({ body }) => body.data.allowed === true, 60_000);
    expect(back.answer.body.data).toMatchObject({ level: "admin" });
    expect((await write()).status).toBe(201);
    expect(Math.max(gone.ms, back.ms)).toBeLessThan(30_000);
  }
  world.guild.kick(person);
  await until(access, ({ body }) => body.data.allowed === false, 60_000);
});

test("while Discord is away the last state answers and says so; when it is too old, staff may read but not write", async () => {
  const limit = 900;
  let ahead = 0;
  const world = await createJudgedWorld({
    env: { ROSTER_STALE_SECONDS: limit.toString() },
    clock: { now: () => new Date(Date.now() + ahead * 1000) },
    pauses: { discord: soonBack },
  });
  const admin = await world.staff("admin");
  const access = () => world.get(`/staff/${admin.id}/access`, { actor: admin });
  const write = () => world.post("/blacklist", { kind: "user", subject_id: freshId() }, { actor: admin });
  /** Rights are looked at before content, so an empty body tells them apart without writing. */
  const attempt = () => world.post("/blacklist", {}, { actor: admin });
  expect((await access()).body.data).not.toHaveProperty("stale");
  const left = Date.now();
  const returned = world.sandbox.faults.down(Infinity);
  const stale = await until(access, ({ body }) => body.data.stale === true, 60_000);
  expect(stale.answer.body.data).toMatchObject({ allowed: true, level: "admin", stale: true });
  expect(Math.abs(Date.parse(stale.answer.body.data.as_of) - left)).toBeLessThan(5000);
  expect((await world.get("/staff", { actor: admin })).body.meta).toMatchObject({ stale: true, as_of: stale.answer.body.data.as_of });
  expect((await write()).status).toBe(201);
  expect((await world.get("/health")).body).toMatchObject({ status: "degraded", success: true });
  expect((await world.get("/readyz")).status).toBe(200);

  ahead = limit - 60;
  expect((await attempt()).status).toBe(422);
  ahead = limit + 1;
  const refused = await attempt();
  expect(refused.body).toMatchObject({ status: 503, code: "roster_stale", retryable: true });
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  expect((await access()).body.data).toMatchObject({ allowed: true, stale: true });

  world.sandbox.faults.up();
  await returned;
  await until(access, ({ body }) => body.data.stale === undefined, 60_000);
  expect((await write()).status).toBe(201);
});
