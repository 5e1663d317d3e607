// @module-tag sqlite
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";
import { routeTable } from "../../src/features.ts";
import { languages } from "../../src/kit/say.ts";
import { createTools, whyNoTool } from "../../src/mcp/mcp.ts";
import { requireDone } from "../../src/kernel/held.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { codesIn, isHeldBy, outcomeOf, permissionsOf, policyRoutes, type Caller, type PolicyRoute } from "../contract/policy.ts";
import { claimsFor, createPair, jws } from "../support/signer.ts";
import { createWorld, type Level, type World } from "../support/world.ts";
import { connect, use } from "./ground.ts";

/** The routes that are no tools, as docs/mcp.md says. */
const notOffered = new Set(
  (readFileSync(new URL("../../docs/mcp.md", import.meta.url), "utf8").split("## What is not offered")[1] ?? "")
    .split("\n")
    .flatMap((line) => codesIn(line.split("|")[1])),
);

test("every route that the page leaves out is one", () => {
  const routes = new Set(policyRoutes.map(({ method, path }) => `${method} ${path}`));
  expect(notOffered.size).toBeGreaterThan(20);
  expect([...notOffered].filter((route) => !routes.has(route))).toEqual([]);
});

test("what people are asked to confirm has a German sentence, for every operation that changes something", () => {
  const changes = [...createTools(routeTable()).values()].filter(({ isWrite }) => isWrite);
  expect(changes.length).toBeGreaterThan(80);
  const isWorded = (id: string): boolean => Object.values(languages).every((texts) => texts[`operation ${id}`] !== undefined);
  expect(changes.map(({ spec }) => spec.operationId).filter((id) => !isWorded(id))).toEqual([]);
});

interface Person {
  name: string;
  id: string;
  actor: NonNullable<Caller["actor"]>;
}

async function createPersons(world: World): Promise<Person[]> {
  const of = async (level: Level, isSuspended = false): Promise<Person> => {
    const { id } = await world.staff(level);
    return { name: isSuspended ? `suspended ${level}` : level, id, actor: { isStaff: true, level, isSuspended } };
  };
  const suspended = await of("admin", true);
  const owner = await world.staff("owner");
  const answer = await world.post(`/staff/${suspended.id}/suspend`, { reason: "For this test" }, { actor: owner });
  expect(answer.status).toBe(200);
  const stranger = { name: "stranger", id: world.member().id, actor: { isStaff: false, level: "none", isSuspended: false } };
  return [await of("owner"), await of("admin"), await of("moderator"), await of("viewer"), suspended, stranger];
}

/** Whether the page of the policy lets somebody use a route, about somebody or about themself. */
function isAllowed(route: PolicyRoute, caller: Caller): boolean {
  return permissionsOf(route).some(({ permission }) =>
    [false, true].some((isOwn) => outcomeOf(route, permission, caller, isOwn) === "allowed"),
  );
}

/** What has to be offered, by the pages alone: a change only to whom Discord lets confirm. */
function expectedFor(caller: Caller & { actor: NonNullable<Caller["actor"]> }): string[] {
  const changes = ({ method, limit }: PolicyRoute): boolean => method !== "GET" && limit !== "read";
  return policyRoutes
    .filter((route) => !notOffered.has(`${route.method} ${route.path}`))
    .filter((route) => isAllowed(route, caller) && (!changes(route) || isHeldBy(caller.actor, "permissions.read")))
    .map(({ method, path }) => `${method} ${path}`)
    .toSorted();
}

/** The route of each operation, by the document. */
async function routesByOperation(world: World): Promise<ReadonlyMap<string, string>> {
  const { body } = await world.get("/openapi.json");
  const paths = body.paths as Record<string, Record<string, { operationId: string }>>;
  return new Map(
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]): [string, string] => [operationId, `${method.toUpperCase()} ${path}`]),
    ),
  );
}

const scopes = [
  ["*"],
  ["cases.*", "blacklist.read", "workflows.poach.create"],
  ["permissions.read", "staff.*"],
  ["audit.read", "events.read_all"].slice(0, 1),
];

test("a key and a person are offered exactly what the page of the policy lets them use", async () => {
  const world = await createWorld({ env: { MCP: "on" } });
  const persons = await createPersons(world);
  const routes = await routesByOperation(world);
  const counts: number[] = [];
  for (const scope of scopes) {
    const key = await world.makeKey(scope);
    for (const person of persons) {
      const { tools } = await (await connect(world, person.id, { key })).listTools();
      const caller = { key: { scopes: scope, delegation: "trusted", isProved: false, refusal: null }, actor: person.actor };
      const found = tools.map(({ name }) => routes.get(name) ?? name).toSorted();
      expect(found, `${person.name}, ${scope.join()}`).toEqual(expectedFor(caller));
      counts.push(found.length);
    }
  }
  // They differ: neither everything nor nothing is right for everybody.
  expect(new Set(counts).size).toBeGreaterThan(10);
  expect(Math.max(...counts)).toBeGreaterThan(150);
});

test("a person who is proved by a signed assertion for each message is offered the same", async () => {
  const world = await createWorld({ env: { MCP: "on" } });
  const owner = await world.staff("owner");
  const { jwk, privateKey } = createPair();
  const made = requireDone(
    await world.app.keys.create(systemCall("cli", "signed"), {
      name: "signed",
      scopes: ["staff.*"],
      delegation: "signed",
      public_key: jwk,
    }),
  );
  const audience = (await world.get("/health")).body.service.instance_id as string;
  const ask = async (body: string, proved: string | null) => {
    const claims = claimsFor({
      issuer: made.key_id,
      audience,
      userId: owner.id,
      method: "POST",
      path: "/mcp",
      query: "",
      body: proved ?? body,
    });
    const headers = {
      accept: "application/json, text/event-stream",
      "x-acting-assertion": jws(claims, privateKey),
      "mcp-protocol-version": "2025-06-18",
    };
    return await world.request("POST", "/mcp", body, { key: made.key, headers });
  };
  const message = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  const answer = await ask(message, null);
  expect(answer.status).toBe(200);
  expect(String(answer.body)).toContain('"name":"listStaff"');
  expect((await ask(message, "another body")).status).toBe(401);
});

test("names and schemas of tools are what the protocol allows, and nothing offered takes or gives a secret", async () => {
  const world = await createWorld({ env: { MCP: "on" } });
  const { tools } = await (await connect(world, await world.staff("owner"))).listTools();
  for (const { name, inputSchema, annotations } of tools) {
    expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect(inputSchema).toMatchObject({ type: "object", additionalProperties: false });
    expect(JSON.stringify(inputSchema), name).not.toMatch(/"\w*(secret|token|password|private_key)\w*":\{/i);
    expect(annotations?.readOnlyHint === true && annotations.destructiveHint === true).toBe(false);
  }
  // `undo_token` is the id of a repair, `former_secret_until` a time.
  for (const { spec } of routeTable().filter((route) => whyNoTool(route.spec) === undefined))
    expect(JSON.stringify(z.toJSONSchema(spec.success.schema, { unrepresentable: "any" })), spec.operationId).not.toMatch(
      /"(?!undo_token|former_secret_until)\w*(secret|token|password)\w*":\{/i,
    );
  const hints = (wanted: string) => tools.find(({ name }) => name === wanted)?.annotations;
  expect(hints("listStaff")).toMatchObject({ readOnlyHint: true, destructiveHint: false, idempotentHint: true });
  expect(hints("revokeBlacklistRecord")).toMatchObject({ readOnlyHint: false, destructiveHint: true, idempotentHint: true });
  expect(hints("createCase")).toMatchObject({ readOnlyHint: false, destructiveHint: false, idempotentHint: false });
});

test("a read answers what its route answers, and a refusal is that of the route", async () => {
  const world = await createWorld({ env: { MCP: "on" } });
  const [owner, viewer] = [await world.staff("owner"), await world.staff("viewer")];
  await world.post("/cases", { title: "Raid of the harbour", kind: "investigation" }, { actor: owner });
  const client = await connect(world, owner);
  const routes = await routesByOperation(world);
  const { tools } = await client.listTools();
  const timeless = (body: unknown): unknown =>
    JSON.parse(JSON.stringify(body).replaceAll(/"(as_of|evaluated_at|from|to)":("[^"]*"|[\d.]+)/g, '"$1":0'));
  let compared = 0;
  for (const { name, annotations } of tools) {
    const [method, path = ""] = (routes.get(name) ?? "").split(" ");
    if (method !== "GET" || path.includes("{") || name === "getHealth" || annotations?.readOnlyHint !== true) continue;
    const asked = await world.get(path, { actor: owner });
    const told = await use(client, name);
    const body = told.isError ? { ...told.data, request_id: "", instance: "" } : told.data;
    expect(timeless(body), name).toEqual(timeless(told.isError ? { ...asked.body, request_id: "", instance: "" } : asked.body));
    compared += 1;
  }
  expect(compared).toBeGreaterThan(25);
  const page = await use(client, "listStaff", { query: { limit: 1 } });
  expect(page.data["page"]).toMatchObject({ limit: 1, has_more: true });
  const refused = await use(await connect(world, viewer), "listCases");
  expect(refused).toMatchObject({ isError: true, data: { code: "permission_denied", required: "cases.read", missing_in: "acting_user" } });
  expect(await use(client, "getCase", { path: { id: "CASE-999999" } })).toMatchObject({
    isError: true,
    data: { code: "record_not_found" },
  });
  expect(await use(client, "listCases", { query: { nonsense: 1 } })).toMatchObject({ data: { code: "unknown_parameter" } });
  expect(await use(client, "createKey", { body: {} })).toMatchObject({ isError: true, data: { code: "unsupported_operation" } });
});
