import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { createAddressCheck, createKeyGrants } from "../../src/features/keys/grants.ts";
import type { KeySettings } from "../../src/features/keys/keys.policy.ts";
import { knownPermissions } from "../../src/kernel/permissions.ts";
import { createScopes, isKnownScope } from "../../src/features/permissions/permissions.service.ts";
import { systemCall } from "../../src/kernel/call.ts";
import type { User } from "../../sandbox/index.ts";
import { shareWorld } from "../contract/world.ts";
import { sizeOf } from "../support/size.ts";
import type { Answer, AskOptions } from "../support/world.ts";
import { rowsOf } from "./keys-ground.ts";
import { createPair } from "../support/signer.ts";

const shared = shareWorld();
let owner: User;
/** Manages clients without being an owner. */
let keeper: User;
beforeAll(async () => {
  const { world } = shared;
  owner = await world.staff("owner");
  keeper = await world.staff("admin");
  const mapped = await world.put("/permissions/roles/admin", { allow: ["clients.manage"], deny: [] }, { actor: owner });
  expect(mapped.status).toBe(200);
});

const day = 86_400_000;
const make = async (input: object = {}): Promise<any> =>
  (await shared.world.post("/keys", { name: "site", scopes: ["staff.*"], ...input }, { actor: owner })).body.data;
/** A key made by the operator, who may give everything. */
const operatorKey = async (scopes: string[], more: object = {}): Promise<any> =>
  await shared.world.app.keys.create(systemCall("cli", "request-1"), { name: "operator", scopes, ...more });
const post = (input: object, asked: AskOptions): Promise<Answer> => shared.world.post("/keys", { name: "climber", ...input }, asked);
const patch = (id: string, input: object, asked: AskOptions): Promise<Answer> => shared.world.patch(`/keys/${id}`, input, asked);
const rotate = (id: string, input: object, asked: AskOptions): Promise<Answer> => shared.world.post(`/keys/${id}/rotate`, input, asked);

/** A refusal that must not have changed a row. */
async function refusal(ask: () => Promise<Answer>): Promise<any> {
  const before = await rowsOf(shared.world);
  const { body } = await ask();
  expect(await rowsOf(shared.world)).toEqual(before);
  return body;
}
const unheld = { status: 403, code: "cannot_grant_unheld" };

describe("nobody makes a key that may do more than they may", () => {
  test.each([
    ["everything", ["*"]],
    ["a group they hold in part", ["users.*"]],
    ["what only owners hold", ["staff.read", "blacklist.purge"]],
  ])("%s", async (_what, scopes) => {
    expect(await refusal(() => post({ scopes }, { actor: keeper }))).toMatchObject({ ...unheld, missing_in: "acting_user" });
  });

  test("but out of what they hold, they do", async () => {
    const { status, body } = await post({ scopes: ["staff.*", "audit.read"], delegation: "trusted" }, { actor: keeper });
    expect([status, body.data]).toMatchObject([201, { created_by: keeper.id, scopes: ["staff.*", "audit.read"] }]);
  });

  test("nor than the key they come with, whoever it acts for", async () => {
    const narrow = await shared.world.makeKey(["clients.manage", "staff.read"]);
    for (const scopes of [["*"], ["staff.*"], ["staff.read", "audit.read"]]) {
      expect(await refusal(() => post({ scopes }, { actor: owner, key: narrow }))).toMatchObject({ ...unheld, missing_in: "key" });
    }
    expect((await post({ scopes: ["staff.read"] }, { actor: owner, key: narrow })).status).toBe(201);
  });

  test("nor a wildcard out of all that it covers today, for it will cover more tomorrow", async () => {
    const staff = [...knownPermissions].filter((permission) => permission.startsWith("staff."));
    const counted = await shared.world.makeKey(["clients.manage", ...staff]);
    expect(await refusal(() => post({ scopes: ["staff.*"] }, { actor: owner, key: counted }))).toMatchObject({
      ...unheld,
      unheld: ["staff.*"],
      missing_in: "key",
    });
    expect((await post({ scopes: staff }, { actor: owner, key: counted })).status).toBe(201);
  });

  test("nor one that acts as the system: the operator's command line alone gives that", async () => {
    const system = await shared.world.makeKey(["*", "system.act"]);
    for (const asked of [{ actor: owner }, { actor: owner, key: system }, { key: system }]) {
      expect(await refusal(() => post({ scopes: ["system.act"] }, asked))).toMatchObject({ ...unheld, unheld: ["system.act"] });
    }
    const { id } = await make();
    expect(await refusal(() => patch(id, { scopes: ["staff.*", "system.act"] }, { actor: owner }))).toMatchObject(unheld);
    const { id: systemId } = await operatorKey(["staff.*", "system.act"]);
    expect(await refusal(() => rotate(systemId, {}, { actor: owner }))).toMatchObject(unheld);
    expect(await refusal(() => patch(systemId, { expires_days: 400 }, { actor: owner }))).toMatchObject(unheld);
  });

  test("nor for longer than they hold it", async () => {
    const until = new Date(Date.now() + 10 * day);
    const person = await shared.world.staff("moderator");
    const entry = (key: string) => ({ key, effect: "allow", expires_at: until.toISOString(), reason: "Covers for a colleague" });
    const given = await shared.world.patch(
      `/permissions/users/${person.id}`,
      { overrides: [{ key: "clients.manage", effect: "allow", reason: "Covers for a colleague" }, entry("audit.read")] },
      { actor: owner },
    );
    expect(given.status, JSON.stringify(given.body)).toBe(200);
    const scopes = ["audit.read"];
    expect(await refusal(() => post({ scopes }, { actor: person }))).toMatchObject({ ...unheld, unheld: scopes });
    expect(await refusal(() => post({ scopes, expires_days: 11 }, { actor: person }))).toMatchObject(unheld);
    const made = await post({ scopes, expires_days: 9 }, { actor: person });
    expect(made.status).toBe(201);
    expect(await refusal(() => patch(made.body.data.id, { expires_days: 11 }, { actor: person }))).toMatchObject(unheld);
    expect(await refusal(() => rotate(made.body.data.id, { expires_days: 11 }, { actor: person }))).toMatchObject(unheld);
    const expires_at = new Date(Date.now() + 11 * day).toISOString();
    expect(await refusal(() => post({ scopes, expires_at }, { actor: person }))).toMatchObject(unheld);
    expect(await refusal(() => rotate(made.body.data.id, { expires_at }, { actor: person }))).toMatchObject(unheld);
    expect((await rotate(made.body.data.id, {}, { actor: person })).status).toBe(201);
  });
});

describe("a key that holds more than whoever changes it", () => {
  const pairs = [createPair().jwk, createPair().jwk] as const;
  const ways: [string, object, object][] = [
    ["gets no other scopes", { scopes: ["staff.*", "audit.*", "blacklist.purge"] }, { scopes: ["staff.*", "audit.*", "users.*"] }],
    ["gets no wildcard for what it counts", { scopes: ["blacklist.purge", "staff.read"] }, { scopes: ["blacklist.*"] }],
    ["is not prolonged", { scopes: ["*"], expires_days: 10 }, { expires_days: 11 }],
    ["is not prolonged by a second", { scopes: ["*"], expires_days: 1 }, { expires_at: new Date(Date.now() + 2 * day).toISOString() }],
    ["may not name people on a sudden", { scopes: ["*"] }, { delegation: "trusted" }],
    [
      "may not name people by its word in place of a signature",
      { scopes: ["*"], delegation: "signed", public_key: pairs[0] },
      { delegation: "trusted" },
    ],
    ["gets no other public key", { scopes: ["*"], delegation: "signed", public_key: pairs[0] }, { public_key: pairs[1] }],
    ["is not let in from elsewhere", { scopes: ["*"], ip_allowlist: ["10.0.0.0/8"] }, { ip_allowlist: ["10.0.0.0/8", "192.0.2.1"] }],
    ["is not let in from a wider range", { scopes: ["*"], ip_allowlist: ["10.0.0.0/8"] }, { ip_allowlist: ["10.0.0.0/7"] }],
    ["is not let in from everywhere", { scopes: ["*"], ip_allowlist: ["10.0.0.0/8"] }, { ip_allowlist: [] }],
    ["gets nothing along with a narrower scope", { scopes: ["*"], expires_days: 10 }, { scopes: ["blacklist.purge"], expires_days: 20 }],
  ];
  test.each(ways)("%s", async (_what, input, change) => {
    const { id } = await make(input);
    expect(await refusal(() => patch(id, change, { actor: keeper }))).toMatchObject({ ...unheld, missing_in: "acting_user" });
    expect((await patch(id, change, { actor: owner })).status).toBe(200);
  });

  test("does not hand out a new secret", async () => {
    const { id, key } = await make({ scopes: ["*"], delegation: "trusted" });
    expect(await refusal(() => rotate(id, {}, { actor: keeper }))).toMatchObject({ ...unheld, missing_in: "acting_user" });
    const narrow = await shared.world.makeKey(["clients.manage"]);
    expect(await refusal(() => rotate(id, {}, { actor: owner, key: narrow }))).toMatchObject({ ...unheld, missing_in: "key" });
    expect((await shared.world.get("/staff", { key })).status).toBe(200);
  });

  test("can be renamed, narrowed and ended all the same", async () => {
    const { id } = await make({ scopes: ["*"], delegation: "trusted", expires_days: 100, ip_allowlist: ["10.0.0.0/8", "2001:db8::/32"] });
    for (const change of [
      { name: "renamed" },
      { scopes: ["staff.*", "blacklist.purge"] },
      { scopes: ["staff.read", "blacklist.purge"] },
      { expires_days: 99 },
      { ip_allowlist: ["10.1.0.0/16", "2001:db8::1"] },
      { delegation: "none" },
    ]) {
      const { status, body } = await patch(id, change, { actor: keeper });
      expect([status, body.data ?? body]).toMatchObject([200, "expires_days" in change ? {} : change]);
    }
    expect((await shared.world.delete(`/keys/${id}`, undefined, { actor: keeper })).body.data).toMatchObject({ state: "revoked" });
  });

  test("does not rotate itself for them: the new secret would be theirs", async () => {
    const { id, key } = await make({ scopes: ["*"], delegation: "trusted", expires_days: 10 });
    expect(await refusal(() => rotate(id, {}, { actor: keeper, key }))).toMatchObject({ ...unheld, missing_in: "acting_user" });
    expect(await refusal(() => rotate(id, { expires_days: 11 }, { actor: keeper, key }))).toMatchObject(unheld);
    expect((await rotate(id, {}, { actor: owner, key })).status).toBe(201);
  });

  test("rotates itself for nobody, but not another, and does not live longer for it", async () => {
    const { id, key, expires_at } = await make({ scopes: ["*"], delegation: "trusted", expires_days: 10 });
    const other = await make({ scopes: ["staff.read"], expires_days: 5 });
    expect(await refusal(() => rotate(id, { expires_days: 11 }, { key }))).toMatchObject(unheld);
    expect(await refusal(() => rotate(other.id, {}, { key }))).toMatchObject({ code: "acting_user_required" });
    const { status, body } = await rotate(id, { grace_seconds: 0 }, { key });
    expect([status, body.data]).toMatchObject([201, { expires_at, scopes: ["*"], rotated_from: id }]);
    expect((await shared.world.get("/staff", { key: body.data.key })).status).toBe(200);
    expect((await shared.world.get("/staff", { key })).body).toMatchObject({ code: "credential_revoked" });
  });
});

describe("a key that acts without anybody", () => {
  const system = (): Promise<any> => operatorKey(["*", "system.act"], { expires_days: 10 });

  test("makes keys that end no later than itself", async () => {
    const { key, expires_at } = await system();
    expect((await post({ scopes: ["staff.read"] }, { key })).body.data).toMatchObject({ expires_at, created_by: null });
    expect((await post({ scopes: ["staff.read"], expires_days: 5 }, { key })).status).toBe(201);
    expect(await refusal(() => post({ scopes: ["staff.read"], expires_days: 11 }, { key }))).toMatchObject({
      ...unheld,
      missing_in: "key",
    });
  });

  test("prolongs neither itself nor another beyond its own end", async () => {
    const { id, key, expires_at } = await system();
    const other = await make({ scopes: ["staff.read"], expires_days: 5 });
    const lasting = await make({ scopes: ["staff.read"], expires_days: 100 });
    const later = new Date(Date.parse(expires_at) + 1000).toISOString();
    for (const target of [id, other.id]) {
      expect(await refusal(() => patch(target, { expires_at: later }, { key }))).toMatchObject(unheld);
      expect(await refusal(() => rotate(target, { expires_days: 11 }, { key }))).toMatchObject(unheld);
    }
    expect(await refusal(() => patch(lasting.id, { scopes: ["staff.read", "audit.read"] }, { key }))).toMatchObject(unheld);
    expect((await patch(other.id, { expires_at }, { key })).body.data).toMatchObject({ expires_at });
    expect((await rotate(lasting.id, {}, { key })).body.data).toMatchObject({ expires_at });
    expect((await rotate(id, {}, { key })).body.data).toMatchObject({ expires_at, scopes: ["*", "system.act"] });
  });
});

const scopes = fc.uniqueArray(
  fc.constantFrom(
    "*",
    "staff.*",
    "blacklist.*",
    "workflows.*",
    "workflows.poach.*",
    "system.act",
    ...[...knownPermissions].slice(0, 40),
    "newer.key",
  ),
  { minLength: 1, maxLength: 4 },
);
const ranges = fc.uniqueArray(
  fc.constantFrom(
    "10.0.0.0/8",
    "10.1.0.0/16",
    "10.1.2.3",
    "10.1.2.3/9",
    "0.0.0.0/0",
    "::/0",
    "2001:db8::/32",
    "2001:db8::1",
    "::ffff:10.0.0.0/104",
  ),
  { maxLength: 3 },
);
const settings: fc.Arbitrary<KeySettings> = fc.record({
  name: fc.constantFrom("a", "b"),
  scopes,
  delegation: fc.constantFrom("none", "trusted", "signed"),
  publicKey: fc.constantFrom(null, createPair().jwk, createPair().jwk),
  ipAllowlist: ranges,
  expiresAt: fc.integer({ min: 0, max: 3 }).map((at) => new Date(at)),
});

test("whatever counts as narrower lets a key do nothing new, from nowhere new, and no longer", () => {
  const { isOnlyNarrowed } = createKeyGrants({ createScopes, isKnownScope, knownPermissions } as never, { allHold: () => true });
  const tried = [...knownPermissions, "newer.key", "staff.newer", "blacklist.newer", "workflows.poach.newer", "other.newer"];
  const places = ["10.0.0.1", "10.1.2.3", "11.0.0.1", "10.200.0.1", "192.0.2.1", "2001:db8::1", "2001:db9::1", "::1", "::ffff:10.1.2.3"];
  let narrowed = 0;
  fc.assert(
    fc.property(settings, settings, fc.boolean(), (before, other, isScopesOnly) => {
      const after = isScopesOnly ? { ...before, scopes: other.scopes, ipAllowlist: other.ipAllowlist } : other;
      if (!isOnlyNarrowed(before, after)) return;
      narrowed += 1;
      const [could, can] = [createScopes(before.scopes), createScopes(after.scopes)];
      expect(tried.filter((permission) => can(permission) && !could(permission))).toEqual([]);
      const [came, comes] = [createAddressCheck(before.ipAllowlist), createAddressCheck(after.ipAllowlist)];
      expect(places.filter((place) => comes(place) && !came(place))).toEqual([]);
      expect(after.expiresAt.getTime()).toBeLessThanOrEqual(before.expiresAt.getTime());
      if (after.delegation !== "none") expect([after.delegation, after.publicKey?.x]).toEqual([before.delegation, before.publicKey?.x]);
    }),
    { numRuns: sizeOf({ quick: 2000, all: 8000, long: 200_000 }) },
  );
  expect(narrowed).toBeGreaterThan(sizeOf({ quick: 10, all: 60, long: 150 }));
});
