import { pino } from "pino";
import { expect, onTestFinished, test, vi } from "vitest";
import { jobsCheck } from "../../src/features/health/checks.ts";
import { createJobs } from "../../src/jobs.ts";
import { createHealthService, type HealthCheck } from "../../src/features/health/health.service.ts";
import { createStallWatch } from "../../src/features/health/stall-watch.ts";
import { healthRoutes } from "../../src/features/health/health.routes.ts";
import type { RegistryEntry } from "../../src/http/http-app.ts";
import { startApp, type TestOptions, thingRoutes } from "../http/support.ts";
import { Prisma } from "../../src/generated/sqlite/client.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { inWords } from "../../src/kit/say.ts";
import { createWorld } from "../support/world.ts";

const capabilities = {
  callsigns: { next: false, lookup: false, repair: false, registry: false },
  roster: { entries: true, history: true, sync_member: true, audit: true },
  workflows: ["poach"],
  webhooks: true,
  mcp: false,
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
    checks: {
      storage: pass,
      discord_gateway: pass,
      guild_state: pass,
      discord_permissions: pass,
      audit_checkpoints: pass,
      review_cards: pass,
      jobs: pass,
      evidence_store: pass,
      deliveries: pass,
      discord_actions: pass,
      followed_lists: pass,
      ...checks,
    },
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
    checks: {
      storage: { status: "pass" },
      discord_gateway: { status: "pass" },
      guild_state: { status: "pass" },
      discord_permissions: { status: "pass" },
      audit_checkpoints: { status: "pass" },
      review_cards: { status: "pass" },
      jobs: { status: "pass" },
      evidence_store: { status: "pass" },
      deliveries: { status: "pass" },
      discord_actions: { status: "pass" },
      followed_lists: { status: "pass" },
    },
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

test("readiness names a bot that is not connected, without the reason", async () => {
  const { ask } = await startHealth({ discord_gateway: () => ({ status: "fail", reason: "Discord refuses the bot token." }) });
  const { status, json } = await ask({ path: "/readyz", key: null });
  expect([status, json]).toEqual([200, { success: true, status: "ok", discord_gateway: "fail" }]);
});

test("liveness depends on the process alone", async () => {
  const live = async (flaws: Flaws) => (await (await startHealth(flaws)).ask({ path: "/livez", key: null })).status;
  expect(await live({ storage: () => ({ status: "fail" }), isShuttingDown: () => true })).toBe(200);
  expect(await live({ isAlive: () => false })).toBe(503);
});

test("a busy service answers probes without limit, and the whole picture as often as anything is read", async () => {
  const { ask } = await startHealth({}, { limits: { read: { count: 2, seconds: 3600 } }, gate: { places: 0, waiting: 0 } });
  const thrice = async (path: string, key: string | null = null) => {
    const answers = [await ask({ path, key }), await ask({ path, key }), await ask({ path, key })];
    return answers.map(({ status }) => status);
  };
  expect(await thrice("/health")).toEqual([200, 200, 429]);
  expect(await thrice("/health", "key-all")).toEqual([200, 200, 429]);
  expect(await thrice("/livez")).toEqual([200, 200, 200]);
  expect(await thrice("/readyz")).toEqual([200, 200, 200]);
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

test.each(["501", "404"])("the list of routes is what the service really does, with %s for what it does not", async (status) => {
  const world = await createWorld({ env: { UNSUPPORTED_STATUS: status } });
  const actor = await world.staff("owner");
  const { routes, capabilities: offered } = (await world.get("/health", { key: null })).body;
  for (const { method, path, supported } of routes) {
    const address = path.replaceAll(/\{\w+\}/g, "80351110224678912");
    const answer = await world.request(method, address, method === "GET" ? undefined : {}, { actor });
    expect([method, path, answer.body.code !== "unsupported_operation"]).toEqual([method, path, supported]);
    if (!supported) expect(answer.status).toBe(Number(status));
    expect(["route_not_found", "method_not_allowed", "internal_error"]).not.toContain(answer.body.code);
  }
  const { paths } = world.app.http.document() as { paths: Record<string, object> };
  const documented = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const listed = routes.map((entry: { method: string; path: string }) => `${entry.method} ${entry.path}`);
  expect(listed.toSorted()).toEqual(documented.filter((name) => name !== "GET /problems/{code}").toSorted());
  const unsupported = routes.filter((entry: { supported: boolean }) => !entry.supported);
  expect(unsupported.every(({ path }: { path: string }) => /^\/(callsigns|roster)\//.test(path))).toBe(true);
  for (const kind of offered.workflows) expect(listed).toContain(`POST /workflows/${String(kind)}`);
  expect(Object.values({ ...offered.callsigns, ...offered.roster }).filter((isOn) => isOn === false)).toHaveLength(unsupported.length);
});

test("the whole service tells a holder of system.health.read why it is degraded, and a stranger only that it is", async () => {
  const world = await createWorld();
  const away = world.sandbox.faults.down(Infinity);
  const { said } = await vi.waitUntil(
    async () => {
      const { body } = await world.get("/health");
      return body.status !== "ok" && { said: body };
    },
    { timeout: 10_000, interval: 20 },
  );
  expect(said).toMatchObject({ success: true, status: "degraded", checks: { storage: { status: "pass" } } });
  expect(said.checks.guild_state.reason ?? said.checks.discord_gateway.reason).toEqual(expect.any(String));
  const stranger = (await world.get("/health", { key: null })).body;
  expect(Object.values(stranger.checks).map((check) => Object.keys(check as object))).toEqual(Array.from({ length: 11 }, () => ["status"]));
  expect((await world.get("/readyz", { key: null })).status).toBe(200);
  world.sandbox.faults.up();
  await away;
});

/** A world whose clock can be moved on. */
async function createLater() {
  const time = { offset: 0 };
  const world = await createWorld({ clock: { now: () => new Date(Date.now() + time.offset) } });
  return {
    world,
    later: (seconds: number) => void (time.offset += seconds * 1000),
    checkOf: async (name: string) => (await world.get("/health")).body.checks[name],
  };
}

test("a job that fails is told of for an hour, and is wrong when it has failed for one", async () => {
  const { world, later, checkOf } = await createLater();
  const alter = (from: string, to: string) =>
    world.app.database.write(systemCall("cli", uuid7()), async ({ db }) => {
      await db.$executeRaw(Prisma.raw(`ALTER TABLE ${from} RENAME TO ${to}`));
    });
  await world.app.runJobs();
  expect(await checkOf("jobs")).toEqual({ status: "pass" });
  await alter("callsign_repairs", "gone");
  await world.app.runJobs();
  expect(await checkOf("jobs")).toEqual({
    status: "warn",
    reason: expect.stringMatching(/^The job callsignRepairs failed at \d{4}-\S+Z\. The log says why\.$/) as string,
  });
  later(3600);
  await world.app.runJobs();
  expect(await checkOf("jobs")).toEqual({
    status: "fail",
    reason: expect.stringMatching(/^The job callsignRepairs has failed every minute since \d{4}-\S+Z\. The log says why\.$/) as string,
  });
  expect((await world.get("/health", { key: null })).body.checks.jobs).toEqual({ status: "fail" });
  await alter("gone", "callsign_repairs");
  await world.app.runJobs();
  expect(await checkOf("jobs")).toMatchObject({ status: "warn" });
  later(3600);
  expect(await checkOf("jobs")).toEqual({ status: "pass" });
});

test("a job that does not end keeps the others from running, and is wrong after an hour", async () => {
  const jobs = createJobs({ stuck: () => new Promise(() => undefined), after: () => Promise.resolve() }, pino({ level: "silent" }));
  void jobs.runAll();
  await vi.waitUntil(() => jobs.state()[0]?.runningSince !== null);
  expect(jobsCheck(jobs.state(), Date.now() + 3_500_000)).toEqual({ status: "pass" });
  expect(inWords(jobsCheck(jobs.state(), Date.now() + 3_600_000))).toEqual({
    status: "fail",
    reason: expect.stringMatching(
      /^The job stuck has run since \d{4}-\S+Z and keeps the others from running\. Restart the service\.$/,
    ) as string,
  });
});

test("what an approval left for the bot is late after a minute, and wrong after an hour", async () => {
  const { world, later, checkOf } = await createLater();
  const [requester, decider] = [await world.staff("moderator"), await world.staff("senior")];
  const filed = await world.post(
    "/workflows/blacklist-user",
    { user_id: "80351110224678912", category: "raid", severity: "medium", reason: "Led the raid.", server_ids: [world.guild.id] },
    { actor: requester },
  );
  const away = world.sandbox.faults.down(Infinity);
  await vi.waitUntil(() => world.app.discord.status().state !== "ready", { timeout: 60_000, interval: 20 });
  const decision = { decision: "approve", reason: "Three people saw it." };
  const decided = await world.post(`/workflows/blacklist-user/${String(filed.body.id)}/decision`, decision, { actor: decider });
  expect(decided.status, JSON.stringify(decided.body)).toBe(200);
  expect(await checkOf("deliveries")).toEqual({ status: "pass" });
  later(70);
  const reason = expect.stringMatching(
    /^What approvals left to be done is late: 1 due, the oldest since \d{4}-\S+Z\. Look at the connection to Discord first, then at the log\.$/,
  ) as string;
  expect(await checkOf("deliveries")).toEqual({ status: "warn", reason, age_seconds: expect.any(Number) as number });
  later(3600);
  expect(await checkOf("deliveries")).toMatchObject({ status: "fail", reason });
  world.sandbox.faults.up();
  await away;
  await vi.waitUntil(async () => (await checkOf("deliveries")).status === "pass", { timeout: 60_000, interval: 50 });
});

test("an event loop that stood still for ten seconds is told of once, and the process counts as ailing for half a minute", () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const lines: string[] = [];
  const watch = createStallWatch({ logger: pino({ level: "info" }, { write: (line: string) => void lines.push(line) }) });
  const isAliveAfter = (ms: number): boolean => {
    vi.advanceTimersByTime(ms);
    return watch.isAlive();
  };
  expect(isAliveAfter(60_000)).toBe(true);
  watch.start();
  onTestFinished(watch.stop);
  expect([isAliveAfter(1000), isAliveAfter(10_999)]).toEqual([true, true]);
  expect(isAliveAfter(15_000)).toBe(false);
  expect(Array.from({ length: 29 }, () => isAliveAfter(1000))).toEqual(Array(29).fill(false));
  expect([isAliveAfter(999), isAliveAfter(1)]).toEqual([false, true]);
  expect(lines.map((line) => JSON.parse(line) as object)).toEqual([expect.objectContaining({ level: 50, seconds: 14 })]);
});
