import { beforeAll, describe, expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import type { User } from "../../sandbox/index.ts";
import { shareWorld } from "../contract/world.ts";
import type { Answer } from "../support/world.ts";
import { rowsOf } from "./keys-ground.ts";
import { createPair } from "../support/signer.ts";

const shared = shareWorld();
let owner: User;
beforeAll(async () => {
  owner = await shared.world.staff("owner");
});

const day = 86_400_000;
const inDays = (count: number): string => new Date(Date.now() + count * day).toISOString();
const make = async (input: object = {}): Promise<any> => {
  const { status, body } = await shared.world.post("/keys", { name: "site", scopes: ["staff.*"], ...input }, { actor: owner });
  expect([status, body.errors]).toEqual([201, undefined]);
  return body.data;
};
const patch = (id: string, input: object, headers = {}): Promise<Answer> =>
  shared.world.patch(`/keys/${id}`, input, { actor: owner, headers });
const rotate = (id: string, input?: object, headers = {}): Promise<Answer> =>
  shared.world.post(`/keys/${id}/rotate`, input, { actor: owner, headers });
const revoke = (id: string, headers = {}): Promise<Answer> => shared.world.delete(`/keys/${id}`, undefined, { actor: owner, headers });
const read = async (id: string): Promise<any> => (await shared.world.get(`/keys/${id}`, { actor: owner })).body.data;
const use = async (key: string): Promise<string> => {
  const { status, body } = await shared.world.get("/staff", { key });
  return status === 200 ? "works" : body.code;
};
/** A key's end comes by. */
const expire = (id: string) =>
  shared.world.app.database.write(systemCall("job", "request-1"), ({ db }) =>
    db.apiKey.update({ where: { id }, data: { expiresAt: new Date(1) } }),
  );
/** The code of a refusal that must not have changed a row. */
async function refusal(ask: () => Promise<Answer>): Promise<any> {
  const before = await rowsOf(shared.world);
  const { body } = await ask();
  expect(await rowsOf(shared.world)).toEqual(before);
  return body;
}
const auditOf = (id: string) =>
  shared.world.app.database.read.auditEntry
    .findMany({ where: { targetId: id, via: "rest" }, orderBy: { seq: "asc" } })
    .then(async (entries) => {
      const { auditPayload } = shared.world.app.database.read;
      return await Promise.all(
        entries.map(async ({ action, seq }) => ({ action, ...((await auditPayload.findUnique({ where: { seq } }))?.payload as object) })),
      );
    });
const eventsOf = async (id: string): Promise<any[]> => {
  const rows = await shared.world.app.database.read.outboxEvent.findMany({
    where: { type: { startsWith: "api_key.", not: "api_key.expiring" } },
    orderBy: { seq: "asc" },
  });
  return rows
    .filter(({ data }) => (data as { id: string }).id === id)
    .map(({ type, permission, data }) => ({ type, permission, ...(data as object) }));
};

describe("POST /keys", () => {
  test("answers the key once, and it works with its scopes alone", async () => {
    const { status, body, headers } = await shared.world.post(
      "/keys",
      { name: "  site ", scopes: ["staff.*", "staff.*"] },
      { actor: owner },
    );
    expect([status, headers.get("etag"), headers.get("cache-control")]).toEqual([201, '"v1"', "no-store"]);
    const { key, ...view } = body.data;
    expect(view).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      key_id: key.slice(9, 21),
      name: "site",
      state: "active",
      warning: null,
      makers: [owner.id],
      scopes: ["staff.*"],
      delegation: "none",
      public_key: null,
      ip_allowlist: [],
      created_by: owner.id,
      created_at: expect.any(String),
      expires_at: expect.any(String),
      last_used_at: null,
      rotated_from: null,
      revoked_at: null,
      revision: 1,
    });
    expect(Date.parse(view.expires_at) - Date.parse(view.created_at)).toBe(365 * day);
    expect(await use(key)).toBe("works");
    expect((await shared.world.get("/blacklist", { key })).body).toMatchObject({ code: "permission_denied", missing_in: "key" });
    for (const id of [view.id, view.key_id]) expect(await read(id)).toEqual(view);
    expect(await auditOf(view.id)).toMatchObject([
      { action: "api_key.create", before: null, after: { name: "site", scopes: ["staff.*"] } },
    ]);
    expect(await eventsOf(view.id)).toEqual([{ type: "api_key.created", permission: "clients.manage", id: view.id, key_id: view.key_id }]);
  });

  test("makes one that ends at a time or after days, as a rotation and a change do", async () => {
    const [first, second, third] = [inDays(3), inDays(40), inDays(50)];
    const made = await make({ expires_at: first });
    expect(made).toMatchObject({ expires_at: first, warning: "expires_soon" });
    const rotated = await rotate(made.id, { expires_at: second });
    expect([rotated.status, rotated.body.data]).toMatchObject([201, { expires_at: second, rotated_from: made.id }]);
    const { id } = rotated.body.data;
    expect((await patch(id, { expires_at: third })).body.data).toMatchObject({ expires_at: third });
    const inDaysOf = ({ body }: Answer): number => Math.round((Date.parse(body.data.expires_at) - Date.now()) / day);
    expect(inDaysOf(await patch(id, { expires_days: 7 }))).toBe(7);
    expect(inDaysOf(await rotate(id, { expires_days: 9 }))).toBe(9);
  });

  test("repeated with its idempotency key makes no second one, and does not show the first again", async () => {
    const body = { name: "once", scopes: ["staff.read"] };
    const ask = () => shared.world.post("/keys", body, { actor: owner, headers: { "idempotency-key": "make-one-key-1" } });
    const first = await ask();
    expect(first.status).toBe(201);
    expect(await refusal(ask)).toMatchObject({ status: 422, code: "idempotency_key_reused" });
    expect(await use(first.body.data.key)).toBe("works");
  });

  const jwk = createPair().jwk;
  test.each([
    ["an unknown scope", { scopes: ["staff.read", "stuff.*"] }, "/scopes/1", "unknown_scope"],
    ["no scope", { scopes: [] }, "/scopes", "too_few"],
    ["a life that is too long", { expires_days: 3651 }, "/expires_days", "too_large"],
    ["an end in the past", { expires_at: "2020-01-01T00:00:00.000Z" }, "/expires_at", "in_the_past"],
    ["an end too far away", { expires_at: inDays(3651) }, "/expires_at", "too_large"],
    ["two ends", { expires_at: inDays(3), expires_days: 3 }, "/expires_days", "invalid_value"],
    ["an address that is none", { ip_allowlist: ["203.0.113.0/33"] }, "/ip_allowlist/0", "invalid_value"],
    ["signed delegation without public key", { delegation: "signed" }, "/public_key", "required"],
    ["a public key without signed delegation", { delegation: "trusted", public_key: jwk }, "/public_key", "only_signed"],
    ["a private key", { delegation: "signed", public_key: { ...jwk, d: "x".repeat(43) } }, "/public_key/d", "invalid_value"],
    ["a key of another kind", { delegation: "signed", public_key: { ...jwk, crv: "X25519" } }, "/public_key/crv", "invalid_value"],
    ["a key that is too short", { delegation: "signed", public_key: { ...jwk, x: "AAAA" } }, "/public_key/x", "invalid_format"],
    [
      "a key in another spelling",
      { delegation: "signed", public_key: { ...jwk, x: `${"A".repeat(42)}B` } },
      "/public_key/x",
      "invalid_value",
    ],
    ["a secret of one's own choice", { secret: "x" }, "/secret", "unknown_field"],
    ["an id of one's own choice", { key_id: "0HjVw3tqZB9m" }, "/key_id", "unknown_field"],
  ])("refuses %s, naming the field", async (_what, input, pointer, code) => {
    const body = { name: "site", scopes: ["staff.read"], ...input };
    const refused = await refusal(() => shared.world.post("/keys", body, { actor: owner }));
    expect(refused).toMatchObject({ status: 422, code: "validation_failed", errors: [{ pointer, in: "body", code }] });
    expect(JSON.stringify(refused)).not.toContain("x".repeat(43));
  });
});

test("keys are for those who manage clients alone", async () => {
  const { id, key } = await make({ scopes: ["*"] });
  const asks = [
    (asked: object) => shared.world.get("/keys", asked),
    (asked: object) => shared.world.get(`/keys/${id}`, asked),
    (asked: object) => shared.world.post("/keys", { name: "x", scopes: ["staff.read"] }, asked),
    (asked: object) => shared.world.patch(`/keys/${id}`, { name: "x" }, asked),
    (asked: object) => shared.world.delete(`/keys/${id}`, undefined, asked),
    (asked: object) => shared.world.post(`/keys/${id}/rotate`, {}, asked),
  ];
  const [admin, member] = [await shared.world.staff("admin"), shared.world.member()];
  const narrow = await shared.world.makeKey(["staff.*", "system.act"]);
  for (const ask of asks) {
    expect(await refusal(() => ask({ actor: admin }))).toMatchObject({ code: "permission_denied", required: "clients.manage" });
    expect(await refusal(() => ask({ actor: member }))).toMatchObject({ code: "acting_user_not_staff" });
    expect(await refusal(() => ask({ actor: owner, key: narrow }))).toMatchObject({ code: "permission_denied", missing_in: "key" });
    expect(await refusal(() => ask({ key: null }))).toMatchObject({ code: "invalid_credentials" });
  }
  for (const ask of asks.slice(2, 5)) expect(await refusal(() => ask({ key }))).toMatchObject({ code: "acting_user_required" });
});

test("a key that does not exist is not found, and an id that is none is a wrong path", async () => {
  for (const [id, status] of [
    ["0199e6a0-7c4e-7a35-9f0c-3a0a4d6f2b11", 404],
    ["aaaaaaaaaaaa", 404],
    ["x", 422],
    ["0199e6a0-7c4e-7a35-9f0c-3a0a4d6f2b11x", 422],
  ] as const) {
    for (const ask of [
      () => shared.world.get(`/keys/${id}`, { actor: owner }),
      () => patch(id, { name: "x" }),
      () => revoke(id),
      () => rotate(id),
    ]) {
      const refused = await refusal(ask);
      expect([id, refused.status]).toEqual([id, status]);
      if (status === 422) expect(refused.errors).toMatchObject([{ in: "path", pointer: "/id" }]);
    }
  }
});

test("the list tells states apart, finds names and key ids, and pages within its filters", async () => {
  const { world } = shared;
  const name = "Listed_%";
  const made = [];
  for (let index = 0; index < 4; index += 1) made.push(await make({ name: `${name} ${index.toString()}`, expires_days: 100 }));
  await revoke(made[1].id);
  await expire(made[2].id);
  const list = (query: string) => world.get(`/keys?${query}`, { actor: owner });
  const ids = async (query: string): Promise<string[]> => (await list(query)).body.data.map((key: { id: string }) => key.id);
  const q = `q=${encodeURIComponent(name.toLowerCase())}`;
  expect(await ids(q)).toEqual(made.map(({ id }) => id));
  expect(await ids(`${q}&state=active`)).toEqual([made[0].id, made[3].id]);
  expect(await ids(`${q}&state=revoked`)).toEqual([made[1].id]);
  expect(await ids(`${q}&state=expired`)).toEqual([made[2].id]);
  expect(await ids(`q=${String(made[3].key_id).slice(0, 8)}`)).toEqual([made[3].id]);
  expect(await ids("q=listedx")).toEqual([]);
  const first = await list(`${q}&limit=3&count=true`);
  expect(first.body.page).toMatchObject({ has_more: true, total: 4 });
  expect(await ids(`${q}&limit=3&cursor=${String(first.body.page.next_cursor)}`)).toEqual([made[3].id]);
  expect((await list(`limit=3&cursor=${String(first.body.page.next_cursor)}`)).body).toMatchObject({ code: "invalid_cursor" });
  expect((await list("state=gone")).body).toMatchObject({ status: 422, errors: [{ in: "query", pointer: "/state" }] });
  expect((await list("name=x")).body).toMatchObject({ status: 400, code: "unknown_parameter" });
  expect(JSON.stringify((await list(q)).body)).not.toContain(made[0].key.slice(22));
});

describe("PATCH /keys/{id}", () => {
  test("changes what is sent, keeps the rest, and says what was before", async () => {
    const made = await make({ ip_allowlist: ["127.0.0.0/8"] });
    const expires_at = inDays(10);
    const { status, body, headers } = await patch(made.id, { name: "site 2", scopes: ["staff.read"], expires_at }, { "if-match": '"v1"' });
    expect([status, headers.get("etag")]).toEqual([200, '"v2"']);
    const { key: _key, ...view } = made;
    expect(body.data).toEqual({ ...view, name: "site 2", scopes: ["staff.read"], expires_at, warning: "expires_soon", revision: 2 });
    expect((await auditOf(made.id)).at(-1)).toMatchObject({
      action: "api_key.update",
      before: { name: "site", scopes: ["staff.*"], expires_at: made.expires_at },
      after: { name: "site 2", scopes: ["staff.read"], expires_at },
    });
    expect(Object.keys((await auditOf(made.id)).at(-1)?.["after" as never] ?? {}).toSorted()).toEqual(["expires_at", "name", "scopes"]);
    expect((await eventsOf(made.id)).map(({ type }) => type)).toEqual(["api_key.created", "api_key.updated"]);
    const { headers: used } = await shared.world.get("/staff", { key: made.key });
    expect(used.get("x-key-expires-at")).toBe(expires_at);
  });

  test("takes hold at once", async () => {
    const { id, key } = await make();
    expect(await use(key)).toBe("works");
    await patch(id, { scopes: ["blacklist.check"] });
    expect(await use(key)).toBe("permission_denied");
    await patch(id, { ip_allowlist: ["203.0.113.0/24", "2001:db8::/32"], scopes: ["staff.read"] });
    expect(await use(key)).toBe("invalid_credentials");
    for (const [ip_allowlist, outcome] of [
      [["::1"], "invalid_credentials"],
      [["2001:db8::/32", "127.0.0.1"], "works"],
      [["127.0.0.0/8"], "works"],
      [["::2/127", "10.0.0.0/8"], "invalid_credentials"],
      [[], "works"],
    ] as const) {
      expect((await patch(id, { ip_allowlist })).status).toBe(200);
      expect([ip_allowlist, await use(key)]).toEqual([ip_allowlist, outcome]);
    }
  });

  test("with what is so already changes nothing", async () => {
    const made = await make();
    for (const input of [{}, { name: "site", scopes: ["staff.*"], delegation: "none", ip_allowlist: [], expires_at: made.expires_at }]) {
      const before = await rowsOf(shared.world);
      expect((await patch(made.id, input)).body.data).toMatchObject({ revision: 1 });
      expect(await rowsOf(shared.world)).toEqual(before);
    }
  });

  test("refuses a revision that has passed, and a key that has ended", async () => {
    const made = await make();
    await patch(made.id, { name: "other" });
    for (const ask of [
      (headers: object) => patch(made.id, { name: "third" }, headers),
      (headers: object) => revoke(made.id, headers),
      (headers: object) => rotate(made.id, {}, headers),
    ]) {
      expect(await refusal(() => ask({ "if-match": '"v1"' }))).toMatchObject({ status: 412, current_etag: '"v2"' });
    }
    await revoke(made.id, { "if-match": '"v2"' });
    for (const ask of [() => patch(made.id, { name: "third" }), () => rotate(made.id)]) {
      expect(await refusal(ask)).toMatchObject({ status: 409, code: "invalid_transition", from: "revoked" });
    }
    const old = await make();
    await expire(old.id);
    for (const ask of [() => patch(old.id, { expires_days: 5 }), () => rotate(old.id)]) {
      expect(await refusal(ask)).toMatchObject({ status: 409, code: "invalid_transition", from: "expired" });
    }
  });

  test("keeps public key and signed delegation together", async () => {
    const { id } = await make();
    const [one, two] = [createPair().jwk, createPair().jwk];
    expect(await refusal(() => patch(id, { delegation: "signed" }))).toMatchObject({
      errors: [{ pointer: "/public_key", code: "required" }],
    });
    expect(await refusal(() => patch(id, { public_key: one }))).toMatchObject({
      errors: [{ pointer: "/public_key", code: "only_signed" }],
    });
    expect((await patch(id, { delegation: "signed", public_key: one })).body.data).toMatchObject({ delegation: "signed", public_key: one });
    expect((await patch(id, { public_key: two })).body.data).toMatchObject({ delegation: "signed", public_key: two });
    expect((await patch(id, { name: "kept" })).body.data).toMatchObject({ delegation: "signed", public_key: two });
    expect((await patch(id, { delegation: "trusted" })).body.data).toMatchObject({ delegation: "trusted", public_key: null });
    expect((await auditOf(id)).at(-1)).toMatchObject({ before: { delegation: "signed", public_key: two }, after: { public_key: null } });
  });

  test.each([
    ["an end in the past", { expires_at: "2020-01-01T00:00:00.000Z" }, "/expires_at", "in_the_past"],
    ["an end too far away", { expires_at: inDays(3651) }, "/expires_at", "too_large"],
    ["two ends", { expires_at: inDays(3), expires_days: 3 }, "/expires_days", "invalid_value"],
    ["an unknown scope", { scopes: ["nobody.knows"] }, "/scopes/0", "unknown_scope"],
    ["an empty name", { name: " " }, "/name", "too_short"],
    ["a revocation", { revoked_at: null }, "/revoked_at", "unknown_field"],
  ])("refuses %s", async (_what, input, pointer, code) => {
    const { id } = await make();
    expect(await refusal(() => patch(id, input))).toMatchObject({ status: 422, errors: [{ pointer, code }] });
  });
});

describe("DELETE /keys/{id}", () => {
  test("ends the key at once, for good, and once", async () => {
    const made = await make();
    expect(await use(made.key)).toBe("works");
    const { status, body } = await revoke(made.key_id);
    expect([status, body.data]).toMatchObject([200, { id: made.id, state: "revoked", revision: 2, revoked_at: expect.any(String) }]);
    expect(await use(made.key)).toBe("credential_revoked");
    const before = await rowsOf(shared.world);
    expect((await revoke(made.id)).body.data).toEqual(body.data);
    expect(await rowsOf(shared.world)).toEqual(before);
    expect((await auditOf(made.id)).at(-1)).toMatchObject({ action: "api_key.revoke", before: { revoked_at: null } });
    expect((await eventsOf(made.id)).at(-1)).toEqual({
      type: "api_key.revoked",
      permission: "clients.manage",
      id: made.id,
      key_id: made.key_id,
    });
  });

  test("may be asked by the key itself", async () => {
    const { id, key } = await make({ scopes: ["clients.manage"], delegation: "trusted" });
    expect((await shared.world.delete(`/keys/${id}`, undefined, { key, actor: owner })).status).toBe(200);
    expect((await shared.world.get("/keys", { key, actor: owner })).body).toMatchObject({ code: "credential_revoked" });
  });
});

describe("POST /keys/{id}/rotate", () => {
  test("makes a key with the same settings, and the old one works on for its grace", async () => {
    const old = await make({ scopes: ["staff.read"], ip_allowlist: ["127.0.0.1"], delegation: "trusted", expires_days: 100 });
    const { status, body } = await rotate(old.id, { grace_seconds: 60 }, { "if-match": '"v1"' });
    expect(status).toBe(201);
    const { key, ...made } = body.data;
    const same = { name: "site", scopes: ["staff.read"], ip_allowlist: ["127.0.0.1"], delegation: "trusted", expires_at: old.expires_at };
    expect(made).toMatchObject({ ...same, rotated_from: old.id, state: "active", revision: 1 });
    expect(made.key_id).not.toBe(old.key_id);
    expect(await Promise.all([use(old.key), use(key)])).toEqual(["works", "works"]);
    const ending = await read(old.id);
    expect(ending).toMatchObject({ state: "active", warning: "expires_soon", revision: 2 });
    expect(Date.parse(ending.expires_at) - Date.parse(made.created_at)).toBe(60_000);
    expect(await auditOf(old.id)).toMatchObject([
      { action: "api_key.create" },
      { action: "api_key.rotate", before: { expires_at: old.expires_at }, after: { expires_at: ending.expires_at } },
    ]);
    expect(await auditOf(made.id)).toMatchObject([{ action: "api_key.create", after: { rotated_from: old.id } }]);
    expect((await eventsOf(old.id)).at(-1)).toEqual({
      type: "api_key.rotated",
      permission: "clients.manage",
      id: old.id,
      key_id: old.key_id,
      successor_id: made.id,
      successor_key_id: made.key_id,
    });
  });

  test.each([
    ["an end in the past", { expires_at: "2020-01-01T00:00:00.000Z" }, "/expires_at", "in_the_past"],
    ["an end too far away", { expires_at: inDays(3651) }, "/expires_at", "too_large"],
    ["two ends", { expires_at: inDays(3), expires_days: 3 }, "/expires_days", "invalid_value"],
  ])("refuses %s, and the key stays as it is", async (_what, input, pointer, code) => {
    const { id } = await make();
    const before = await read(id);
    expect(await refusal(() => rotate(id, input))).toMatchObject({ status: 422, errors: [{ pointer, code }] });
    expect(await read(id)).toEqual(before);
  });

  test("gives a day of grace unless told, and never more life than the old key had", async () => {
    const [long, short] = [await make({ expires_days: 100 }), await make({ expires_days: 1 })];
    await patch(short.id, { expires_at: new Date(Date.now() + 3_600_000).toISOString() });
    const { expires_at } = await read(short.id);
    await rotate(long.id);
    await rotate(short.id);
    expect(Math.abs(Date.parse((await read(long.id)).expires_at) - Date.now() - day)).toBeLessThan(60_000);
    expect((await read(short.id)).expires_at).toBe(expires_at);
  });

  test("without grace the old key is revoked at once", async () => {
    const old = await make();
    expect(await use(old.key)).toBe("works");
    const { body } = await rotate(old.id, { grace_seconds: 0, expires_days: 500 });
    expect(await Promise.all([use(old.key), use(body.data.key)])).toEqual(["credential_revoked", "works"]);
    expect(Date.parse(body.data.expires_at) - Date.parse(body.data.created_at)).toBe(500 * day);
    expect(await read(old.id)).toMatchObject({ state: "revoked" });
  });

  test("the old key is refused when its grace is over", async () => {
    const old = await make();
    await rotate(old.id, { grace_seconds: 1 });
    await expect.poll(() => use(old.key), { timeout: 60_000 }).toBe("credential_expired");
    expect(await read(old.id)).toMatchObject({ state: "expired", revoked_at: null });
  });

  test.each([
    ["a grace that is too long", { grace_seconds: 604_801 }, "/grace_seconds", "too_large"],
    ["a grace below nothing", { grace_seconds: -1 }, "/grace_seconds", "too_small"],
    ["other settings", { scopes: ["*"] }, "/scopes", "unknown_field"],
  ])("refuses %s", async (_what, input, pointer, code) => {
    const { id } = await make();
    expect(await refusal(() => rotate(id, input))).toMatchObject({ status: 422, errors: [{ pointer, code }] });
  });

  test("repeated with its idempotency key makes no second key", async () => {
    const { id } = await make();
    const ask = () => rotate(id, {}, { "idempotency-key": "rotate-once-1" });
    expect((await ask()).status).toBe(201);
    expect(await refusal(ask)).toMatchObject({ code: "idempotency_key_reused" });
  });

  test("asked ten times at once with one revision is done once", async () => {
    const { id } = await make();
    const answers = await Promise.all(Array.from({ length: 10 }, () => rotate(id, {}, { "if-match": '"v1"' })));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, ...Array(9).fill(412)]);
    expect(await shared.world.app.database.read.apiKey.count({ where: { rotatedFrom: id } })).toBe(1);
  });
});

test("the last use of a key is shown once it is written down, at the latest when the service stops", async () => {
  const { world } = shared;
  const { id, key } = await make();
  expect(await use(key)).toBe("works");
  await world.restart();
  expect(Math.abs(Date.parse((await read(id)).last_used_at) - Date.now())).toBeLessThan(60_000);
  expect(await read(id)).toMatchObject({ revision: 1 });
});
