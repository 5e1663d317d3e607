// @module-tag sqlite
import pino from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createJobs, type Jobs } from "../src/jobs.ts";
import { systemCall } from "../src/kernel/call.ts";
import { uuid7 } from "../src/kernel/ids.ts";
import { createWorld } from "./support/world.ts";

const lines: string[] = [];
const logger = pino({ level: "info" }, { write: (line: string) => lines.push(line) });

beforeEach(() => {
  lines.length = 0;
  vi.useFakeTimers({ now: new Date("2026-11-22T10:00:30Z"), toFake: ["Date", "setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Jobs that note when they run. */
function noted(names: Record<string, () => Promise<unknown>>): { jobs: Jobs; ran: string[] } {
  const ran: string[] = [];
  const jobs = Object.fromEntries(
    Object.entries(names).map(([name, work]) => [
      name,
      async () => {
        ran.push(`${name} ${new Date().toISOString().slice(14, 19)}`);
        await work();
      },
    ]),
  );
  return { jobs, ran };
}

const nothing = (): Promise<void> => Promise.resolve();

test("jobs run at the full minute, in their order, and no more once they are stopped", async () => {
  const { jobs, ran } = noted({ first: nothing, second: nothing });
  const { start, stop } = createJobs(jobs, logger);
  start();
  await vi.advanceTimersByTimeAsync(29_000);
  expect(ran).toEqual([]);
  await vi.advanceTimersByTimeAsync(62_000);
  expect(ran).toEqual(["first 01:00", "second 01:00", "first 02:00", "second 02:00"]);
  await stop();
  await vi.advanceTimersByTimeAsync(120_000);
  expect(ran).toHaveLength(4);
});

test("a job that fails is logged by its name, keeps no other one from running, and runs again", async () => {
  const { jobs, ran } = noted({ broken: () => Promise.reject(new Error("no disk")), next: nothing });
  const { start, stop } = createJobs(jobs, logger);
  start();
  await vi.advanceTimersByTimeAsync(91_000);
  await stop();
  expect(ran).toEqual(["broken 01:00", "next 01:00", "broken 02:00", "next 02:00"]);
  expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
    expect.objectContaining({ level: 50, job: "broken" }),
    expect.objectContaining({ level: 50, job: "broken" }),
  ]);
});

test("of each job it is told when it last ended well, since when it fails, and how long it took", async () => {
  let isWell = false;
  const work = async (): Promise<void> => {
    if (!isWell) throw new Error("no disk");
    await new Promise((resolve) => setTimeout(resolve, 2000));
  };
  const { start, stop, state } = createJobs({ flaky: work, after: nothing }, logger);
  const untouched = { lastSuccess: null, lastFailure: null, failingSince: null, runningSince: null, failures: 0, durationMs: null };
  expect(state()).toEqual([
    { name: "flaky", ...untouched },
    { name: "after", ...untouched },
  ]);
  const minute = (number: number, seconds = 0): Date => new Date(Date.UTC(2026, 10, 22, 10, number, seconds));
  start();
  await vi.advanceTimersByTimeAsync(91_000);
  const failed = { lastSuccess: null, lastFailure: minute(2), failingSince: minute(1), runningSince: null, failures: 2 };
  expect(state()[0]).toEqual({ name: "flaky", ...failed, durationMs: expect.any(Number) as number });
  expect(state()[1]).toMatchObject({ lastSuccess: minute(2), failingSince: null, failures: 0 });
  isWell = true;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(state()[0]).toMatchObject({ ...failed, runningSince: minute(3) });
  await vi.advanceTimersByTimeAsync(2000);
  expect(state()[0]).toMatchObject({ lastSuccess: minute(3, 2), lastFailure: minute(2), failingSince: null, failures: 2 });
  expect(state()[0]?.runningSince).toBeNull();
  await stop();
});

test("a round that takes longer than a minute is not run twice at once, and a stop waits for it", async () => {
  let finish = (): void => undefined;
  const { jobs, ran } = noted({ slow: () => new Promise<void>((resolve) => (finish = resolve)), after: nothing });
  const { start, stop } = createJobs(jobs, logger);
  start();
  await vi.advanceTimersByTimeAsync(150_000);
  expect(ran).toEqual(["slow 01:00"]);
  const stopped = vi.fn<() => void>();
  const stopping = stop().then(stopped);
  await vi.advanceTimersByTimeAsync(0);
  expect(stopped).not.toHaveBeenCalled();
  finish();
  await stopping;
  expect(ran).toEqual(["slow 01:00", "after 03:00"]);
});

/** A job with a date, and what it did by when. */
function dated(work: () => unknown = () => undefined) {
  const ran: string[] = [];
  const job = {
    due: null as Date | null,
    nextDue: () => Promise.resolve(job.due),
    run: async () => {
      ran.push(new Date().toISOString().slice(14, 23));
      await work();
    },
  };
  return { job, ran };
}
const at = (time: string): Date => new Date(`2026-11-22T${time}Z`);

test("a job with a date runs at that date, and every minute as well", async () => {
  const { job, ran } = dated(() => (job.due = null));
  job.due = at("10:00:41.250");
  const { start, stop } = createJobs({ dated: job }, logger);
  start();
  await vi.advanceTimersByTimeAsync(11_249);
  expect(ran).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(ran).toEqual(["00:41.250"]);
  await vi.advanceTimersByTimeAsync(20_000);
  await stop();
  expect(ran).toEqual(["00:41.250", "01:00.000"]);
});

test("a date that is set, moved or passed while the job waits counts within a second", async () => {
  const { job, ran } = dated(() => (job.due = null));
  job.due = at("10:00:55.000");
  const { start, stop } = createJobs({ dated: job }, logger);
  start();
  await vi.advanceTimersByTimeAsync(3000);
  job.due = at("10:00:34.100");
  await vi.advanceTimersByTimeAsync(5000);
  expect(ran).toEqual(["00:34.100"]);
  job.due = at("10:00:10.000");
  await vi.advanceTimersByTimeAsync(1000);
  expect(ran).toHaveLength(2);
  await stop();
  job.due = at("10:00:40.000");
  await vi.advanceTimersByTimeAsync(120_000);
  expect(ran).toHaveLength(2);
});

test("a job that fails at its date, or leaves it as it was, runs again with the minute alone", async () => {
  const [failing, idle] = [dated(() => Promise.reject(new Error("no disk"))), dated()];
  for (const { job } of [failing, idle]) job.due = at("10:00:40.000");
  const { start, stop, state } = createJobs({ failing: failing.job, idle: idle.job }, logger);
  start();
  await vi.advanceTimersByTimeAsync(50_000);
  await stop();
  for (const { ran } of [failing, idle]) expect(ran).toEqual(["00:40.000", "01:00.000"]);
  expect(state()).toMatchObject([
    { failures: 2, failingSince: at("10:00:40.000") },
    { failures: 0, lastSuccess: at("10:01:00.000") },
  ]);
});

test("a job that takes long delays the dates of no other one, never runs twice at once, and a stop waits for it", async () => {
  let finish = (): void => undefined;
  const slow = dated(() => new Promise<void>((resolve) => (finish = resolve)));
  const quick = dated(() => (quick.job.due = null));
  slow.job.due = at("10:00:40.000");
  quick.job.due = at("10:00:45.000");
  const { start, stop } = createJobs({ slow: slow.job, quick: quick.job }, logger);
  start();
  await vi.advanceTimersByTimeAsync(40_000);
  expect([slow.ran, quick.ran]).toEqual([["00:40.000"], ["00:45.000"]]);
  const stopped = vi.fn<() => void>();
  const stopping = stop().then(stopped);
  await vi.advanceTimersByTimeAsync(0);
  expect(stopped).not.toHaveBeenCalled();
  finish();
  await vi.advanceTimersByTimeAsync(0);
  finish();
  await stopping;
  expect(slow.ran).toEqual(["00:40.000", "01:10.000"]);
});

test("where the next date cannot be read, the job runs every minute, and the log says so once", async () => {
  const { job, ran } = dated();
  const { start, stop } = createJobs({ dated: { run: job.run, nextDue: () => Promise.reject(new Error("away")) } }, logger);
  start();
  await vi.advanceTimersByTimeAsync(31_000);
  await stop();
  expect(ran).toEqual(["01:00.000"]);
  expect(lines.map((line) => JSON.parse(line) as object)).toEqual([expect.objectContaining({ level: 40, job: "dated" })]);
});

test("one round of the service's own jobs ends what is over and complains of nothing", async () => {
  vi.useRealTimers();
  const world = await createWorld({ log: (line) => lines.push(line) });
  const owner = await world.staff("owner");
  const pool = { key: "south", name: "South", template: "S-{n:03}", ranges: [[1, 30]] };
  expect((await world.post("/callsigns/pools", pool, { actor: owner })).status).toBe(201);
  const { id } = await world.app.database.write(systemCall("cli", uuid7()), ({ db, now }) =>
    db.callsignSlot.create({
      data: {
        id: uuid7(),
        pool: "south",
        number: 9,
        callsign: "S-009",
        state: "held",
        liveKey: "south:9",
        since: now,
        until: new Date(now.getTime() - 1),
        createdAt: now,
      },
    }),
  );
  await world.app.runJobs();
  expect((await world.app.database.read.callsignSlot.findUnique({ where: { id } }))?.state).toBe("ended");
  expect(lines.filter((line) => (JSON.parse(line) as { level: number }).level >= 40)).toEqual([]);
});
