// @module-tag sqlite
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { createWorld } from "../support/world.ts";
import { createCheckout, installation } from "./installation.ts";
import { createWorkplace, runHere as run } from "./run.ts";

const verbs = [
  ["serve"],
  ["status"],
  ["secrets"],
  ["bootstrap"],
  ["keys"],
  ["keys", "create"],
  ["keys", "list"],
  ["keys", "revoke"],
  ["config"],
  ["config", "check"],
  ["openapi"],
  ["audit"],
  ["audit", "verify"],
  ["demo"],
];

test("the help names every verb", async () => {
  const { code, stdout } = await run(["--help"]);
  expect(code).toBe(0);
  for (const [verb] of verbs) expect(stdout).toMatch(new RegExp(`^  ${verb ?? ""} `, "m"));
});

test.each(verbs.map((verb) => [verb.join(" "), verb] as const))(
  "%s has a help and refuses unknown options and arguments with 2",
  async (name, verb) => {
    const help = await run([...verb, "--help"]);
    expect(help.code).toBe(0);
    expect(help.stdout).toContain(`Usage: provost ${name}`);
    for (const rest of [["--no-such-option"], ["one", "two"]]) {
      const refused = await run([...verb, ...rest]);
      expect(refused).toMatchObject({ code: 2, stdout: "" });
      expect(refused.stderr).toMatch(/^error: /);
    }
  },
);

test.each([
  "bootstrap --owner ann",
  "keys create --name x",
  "keys create --scopes *",
  "keys create --name x --scopes a,,b",
  "keys create --name x --scopes * --delegation loud",
  "keys create --name x --scopes * --delegation signed --public-key {",
  "keys create --name x --scopes * --expires-days 0",
  "keys create --name x --scopes * --expires-days 1e9",
  "keys revoke",
  "demo --members -5",
  "nonsense",
])("wrong usage is refused with 2: %s", async (line) => {
  expect(await run(line.split(" "))).toMatchObject({ code: 2, stdout: "" });
});

test("the program without a verb shows its help and fails, from any working directory, built or with sources newer than the build", async () => {
  await using work = await createWorkplace();
  await using checkout = await createCheckout();
  for (const program of [(await installation()).program, checkout.program]) {
    const { code, stdout, stderr } = await work.provost([], {}, { program });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^Usage: provost/);
  }
});

test("two runs of secrets share no key", async () => {
  await using work = await createWorkplace();
  const [first, second] = await Promise.all([work.provost(["secrets"]), work.here(["secrets"])]);
  for (const { stdout } of [first, second])
    expect(stdout).toMatch(/^SECRET_KEY=[A-Za-z\d+/]{43}=\nENCRYPTION_KEYS=k\d{8}:[A-Za-z\d+/]{43}=\n$/);
  expect(new Set(`${first.stdout}${second.stdout}`.match(/[A-Za-z\d+/]{43}=/g)).size).toBe(4);
});

test("the version is the one of the package, of the program and of /health alike", async () => {
  const { version } = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8")) as { version: string };
  await using work = await createWorkplace();
  expect(await work.provost(["--version"])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
  const world = await createWorld();
  expect(await (await fetch(`${world.url}/health`)).json()).toMatchObject({ service: { version } });
});
