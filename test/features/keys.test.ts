import { pino } from "pino";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { openDatabase } from "../../src/database/database.ts";
import { createAuditService } from "../../src/features/audit/audit.service.ts";
import { createAddressCheck } from "../../src/features/keys/grants.ts";
import { createKeysService } from "../../src/features/keys/keys.service.ts";
import { createKeyStore } from "../../src/features/keys/store.ts";
import { createKeyText, formatKey, parseKey } from "../../src/features/keys/secrets.ts";
import { createPermissionsService } from "../../src/features/permissions/permissions.service.ts";
import { systemCall, type Call } from "../../src/kernel/call.ts";
import { addSeconds } from "../../src/kernel/clock.ts";
import { requireDone } from "../../src/kernel/held.ts";
import { createCursors } from "../../src/kernel/page.ts";
import { createJournals, silent } from "../support/rooms.ts";
import { createKeys, nobody, secret } from "./keys-ground.ts";
import { createHouse } from "./staff-house.ts";
import { runsOf } from "../support/size.ts";

const cli = (): Call => systemCall("cli", "request-1");
const asked = {
  actingUser: undefined,
  assertion: undefined,
  remoteAddress: "127.0.0.1",
  requestId: "request-1",
  method: "GET",
  path: "/staff",
  search: "",
};
const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".split("");

test("a key reads back, and with any character changed it is refused without a look-up", () => {
  fc.assert(
    fc.property(fc.nat(76), fc.constantFrom(...digits), (place, digit) => {
      const text = createKeyText();
      const presented = formatKey(text);
      expect(presented).toMatch(/^prv_live_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}$/);
      expect(parseKey(presented)).toEqual(text);
      const changed = presented.slice(0, place) + digit + presented.slice(place + 1);
      if (changed !== presented) expect(parseKey(changed)).toBeUndefined();
    }),
    { numRuns: runsOf(500) },
  );
});

test("the check digits are CRC-32 (IEEE) in base 62, left-padded", () => {
  expect(parseKey(`prv_live_${"0".repeat(12)}_${"0".repeat(43)}1aykq4`)).toEqual(undefined);
  const body = `prv_live_${"0".repeat(12)}_${"0".repeat(43)}`;
  expect(formatKey({ keyId: "0".repeat(12), secret: "0".repeat(43) })).toBe(body + base62(plainCrc(body)));
});

/** CRC-32 bit by bit, as its definition says. */
function plainCrc(text: string): number {
  let crc = 0xffffffff;
  for (const byte of Buffer.from(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 1) === 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}

function base62(value: number): string {
  return value === 0 ? "000000" : [...Array(6).keys()].map((place) => digits[Math.floor(value / 62 ** (5 - place)) % 62]).join("");
}

test.each([
  [[], "203.0.113.9", true],
  [["203.0.113.0/24"], "203.0.113.9", true],
  [["203.0.113.0/24"], "::ffff:203.0.113.9", true],
  [["203.0.113.0/24"], "203.0.114.9", false],
  [["203.0.113.9"], "203.0.113.9", true],
  [["2001:db8::/32"], "2001:db8::1", true],
  [["2001:db8::/32"], "203.0.113.9", false],
  [["203.0.113.9"], "not an address", false],
])("the ranges %j let %s in: %s", (ranges, address, isIn) => {
  expect(createAddressCheck(ranges)(address)).toBe(isIn);
});

async function refusalOf(work: () => unknown): Promise<{ code: unknown; text: string }> {
  try {
    await work();
  } catch (error) {
    return {
      code: (error as { code?: unknown }).code,
      text: JSON.stringify(
        error,
        Object.getOwnPropertyNames(error).filter((name) => name !== "stack"),
      ),
    };
  }
  return { code: "none", text: "" };
}

test("missing, mistyped, unknown and wrong keys are one and the same refusal", async () => {
  const { authenticate, keys, fresh } = await createKeys();
  const { key } = requireDone(await keys.create(cli(), { name: "k", scopes: ["*"] }));
  const known = parseKey(key);
  const wrong = formatKey({ keyId: known?.keyId ?? "", secret: createKeyText().secret });
  const refusals = [];
  for (const presented of [undefined, "", "x", key.slice(0, -1), formatKey(createKeyText()), wrong]) {
    refusals.push(await refusalOf(() => authenticate({ ...asked, presented })));
  }
  expect(refusals.map((refusal) => refusal.code)).toEqual(Array(6).fill("invalid_credentials"));
  expect(new Set(refusals.map((refusal) => refusal.text)).size).toBe(1);
  await fresh.drop();
});

test("a key used before is verified at once, without the database", async () => {
  const { authenticate, keys, store, fresh } = await createKeys();
  const { key, id, key_id } = requireDone(await keys.create(cli(), { name: "k", scopes: ["staff.*"], delegation: "trusted" }));
  expect(authenticate({ ...asked, presented: key })).toBeInstanceOf(Promise);
  await authenticate({ ...asked, presented: key });
  await store.close();
  await fresh.drop();
  const caller = authenticate({ ...asked, presented: key, actingUser: "80351110224678912" });
  expect(caller).toMatchObject({
    client: { id, keyId: key_id },
    call: { via: "rest", requestId: "request-1", actor: { id: "80351110224678912" } },
  });
  if (caller instanceof Promise) throw new Error("not at once");
  expect([caller.call.client?.allows("staff.read"), caller.call.client?.allows("cases.read")]).toEqual([true, false]);
});

test("for an address that failed too often nothing is looked up but keys that exist", async () => {
  const { authenticate, keys, store, fresh } = await createKeys(20);
  const { key } = requireDone(await keys.create(cli(), { name: "k", scopes: ["*"] }));
  await expect.poll(() => store.exists(key)).toBe(true);
  const lookedUp = vi.spyOn(fresh.database.read.apiKey, "findUnique");
  const guess = formatKey({ keyId: parseKey(key)?.keyId ?? "", secret: createKeyText().secret });
  for (const presented of [undefined, "x", formatKey(createKeyText()), guess])
    expect((await refusalOf(() => authenticate({ ...asked, presented, isSuspect: true }))).code).toBe("invalid_credentials");
  expect(lookedUp).not.toHaveBeenCalled();
  await expect(authenticate({ ...asked, presented: key, isSuspect: true })).resolves.toBeDefined();
  await store.close();
  await fresh.drop();
});

test("that a key has ended is told to the holder of its secret alone", async () => {
  const { authenticate, keys, time, fresh } = await createKeys();
  const revoked = requireDone(await keys.create(cli(), { name: "revoked", scopes: ["*"] }));
  const expiring = requireDone(await keys.create(cli(), { name: "expiring", scopes: ["*"], expires_days: 1 }));
  await authenticate({ ...asked, presented: revoked.key });
  await authenticate({ ...asked, presented: expiring.key });
  await keys.revoke(cli(), revoked.id);
  time.now = addSeconds(time.now, 86_400);
  expect((await refusalOf(() => authenticate({ ...asked, presented: revoked.key }))).code).toBe("credential_revoked");
  expect((await refusalOf(() => authenticate({ ...asked, presented: expiring.key }))).code).toBe("credential_expired");
  const guess = formatKey({ keyId: revoked.key_id, secret: createKeyText().secret });
  expect((await refusalOf(() => authenticate({ ...asked, presented: guess }))).code).toBe("invalid_credentials");
  await fresh.drop();
});

test("a key revoked while it is being looked up is not remembered as good", async () => {
  const { database, keys, fresh, service } = await createKeys();
  const { key, key_id } = requireDone(await keys.create(cli(), { name: "k", scopes: ["*"] }));
  // The row is read before the revocation and used after it.
  const slow = async (...query: Parameters<typeof database.read.$select>) => {
    const rows = await database.read.$select(...query);
    await keys.revoke(cli(), key_id);
    return rows;
  };
  const read = new Proxy(database.read, { get: (target, name): unknown => (name === "$select" ? slow : Reflect.get(target, name)) });
  const store = createKeyStore({
    database: { ...database, read },
    keys,
    permissions: service(database).permissions,
    access: nobody,
    pepper: secret,
    pollMs: 60_000,
  });
  expect(await store.verify(key)).toMatchObject({ isRevoked: false });
  expect(store.recall(key)).toBeUndefined();
  await store.close();
  await fresh.drop();
});

test("a key may be used from its addresses alone", async () => {
  const { authenticate, keys, fresh } = await createKeys();
  const { key } = requireDone(await keys.create(cli(), { name: "k", scopes: ["*"], ip_allowlist: ["203.0.113.0/24"] }));
  await expect(authenticate({ ...asked, presented: key, remoteAddress: "203.0.113.4" })).resolves.toBeDefined();
  expect((await refusalOf(() => authenticate({ ...asked, presented: key }))).code).toBe("invalid_credentials");
  await fresh.drop();
});

test("keys made and revoked by another process are noticed", async () => {
  const { authenticate, fresh, service } = await createKeys(20);
  const other = await openDatabase({ url: fresh.url, synchronous: "normal" });
  const elsewhere = service(other).keys;
  const { key, key_id } = requireDone(await elsewhere.create(cli(), { name: "k", scopes: ["*"] }));
  // The first look at the table empties the memory once, whenever it comes.
  const isWarm = async (): Promise<boolean> => {
    await authenticate({ ...asked, presented: key });
    return !(authenticate({ ...asked, presented: key }) instanceof Promise);
  };
  await expect.poll(isWarm, { timeout: 60_000 }).toBe(true);
  await elsewhere.revoke(cli(), key_id);
  await expect
    .poll(async () => (await refusalOf(() => authenticate({ ...asked, presented: key }))).code, { timeout: 60_000 })
    .toBe("credential_revoked");
  await other.close();
  await fresh.drop();
});

test("the secret is in one answer and nowhere in the database", async () => {
  const { database, keys, fresh } = await createKeys();
  const { key } = requireDone(await keys.create(cli(), { name: "k", scopes: ["*"] }));
  const hidden = parseKey(key)?.secret ?? "";
  const rows = [
    await database.read.apiKey.findMany(),
    await database.read.auditEntry.findMany(),
    await database.read.auditPayload.findMany(),
  ];
  expect(JSON.stringify([rows, await keys.list(cli(), { limit: 50 })])).not.toContain(hidden);
  expect(rows[1]).toMatchObject([{ action: "api_key.create", via: "cli" }]);
  await fresh.drop();
});

test("unknown scopes are refused with their places, a missing or unwanted public key with a reason, and nothing is made", async () => {
  const { database, keys, fresh } = await createKeys();
  const unknown = keys.create(cli(), { name: "k", scopes: ["staff.read", "stuff.read", "stuff.*"] });
  await expect(unknown).rejects.toMatchObject({
    code: "validation_failed",
    errors: [{ pointer: "/scopes/1" }, { pointer: "/scopes/2", code: "unknown_scope" }],
  });
  const public_key = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" } as const;
  for (const [given, code] of [
    [{ delegation: "signed" }, "required"],
    [{ delegation: "trusted", public_key }, "only_signed"],
    [{ public_key }, "only_signed"],
  ] as const) {
    const refused = keys.create(cli(), { name: "k", scopes: ["*"], ...given });
    await expect(refused).rejects.toMatchObject({ code: "validation_failed", errors: [{ pointer: "/public_key", code }] });
  }
  expect([await database.read.apiKey.count(), await database.read.auditEntry.count()]).toEqual([0, 0]);
  await fresh.drop();
});

test("keys are listed in pages and stay revoked", async () => {
  const { keys, fresh } = await createKeys();
  const made = [];
  for (const name of ["a", "b", "c"]) made.push(requireDone(await keys.create(cli(), { name, scopes: ["*"] })));
  const first = await keys.list(cli(), { limit: 2 });
  const second = await keys.list(cli(), { limit: 2, cursor: first.next_cursor ?? "" });
  expect([...first.data, ...second.data].map((key) => key.id).toSorted()).toEqual(made.map((key) => key.id).toSorted());
  const once = await keys.revoke(cli(), made[0]?.key_id ?? "");
  expect(once).toMatchObject({ state: "revoked", revision: 2 });
  expect(await keys.revoke(cli(), made[0]?.id ?? "")).toEqual(once);
  await expect(keys.revoke(cli(), "nobody")).rejects.toMatchObject({ code: "record_not_found" });
  await fresh.drop();
});

test("nobody makes a key that may do more than they may", async () => {
  const house = await createHouse();
  const [owner, admin] = [await house.person("owner"), await house.person("admin")];
  const client = { id: "c", name: "c", allows: (key: string) => key !== "system.act" };
  const by = async (id: string): Promise<Call> => ({ ...cli(), via: "rest", client, actor: await house.access.resolve(id) });
  await expect(house.keys.create(await by(owner.id), { name: "k", scopes: ["*"] })).resolves.toMatchObject({ created_by: owner.id });
  await expect(house.keys.create(await by(owner.id), { name: "k", scopes: ["system.act"] })).rejects.toMatchObject({
    code: "cannot_grant_unheld",
  });
  await expect(house.keys.create(await by(admin.id), { name: "k", scopes: ["staff.read"] })).rejects.toMatchObject({
    code: "permission_denied",
  });
});

test("bootstrap names an owner whom a running server notices, with a key for everything", async () => {
  const house = await createHouse();
  const other = await openDatabase({ url: house.test.url, synchronous: "normal" });
  const cursors = createCursors(secret);
  const audit = createAuditService({ database: other, cursors });
  const ground = { database: other, audit, access: nobody, cursors };
  const journals = createJournals(ground);
  const permissions = createPermissionsService({
    ...ground,
    ...journals,
    logger: pino({ level: "silent" }),
    servedGuilds: new Set(),
    guildState: nobody,
  });
  const { key, delegation } = await createKeysService({ ...ground, ...journals, permissions, logger: silent, pepper: secret }).bootstrap(
    cli(),
    {
      owner: "80351110224678912",
    },
  );
  expect([delegation, parseKey(key) === undefined]).toEqual(["trusted", false]);
  await house.sandbox.waitFor(() => house.access.of("80351110224678912").isOwner);
  await other.close();
});
