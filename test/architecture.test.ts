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

const featureOf = (path: string): string | undefined => /^src\/features\/([^/]+)\//.exec(path)?.[1];
const isTransport = (path: string): boolean =>
  /\.(routes|commands|listeners|pages)\.tsx?$/.test(path) || /^src\/features\/([^/]+\/)+commands\//.test(path);
const isManifest = (path: string): boolean => /^src\/features\/[^/]+\/feature\.ts$/.test(path);
/** What decides, and what it stands on: every file of a feature that is neither a transport nor the manifest. */
const isService = (path: string): boolean => featureOf(path) !== undefined && !isTransport(path) && !isManifest(path);
const isInfrastructure = (path: string): boolean => /^src\/(config|database|http|discord|operations|pages)\//.test(path);
/** The OAuth calls are no transport: a service tells their refusals apart. */
const isForTransports = (path: string): boolean =>
  /^src\/(operations|http|discord|commands)\//.test(path) && !/^src\/discord\/(oauth\/)?oauth\.ts$/.test(path);
const isEntry = (path: string): boolean => /^(src\/((main|server|app|cli|features)\.tsx?$|app\/|cli\/)|sandbox\/demo\/)/.test(path);
/** The local Discord, without the demo that the service is played in. */
const isSandbox = (path: string): boolean => path.startsWith("sandbox/") && !path.startsWith("sandbox/demo/");
/** What an engine of the kit works with. */
const isForKit = (path: string): boolean => /^src\/(kit|kernel|database|operations|cluster|generated)\//.test(path);

/** Every rule as a question about one import of one file. */
const directions: Record<string, (from: string, to: Import) => boolean> = {
  "the kernel imports nothing of ours": (from, { target }) =>
    from.startsWith("src/kernel/") && !/^(src\/kernel\/|src\/kit\/say\.ts$|node:|zod$)/.test(target),
  "infrastructure imports no feature": (from, { target }) => isInfrastructure(from) && featureOf(target) !== undefined,
  "operations import the kernel alone": (from, { target }) =>
    from.startsWith("src/operations/") && target.startsWith("src/") && !/^src\/(operations\/|kernel\/|kit\/say\.ts$)/.test(target),
  "the engine of commands imports no feature": (from, { target }) => from.startsWith("src/commands/") && featureOf(target) !== undefined,
  "the kit imports neither features nor transports": (from, { target }) =>
    from.startsWith("src/kit/") && target.startsWith("src/") && !isForKit(target),
  "commands import no HTTP": (from, { target }) => from.startsWith("src/commands/") && target.startsWith("src/http/"),
  "a feature imports other features by type": (from, { target, isType }) =>
    featureOf(from) !== undefined && featureOf(target) !== undefined && featureOf(from) !== featureOf(target) && !isType,
  "services import no transport": (from, { target, isType }) =>
    isService(from) && (isTransport(target) || (isForTransports(target) && !isType)),
  "a transport imports its service by type": (from, { target, isType }) => isTransport(from) && target.endsWith(".service.ts") && !isType,
  "only the demo loads the sandbox": (from, { target }) => isSandbox(target) && !from.startsWith("sandbox/"),
  "the demo is loaded lazily, by the command line": (from, { target, isLazy }) =>
    target.startsWith("sandbox/demo/") && !from.startsWith("sandbox/demo/") && !(from.startsWith("src/cli/") && isLazy),
  "the sandbox imports nothing of the service": (from, { target }) =>
    isSandbox(from) && (target.startsWith("src/") || target.startsWith("client/") || target.startsWith("sandbox/demo/")),
  "the client imports nothing of the service but generated types, and nothing of Node": (from, { target, isType }) =>
    from.startsWith("client/") &&
    (/^(node:|sandbox\/)/.test(target) || (target.startsWith("src/") && !(target.startsWith("src/generated/") && isType))),
  "only the demo asks by the client": (from, { target }) => target.startsWith("client/") && !/^(client|sandbox\/demo)\//.test(from),
  "only entry points import entry points": (from, { target }) => isEntry(target) && !isEntry(from),
  "relative imports name a TypeScript file": (_, { target }) => target.startsWith("src/") && !/\.tsx?$/.test(target),
};

const acting = "guildBan|guildBulkBan|guildMember|guildMemberRole|userChannels";
/** Files that read what the bot can change. */
const readers = new Set([
  "src/discord-actions/judge.ts",
  "src/discord/rest/messages.ts",
  "src/discord/guild/member-read.ts",
  "src/cli/doctor.ts",
]);

/** Whether a file other than that of the actions acts on people by a route of Discord's, or knows one without being a reader. */
function actsByItself(path: string, source: string): boolean {
  if (path.startsWith("src/discord/actions/") || path.startsWith("sandbox/")) return false;
  const isKnown = new RegExp(`\\bRoutes\\.(${acting})\\b`).test(source) || /`\/guilds\/\$\{[^`]*\/(bans|members|bulk-ban)\b/.test(source);
  if (!isKnown) return false;
  return !readers.has(path) || new RegExp(`method: "(?!GET")[A-Z]+",\\s*route: Routes\\.(${acting})\\b`).test(source);
}

/** What waits and tries again without being stored work, each with its own pace. */
const ownPaces = [
  "src/database/write.ts", // transactions that met another one
  "src/discord/gateway/identify-budget.ts", // session starts, of which Discord allows so many a day
  "src/features/follows/reading.ts", // when a list of others is read again
  "client/", // the caller's own retries
];

const contents: Record<string, (path: string, source: string) => boolean> = {
  "only the configuration reads the environment": (path, source) => /\bprocess\.env\b/.test(source) && !path.startsWith("src/config/"),
  "exports are named, and no file hands on a whole other one": (_, source) => /^export (default\b|\*)/m.test(source),
  "no check is switched off": (_, source) => /@ts-(ignore|nocheck|expect-error)|(eslint|oxlint)-disable/.test(source),
  "what is done to people in Discord goes through src/discord-actions/": (path, source) =>
    /\bactions\??\.perform\b/.test(source) && !/^src\/(discord|discord-actions)\//.test(path),
  "routes that act on people are those of src/discord/actions/ alone": actsByItself,
  // `leaseExpiresAt` is the claim of a person on a request.
  "stored work has its lease from src/kit/task.ts, and repeats their pauses from src/kernel/pause.ts": (path, source) =>
    path !== "src/kit/task.ts" &&
    path !== "src/kernel/pause.ts" &&
    (/\b(function|const|let) lease(?!ExpiresAt)\w*|\bleased?(Until|EndsAt|By)\b/.test(source) ||
      (/\b2 \*\* (?!3[12]\b)/.test(source) && !ownPaces.some((one) => path.startsWith(one)))),
  "names are kebab-case: topic, or topic.role": (path) =>
    !/^(src|client|sandbox)\/(([a-z\d]+(-[a-z\d]+)*)\/)*[a-z\d]+(-[a-z\d]+)*(\.[a-z\d]+(-[a-z\d]+)*)?\.tsx?$/.test(path),
  "names say what is in a file": (path) => /(^|[/.-])(utils?|helpers?|common|misc)([/.-]|$)/.test(path),
};

function violations(path: string, source: string): string[] {
  const broken = Object.entries(contents).flatMap(([rule, isBroken]) => (isBroken(path, source) ? [rule] : []));
  for (const one of importsOf(path, source))
    for (const [rule, isBroken] of Object.entries(directions)) if (isBroken(path, one)) broken.push(`${rule}: ${one.target}`);
  return broken.map((rule) => `${path}: ${rule}`);
}

const root = fileURLToPath(new URL("..", import.meta.url));
const sources = ["src", "sandbox", "client"]
  .flatMap((folder) => readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((path) => join(folder, path)))
  .filter((path) => /\.tsx?$/.test(path) && !path.startsWith("src/generated/"));

test("every source keeps the directions and the names of the architecture", () => {
  expect(sources.length).toBeGreaterThan(10);
  expect(sources.flatMap((path) => violations(path, readFileSync(join(root, path), "utf8")))).toEqual([]);
});

test.each([
  ["the kernel imports nothing of ours", "src/kernel/a.ts", 'import { b } from "../http/b.ts";'],
  ["the kernel imports nothing of ours", "src/kernel/a.ts", 'import { Hono } from "hono";'],
  ["infrastructure imports no feature", "src/http/a.ts", 'import type { B } from "../features/cases/cases.service.ts";'],
  ["operations import the kernel alone", "src/operations/a.ts", 'import type { HttpEnv } from "../http/context.ts";'],
  ["the engine of commands imports no feature", "src/commands/a.ts", 'import type { B } from "../features/cases/cases.schema.ts";'],
  ["the kit imports neither features nor transports", "src/kit/a.ts", 'import type { B } from "../features/cases/cases.schema.ts";'],
  ["the kit imports neither features nor transports", "src/kit/a.ts", 'import { respond } from "../http/context.ts";'],
  ["commands import no HTTP", "src/commands/a.ts", 'import { respond } from "../http/context.ts";'],
  ["only entry points import entry points", "src/database/a.ts", 'export { createApp } from "../app.ts";'],
  ["a feature imports other features by type", "src/features/cases/a.ts", 'import { b } from "../staff/b.ts";'],
  ["a feature imports other features by type", "src/features/cases/a.ts", 'import {\n  b,\n  type C,\n} from "../staff/b.ts";'],
  ["a feature imports other features by type", "src/features/cases/a.ts", 'const b = await import("../staff/b.ts");'],
  ["a feature imports other features by type", "src/features/cases/a.ts", 'import "../staff/b.ts";'],
  ["only entry points import entry points", "src/features/cases/a.ts", 'import { createApp } from "../../app.ts";'],
  ["services import no transport", "src/features/cases/cases.service.ts", 'import type { x } from "./cases.routes.ts";'],
  ["services import no transport", "src/features/cases/records.ts", 'import { route } from "../../operations/route.ts";'],
  ["a transport imports its service by type", "src/features/cases/cases.routes.ts", 'import { createCases } from "./cases.service.ts";'],
  ["only the demo loads the sandbox", "src/app.ts", 'const sandbox = await import("../sandbox/index.ts");'],
  ["only the demo loads the sandbox", "src/cli/a.ts", 'import type { Sandbox } from "../../sandbox/index.ts";'],
  ["the demo is loaded lazily, by the command line", "src/cli/a.ts", 'import { run } from "../../sandbox/demo/index.ts";'],
  ["the sandbox imports nothing of the service", "sandbox/rest/a.ts", 'import { b } from "../../src/discord/b.ts";'],
  [
    "the client imports nothing of the service but generated types, and nothing of Node",
    "client/a.ts",
    'import { b } from "../src/kernel/b.ts";',
  ],
  [
    "the client imports nothing of the service but generated types, and nothing of Node",
    "client/a.ts",
    'import { b } from "../src/generated/api.ts";',
  ],
  [
    "the client imports nothing of the service but generated types, and nothing of Node",
    "client/a.ts",
    'import type { B } from "node:fs";',
  ],
  ["only the demo asks by the client", "src/features/lists/a.ts", 'import { b } from "../../../client/index.ts";'],
  ["only entry points import entry points", "src/logger.ts", 'import { createApp } from "./app.ts";'],
  ["relative imports name a TypeScript file", "src/http/a.ts", 'import { b } from "./b";'],
  ["only the configuration reads the environment", "src/http/a.ts", "const port = process.env.PORT;"],
  ["exports are named, and no file hands on a whole other one", "src/http/a.ts", 'export * from "./b.ts";'],
  ["no check is switched off", "src/http/a.ts", "// @ts-ignore"],
  ["what is done to people in Discord goes through src/discord-actions/", "src/features/lists/a.ts", "await discord.actions.perform(ban);"],
  ["what is done to people in Discord goes through src/discord-actions/", "src/features/lists/a.ts", "const done = actions.perform(ban);"],
  ["routes that act on people are those of src/discord/actions/ alone", "src/features/lists/a.ts", "Routes.guildBan(guildId, userId)"],
  ["routes that act on people are those of src/discord/actions/ alone", "src/features/staff/a.ts", "Routes.guildMember(guildId, userId)"],
  ["routes that act on people are those of src/discord/actions/ alone", "src/discord/rest/a.ts", "Routes.userChannels()"],
  [
    "routes that act on people are those of src/discord/actions/ alone",
    "src/features/roster/a.ts",
    "put(`/guilds/${guildId}/members/${userId}/roles/${roleId}`)",
  ],
  [
    "routes that act on people are those of src/discord/actions/ alone",
    "src/discord/guild/member-read.ts",
    'const request = { method: "PATCH", route: Routes.guildMember(guildId, userId) };',
  ],
  [
    "stored work has its lease from src/kit/task.ts, and repeats their pauses from src/kernel/pause.ts",
    "src/features/lists/a.ts",
    "const leaseSeconds = 30;",
  ],
  [
    "stored work has its lease from src/kit/task.ts, and repeats their pauses from src/kernel/pause.ts",
    "src/features/lists/a.ts",
    "where: { leasedUntil: { lt: now } }",
  ],
  [
    "stored work has its lease from src/kit/task.ts, and repeats their pauses from src/kernel/pause.ts",
    "src/features/lists/a.ts",
    "const ms = 1000 * 2 ** attempts;",
  ],
  ["names are kebab-case: topic, or topic.role", "src/http/rateLimit.ts", ""],
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
  ["client/a.ts", 'import type { paths } from "../src/generated/api.ts";'],
  ["sandbox/demo/stage.ts", 'import { createProvostClient } from "../../client/index.ts";'],
  ["src/cli/program.ts", 'const demo = await import("../demo/index.ts");'],
  ["src/config/env.ts", "const port = process.env.PORT;"],
])("what the architecture allows passes: %s, %s", (path, source) => {
  expect(violations(path, source)).toEqual([]);
});
