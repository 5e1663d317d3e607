// @module-tag sqlite
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseEnv } from "node:util";
import { expect, test } from "vitest";
import { readConfig } from "../src/config/config.ts";
import { fileVariables, variableNames } from "../src/config/variables.ts";
import { validEnvironment } from "./config/environment.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), "utf8");

const documents = [
  "README.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "CODE_OF_CONDUCT.md",
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" }).map((path) => join("docs", path)),
].filter((path) => path.endsWith(".md"));

/** Paths of the repository that a text names: in prose, in code and in links. */
function pathsIn(text: string, folder = ""): string[] {
  const inFolders = text.matchAll(/(?<![\w./@-])(?:src|test|docs|prisma|bin|bench|scripts|\.ci)\/[\w./*-]*/g);
  const atRoot = text.matchAll(/`([\w-]*\.(?:md|json|ya?ml)|\.env\.example|\.ox\w+\.json|LICENSE)`/g);
  const links = text.matchAll(/\]\((?![a-z]+:|#)([^)#\s]+)/g);
  return [
    ...[...inFolders].map(([path]) => path),
    ...[...atRoot].map(([, path]) => path ?? ""),
    ...[...links].map(([, path]) => join(folder, path ?? "")),
  ].map((path) => path.replace(/[./]+$/, ""));
}

const everything = [
  ...readdirSync(root),
  ...["src", "test", "docs", "prisma", "bin", "bench", "scripts", ".ci"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((path) => join(folder, path)),
  ),
];

/** `*` stands for any part of one name. */
function isThere(path: string): boolean {
  if (!path.includes("*")) return existsSync(join(root, path));
  const pattern = new RegExp(`^${path.replace(/[.+]/g, "\\$&").replaceAll("*", "[^/]*")}$`);
  return everything.some((one) => pattern.test(one));
}

test.each(documents)("every path %s names exists", (document) => {
  expect(pathsIn(read(document), dirname(document)).filter((path) => !isThere(path))).toEqual([]);
});

test("the newest version of the changelog is that of the program, and what comes after it has its place", () => {
  const headings = [...read("CHANGELOG.md").matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
  const { version } = JSON.parse(read("package.json")) as { version: string };
  expect(headings.slice(0, 2)).toEqual(["Unreleased", version]);
});

test("a path that does not exist is noticed", () => {
  const text = "See `src/nowhere.ts`, [this](gone.md), `src/*/no-such-*.ts`, `nothing.json` and https://example.org/src/fine.";
  const wrong = ["src/nowhere.ts", "src/*/no-such-*.ts", "nothing.json", "docs/gone.md"];
  expect(pathsIn(`${text} Fine: \`src/*/config.ts\`, [kernel](../src/kernel).`, "docs").filter((path) => !isThere(path))).toEqual(wrong);
});

test("the example file and the table of variables know exactly the variables the service reads", () => {
  const inExample = [...read(".env.example").matchAll(/^([A-Z0-9_]+)=/gm)].map(([, name]) => name ?? "");
  const rows = read("docs/configuration.md").matchAll(/^\| `([A-Z0-9_]+)` /gm);
  expect(inExample.toSorted()).toEqual([...variableNames].toSorted());
  expect([...rows].map(([, name]) => name ?? "").toSorted()).toEqual([...variableNames].toSorted());
  for (const name of fileVariables) expect(read("docs/configuration.md")).toContain(`\`${name}_FILE\``);
});

test("the example file is refused for its placeholders alone, and holds the defaults", () => {
  const example = parseEnv(read(".env.example"));
  const reading = readConfig(example);
  expect(reading.ok ? [] : reading.lines).toEqual(
    Object.keys(validEnvironment()).map((name): unknown => expect.stringMatching(new RegExp(`^${name}: still holds a placeholder; `))),
  );
  const filled = readConfig({ ...example, ...validEnvironment() });
  const bare = readConfig(validEnvironment());
  expect(filled.ok && filled.config).toEqual(bare.ok && bare.config);
});

test("the table of variables names the defaults of the example file", () => {
  for (const [, name = "", fallback = ""] of read(".env.example").matchAll(/^([A-Z0-9_]+)=(.+)$/gm)) {
    if (name in validEnvironment()) continue;
    expect(read("docs/configuration.md")).toMatch(
      new RegExp(`^\\| \`${name}\` +\\| \`${fallback.replace(/[.*+?^$()|[\]\\]/g, "\\$&")}\` `, "m"),
    );
  }
});

test("what the documents tell to ask is where the service listens unless told", () => {
  const port = new RegExp(/^PORT=(\d+)$/m.exec(read(".env.example"))?.[1] ?? "none");
  const addresses = documents.flatMap((document) =>
    [...read(document).matchAll(/http:\/\/(?:127\.0\.0\.1|localhost):(\d+)/g)].map(([, at = ""]) => ({ document, at })),
  );
  expect(addresses.length).toBeGreaterThan(3);
  expect(addresses.filter(({ at }) => !port.test(at))).toEqual([]);
});

/** Tests that a text cites as `file`: _words of its title_, as `[file, words]`. */
const citedIn = (text: string): [string, string][] =>
  [...text.matchAll(/`(test\/[^`]+)`: _([^_]+)_/g)].map(([, file = "", words = ""]) => [file, words]);
const isTested = ([file, words]: [string, string]): boolean => existsSync(join(root, file)) && read(file).includes(words);

test.each(["package.json", "bin/provost.js", "deploy/Dockerfile", "deploy/provost.service"])(
  "%s starts the service with the memory that was measured",
  (file) => {
    const text = readFileSync(new URL(`../${file}`, import.meta.url), "utf8");
    expect(text.match(/MALLOC_ARENA_MAX=\d+|--max-semi-space-size=\d+/g)?.toSorted()).toEqual([
      "--max-semi-space-size=16",
      "MALLOC_ARENA_MAX=1",
    ]);
  },
);

test("every threat names a test that is there, by its file and by words of its title", () => {
  const text = read("docs/threat-model.md");
  const threats = text.slice(0, text.indexOf("## What stays possible")).match(/^\| (?!-|Who wants).+$/gm) ?? [];
  expect(threats.length).toBeGreaterThan(30);
  expect(threats.filter((row) => !row.includes("`test/"))).toEqual([]);
  expect(citedIn(text).filter((cited) => !isTested(cited))).toEqual([]);
  expect(isTested(["test/docs.test.ts", `no test has ${"these"} words`])).toBe(false);
});
