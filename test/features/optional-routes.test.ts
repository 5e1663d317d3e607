// @module-tag sqlite
// @module-tag slow
import { describe, expect, test } from "vitest";
import { capabilities, switchedOffBy, switches, type Capability } from "../../src/config/values.ts";
import type { User } from "../../sandbox/index.ts";
import { shareWorld } from "../contract/world.ts";
import type { Answer, World } from "../support/world.ts";

interface Optional {
  method: string;
  path: string;
  capability: string;
  example: unknown;
}

/** Every route with a capability, as the document tells of it. */
function optionalRoutes({ app }: World): Optional[] {
  const { paths } = app.http.document() as unknown as { paths: Record<string, Record<string, any>> };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { "x-capability": capability, requestBody }]) =>
      typeof capability === "string"
        ? [{ method: method.toUpperCase(), path, capability, example: requestBody?.content?.["application/json"]?.example }]
        : [],
    ),
  );
}

const ids = ["80351110224678912", "0192f0c1-2d3e-7abc-8def-0123456789ab", "NONE-999"];
const filled = (path: string, id: string): string => path.replaceAll(/\{\w+\}/g, encodeURIComponent(id));

const owners = new WeakMap<World, Promise<User>>();
/** An owner asks: nothing but the route itself can refuse. */
async function ask(world: World, { method, path }: Optional, body: unknown, id = ids[0] ?? ""): Promise<Answer> {
  const owner = owners.get(world) ?? world.staff("owner");
  owners.set(world, owner);
  return await world.request(method, filled(path, id), method === "GET" ? undefined : (body ?? {}), { actor: await owner });
}

/** What `/health` says of each capability and route. */
async function told(world: World) {
  const { body } = await world.get("/health", { key: null });
  const isOffered = (capability: string): unknown => capability.split(".").reduce((part, name) => part?.[name], body.capabilities);
  const supported = new Map<string, boolean>(body.routes.map((one: any) => [`${one.method} ${one.path}`, one.supported]));
  return { isOffered, supported };
}

describe.each([
  [501, "callsigns.next,callsigns.registry,roster.entries,roster.sync_member"],
  [501, "callsigns.lookup,callsigns.repair,roster.history,roster.audit"],
  [501, "callsigns"],
  [404, "roster"],
])("with %i for what is switched off by %s", (wanted, named) => {
  const shared = shareWorld({ env: { SWITCHED_OFF: named, UNSUPPORTED_STATUS: wanted.toString() } });
  const off = switchedOffBy(named.split(",") as Capability[]);

  test("every route of it is refused with its reason, no other is, and health says so", async () => {
    const { world } = shared;
    const { isOffered, supported } = await told(world);
    for (const capability of capabilities) expect([capability, isOffered(capability)]).toEqual([capability, !off.has(capability)]);
    for (const one of optionalRoutes(world)) {
      const route = `${one.method} ${one.path}`;
      const isOff = off.has(one.capability);
      expect([route, supported.get(route)]).toEqual([route, !isOff]);
      const { status, headers, body } = await ask(world, one, {});
      if (!isOff) expect([route, status, body.code]).not.toEqual([route, status, "unsupported_operation"]);
      else {
        expect([route, status, body.code, body.capability]).toEqual([route, wanted, "unsupported_operation", one.capability]);
        expect([route, headers.get("cache-control"), body.reason]).toEqual([route, "no-store", expect.stringMatching(/\w/)]);
      }
    }
  });
});

test.each(capabilities)("%s is switched off alone, and with its room", (one) => {
  expect([...switchedOffBy([one])]).toEqual([one]);
  const room = switches.find((name) => one.startsWith(`${name}.`));
  expect(switchedOffBy(room === undefined ? [] : [room]).has(one)).toBe(true);
});

describe("with nothing switched off", () => {
  const shared = shareWorld();

  test("every capability has a route, and both rooms have no route without one", () => {
    const found = optionalRoutes(shared.world);
    expect([...new Set(found.map(({ capability }) => capability))].toSorted()).toEqual(capabilities.toSorted());
    const { paths } = shared.world.app.http.document() as unknown as { paths: Record<string, object> };
    const rooms = Object.entries(paths).filter(([path]) => /^\/(callsigns|roster)(\/|$)/.test(path));
    expect(rooms.reduce((sum, [, methods]) => sum + Object.keys(methods).length, 0)).toBe(found.length);
  });

  test.each(ids)("no route answers 404 to %s, which is the id of nothing", async (id) => {
    const { world } = shared;
    for (const one of optionalRoutes(world)) {
      for (const body of [one.example, {}]) {
        const { status } = await ask(world, one, body, id);
        expect
          .soft([one.method, filled(one.path, id), status === 404 || status >= 500 ? status : "fine"])
          .toEqual([one.method, filled(one.path, id), "fine"]);
      }
    }
  });
});
