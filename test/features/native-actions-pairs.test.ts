// @module-tag both
import fc from "fast-check";
import pino from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Database } from "../../src/database/database.ts";
import { idAt } from "../../src/features/native-actions/entries.ts";
import { createNativeRecords } from "../../src/features/native-actions/records.ts";
import { createNativeWatch } from "../../src/features/native-actions/watch.ts";
import { systemCall } from "../../src/kernel/call.ts";
import type { DiscordCalls, DiscordRequest } from "../../src/kernel/discord-port.ts";
import { ProblemError } from "../../src/kernel/errors.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createTestDatabase } from "../support/database.ts";
import { sizeOf } from "../support/size.ts";

// Row A15: a ban and its end within a second left a second ban, by nobody, where the entry of the log came before the event.

const guildId = "80351110224678912";
const botId = "80351110224678913";
const actorId = "80351110224678914";
const userOf = (person: number): string => `8035111022467892${person.toString()}`;
let database: Database;
let drop: () => Promise<void>;

beforeEach(async () => {
  ({ database, drop } = await createTestDatabase());
  vi.useFakeTimers({ now: new Date("2026-11-22T10:00:30Z"), toFake: ["Date", "setTimeout", "clearTimeout"] });
});
afterEach(async () => {
  vi.useRealTimers();
  await drop();
});

/** Something that is done to somebody, and when what is heard of it: in milliseconds, each after the one before. */
interface Step {
  person: number;
  after: number;
  eventDelay: number;
  entryDelay: number;
  /** Until the log itself, which is asked by REST, has the entry. */
  logDelay: number;
}
interface Play {
  steps: readonly Step[];
  /** How far the clock of Discord is ahead. */
  skew: number;
  mayView: boolean;
  /** Whether the entry names who did it. */
  isNamed: boolean;
}

interface Logged {
  entry: Readonly<Record<string, unknown>> & { id: string };
  visibleAt: number;
}

/** A watch over the log of one guild. */
async function openWatch(log: readonly Logged[], mayView: boolean) {
  const call = ({ query }: DiscordRequest): Promise<object> => {
    const refusal = { detail: "Discord refused the call.", extra: { discord_status: 403, discord_code: 50_013 } };
    if (!mayView) return Promise.reject(new ProblemError("discord_error", refusal));
    const after = BigInt(query?.get("after") ?? "0");
    const visible = log.filter(({ entry, visibleAt }) => visibleAt <= Date.now() && BigInt(entry.id) > after);
    return Promise.resolve({ audit_log_entries: visible.map(({ entry }) => entry) });
  };
  const records = createNativeRecords({ database });
  const discord = { rest: { call } as unknown as DiscordCalls, sentBans: { has: () => false } };
  const clock = { now: () => new Date() };
  const watch = createNativeWatch({ discord, records, clock, logger: pino({ level: "silent" }) });
  watch.connected(botId);
  watch.present(guildId);
  await watch.idle();
  return watch;
}

/** Lets everything that waits come to its end. */
async function settle(watch: Awaited<ReturnType<typeof openWatch>>): Promise<void> {
  for (let seconds = 0; seconds < 8; seconds += 1) {
    await vi.advanceTimersByTimeAsync(1000);
    await watch.idle();
  }
  await watch.stop();
}

/** Each person is banned, unbanned, banned again …: as Discord tells of it, in its order by each of its two ways. */
async function play({ steps, skew, mayView, isNamed }: Play) {
  const began = Date.now();
  const log: Logged[] = [];
  const watch = await openWatch(log, mayView);

  const bans = new Map<number, boolean>();
  const expected = new Map<number, string[]>();
  const heard: { at: number; tell: () => void }[] = [];
  let [time, eventAt, entryAt, logAt] = [1, 0, 0, 0];
  for (const { person, after, eventDelay, entryDelay, logDelay } of steps) {
    time += after;
    eventAt = Math.max(eventAt, time + eventDelay);
    entryAt = Math.max(entryAt, time + entryDelay);
    logAt = Math.max(logAt, time + logDelay);
    const isBanned = bans.get(person) ?? false;
    bans.set(person, !isBanned);
    const [kind, type] = isBanned ? (["unban", 23] as const) : (["ban", 22] as const);
    expected.set(person, [...(expected.get(person) ?? []), kind]);
    const id = (BigInt(idAt(new Date(began + time + skew))) + BigInt(log.length)).toString();
    const entry = { id, action_type: type, user_id: isNamed ? actorId : null, target_id: userOf(person), reason: "Spam." };
    log.push({ entry, visibleAt: began + logAt });
    heard.push({ at: eventAt, tell: () => watch.ban(kind, guildId, userOf(person)) });
    if (mayView) heard.push({ at: entryAt, tell: () => watch.entry(guildId, entry) });
  }
  let now = 0;
  for (const { at, tell } of heard.toSorted((one, other) => one.at - other.at)) {
    await vi.advanceTimersByTimeAsync(at - now);
    now = at;
    tell();
  }
  await settle(watch);
  const rows = await database.read.nativeAction.findMany({ orderBy: mayView ? { entryId: "asc" } : [{ at: "asc" }, { id: "asc" }] });
  await database.write(systemCall("job", uuid7()), async ({ db }) => {
    await db.nativeAction.deleteMany({});
    await db.nativeLogPosition.deleteMany({});
  });
  return { rows, expected };
}

async function assertTrue(given: Play): Promise<void> {
  const { rows, expected } = await play(given);
  for (const [person, kinds] of expected) {
    const recorded = rows.filter(({ userId }) => userId === userOf(person));
    expect(recorded.map(({ kind }) => kind)).toEqual(kinds);
    const who = given.mayView && given.isNamed ? actorId : null;
    expect(recorded.every((row) => row.actorId === who && (row.entryId !== null) === given.mayView)).toBe(true);
  }
  expect(rows).toHaveLength(given.steps.length);
}

const prompt = { person: 0, after: 60, eventDelay: 0, entryDelay: 0, logDelay: 0 };
const ordinary = { skew: 0, mayView: true, isNamed: true };

test.each([60, 200, 400])(
  "a softban of %d ms is one ban and one end of it, also where both entries come before the events",
  async (after) => {
    const steps = [prompt, { ...prompt, after }].map((step) => ({ ...step, eventDelay: 900 }));
    await assertTrue({ ...ordinary, steps });
  },
);

test("a softban is recorded as it was where the entries come after the events, or only the log has them", async () => {
  const steps = [prompt, { ...prompt, after: 100 }, { ...prompt, after: 100 }, { ...prompt, after: 100 }];
  await assertTrue({ ...ordinary, steps: steps.map((step) => ({ ...step, entryDelay: 700 })) });
  await assertTrue({ ...ordinary, steps: steps.map((step) => ({ ...step, entryDelay: 2900 })) });
  await assertTrue({ ...ordinary, steps: steps.map((step) => ({ ...step, entryDelay: 2900, logDelay: 2900 })) });
});

test("a softban is recorded whole without the audit log", async () => {
  const steps = [prompt, { ...prompt, after: 100 }, { ...prompt, after: 100 }, { ...prompt, after: 100 }];
  await assertTrue({ ...ordinary, mayView: false, steps });
});

test("whatever comes first, what is recorded is what happened", async () => {
  const delay = fc.oneof({ weight: 2, arbitrary: fc.integer({ min: 0, max: 400 }) }, fc.integer({ min: 0, max: 3000 }));
  const step = fc.record({
    person: fc.nat({ max: 1 }),
    after: fc.oneof(fc.integer({ min: 1, max: 400 }), fc.integer({ min: 1, max: 5000 })),
    eventDelay: delay,
    entryDelay: delay,
    logDelay: delay,
  });
  const plays = fc.record({
    steps: fc.array(step, { minLength: 1, maxLength: 8 }),
    skew: fc.integer({ min: -1900, max: 1900 }),
    mayView: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, fc.constant(false)),
    isNamed: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, fc.constant(false)),
  });
  await fc.assert(fc.asyncProperty(plays, assertTrue), { numRuns: sizeOf({ quick: 60, all: 120, long: 3000 }) });
}, 600_000);

test.each([true, false])(
  "a prune of members is recorded about nobody, and other entries about nobody are read over, by the gateway: %s",
  async (byGateway) => {
    const log: Logged[] = [];
    const watch = await openWatch(log, true);
    await vi.advanceTimersByTimeAsync(1000);
    const options = { delete_member_days: "7", members_removed: "40" };
    const id = (number: number): string => (BigInt(idAt(new Date())) + BigInt(number)).toString();
    const entries = [
      { id: id(1), action_type: 21, user_id: actorId, target_id: null, options },
      { id: id(2), action_type: 21, user_id: null, options },
      { id: id(3), action_type: 22, user_id: actorId, target_id: null },
      { id: id(4), action_type: 20, user_id: null, target_id: userOf(1), reason: null },
      // A bulk ban has an entry for each person.
      { id: id(5), action_type: 22, user_id: null, target_id: userOf(2), changes: null },
      { id: id(6), action_type: 22, user_id: actorId, target_id: userOf(3) },
    ];
    log.push(...entries.map((entry) => ({ entry, visibleAt: Date.now() })));
    for (const entry of byGateway ? entries : []) watch.entry(guildId, entry);
    for (const person of [2, 3]) watch.ban("ban", guildId, userOf(person));
    watch.present(guildId);
    await settle(watch);
    const rows = await database.read.nativeAction.findMany({ orderBy: { entryId: "asc" } });
    expect(rows.map(({ kind, userId, actorId: who }) => [kind, userId, who])).toEqual([
      ["prune", null, actorId],
      ["prune", null, null],
      ["kick", userOf(1), null],
      ["ban", userOf(2), null],
      ["ban", userOf(3), actorId],
    ]);
  },
);
