import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { ProblemError } from "../../src/kernel/errors.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createMetrics } from "../../src/metrics/metrics.ts";
import { metricTable } from "../../src/metrics/table.ts";
import { collectGarbage } from "../../src/heap.ts";
import { createWorld, type World } from "../support/world.ts";
import { documentedMetrics } from "./documented.ts";
import { hasPromtool, promtool } from "./promtool.ts";

const token = "0123456789abcdef";
let world: World;
let backups: string;
let end: () => Promise<void>;
/** What the service had measured after the day below. */
let text: string;
const log: string[] = [];

// Not by `fetch`, which ends its connections by the clock that a test sets forward.
const scrape = async (): Promise<string> => (await world.get("/metrics", { key: token })).body as string;

/** The value of a sample, by its name with its labels as they are printed. */
function valueOf(sample: string, from = text): number | undefined {
  const line = from.split("\n").find((one) => one.startsWith(`${sample} `));
  return line === undefined ? undefined : Number(line.slice(sample.length + 1));
}

beforeAll(async () => {
  backups = await mkdtemp(join(tmpdir(), "provost-metrics-"));
  await writeFile(join(backups, "provost-20261120T040000Z.tar.gz"), "");
  world = await createWorld({
    env: {
      METRICS_TOKEN: token,
      BACKUP_DIR: backups,
      BACKUP_HOUR: "off",
      RATE_LIMITS: "read=100000/1,write=100000/1,authorize=100000/1,export=100000/1,failed_auth=1/3600",
    },
    log: (line) => log.push(line),
    onEnd: (ending) => (end = ending),
  });
  const owner = await world.staff("owner");
  const { app } = world;
  const body = { kind: "user", subject_id: "80351110224678912", category: "raid", severity: "high", reason_public: "Raided." };
  const made = await world.post("/blacklist", body, { actor: owner });
  expect(made.status).toBe(201);
  await world.get(`/blacklist/${made.body.data.id}`, { actor: owner });
  await world.get("/nowhere/80351110224678912");
  for (let tries = 0; tries < 3; tries += 1) await world.get("/blacklist", { key: "wrong" });
  await expect(app.database.write(systemCall("job", uuid7()), () => Promise.reject(new ProblemError("storage_busy")))).rejects.toThrow();
  await app.database.write(systemCall("job", uuid7()), async (tx) => {
    for (const type of ["match.opened", "match.opened", "match.closed"] as const) app.events.emit(tx, { type, data: {} });
  });
  await app.database
    .write(systemCall("job", uuid7()), async (tx) => {
      app.events.emit(tx, { type: "match.opened", data: {} });
      throw new ProblemError("storage_busy");
    })
    .catch(() => undefined);
  await app.runJobs();
  await app.audit.signHead(systemCall("job", uuid7()));
  // A day this short may end before V8 collects garbage, and the metric of that has no value before.
  collectGarbage();
  await vi.waitFor(async () => expect((text = await scrape())).toContain("nodejs_gc_duration_seconds_count"));
});
afterAll(async () => {
  await end();
  await rm(backups, { recursive: true, force: true });
});

/** Every metric of a scrape with its type. */
const typesIn = (scraped: string): [string, string][] =>
  [...scraped.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", type = ""]) => [name, type]);

test("the tables of the operator's page have exactly the metrics of a scrape, with their types and labels", () => {
  const told = documentedMetrics();
  expect(told.map(({ name, type }) => `${name} ${type}`).toSorted()).toEqual(
    typesIn(text)
      .map((one) => one.join(" "))
      .toSorted(),
  );
  const own = told.filter(({ name }) => name.startsWith("provost_")).map(({ name, labels }) => [name, labels]);
  expect(Object.fromEntries(own)).toEqual(Object.fromEntries(Object.entries(metricTable).map(([name, { labels }]) => [name, labels])));
});

test("every metric of the table has a value, but for the ping before the first heartbeat", () => {
  const silent = typesIn(text).filter(([name]) => !new RegExp(`^${name}(_count)?(\\{.*\\})? [\\d.e+-]+$`, "m").test(text));
  expect(silent.map(([name]) => name)).toEqual(
    valueOf("provost_discord_gateway_ping_seconds") === undefined ? ["provost_discord_gateway_ping_seconds"] : [],
  );
});

test("requests are counted by route template and status, with one label for every unknown address", () => {
  const count = (labels: string) => valueOf(`provost_http_request_duration_seconds_count{${labels}}`);
  expect(count('method="POST",route="/blacklist",status="201"')).toBe(1);
  expect(count('method="GET",route="/blacklist/{id}",status="200"')).toBe(1);
  expect(count('method="GET",route="unknown",status="404"')).toBe(1);
  expect(count('method="GET",route="/blacklist",status="401"')).toBe(1);
  expect(count('method="GET",route="/blacklist",status="429"')).toBe(2);
  expect(valueOf('provost_rate_limit_refusals_total{limit="failed_auth"}')).toBe(2);
});

test("transactions are measured by their outcome, and writes wait for each", () => {
  const ended = (outcome: string) => valueOf(`provost_database_transaction_duration_seconds_count{outcome="${outcome}"}`) ?? 0;
  expect(ended("rolled_back")).toBe(2);
  expect(ended("committed")).toBeGreaterThan(5);
  expect(valueOf("provost_database_wait_seconds_count")).toBe(ended("committed") + ended("rolled_back") + ended("conflict"));
});

test("what the services know is told as it is", async () => {
  expect(valueOf('provost_health_check{check="storage",status="pass"}')).toBe(1);
  expect(valueOf('provost_health_check{check="storage",status="fail"}')).toBe(0);
  expect(valueOf('provost_discord_gateway_state{state="ready"}')).toBe(1);
  expect(valueOf('provost_discord_calls_total{purpose="registration",outcome="ok"}')).toBeGreaterThan(0);
  expect(valueOf('provost_matches_total{change="opened"}')).toBe(2);
  expect(valueOf('provost_matches_total{change="closed"}')).toBe(1);
  expect(valueOf('provost_job_failures_total{job_name="audit"}')).toBe(0);
  const now = Date.now() / 1000;
  expect(Math.abs(now - (valueOf('provost_job_last_success_timestamp_seconds{job_name="audit"}') ?? 0))).toBeLessThan(600);
  expect(valueOf("provost_audit_head_sequence")).toBe(valueOf("provost_audit_checkpoint_sequence"));
  expect(Math.abs(now - (valueOf("provost_audit_checkpoint_timestamp_seconds") ?? 0))).toBeLessThan(600);
  expect(valueOf("provost_backup_last_success_timestamp_seconds")).toBe(Date.UTC(2026, 10, 20, 4) / 1000);
});

test("no sample has an id, and the token is in no line of the log", () => {
  expect(text).not.toMatch(/="[^"]*\d{17}/);
  expect(log.join("")).toContain('"route":"/metrics"');
  expect(log.join("")).not.toContain(token);
});

test("what has to be looked up is shared for five seconds, and what is at hand is read anew", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const metrics = createMetrics(pino({ level: "silent" }));
  let [lookedUp, read] = [0, 0];
  metrics.read({ provost_deliveries_due: async () => (lookedUp += 1), provost_event_streams_open: () => (read += 1) });
  await Promise.all([metrics.text(), metrics.text()]);
  vi.advanceTimersByTime(4999);
  await metrics.text();
  expect([lookedUp, read]).toEqual([1, 3]);
  vi.advanceTimersByTime(1);
  expect(valueOf("provost_deliveries_due", await metrics.text())).toBe(2);
});

describe.skipIf(!hasPromtool)("promtool, where it is installed", () => {
  test("finds no fault in a scrape", () => {
    expect(promtool(["check", "metrics"], text)).toEqual({ code: 0, said: "" });
    expect(promtool(["check", "metrics"], "# HELP things_total Things.\n# TYPE things_total gauge\nthings_total 1\n").code).not.toBe(0);
  });
});

test("a storage that fails leaves out what cannot be read, says so once, and tells the rest", async () => {
  // The clock that stands in begins at zero: it is set on to where this process is, and a minute further.
  const age = performance.now();
  vi.useFakeTimers({ toFake: ["performance"] });
  try {
    vi.advanceTimersByTime(age + 60_000);
    await world.app.database.close();
    log.length = 0;
    const without = await scrape();
    expect(valueOf("provost_deliveries_due", without)).toBeUndefined();
    expect(valueOf('provost_health_check{check="storage",status="fail"}', without)).toBe(1);
    expect(valueOf("provost_event_streams_open", without)).toBe(0);
    vi.advanceTimersByTime(60_000);
    await scrape();
    expect(log.filter((line) => line.includes('"metric":"provost_deliveries_due"'))).toHaveLength(1);
  } finally {
    vi.useRealTimers();
  }
});
