import { expect, test } from "vitest";
import { validEnvironment } from "../config/environment.ts";
import { createEmptyCopy } from "../support/database.ts";
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
  const first = await work.provost(["bootstrap", "--owner", "80351110224678912"]);
  expect(first).toMatchObject({ code: 0, stdout: expect.stringMatching(key) });
  expect(first.stderr).not.toContain(first.stdout.trim());

  const second = await work.provost(["bootstrap"]);
  expect(second).toMatchObject({ code: 1, stdout: "" });
  expect(second.stderr).toMatch(/^There is an API key already/);

  const forced = await work.provost(["bootstrap", "--force", "--name", "another"]);
  expect(forced).toMatchObject({ code: 0, stdout: expect.stringMatching(key) });
  expect(forced.stdout).not.toBe(first.stdout);
});

test("keys are created, listed without their secret, and revoked", async () => {
  await using work = await createInstallation();
  const created = await work.provost([
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

  const listed = await work.provost(["keys", "list"]);
  const expires = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 7);
  expect(listed.stdout).toMatch(new RegExp(`^${keyId}  site  cases\\.\\*,staff\\.read  trusted +${expires}-\\d\\d  never +active$`, "m"));
  expect(listed.stdout).not.toContain(created.stdout.trim().slice(22));

  expect(await work.provost(["keys", "revoke", keyId])).toEqual({ code: 0, stdout: "", stderr: 'Key "site" is revoked.\n' });
  expect((await work.provost(["keys", "list"])).stdout).toMatch(new RegExp(`^${keyId} .* revoked$`, "m"));
});

test("what a key verb refuses is told in plain lines and changes nothing", async () => {
  await using work = await createInstallation();
  const unknown = await work.provost(["keys", "create", "--name", "x", "--scopes", "no.such.permission"]);
  expect(unknown).toMatchObject({ code: 1, stdout: "" });
  expect(unknown.stderr).toContain("scopes");
  expect(unknown.stderr).not.toContain("    at ");
  const malformed = await work.provost(["keys", "create", "--name", "x".repeat(200), "--scopes", "Not A Scope"]);
  expect(malformed).toMatchObject({ code: 1, stdout: "" });
  expect(malformed.stderr).toMatch(/^name: .+\nscopes\/0: .+\n$/);
  expect(await work.provost(["keys", "revoke", "nosuchkey000"])).toEqual({ code: 1, stdout: "", stderr: "There is no such key.\n" });
  expect((await work.provost(["keys", "list"])).stdout.trimEnd().split("\n")).toHaveLength(1);
});

test("the audit chain of a fresh installation with a key is whole", async () => {
  await using work = await createInstallation();
  await work.provost(["bootstrap"]);
  expect(await work.provost(["audit", "verify"])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^[1-9]\d* entries, chain ok\n$/),
  });
});

test("an audit chain that cannot be read is told apart from a broken one", async () => {
  await using work = await createWorkplace(dotEnv({ ...validEnvironment(), DATABASE_URL: "file:.env/provost.db" }));
  const { code, stdout, stderr } = await work.provost(["audit", "verify"]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).not.toContain("    at ");
});

test("the OpenAPI document needs no environment and is alone on standard output", async () => {
  await using work = await createWorkplace();
  const { code, stdout, stderr } = await work.provost(["openapi"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(JSON.parse(stdout)).toMatchObject({ openapi: expect.stringMatching(/^3\.1\./), paths: { "/health": expect.anything() } });
});
