import { setImmediate } from "node:timers/promises";
import { z } from "zod";
import { catalog } from "../kernel/permissions.ts";
import { isConditionalWrite, type Route, type RouteSpec } from "../operations/route.ts";

/** Why an operation is no tool. docs/mcp.md says the same. */
export const reasons = {
  stream: "its answer is a file or has no end",
  file: "it takes a file",
  secret: "a secret is in what is sent or in the answer",
  keys: "keys are made and changed by people, and not by what works with one",
  confirmations: "a confirmation is said by people, in Discord",
  probe: "it is for what supervises the process",
  export: "it hands somebody all that is known of them, for themself alone",
} as const;
type Reason = keyof typeof reasons;

/** Operations that are no tools, besides those whose answer is no JSON and those that take a file. */
const excluded: Readonly<Record<string, Reason>> = {
  getLiveness: "probe",
  getReadiness: "probe",
  createAuthorizationSession: "secret",
  followList: "secret",
  updateFollowedList: "secret",
  createWebhook: "secret",
  updateWebhook: "secret",
  rotateWebhookSecret: "secret",
  importBlacklist: "file",
  sendListFile: "file",
  exportUserData: "export",
  createKey: "keys",
  listKeys: "keys",
  getKey: "keys",
  updateKey: "keys",
  revokeKey: "keys",
  rotateKey: "keys",
  confirmChange: "confirmations",
  declineChange: "confirmations",
};

/** @returns why an operation is no tool; undefined where it is one */
export function whyNoTool({ operationId, success, request }: RouteSpec): Reason | undefined {
  if (success.shape === "raw") return "stream";
  return request?.upload === undefined ? excluded[operationId] : "file";
}

/** An operation as it is offered. */
export interface Tool {
  spec: RouteSpec;
  /** Whether it may change something, and so waits for a confirmation. */
  isWrite: boolean;
  /** Whether a call can say which revision it means. */
  takesRevision: boolean;
  /** As `tools/list` tells it. All of them take half a second to make, in which others are answered between two. */
  described(): Promise<Described>;
}

interface Described {
  name: string;
  title: string;
  description: string;
  inputSchema: { type: "object" };
  annotations: { readOnlyHint: boolean; destructiveHint: boolean; idempotentHint: boolean; openWorldHint: boolean };
}

const dangerous: ReadonlySet<string> = new Set(catalog.filter(({ danger }) => danger).map(({ key }) => key));
const held =
  "Nothing is changed by the call: it answers with a confirmation, and takes effect when the acting user confirms it in Discord with /confirm.";

/** Every tool, by its name. What a tool takes is made of the route's own schemas when it is first asked for. */
export function createTools(routes: readonly Route[]): ReadonlyMap<string, Tool> {
  const specs = routes.map(({ spec }) => spec).filter((spec) => whyNoTool(spec) === undefined);
  return new Map(specs.map((spec) => [spec.operationId, toolOf(spec)]));
}

function toolOf(spec: RouteSpec): Tool {
  const { method, operationId, summary, description = "", access, limit } = spec;
  // A POST that only asks counts as a read.
  const isWrite = method !== "get" && !(spec.write === false && limit === "read");
  const takesRevision = isConditionalWrite(spec);
  const isDangerous = "permission" in access && dangerous.has(access.permission);
  const describe = async (): Promise<Described> => {
    await setImmediate();
    return {
      name: operationId,
      title: summary,
      description: [`${summary}.`, description, ...(isWrite ? [held] : [])].filter((text) => text !== "").join(" "),
      inputSchema: inputSchema(spec, takesRevision),
      annotations: {
        readOnlyHint: !isWrite,
        destructiveHint: isWrite && (method !== "post" || isDangerous),
        idempotentHint: !isWrite || method === "put" || method === "delete",
        openWorldHint: false,
      },
    };
  };
  let made: Promise<Described> | undefined;
  return { spec, isWrite, takesRevision, described: () => (made ??= describe()) };
}

/** The parts of a request, each by the schema of the route. */
function inputSchema({ request = {} }: RouteSpec, takesRevision: boolean): { type: "object" } {
  const { params, query, body, bodyOptional } = request;
  const parts = z.strictObject({
    ...(params !== undefined && { path: params }),
    ...(query !== undefined && { query: query.optional() }),
    ...(body !== undefined && { body: bodyOptional === true ? body.optional() : body }),
    ...(takesRevision && { if_match: revision.optional() }),
  });
  return z.toJSONSchema(parts, { io: "input" }) as { type: "object" };
}

const revision = z.int().min(0).meta({ description: "The `revision` you have read: a record that has changed since is refused" });
const scalar = z.union([z.string(), z.number(), z.boolean()]);

/** The parts of a call, before the schemas of the route see them. */
export const ToolInput = z.strictObject({
  path: z.record(z.string(), scalar.transform(String)).optional(),
  query: z.record(z.string(), z.union([scalar, z.array(scalar)])).optional(),
  body: z.unknown().optional(),
  if_match: revision.optional(),
});
export type ToolInput = z.output<typeof ToolInput>;
