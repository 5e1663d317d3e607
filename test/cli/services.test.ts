// @module-tag slow
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { settingsOptions } from "../../src/cli/keys.ts";
import { validEnvironment } from "../config/environment.ts";
import { createSandbox } from "../../sandbox/index.ts";
import { freePort } from "../support/free-port.ts";
import { createPair } from "../support/signer.ts";
import { createEmptyCopy } from "../support/database.ts";
import { tier } from "../support/size.ts";
import { createCheckout } from "./installation.ts";
import { createWorkplace, dotEnv } from "./run.ts";

const key = /^prv_live_([0-9A-Za-z]{12})_[0-9A-Za-z]{43}[0-9A-Za-z]{6}\n$/;

/** An operator's folder with a fresh database and a valid `.env`. */
async function createInstallation(variables: Record<string, string> = {}) {
  const database = await createEmptyCopy();
  const work = await createWorkplace(
    dotEnv({ ...validEnvironment(), DATABASE_URL: database.url, SQLITE_SYNCHRONOUS: "normal", ...variables }),
  );
  return {
    ...work,
    async [Symbol.asyncDispose]() {
      await work[Symbol.asyncDispose]();
      await database.remove();
    },
  };
}

test("bootstrap prints the key alone, and refuses a second time", async () => {
  await using work = await createInstallation();
  const mistyped = await work.here(["bootstrap", "--owner", "080351110224678912"]);
  expect(mistyped).toMatchObject({ code: expect.toSatisfy((code) => code !== 0), stdout: "" });
  expect(mistyped.stderr).toContain("without a zero in front");
  const first = await work.provost(["bootstrap", "--offline", "--owner", "80351110224678912"]);
  expect(first).toMatchObject({ code: 0, stdout: expect.stringMatching(key) });
  expect(first.stderr).not.toContain(first.stdout.trim());

  const second = await work.here(["bootstrap"]);
  expect(second).toMatchObject({ code: 1, stdout: "" });
  expect(second.stderr).toMatch(/^There is an API key already/);

  const forced = await work.here(["bootstrap", "--offline", "--force", "--name", "another"]);
  expect(forced).toMatchObject({ code: 0, stdout: expect.stringMatching(key) });
  expect(forced.stdout).not.toBe(first.stdout);
});

test("bootstrap says when Discord refuses the token or does not answer, and makes the key all the same", async () => {
  const sandbox = await createSandbox();
  onTestFinished(() => sandbox.stop());
  const text = {
    refused: /^Discord refuses the bot token\. .*`DISCORD_TOKEN`/m,
    away: /^Discord does not answer at http:.* \(connection refused\)/m,
  };
  const away = `http://127.0.0.1:${(await freePort()).toString()}/api`;
  for (const [more, said] of [
    [{}, undefined],
    [{ DISCORD_TOKEN: "sandbox.nobody" }, text.refused],
    [{ DISCORD_API_BASE: away }, text.away],
  ] as const) {
    await using work = await createWorkplace();
    const { code, stdout, stderr } = await work.here(["bootstrap"], { ...validEnvironment(), ...sandbox.env(), ...more });
    expect([code, stdout]).toEqual([0, expect.stringMatching(key)]);
    expect(stderr).toMatch(said ?? /shown only now:\n$/);
  }
});

test("keys are created, listed without their secret, and revoked", async () => {
  await using work = await createInstallation();
  const created = await work.here([
    "keys",
    "create",
    "--name",
    "site",
    "--scopes",
    "cases.*,staff.read",
    "--delegation",
    "trusted",
    "--expires-days",
    "30",
  ]);
  expect(created).toMatchObject({ code: 0, stdout: expect.stringMatching(key) });
  const keyId = key.exec(created.stdout)?.[1] ?? "";

  const listed = await work.here(["keys", "list"]);
  const expires = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 7);
  expect(listed.stdout).toMatch(new RegExp(`^${keyId}  site  cases\\.\\*,staff\\.read  trusted +${expires}-\\d\\d  never +active$`, "m"));
  expect(listed.stdout).not.toContain(created.stdout.trim().slice(22));

  expect(await work.here(["keys", "revoke", keyId])).toEqual({ code: 0, stdout: "", stderr: 'Key "site" is revoked.\n' });
  expect((await work.here(["keys", "list"])).stdout).toMatch(new RegExp(`^${keyId} .* revoked$`, "m"));
});

test("a signed key is made from a PEM file, shown, and changed with JSON", async () => {
  await using work = await createInstallation();
  const [one, two] = [createPair(), createPair()];
  const file = join(work.directory, "site.pub.pem");
  await writeFile(file, one.publicKey.export({ type: "spki", format: "pem" }));
  const settings = ["--delegation", "signed", "--public-key", file, "--ip", "203.0.113.0/24,2001:db8::1"];
  const created = await work.here(["keys", "create", "--name", "site", "--scopes", "staff.*", ...settings]);
  expect(created).toMatchObject({ code: 0, stdout: expect.stringMatching(key) });
  expect(created.stderr).toMatch(/^Key "site", valid until \d{4}-\d\d-\d\dT.+Z\. Keep it safe, it is shown only now:\n$/);
  const keyId = key.exec(created.stdout)?.[1] ?? "";
  const shown = (await work.here(["keys", "show", keyId])).stdout;
  expect(shown).toMatch(/^delegation +signed$/m);
  expect(shown).toMatch(/^ip_allowlist +203\.0\.113\.0\/24,2001:db8::1$/m);
  expect(shown).toContain(one.jwk.x);
  expect(shown).not.toContain(created.stdout.trim().slice(22));

  const change = ["--public-key", JSON.stringify(two.jwk), "--ip", "any", "--name", "other", "--expires-days", "10"];
  expect(await work.here(["keys", "update", keyId, ...change])).toEqual({ code: 0, stdout: "", stderr: 'Key "other" is changed.\n' });
  const changed = JSON.parse((await work.here(["keys", "show", keyId, "--json"])).stdout);
  expect(changed).toMatchObject({ name: "other", public_key: two.jwk, ip_allowlist: [], warning: "expires_soon", revision: 2 });
});

test("a key is made, changed and rotated with the time at which it ends, in place of days", async () => {
  await using work = await createInstallation();
  const times = [10, 20, 30].map((days) => new Date(Date.now() + days * 86_400_000).toISOString());
  const [first = "", second = "", third = ""] = times;
  const made = await work.here(["keys", "create", "--name", "site", "--scopes", "staff.*", "--expires-at", first]);
  expect(made).toMatchObject({ code: 0, stderr: expect.stringContaining(`valid until ${first}`) });
  const keyId = key.exec(made.stdout)?.[1] ?? "";
  expect(await work.here(["keys", "update", keyId, "--expires-at", second])).toMatchObject({ code: 0 });
  expect(JSON.parse((await work.here(["keys", "show", keyId, "--json"])).stdout)).toMatchObject({ expires_at: second });
  const rotated = await work.here(["keys", "rotate", keyId, "--expires-at", third]);
  expect(rotated).toMatchObject({ code: 0, stderr: expect.stringContaining(`valid until ${third}`) });
  const both = await work.here(["keys", "create", "--name", "two", "--scopes", "staff.*", "--expires-at", first, "--expires-days", "3"]);
  expect(both).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("not both") });
});

test("a key is rotated with a grace, and without one revoked at once", async () => {
  await using work = await createInstallation();
  const created = await work.here(["keys", "create", "--name", "site", "--scopes", "*,system.act"]);
  const keyId = key.exec(created.stdout)?.[1] ?? "";
  const rotated = await work.here(["keys", "rotate", keyId, "--grace", "3600", "--expires-days", "30"]);
  expect(rotated).toMatchObject({ code: 0, stdout: expect.stringMatching(key) });
  expect(rotated.stderr).toContain("the old one works for 3600 more seconds at most");
  expect(rotated.stderr).not.toContain(rotated.stdout.trim());
  const newId = key.exec(rotated.stdout)?.[1] ?? "";
  const again = await work.here(["keys", "rotate", newId, "--grace", "0"]);
  expect(again.stderr).toContain("the old one is revoked");
  const keys = JSON.parse((await work.here(["keys", "list", "--json"])).stdout);
  expect(keys).toMatchObject([
    { key_id: keyId, state: "active", warning: "expires_soon" },
    { key_id: newId, state: "revoked", rotated_from: keys[0].id, scopes: ["*", "system.act"] },
    { key_id: key.exec(again.stdout)?.[1], state: "active", rotated_from: keys[1].id, expires_at: keys[1].expires_at },
  ]);
  expect(Date.parse(keys[0].expires_at)).toBe(Date.parse(keys[1].created_at) + 3_600_000);
});

test("a private key is refused wherever it is named", async () => {
  await using work = await createInstallation();
  const pair = createPair();
  const file = join(work.directory, "private.pem");
  await writeFile(file, pair.privateKey.export({ type: "pkcs8", format: "pem" }));
  const read = settingsOptions("").find(({ long }) => long === "--public-key")?.parseArg;
  expect(() => read?.(file, undefined)).toThrow("It is a private key. Keep it, and name its public half.");
  expect(() => read?.(join(work.directory, "nothing.pem"), undefined)).toThrow(/nothing\.pem cannot be read\.$/);
  expect(() => read?.("{", undefined)).toThrow("It must be a JWK or a PEM file.");
  const jwk = JSON.stringify({ ...pair.jwk, d: "x".repeat(43) });
  const sent = await work.here(["keys", "create", "--name", "x", "--scopes", "*", "--delegation", "signed", "--public-key", jwk]);
  expect(sent).toMatchObject({ code: 1, stdout: "" });
  expect(sent.stderr).toBe("--public-key: This is the private half. Keep it, and send the key without it.\n");
  expect((await work.here(["keys", "list", "--json"])).stdout).toBe("[]\n");
});

test("what a key verb refuses is told in plain lines and changes nothing", async () => {
  await using work = await createInstallation();
  const unknown = await work.here(["keys", "create", "--name", "x", "--scopes", "no.such.permission"]);
  expect(unknown).toMatchObject({ code: 1, stdout: "" });
  expect(unknown.stderr).toContain("scopes");
  expect(unknown.stderr).not.toContain("    at ");
  const malformed = await work.here(["keys", "create", "--name", "x".repeat(200), "--scopes", "Not A Scope"]);
  expect(malformed).toMatchObject({ code: 1, stdout: "" });
  expect(malformed.stderr).toMatch(/^--name: .+\n--scopes: .+\n$/);
  expect(await work.here(["keys", "revoke", "nosuchkey000"])).toEqual({
    code: 1,
    stdout: "",
    stderr: "There is no key nosuchkey000. `provost keys list` shows all of them.\n",
  });
  expect(await work.here(["keys", "update", "nosuchkey000"])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^Nothing to change was named\. See `provost keys update --help`\.$/m),
  });
  expect((await work.here(["keys", "list"])).stdout.trimEnd().split("\n")).toHaveLength(1);
});

test("the audit chain of a fresh installation with a key is whole", async () => {
  await using work = await createInstallation();
  await work.here(["bootstrap", "--offline"]);
  expect(await work.here(["audit", "verify"])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^[1-9]\d* entr(y|ies), 1 checkpoint, chain ok\n$/),
  });
});

test("an audit chain that cannot be read is told apart from a broken one", async () => {
  await using work = await createWorkplace(dotEnv({ ...validEnvironment(), DATABASE_URL: "file:.env/provost.db" }));
  const { code, stdout, stderr } = await work.here(["audit", "verify"]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).not.toContain("    at ");
});

test("the OpenAPI document needs no environment and is alone on standard output", async () => {
  await using work = await createWorkplace();
  await using checkout = await createCheckout();
  // Compiling every source at the start is slow; the quick tier does so for the help alone.
  const programs = tier === "quick" ? [undefined] : [undefined, checkout.program];
  for (const program of programs) {
    const { code, stdout, stderr } = await work.provost(["openapi"], {}, { program });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({ openapi: expect.stringMatching(/^3\.1\./), paths: { "/health": expect.anything() } });
  }
});
