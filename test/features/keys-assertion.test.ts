import { createHmac, randomUUID, sign } from "node:crypto";
import fc from "fast-check";
import { importJWK } from "jose";
import { beforeAll, expect, test } from "vitest";
import { createAssertions, createReplayMemory } from "../../src/features/keys/assertion.ts";
import { createAuthenticate } from "../../src/features/keys/authenticate.ts";
import type { KeyStore, VerifiedKey } from "../../src/features/keys/store.ts";
import type { Credentials } from "../../src/operations/caller.ts";
import { claimsFor, createPair, hashOf, jws, type Claims } from "../support/signer.ts";
import { runsOf } from "../support/size.ts";

const forged = runsOf(3000);

const audience = "an-installation-of-ours";
const nelly = "80351110224678912";
const otto = "80351110224678913";
const start = Date.parse("2026-11-20T10:00:00.000Z");
const now = start + 3_600_000;
const pair = createPair();
const stranger = createPair();
const key: VerifiedKey = {
  client: { id: "0199e6a0-7c4e-7a35-9f0c-3a0a4d6f2b11", name: "site", allows: () => true, mayName: () => true, expiresAt: new Date(8e15) },
  caller: { id: "0199e6a0-7c4e-7a35-9f0c-3a0a4d6f2b11", keyId: "0HjVw3tqZB9m", expiresAt: new Date("2030-01-01") },
  expiresAtMs: Date.parse("2030-01-01"),
  isRevoked: false,
  delegation: "signed",
  publicKey: undefined,
  allowsAddress: () => true,
  makers: [],
};

beforeAll(async () => {
  const imported = await importJWK({ ...pair.jwk }, "EdDSA");
  if (imported instanceof Uint8Array) throw new Error("not a key pair");
  key.publicKey = imported;
});

/** The door to authentication for one key, in a process that started an hour ago. */
function createDoor(known: VerifiedKey = key) {
  const time = { now: start };
  const clock = { now: () => new Date(time.now) };
  const store = { recall: () => known, noteUse: () => undefined } as unknown as KeyStore;
  const access = { actorOf: (id: string) => ({ id, isStaff: true }) as never };
  const authenticate = createAuthenticate({ store, access, clock, verifyAssertion: createAssertions({ audience, clock }) });
  time.now = now;
  /** Answers whom the request acts for, or the refusal. */
  async function knock(credentials: Partial<Credentials>, body = ""): Promise<{ actor?: string; code?: string; detail?: string }> {
    const whole = {
      presented: "x",
      actingUser: undefined,
      assertion: undefined,
      remoteAddress: "127.0.0.1",
      requestId: "request-1",
      method: "POST",
      path: "/blacklist",
      search: "",
    };
    try {
      const caller = await authenticate({ ...whole, ...credentials });
      await caller.checkBody?.(hashOf(body));
      return caller.call.actor === null ? {} : { actor: caller.call.actor.id };
    } catch (error) {
      const { code, detail } = error as { code: string; detail: string };
      return { code, detail };
    }
  }
  return { knock, time };
}

interface Told {
  claims: Claims;
  credentials: Partial<Credentials>;
  body: string;
}

/** What an honest client may send. */
const honest: fc.Arbitrary<Told> = fc
  .record({
    method: fc.constantFrom("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"),
    path: fc.constantFrom("/blacklist", "/staff/80351110224678912/access", "/keys/0HjVw3tqZB9m/rotate"),
    body: fc.oneof(fc.constant(""), fc.json()),
    byRecord: fc.boolean(),
    listed: fc.boolean(),
    named: fc.boolean(),
    hashesNothing: fc.boolean(),
    age: fc.integer({ min: 0, max: 60 }),
    life: fc.integer({ min: 1, max: 60 }),
    jti: fc.string({ minLength: 8, maxLength: 200 }),
  })
  .filter(({ age, life }) => life - age > -5)
  .map(({ method, path, body, byRecord, listed, named, hashesNothing, age, life, jti }) => {
    const issuer = byRecord ? key.caller.id : key.caller.keyId;
    const claims = claimsFor({ issuer, audience, userId: nelly, method, path, now: now / 1000 - age });
    return {
      claims: {
        ...claims,
        aud: listed ? ["another", audience] : audience,
        exp: now / 1000 - age + life,
        jti,
        ...((body !== "" || hashesNothing) && { bod: hashOf(body) }),
      },
      credentials: { method, path, ...(named && { actingUser: nelly }) },
      body,
    };
  });

test("every honest assertion is accepted once, and once only", async () => {
  const { knock } = createDoor();
  await fc.assert(
    fc.asyncProperty(honest, async ({ claims, credentials, body }) => {
      const assertion = jws({ ...claims, jti: `${randomUUID()}${String(claims["jti"])}`.slice(0, 200) }, pair.privateKey);
      expect(await knock({ ...credentials, assertion }, body)).toEqual({ actor: nelly });
      expect(await knock({ ...credentials, assertion }, body)).toMatchObject({ code: "assertion_replayed" });
    }),
    { numRuns: runsOf(300) },
  );
});

type Break = (told: Told, seed: number) => Told & { assertion?: string };
const claim =
  (change: (claims: Claims, seed: number) => Claims): Break =>
  (told, seed) => ({ ...told, claims: { ...told.claims, ...change(told.claims, seed) } });
const pick = <T>(values: ArrayLike<T>, seed: number): T => values[seed % values.length] as T;
const seconds = now / 1000;
const flipped = (text: string, seed: number): string => {
  const place = seed % text.length;
  const digit = pick("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".replace(text[place] ?? "", ""), seed >> 3);
  return text.slice(0, place) + digit + text.slice(place + 1);
};
const withHeader =
  (header: (seed: number) => unknown): Break =>
  (told, seed) => ({ ...told, assertion: jws(told.claims, pair.privateKey, header(seed)) });
const remade =
  (make: (assertion: string, seed: number) => string): Break =>
  (told, seed) => ({ ...told, assertion: make(jws(told.claims, pair.privateKey), seed) });

/** One way each to get something wrong, and the claim the refusal has to name. */
const flaws: Record<string, [Break, named?: string]> = {
  "another issuer": [claim((_, seed) => ({ iss: pick(["site", nelly, "0HjVw3tqZB9n", key.caller.keyId.toLowerCase()], seed) })), "iss"],
  "no issuer": [claim(() => ({ iss: undefined })), "iss"],
  "an issuer that is no text": [claim((_, seed) => ({ iss: pick([7, null, [key.caller.keyId]], seed) })), "iss"],
  "no subject": [claim(() => ({ sub: undefined })), "sub"],
  "a subject that is no id": [
    claim((_, seed) => ({ sub: pick(["@me", "123", 80_351_110_224_678_912, "99999999999999999999", `${nelly} `, [nelly]], seed) })),
    "sub",
  ],
  "another installation": [claim((_, seed) => ({ aud: pick(["another", "", [], ["another"], `${audience} `], seed) })), "aud"],
  "no audience": [claim(() => ({ aud: undefined })), "aud"],
  "an audience that is no text": [claim((_, seed) => ({ aud: pick([7, null, [7], { [audience]: true }, [audience, 7]], seed) })), "aud"],
  "no start": [claim(() => ({ iat: undefined })), "iat"],
  "a start that is no number": [claim((_, seed) => ({ iat: pick([seconds.toString(), null, true, [seconds]], seed) })), "iat"],
  "a start in the future": [claim((_, seed) => ({ iat: seconds + 5.001 + (seed % 1000), exp: seconds + 30 + (seed % 1000) })), "iat"],
  "no end": [claim(() => ({ exp: undefined })), "exp"],
  "an end that is no number": [claim((_, seed) => ({ exp: pick([(seconds + 30).toString(), null, "never"], seed) })), "exp"],
  "an end that has passed": [claim((_, seed) => ({ iat: seconds - 60 - (seed % 500), exp: seconds - 5 - (seed % 500) })), "exp"],
  "an end before the start": [claim(({ iat }, seed) => ({ exp: Number(iat) - (seed % 60) })), "exp"],
  "too long a life": [claim(({ iat }, seed) => ({ exp: Number(iat) + 60.001 + (seed % 100_000) })), "exp"],
  "no number of its own": [claim(() => ({ jti: undefined })), "jti"],
  "a number that is too short or too long": [claim((_, seed) => ({ jti: "x".repeat(pick([0, 1, 7, 201, 900], seed)) })), "jti"],
  "a number that is no text": [claim((_, seed) => ({ jti: pick([12_345_678, null, ["12345678"], {}], seed) })), "jti"],
  "no operation": [claim(() => ({ op: undefined })), "op"],
  "a query that is not spoken of": [
    (told, seed) => {
      const method = pick(["POST", "PUT", "PATCH", "DELETE"], seed);
      const op = String(told.claims["op"]).replace(/^\w+/, method);
      return { ...told, claims: { ...told.claims, op }, credentials: { ...told.credentials, method, search: `x=${seed.toString()}` } };
    },
    "qry",
  ],
  "the hash of another query": [
    (told, seed) => ({
      ...told,
      claims: { ...told.claims, qry: hashOf(`dry_run=true&x=${seed.toString()}`) },
      credentials: { ...told.credentials, search: pick(["", "dry_run=false", "DRY_RUN=true"], seed) },
    }),
    "qry",
  ],
  "a query hash that is no text": [claim((_, seed) => ({ qry: pick([7, null, ["x"]], seed) })), "qry"],
  "an operation that is no text": [claim((_, seed) => ({ op: pick([7, null, {}], seed) })), "op"],
  "another path": [
    claim(({ op }, seed) => ({ op: pick([`${String(op)}/`, `${String(op)}?x=1`, String(op).replace("/", "//")], seed) })),
    "op",
  ],
  "another method": [
    claim(({ op }, seed) => ({
      op: String(op).replace(/^\w+/, (method) => pick([method.toLowerCase(), `${method}X`, "TRACE", ""], seed)),
    })),
    "op",
  ],
  "a hash that is no text": [claim((_, seed) => ({ bod: pick([7, null, ["x"]], seed) })), "bod"],
  "the hash of another body": [claim((_, seed) => ({ bod: pick([hashOf(`other ${seed.toString()}`), "", "x".repeat(43)], seed) })), "bod"],
  "another body": [
    (told, seed) => ({ ...told, claims: { ...told.claims, bod: hashOf(told.body) }, body: `${told.body} ${seed.toString()}` }),
    "bod",
  ],
  "a body that is not spoken of": [(told) => ({ ...told, claims: { ...told.claims, bod: undefined }, body: `${told.body} ` }), "bod"],
  "another user in the header": [(told) => ({ ...told, credentials: { ...told.credentials, actingUser: otto } }), "sub"],
  "from before the start of the service": [
    (told, seed) =>
      ({ ...told, claims: { ...told.claims, iat: start / 1000 - 0.001 - (seed % 50), exp: start / 1000 + 9 }, at: start + 1 }) as Told,
    "iat",
  ],
  "another key's signature": [(told) => ({ ...told, assertion: jws(told.claims, stranger.privateKey) })],
  "a header without alg": [withHeader((seed) => pick([{}, { alg: "" }, { alg: null }, { typ: "JWT" }], seed))],
  "another alg": [withHeader((seed) => ({ alg: pick(["none", "None", "HS256", "ES256", "RS256", "Ed25519", "eddsa", "EdDSA "], seed) }))],
  "a header with crit": [
    withHeader((seed) =>
      pick(
        [
          { alg: "EdDSA", crit: ["b64"], b64: true },
          { alg: "EdDSA", crit: ["b64"], b64: false },
          { alg: "EdDSA", crit: ["exp"], exp: 1 },
          { alg: "EdDSA", crit: [] },
          { alg: "EdDSA", crit: "b64" },
        ],
        seed,
      ),
    ),
  ],
  "a header that is no object": [withHeader((seed) => pick([[], "EdDSA", 7, null], seed))],
  "claims that are no object": [
    (told, seed) => ({ ...told, assertion: jws(pick([[told.claims], "claims", 7, null, true], seed), pair.privateKey) }),
  ],
  "claims that are no JSON": [
    (told, seed) => {
      const head = Buffer.from('{"alg":"EdDSA"}').toString("base64url");
      const text = `${head}.${Buffer.from(pick(["{", "x=1", "\u0000", `${JSON.stringify(told.claims)}}`], seed)).toString("base64url")}`;
      return { ...told, assertion: `${text}.${sign(null, Buffer.from(text), pair.privateKey).toString("base64url")}` };
    },
  ],
  "signed with the public key as a password": [
    (told) => {
      const text = [{ alg: "HS256" }, told.claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
      return {
        ...told,
        assertion: `${text}.${createHmac("sha256", Buffer.from(pair.jwk.x, "base64url")).update(text).digest("base64url")}`,
      };
    },
  ],
  "one character changed": [remade((assertion, seed) => assertion.replace(assertion, flipped(assertion, seed)))],
  "cut short": [remade((assertion, seed) => assertion.slice(0, -1 - (seed % (assertion.length - 1))))],
  "more than three parts": [remade((assertion, seed) => pick([`${assertion}.`, `.${assertion}`, `${assertion}.${assertion}`], seed))],
  "without a signature": [remade((assertion, seed) => assertion.slice(0, assertion.lastIndexOf(".") + (seed % 2)))],
  "in another spelling": [
    remade((assertion, seed) => pick([`${assertion}=`, ` ${assertion}`, `${assertion}\t`, assertion.replace(".", " .")], seed)),
  ],
  "parts of two assertions": [
    (told, seed) => {
      const [one, two] = [told.claims, { ...told.claims, sub: otto }].map((claims) => jws(claims, pair.privateKey).split("."));
      const mixed = pick(
        [
          [one?.[0], two?.[1], one?.[2]],
          [one?.[0], one?.[1], two?.[2]],
        ],
        seed,
      );
      return { ...told, assertion: mixed.join(".") };
    },
  ],
  "nothing at all": [(told) => ({ ...told, credentials: { ...told.credentials, actingUser: nelly }, assertion: "" })],
};

test("of hundreds of assertions with one thing wrong none is accepted, and the refusal names the claim, never what was sent", async () => {
  const { knock, time } = createDoor();
  const names = Object.keys(flaws);
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(honest, fc.nat(), fc.nat(), async (told, which, seed) => {
      const name = pick(names, which);
      const [spoil, named] = flaws[name] as [Break, string?];
      const spoilt = spoil({ ...told, claims: { ...told.claims, jti: randomUUID() } }, seed) as Told & { assertion?: string; at?: number };
      time.now = spoilt.at ?? now;
      const assertion = spoilt.assertion ?? jws(spoilt.claims, pair.privateKey);
      const answer = await knock({ ...spoilt.credentials, assertion }, spoilt.body);
      expect([name, answer.code]).toEqual([name, "assertion_invalid"]);
      if (named !== undefined) expect([name, answer.detail]).toEqual([name, expect.stringMatching(new RegExp(`^The claim ${named} `))]);
      for (const value of [nelly, otto]) expect(answer.detail).not.toContain(value);
      refused += 1;
    }),
    { numRuns: forged, seed: 20_261_120 },
  );
  expect(refused).toBeGreaterThanOrEqual(forged);
});

test.each(Object.entries(flaws))("refused: %s", async (_name, [spoil]) => {
  const { knock, time } = createDoor();
  for (let seed = 0; seed < 12; seed += 1) {
    const body = '{"kind":"user"}';
    const claims = claimsFor({ issuer: key.caller.keyId, audience, userId: nelly, method: "POST", path: "/blacklist", body, now: seconds });
    const spoilt = spoil({ claims, credentials: {}, body }, seed) as Told & { assertion?: string; at?: number };
    time.now = spoilt.at ?? now;
    const answer = await knock({ ...spoilt.credentials, assertion: spoilt.assertion ?? jws(spoilt.claims, pair.privateKey) }, spoilt.body);
    expect([seed, answer.code]).toEqual([seed, "assertion_invalid"]);
  }
});

test("an assertion that is refused for its body is not used up by that", async () => {
  const { knock } = createDoor();
  const body = '{"kind":"user"}';
  const claims = claimsFor({ issuer: key.caller.keyId, audience, userId: nelly, method: "POST", path: "/blacklist", body, now: seconds });
  const assertion = jws(claims, pair.privateKey);
  expect(await knock({ assertion }, "{}")).toMatchObject({ code: "assertion_invalid" });
  expect(await knock({ assertion, actingUser: otto }, body)).toMatchObject({ code: "assertion_invalid" });
  expect(await knock({ assertion }, body)).toEqual({ actor: nelly });
});

test("of one assertion presented fifty times at once, one is accepted", async () => {
  const { knock } = createDoor();
  const claims = claimsFor({ issuer: key.caller.keyId, audience, userId: nelly, method: "POST", path: "/blacklist", now: seconds });
  const assertion = jws(claims, pair.privateKey);
  const answers = await Promise.all(Array.from({ length: 50 }, () => knock({ assertion })));
  expect(answers.filter(({ actor }) => actor === nelly)).toHaveLength(1);
  expect(answers.filter(({ code }) => code === "assertion_replayed")).toHaveLength(49);
});

test("a number used with one key is free with another", async () => {
  const other = { ...key, caller: { ...key.caller, id: "0199e6a0-7c4e-7a35-9f0c-3a0a4d6f2b12" } };
  let known = key;
  const { knock } = createDoor(new Proxy(key, { get: (_target, name) => Reflect.get(known, name) }));
  const claims = claimsFor({ issuer: key.caller.keyId, audience, userId: nelly, method: "POST", path: "/blacklist", now: seconds });
  const assertion = jws(claims, pair.privateKey);
  expect(await knock({ assertion })).toEqual({ actor: nelly });
  known = other;
  expect(await knock({ assertion })).toEqual({ actor: nelly });
  expect(await knock({ assertion })).toMatchObject({ code: "assertion_replayed" });
});

test("a clock that is a little ahead is waited for, so that no restart can let the same assertion in twice", async () => {
  const { knock } = createDoor();
  const claims = claimsFor({ issuer: key.caller.keyId, audience, userId: nelly, method: "POST", path: "/blacklist", now: seconds + 0.2 });
  const began = performance.now();
  expect(await knock({ assertion: jws(claims, pair.privateKey) })).toEqual({ actor: nelly });
  expect(performance.now() - began).toBeGreaterThan(190);
});

test("a signed key without an assertion acts for nobody, and naming somebody needs one", async () => {
  const { knock } = createDoor();
  expect(await knock({})).toEqual({});
  expect(await knock({ actingUser: nelly })).toMatchObject({
    code: "assertion_invalid",
    detail: "This key names an acting user by a signed assertion in X-Acting-Assertion; it is missing.",
  });
});

test("a trusted key's assertion is not looked at, and a key that may name nobody is refused with one", async () => {
  const assertion = jws({}, stranger.privateKey);
  const trusted = createDoor({ ...key, delegation: "trusted", publicKey: undefined });
  expect(await trusted.knock({ assertion })).toEqual({});
  expect(await trusted.knock({ assertion, actingUser: nelly })).toEqual({ actor: nelly });
  const none = createDoor({ ...key, delegation: "none", publicKey: undefined });
  expect(await none.knock({})).toEqual({});
  for (const given of [{ assertion }, { actingUser: nelly }, { assertion, actingUser: nelly }]) {
    expect(await none.knock(given)).toMatchObject({ code: "permission_denied" });
  }
});

test("the memory of used assertions is bounded, and what has left it is free again", () => {
  const time = { now: 0 };
  const memory = createReplayMemory({ capacity: 3, now: () => time.now });
  for (const name of ["a", "b", "c"]) memory.use(name, 10_000);
  expect(() => memory.use("d", 10_000)).toThrow(expect.objectContaining({ code: "overloaded", retryAfter: 5 }));
  expect(() => memory.use("a", 10_000)).toThrow(expect.objectContaining({ code: "assertion_replayed" }));
  expect(memory.has("d")).toBe(false);
  time.now = 9_999;
  expect(() => memory.use("d", 20_000)).toThrow(expect.objectContaining({ code: "overloaded" }));
  time.now = 11_000;
  memory.use("d", 20_000);
  expect([memory.has("a"), memory.has("d")]).toEqual([false, true]);
});
