// @module-tag sqlite
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, normalize } from "node:path/posix";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

interface Import {
  /** Path from the project's root, or the name of a package. */
  target: string;
  isType: boolean;
  isLazy: boolean;
}

const statement = /^[ \t]*(?:import|export)\b(?<what>[^"';=(]*?\bfrom\s*|\s*)["'](?<name>[^"']+)["']/gm;
const call = /(?<typeof>typeof\s+)?\bimport\(\s*["'](?<name>[^"']+)["']\s*\)(?<member>\.[A-Z])?/g;

/** The imports of one source. `import { type X }` still loads the module and counts as a value. */
function importsOf(path: string, source: string): Import[] {
  const resolve = (name: string): string => (name.startsWith(".") ? normalize(join(dirname(path), name)) : name);
  const found: Import[] = [];
  for (const { groups } of source.matchAll(statement))
    found.push({ target: resolve(groups?.["name"] ?? ""), isType: /^\s*type\b/.test(groups?.["what"] ?? ""), isLazy: false });
  for (const { groups } of source.matchAll(call))
    found.push({
      target: resolve(groups?.["name"] ?? ""),
      isType: groups?.["typeof"] !== undefined || groups?.["member"] !== undefined,
      isLazy: true,
    });
  return found;
}

const roomOf = (path: string): string | undefined => /^src\/features\/([^/]+)\//.exec(path)?.[1];
const isDoor = (path: string): boolean => /\.(routes|commands|events|pages)\.tsx?$/.test(path);
const isVerb = (path: string): boolean => /^src\/features\/.*\.(service|policy|schema)\.ts$/.test(path);
const isGround = (path: string): boolean => /^src\/(config|database|http|discord|operations|pages|outbox)\//.test(path);
/** The OAuth calls are no door: a verb tells their refusals apart. */
const isDoorGround = (path: string): boolean => /^src\/(operations|http|discord)\//.test(path) && path !== "src/discord/oauth.ts";
const isEntry = (path: string): boolean => /^src\/((main|app|cli)\.tsx?$|cli\/|demo\/)/.test(path);

/** Every rule as a question about one import of one file. */
const directions: Record<string, (from: string, to: Import) => boolean> = {
  "the kernel imports nothing of ours": (from, { target }) =>
    from.startsWith("src/kernel/") && !target.startsWith("src/kernel/") && !/^(node:|zod$)/.test(target),
  "the ground knows no room": (from, { target }) => isGround(from) && roomOf(target) !== undefined,
  "an operation is the same by HTTP and in Discord": (from, { target }) =>
    from.startsWith("src/operations/") && target.startsWith("src/") && !/^src\/(operations|kernel)\//.test(target),
  "commands know no HTTP": (from, { target }) => from.startsWith("src/commands/") && target.startsWith("src/http/"),
  "a room knows other rooms by type": (from, { target, isType }) =>
    roomOf(from) !== undefined && roomOf(target) !== undefined && roomOf(from) !== roomOf(target) && !isType,
  "verbs know no door": (from, { target, isType }) => isVerb(from) && (isDoor(target) || (isDoorGround(target) && !isType)),
  "a door knows its service by type": (from, { target, isType }) => isDoor(from) && target.endsWith(".service.ts") && !isType,
  "only the demo loads the sandbox": (from, { target }) => target.startsWith("src/sandbox/") && !/^src\/(sandbox|demo)\//.test(from),
  "the demo is loaded lazily, by the command line": (from, { target, isLazy }) =>
    target.startsWith("src/demo/") && !from.startsWith("src/demo/") && !(from.startsWith("src/cli/") && isLazy),
  "the sandbox knows nothing of the service": (from, { target }) =>
    from.startsWith("src/sandbox/") && target.startsWith("src/") && !/^src\/(sandbox|kernel)\//.test(target),
  "only entry points know entry points": (from, { target }) => isEntry(target) && !target.startsWith("src/demo/") && !isEntry(from),
  "relative imports name a TypeScript file": (_, { target }) => target.startsWith("src/") && !/\.tsx?$/.test(target),
};

const contents: Record<string, (path: string, source: string) => boolean> = {
  "only the configuration reads the environment": (path, source) => /\bprocess\.env\b/.test(source) && !path.startsWith("src/config/"),
  "exports are named, and no file hands on a whole other one": (_, source) => /^export (default\b|\*)/m.test(source),
  "a switched-off check is a hidden fault": (_, source) => /@ts-(ignore|nocheck|expect-error)|(eslint|oxlint)-disable/.test(source),
  "names are kebab-case: topic, room.role or room.topic.role": (path) =>
    !/^src\/(([a-z\d]+(-[a-z\d]+)*)\/)*[a-z\d]+(-[a-z\d]+)*(\.[a-z\d]+(-[a-z\d]+)*){0,2}\.tsx?$/.test(path),
  "names say what is in a file": (path) => /(^|[/.-])(utils?|helpers?|common|misc)([/.-]|$)/.test(path),
};

function violations(path: string, source: string): string[] {
  const broken = Object.entries(contents).flatMap(([rule, isBroken]) => (isBroken(path, source) ? [rule] : []));
  for (const one of importsOf(path, source))
    for (const [rule, isBroken] of Object.entries(directions)) if (isBroken(path, one)) broken.push(`${rule}: ${one.target}`);
  return broken.map((rule) => `${path}: ${rule}`);
}

const root = fileURLToPath(new URL("..", import.meta.url));
const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
  .map((path) => join("src", path))
  .filter((path) => /\.tsx?$/.test(path) && !path.startsWith("src/generated/"));

test("every source keeps the directions, the names and the rules of the house", () => {
  expect(sources.length).toBeGreaterThan(10);
  expect(sources.flatMap((path) => violations(path, readFileSync(join(root, path), "utf8")))).toEqual([]);
});

test.each([
  ["the kernel imports nothing of ours", "src/kernel/a.ts", 'import { b } from "../http/b.ts";'],
  ["the kernel imports nothing of ours", "src/kernel/a.ts", 'import { Hono } from "hono";'],
  ["the ground knows no room", "src/http/a.ts", 'import type { B } from "../features/cases/cases.service.ts";'],
  ["an operation is the same by HTTP and in Discord", "src/operations/a.ts", 'import type { HttpEnv } from "../http/context.ts";'],
  ["commands know no HTTP", "src/commands/a.ts", 'import { respond } from "../http/context.ts";'],
  ["only entry points know entry points", "src/database/a.ts", 'export { createApp } from "../app.ts";'],
  ["a room knows other rooms by type", "src/features/cases/a.ts", 'import { b } from "../staff/b.ts";'],
  ["a room knows other rooms by type", "src/features/cases/a.ts", 'import {\n  b,\n  type C,\n} from "../staff/b.ts";'],
  ["a room knows other rooms by type", "src/features/cases/a.ts", 'const b = await import("../staff/b.ts");'],
  ["a room knows other rooms by type", "src/features/cases/a.ts", 'import "../staff/b.ts";'],
  ["only entry points know entry points", "src/features/cases/a.ts", 'import { createApp } from "../../app.ts";'],
  ["verbs know no door", "src/features/cases/cases.service.ts", 'import type { x } from "./cases.routes.ts";'],
  ["verbs know no door", "src/features/cases/cases.service.ts", 'import { route } from "../../operations/route.ts";'],
  ["a door knows its service by type", "src/features/cases/cases.routes.ts", 'import { createCases } from "./cases.service.ts";'],
  ["only the demo loads the sandbox", "src/app.ts", 'const sandbox = await import("./sandbox/index.ts");'],
  ["only the demo loads the sandbox", "src/cli/a.ts", 'import type { Sandbox } from "../sandbox/index.ts";'],
  ["the demo is loaded lazily, by the command line", "src/cli/a.ts", 'import { run } from "../demo/index.ts";'],
  ["the sandbox knows nothing of the service", "src/sandbox/rest/a.ts", 'import { b } from "../../discord/b.ts";'],
  ["only entry points know entry points", "src/logger.ts", 'import { createApp } from "./app.ts";'],
  ["relative imports name a TypeScript file", "src/http/a.ts", 'import { b } from "./b";'],
  ["only the configuration reads the environment", "src/http/a.ts", "const port = process.env.PORT;"],
  ["exports are named, and no file hands on a whole other one", "src/http/a.ts", 'export * from "./b.ts";'],
  ["a switched-off check is a hidden fault", "src/http/a.ts", "// @ts-ignore"],
  ["names are kebab-case: topic, room.role or room.topic.role", "src/http/rateLimit.ts", ""],
  ["names say what is in a file", "src/http/date-utils.ts", ""],
])("the rule is seen when broken: %s (%s, %s)", (rule, path, source) => {
  expect(violations(path, source)).toEqual([expect.stringContaining(rule)]);
});

test.each([
  ["src/features/cases/cases.service.ts", 'import type { AuditService } from "../audit/audit.service.ts";'],
  ["src/features/cases/cases.service.ts", 'type Audit = import("../audit/audit.service.ts").AuditService;'],
  [
    "src/features/cases/cases.routes.ts",
    'import { route } from "../../operations/route.ts";\nimport type { Cases } from "./cases.service.ts";',
  ],
  ["src/features/cases/cases.service.ts", "/**\n * import { b } from '../staff/b.ts'\n */"],
  ["src/features/authorization/a.service.ts", 'import { OAuthRefusal } from "../../discord/oauth.ts";'],
  ["src/cli/demo.ts", 'const demo = await import("../demo/index.ts");'],
  ["src/config/env.ts", "const port = process.env.PORT;"],
])("what the house allows passes: %s, %s", (path, source) => {
  expect(violations(path, source)).toEqual([]);
});
