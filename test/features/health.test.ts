import { expect, test } from "vitest";
import { createHealthService, type HealthCheck } from "../../src/features/health/health.service.ts";
import { healthRoutes } from "../../src/features/health/health.routes.ts";
import type { RegistryEntry } from "../../src/http/app.ts";
import { startApp, type TestOptions, thingRoutes } from "../http/support.ts";

const capabilities = {
  callsigns: { next: false, lookup: false, repair: false },
  roster: { history: true, sync_member: true, audit: true },
  workflows: ["poach"],
  webhooks: false,
  events: false,
};

const pass: HealthCheck = () => ({ status: "pass" });

interface Flaws {
  storage?: HealthCheck;
  discord_gateway?: HealthCheck;
  guild_state?: HealthCheck;
  isShuttingDown?: () => boolean;
  isAlive?: () => boolean;
}

/** The health room on the routes of the test app, one of which is switched off. */
async function startHealth({ isShuttingDown = () => false, isAlive = () => true, ...checks }: Flaws = {}, options: TestOptions = {}) {
  let registry: () => RegistryEntry[] = () => [];
  const health = createHealthService({
    clock: { now: () => new Date("2026-11-20T10:00:00.000Z") },
    service: { name: "provost", version: "1.0.0", instanceId: "instance", commit: "abc123" },
    checks: { storage: pass, discord_gateway: pass, guild_state: pass, ...checks },
    capabilities: () => capabilities,
    routes: () => registry(),
    isShuttingDown,
    isAlive,
    patience: 50,
  });
  const started = await startApp({
    routes: [...thingRoutes(), ...healthRoutes(health)],
    switchedOff: (capability) => (capability === "callsigns.next" ? "No pool is set up." : undefined),
    isShuttingDown,
    ...options,
  });
  registry = started.app.registry;
  return started;
}

const stranger = { path: "/health", key: null };

test("a stranger sees that all is well, what is offered and nothing more", async () => {
  const { ask } = await startHealth({ storage: () => ({ status: "pass", reason: "secret", age_seconds: 3 }) });
  const { status, json } = await ask(stranger);
  expect(status).toBe(200);
  expect(json).toEqual({
    success: true,
    status: "ok",
    service: { name: "provost", version: "1.0.0", instance_id: "instance" },
    api: { version: "1", contract: "community-moderation/1", compatible: true },
    capabilities,
    routes: expect.arrayContaining([
      { method: "POST", path: "/callsigns/next", supported: false },
      { method: "GET", path: "/health", supported: true },
    ]),
    checks: { storage: { status: "pass" }, discord_gateway: { status: "pass" }, guild_state: { status: "pass" } },
    time: "2026-11-20T10:00:00.000Z",
  });
});

test("details need a key that holds system.health.read", async () => {
  const { ask } = await startHealth({ guild_state: () => ({ status: "warn", reason: "The gateway is away.", age_seconds: 900 }) });
  const detailed = { status: "warn", reason: "The gateway is away.", age_seconds: 900 };
  expect((await ask({ path: "/health" })).json).toMatchObject({ checks: { guild_state: detailed }, service: { commit: "abc123" } });
  for (const key of [null, "key-read"]) {
    const { json } = await ask({ path: "/health", key });
    expect(json["checks"]).toMatchObject({ guild_state: { status: "warn" } });
    expect(JSON.stringify(json)).not.toMatch(/gateway is away|age_seconds|abc123/);
  }
});

test("a wrong key is refused even where none is needed", async () => {
  const { ask } = await startHealth();
  expect((await ask({ path: "/health", key: "wrong" })).status).toBe(401);
});

test.each([
  ["Discord away", { discord_gateway: () => ({ status: "fail" as const }) }, 200, "degraded"],
  ["an old guild state", { guild_state: () => ({ status: "warn" as const }) }, 200, "degraded"],
  ["slow storage", { storage: () => ({ status: "warn" as const }) }, 200, "degraded"],
  ["storage that cannot serve", { storage: () => ({ status: "fail" as const }) }, 503, "error"],
  ["a storage check that breaks", { storage: () => Promise.reject(new Error("down")) }, 503, "error"],
  ["a storage check that never ends", { storage: () => new Promise<never>(() => undefined) }, 503, "error"],
])("%s", async (_name, flaws, status, said) => {
  const { ask } = await startHealth(flaws);
  const answer = await ask(stranger);
  expect({ status: answer.status, said: answer.json["status"], success: answer.json["success"] }).toEqual({
    status,
    said,
    success: status === 200,
  });
});

test("readiness depends on storage and shutdown, not on Discord", async () => {
  const ready = async (flaws: Flaws) => (await (await startHealth(flaws)).ask({ path: "/readyz", key: null })).status;
  expect(await ready({})).toBe(200);
  expect(await ready({ discord_gateway: () => ({ status: "fail" }), guild_state: () => ({ status: "fail" }) })).toBe(200);
  expect(await ready({ storage: () => ({ status: "fail" }) })).toBe(503);
  expect(await ready({ isShuttingDown: () => true })).toBe(503);
});

test("liveness depends on the process alone", async () => {
  const live = async (flaws: Flaws) => (await (await startHealth(flaws)).ask({ path: "/livez", key: null })).status;
  expect(await live({ storage: () => ({ status: "fail" }), isShuttingDown: () => true })).toBe(200);
  expect(await live({ isAlive: () => false })).toBe(503);
});

test("probes are answered beyond every limit", async () => {
  const { ask } = await startHealth({}, { limits: { read: { count: 1, seconds: 3600 } }, gate: { running: 0, waiting: 0 } });
  for (const path of ["/health", "/livez", "/readyz", "/health"]) expect((await ask({ path, key: null })).status).toBe(200);
});

test("callers at the same time share one run of a check", async () => {
  let runs = 0;
  const storage = async () => {
    runs += 1;
    await new Promise((resolve) => setTimeout(resolve, 20));
    return { status: "pass" as const };
  };
  const { ask } = await startHealth({ storage });
  await Promise.all(Array.from({ length: 10 }, () => ask(stranger)));
  expect(runs).toBeLessThan(10);
});
