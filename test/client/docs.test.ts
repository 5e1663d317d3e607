// @module-tag sqlite
// @module-tag slow
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { requireDone } from "../../src/kernel/held.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createPair } from "../support/signer.ts";
import { createWorld } from "../support/world.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));

/** What the blocks of each section answer. A section with a block and without an entry fails. */
const wanted: Readonly<Record<string, { sh?: RegExp; ts: RegExp }>> = {
  "The first call": { sh: /^\{"success":true,"data":\[\]/, ts: /^\[\]\n$/ },
  "The acting user": { sh: /"level":"owner"/, ts: /^owner\n$/ },
  "Writes that can be repeated": { sh: /^\{"success":true,"data":\{.*"number":"BL-000001"/, ts: /^BL-000001\n$/ },
  "Changing what you have read": { sh: /"severity":"critical"/, ts: /^$/ },
  Lists: { sh: /^\{"success":true,"data":\[\{.*"has_more":(true|false)/, ts: /^([a-z_.{}*-]+\n){80,}$/ },
  "Checking a person": {
    sh: /"url":"http.*\{"success":true,"data":\{.*"status":"active".*\{"success":true,"data":\[\{.*"kind":"user_blacklist"/,
    ts: /^http.*\/authorize\/.*\nactive\nuser_blacklist \[/,
  },
  Requests: {
    sh: /"status":"pending".*"allowed_actions":\[.*"approve".*\{"success":true.*"status":"approved".*"final":true/,
    ts: /^pending \[[^]*'approve'[^]*\]\napproved true \[ 'CASE-000001'/,
  },
  "A copy of the blacklist": { sh: /"record_id".*"resume_cursor":"/, ts: /^1 true\n$/ },
  Errors: { sh: /"code":"validation_failed".*"pointer":"\/subject_id"/, ts: /^record_not_found [\da-f-]{36} \[\]\n$/ },
  Limits: { sh: /^HTTP\/1\.1 200.*^ratelimit: "read";r=\d+/ims, ts: /^"read";r=\d+;t=\d+\n$/ },
  Events: { sh: /^event: blacklist\.created$/m, ts: /^handled up to 0\nblacklist\.created \{/ },
  Assertions: { sh: /^[\w-]{22}$/, ts: /^1\n$/ },
  "In a browser": { ts: /^"read";r=\d+;t=\d+ 1\n$/ },
  "Web-hooks": { sh: /"state":"active".*"secret":"whsec_/, ts: /^active whsec_\n$/ },
};

interface Block {
  section: string;
  code: string;
}

const page = await readFile(join(root, "docs/clients.md"), "utf8");

function blocksOf(language: string): Block[] {
  return page.split(/^## /m).flatMap((part) => {
    const section = part.slice(0, part.indexOf("\n"));
    return [...part.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, "gm"))].map(([, code = ""]) => ({ section, code }));
  });
}

/** A service, somebody to act for, a person who has agreed to be checked, a key that demands assertions, and a folder with the private key of that. */
async function setUp() {
  const world = await createWorld({ env: { RATE_LIMITS: "" } });
  const admin = await world.staff("owner");
  const second = await world.staff("admin");
  const person = world.sandbox.createUser("person");
  const asked = await world.post("/authorize/sessions", { discord_user_id: person.id, purpose: "recruitment" }, { actor: admin });
  await world.sandbox.as(person).authorize(asked.body.url, { approve: true });
  const pair = createPair();
  const input = { name: "site", scopes: ["*"], delegation: "signed" as const, public_key: pair.jwk };
  const { key } = requireDone(await world.app.keys.create(systemCall("cli", uuid7()), input));
  // Inside the project, whose settings say where `provost/client` is.
  const folder = await mkdtemp(join(root, "test/.types-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "site.pem"), pair.privateKey.export({ type: "pkcs8", format: "pem" }));
  const env = {
    PATH: process.env["PATH"],
    PROVOST: world.url,
    KEY: world.key,
    ME: admin.id,
    SECOND: second.id,
    PERSON: person.id,
    SIGNED_KEY: key,
  };
  /** The reader puts their own values in. */
  const withOwnValues = (code: string): string => code.replaceAll(/^export .*\n/gm, "");
  return { env, folder, withOwnValues };
}

/** What each block printed, by its section. */
const sections = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .split("<section>")
      .slice(1)
      .map((part) => [part.slice(0, part.indexOf("\n")), part.slice(part.indexOf("\n") + 1)]),
  );

function expectAll(language: "sh" | "ts", printed: Record<string, string>): void {
  const told = Object.entries(wanted).flatMap(([section, { [language]: text }]) => (text === undefined ? [] : [{ section, text }]));
  expect(blocksOf(language).map(({ section }) => section)).toEqual(told.map(({ section }) => section));
  for (const { section, text } of told) expect.soft(printed[section], section).toMatch(text);
}

test("every line for the shell on the page for authors of clients does what the page says", async () => {
  const { env, folder, withOwnValues } = await setUp();
  const script = blocksOf("sh").map(({ section, code }) => {
    // A stream goes on until somebody ends it.
    const own = withOwnValues(code).replace("curl -sN ", "curl -sN -m 2 ");
    return `echo; echo "<section>${section}"\n${own}`;
  });
  const { stdout } = await run("bash", ["-c", script.join("\n")], { env, cwd: folder }).catch(
    (error: unknown) => error as { stdout: string },
  );
  expectAll("sh", sections(stdout.replaceAll(/\n(?=<section>)/g, "")));
});

test("every block of the typed client on that page compiles, and does what the page says", async () => {
  const { env, folder, withOwnValues } = await setUp();
  const blocks = blocksOf("ts");
  const imports = blocks.flatMap(({ code }) => code.match(/^import .*$/gm) ?? []);
  const [first, ...others] = blocks.map(({ section, code }) => ({ section, code: code.replaceAll(/^import .*\n/gm, "") }));
  const told = (section = ""): string => `console.log(${JSON.stringify(`<section>${section}`)});\n`;
  // What the first block makes is used by the others; each of them has names of its own.
  const scoped = others.map(({ section, code }) => `${told(section)}{\n${code}}\n`);
  const program = `${imports.join("\n")}\n${told(first?.section)}${first?.code ?? ""}${scoped.join("")}`;
  await writeFile(join(folder, "program.ts"), withOwnValues(program));
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ extends: "../../tsconfig.json", include: [], files: ["program.ts"] }));
  const checked = await run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", folder, "--pretty", "false"]).catch(
    (error: unknown) => error as { stdout: string },
  );
  expect(checked.stdout).toBe("");
  const tsx = join(root, "node_modules/tsx/dist/cli.mjs");
  const { stdout } = await run(process.execPath, [tsx, "--tsconfig", join(root, "tsconfig.json"), "program.ts"], { env, cwd: folder });
  expectAll("ts", sections(stdout));
});
