// @module-tag sqlite
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { unknownVariables } from "../../src/config/config.ts";
import { secretTexts, validEnvironment } from "../config/environment.ts";
import { createWorkplace, dotEnv } from "./run.ts";

test("a refused configuration exits with 78 and plain lines, without stack and without secrets", async () => {
  await using work = await createWorkplace();
  const env = validEnvironment();
  const wrong = { ...env, PORT: "hunter2", ENCRYPTION_KEYS: `${env.ENCRYPTION_KEYS},k1:hunter2`, LOG_LEVEL: "changeme" };
  const outcome = await work.provost(["config", "check"], wrong);
  expect(outcome.code).toBe(78);
  expect(outcome.stdout).toBe("");
  const lines = outcome.stderr.trimEnd().split("\n");
  expect(lines.map((line) => line.split(":")[0])).toEqual(["PORT", "ENCRYPTION_KEYS", "LOG_LEVEL"]);
  for (const text of [...secretTexts(env), "hunter2", "    at "]) expect(outcome.stderr).not.toContain(text);
});

test("every verb that needs the configuration refuses a missing one in the same way", async () => {
  await using work = await createWorkplace();
  const verbs = [["config", "check"], ["keys", "list"], ["bootstrap"], ["audit", "verify"]];
  for (const verb of verbs) {
    const { code, stdout, stderr } = await work.here(verb);
    expect({ code, stdout }).toEqual({ code: 78, stdout: "" });
    expect(stderr.split("\n")[0]).toBe("DISCORD_TOKEN: is missing; copy it from the Bot page of the Discord developer portal");
    expect(stderr.trimEnd().split("\n")).toHaveLength(6);
    expect(stderr).toMatch(/^GUILD_IDS: is missing; list the ids of your own Discord servers/m);
  }
});

test("a valid configuration is printed with every default and without secrets", async () => {
  await using work = await createWorkplace();
  const env = validEnvironment();
  const { code, stdout, stderr } = await work.here(["config", "check"], { ...env, DATABASE_URL: "postgres://me:hunter2@db/provost" });
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ http: { port: 8080 }, database: { url: "postgres://me:***@db/provost" } });
  for (const text of [...secretTexts(env), "hunter2"]) expect(stdout + stderr).not.toContain(text);
});

test("the .env of the working directory is read, and the real environment wins", async () => {
  await using work = await createWorkplace(`\uFEFF${dotEnv({ ...validEnvironment(), PORT: "9001", LOG_LEVEL: '"debug" # loud' })}`);
  const plain = await work.here(["config", "check"]);
  expect(plain.stderr).toMatch(/^PUBLIC_URL is http:\/\/127\.0\.0\.1:9001, .+\nThe configuration is valid\.\n$/);
  expect(JSON.parse(plain.stdout)).toMatchObject({ http: { port: 9001 }, logLevel: "debug" });
  const overridden = await work.provost(["config", "check"], { PORT: "9002" });
  expect(JSON.parse(overridden.stdout)).toMatchObject({ http: { port: 9002 }, logLevel: "debug" });
});

test("a file named by the real environment wins over the value in .env", async () => {
  const env = validEnvironment();
  await using work = await createWorkplace(dotEnv({ ...env, SECRET_KEY: "changeme" }));
  await writeFile(join(work.directory, "secret-key"), `${env.SECRET_KEY}\n`);
  expect((await work.here(["config", "check"])).stderr).toMatch(/^SECRET_KEY: still holds a placeholder/);
  expect((await work.here(["config", "check"], { SECRET_KEY_FILE: "secret-key" })).code).toBe(0);
  const missing = await work.here(["config", "check"], { SECRET_KEY_FILE: "/no/such/file" });
  expect(missing).toEqual({
    code: 78,
    stdout: "",
    stderr: "SECRET_KEY_FILE: names a file that cannot be read, /no/such/file (does not exist); check the path\n",
  });
});

test("the example file with the Discord values and the servers filled in and fresh secrets appended boots", async () => {
  const example = await readFile(new URL("../../.env.example", import.meta.url), "utf8");
  const env = validEnvironment();
  const filled = (["DISCORD_TOKEN", "DISCORD_CLIENT_ID", "DISCORD_CLIENT_SECRET", "GUILD_IDS"] as const).reduce(
    (text, name) => text.replace(new RegExp(`^${name}=.*$`, "m"), `${name}=${env[name]}`),
    example,
  );
  await using work = await createWorkplace(filled);
  expect((await work.here(["config", "check"])).stderr.trimEnd().split("\n")).toEqual([
    expect.stringMatching(/^SECRET_KEY: still holds a placeholder/),
    expect.stringMatching(/^ENCRYPTION_KEYS: still holds a placeholder/),
  ]);
  const secrets = await work.here(["secrets"]);
  await writeFile(join(work.directory, ".env"), filled + secrets.stdout);
  expect((await work.here(["config", "check"])).stderr).toMatch(
    /^PUBLIC_URL is http:\/\/127\.0\.0\.1:8080, .+\nThe configuration is valid\.\n$/,
  );
});

test("a mistyped variable is named with the one that is meant, and its value is not", async () => {
  await using work = await createWorkplace();
  const { DISCORD_TOKEN, ...env } = validEnvironment();
  const typed = "DISCORD_TOKN is not a setting: did you mean DISCORD_TOKEN?";
  const refused = await work.here(["config", "check"], { ...env, DISCORD_TOKN: DISCORD_TOKEN });
  expect(refused).toEqual({
    code: 78,
    stdout: "",
    stderr: `DISCORD_TOKEN: is missing; copy it from the Bot page of the Discord developer portal\n${typed}\n`,
  });
  const valid = await work.here(["config", "check"], { ...env, DISCORD_TOKEN, DISCORD_TOKN: "hunter2" });
  expect(valid.code).toBe(0);
  expect(valid.stderr.split("\n")[0]).toBe(typed);
  expect(valid.stderr).not.toContain("hunter2");
});

test.each([
  ["DICSORD_TOKEN", "DISCORD_TOKEN"],
  ["DISCORD_BOT_TOKEN", "DISCORD_TOKEN"],
  ["discord_token", "DISCORD_TOKEN"],
  ["GUILD_ID", "GUILD_IDS"],
  ["DATABASE_URI", "DATABASE_URL"],
  ["PUBLICURL", "PUBLIC_URL"],
  ["SECRET_KEYFILE", "SECRET_KEY_FILE"],
  ["PORT_FILE", "PORT"],
])("%s is taken for %s", (name, meant) => {
  expect(unknownVariables({ [name]: "1" })).toEqual([`${name} is not a setting: did you mean ${meant}?`]);
});

test("names of other programs are left alone, and one of Discord's that is near to none is named", () => {
  const others = [
    "HOME",
    "PATH",
    "HOSTNAME",
    "LOGNAME",
    "NODE_ENV",
    "AWS_SECRET_ACCESS_KEY",
    "PGPORT",
    "PUBLIC",
    "TOKEN",
    "npm_config_yes",
  ];
  expect(unknownVariables(Object.fromEntries([...others, ...Object.keys(validEnvironment())].map((name) => [name, "1"])))).toEqual([]);
  expect(unknownVariables({ DISCORD_PUBLIC_KEY: "1" })).toEqual([
    "DISCORD_PUBLIC_KEY is not a setting: docs/configuration.md lists all of them. Remove it.",
  ]);
});
