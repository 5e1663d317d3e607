// @module-tag both
import fc from "fast-check";
import pino from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Database } from "../../src/database/database.ts";
import { idAt } from "../../src/features/native-actions/entries.ts";
import { createNativeRecords, type NativeRecords } from "../../src/features/native-actions/records.ts";
import { createNativeWatch } from "../../src/features/native-actions/watch.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import type { DiscordCalls, DiscordRequest } from "../../src/kernel/discord-port.ts";
import { createTestDatabase } from "../support/database.ts";
import { runsOf } from "../support/size.ts";

type Given = Record<string, unknown>;

const [guildId, botId, mona, person] = ["80351110224678912", "80351110224678913", "80351110224678914", "80351110224678915"];
/** In the order in which they were made; an hour ahead of now, so that a log that begins now has all of them. */
const idOf = (place: number): string => (BigInt(idAt(new Date(Date.now() + 3_600_000))) + BigInt(place)).toString();
const proper = (id: string): Given => ({ id, action_type: 22, user_id: mona, target_id: person, reason: "Spam." });
let database: Database;
let drop: () => Promise<void>;

beforeEach(async () => ({ database, drop } = await createTestDatabase()));
afterEach(() => drop());

/** A watch of a guild whose log, as it is asked for by REST, has these entries. */
function open(log: readonly Given[], records: Pick<NativeRecords, "positionOf" | "write"> = createNativeRecords({ database })) {
  let asked = 0;
  const call = ({ query }: DiscordRequest): Promise<object> => {
    asked += 1;
    const after = BigInt(query?.get("after") ?? "0");
    const isAfter = (entry: Given | null): boolean => {
      const id = entry?.["id"];
      return typeof id !== "string" || !/^\d+$/.test(id) || BigInt(id) > after;
    };
    return Promise.resolve({ audit_log_entries: log.filter(isAfter).slice(0, Number(query?.get("limit"))) });
  };
  const discord = { rest: { call } as unknown as DiscordCalls, sentBans: { has: () => false } };
  const logger = pino({ level: "silent" });
  const watch = createNativeWatch({ discord, records: records as NativeRecords, clock: systemClock, logger });
  watch.connected(botId);
  return { watch, asked: () => asked };
}

/** What comes of entries: by the log, or by what the gateway tells. */
async function recordedOf(entries: readonly Given[], way: "log" | "gateway") {
  const { watch, asked } = open(way === "log" ? entries : []);
  watch.present(guildId);
  await watch.idle();
  if (way === "gateway") for (const entry of entries) watch.entry(guildId, entry);
  await watch.idle();
  await watch.tend();
  await watch.idle();
  const rows = await database.read.nativeAction.findMany({ orderBy: { entryId: "asc" } });
  const position = (await database.read.nativeLogPosition.findFirst())?.entryId;
  await watch.stop();
  return { rows, position, skipped: watch.skipped(), asked: asked() };
}

const unreadable: Record<string, Given> = {
  "no target": { target_id: null },
  "a target that is no id": { target_id: "\0\ud800" },
  "a target out of range": { target_id: "99999999999999999999" },
  "a target that is a number": { target_id: Number(person) },
  "no type": { action_type: null },
  "a type that is an object": { action_type: {} },
  "an end that is no date": { action_type: 24, changes: [{ key: "communication_disabled_until", new_value: "soon" }] },
  "an end in a year that cannot be kept": {
    action_type: 24,
    changes: [{ key: "communication_disabled_until", new_value: "+270000-01-01T00:00:00Z" }],
  },
};

test.each(["log", "gateway"] as const)(
  "an entry of the %s that cannot be read is counted and left out, and what follows is recorded",
  async (way) => {
    const bad = Object.values(unreadable).map((change, place) => ({ ...proper(idOf(place)), ...change }));
    const strange = [
      null,
      7,
      "entry",
      [],
      { id: "1" },
      { id: "18446744073709551616" },
      { ...proper("18446744073709551615") },
    ] as unknown as Given[];
    const last = idOf(1000);
    const told = await recordedOf([...strange.filter((one) => way === "log" || one !== null), ...bad, proper(last)], way);
    expect(told.rows.map(({ entryId, kind, userId, actorId, reason }) => [entryId, kind, userId, actorId, reason])).toEqual([
      [last, "ban", person, mona, "Spam."],
    ]);
    expect(told.position).toBe(last);
    expect(told.skipped).toBeGreaterThanOrEqual(bad.length + 5);
    expect(told.asked).toBeLessThan(6);
  },
);

test("a whole page of entries that cannot be read is passed over, and never read again", async () => {
  const bad = Array.from({ length: 250 }, (_, place) => ({ ...proper(idOf(place)), target_id: null }));
  const told = await recordedOf([...bad, proper(idOf(1000))], "log");
  expect(told.rows).toHaveLength(1);
  expect([told.skipped, told.asked]).toEqual([250, 3]);
});

test("who did it may be nobody, and what Discord adds is no fault", async () => {
  const [nobody, garbage, unknown, quarantine, text] = [0, 1, 2, 3, 4].map(idOf) as [string, string, string, string, string];
  const told = await recordedOf(
    [
      { ...proper(nobody), user_id: null },
      { ...proper(garbage), user_id: "\0", reason: "a\0b\ud800c", options: 7, changes: "none" },
      { ...proper(unknown), action_type: 2_000 },
      { ...proper(quarantine), action_type: 146 },
      { ...proper(text), action_type: "20", extra: {} },
    ],
    "log",
  );
  expect(told.rows.map(({ entryId, kind, actorId, reason }) => [entryId, kind, actorId, reason])).toEqual([
    [nobody, "ban", null, "Spam."],
    [garbage, "ban", null, "a\ufffdb\ufffdc"],
    [text, "kick", mona, "Spam."],
  ]);
  expect(told.skipped).toBe(0);
});

test("an entry that is told of twice is recorded once, also in one slice", async () => {
  const id = idOf(0);
  const told = await recordedOf([proper(id), proper(id), { ...proper(idOf(1)), action_type: 23 }], "gateway");
  expect(told.rows.map(({ kind }) => kind)).toEqual(["ban", "unban"]);
});

test("one that the database refuses is left out, and those around it are recorded", async () => {
  const records = createNativeRecords({ database });
  const poison = idOf(3);
  const { watch } = open(
    Array.from({ length: 6 }, (_, place) => proper(idOf(place))).map((entry, place) => (place === 3 ? { ...entry, id: poison } : entry)),
    {
      positionOf: records.positionOf,
      write: (guild, slice, upTo) =>
        slice.some(({ entryId }) => entryId === poison) ? Promise.reject(new Error("out of range")) : records.write(guild, slice, upTo),
    },
  );
  watch.present(guildId);
  await watch.idle();
  const rows = await database.read.nativeAction.findMany();
  expect(rows).toHaveLength(5);
  expect(watch.skipped()).toBe(1);
  await watch.stop();
});

test("whatever an entry holds, both databases take what is read of it", async () => {
  const value = fc.oneof(
    fc.constantFrom(
      null,
      undefined,
      "",
      "\0",
      "\ud800",
      "0",
      "-1",
      "99999999999999999999999",
      "1e999",
      "9".repeat(400),
      1e308,
      -1,
      3.5,
      true,
      [],
      {},
    ),
    fc.string({ unit: "binary" }),
    fc.constantFrom(mona, person, "0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z"),
  );
  const entry = fc.record({
    action_type: fc.constantFrom(20, 21, 22, 23, 24, 145, "21", 9999),
    user_id: value,
    target_id: fc.oneof(fc.constant(person), value),
    reason: value,
    options: fc.oneof(value, fc.record({ members_removed: value, delete_member_days: value, auto_moderation_rule_name: value })),
    changes: fc.oneof(value, fc.array(fc.record({ key: fc.constant("communication_disabled_until"), new_value: value, old_value: value }))),
  });
  let count = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { maxLength: 20 }), async (entries) => {
      const made = entries.map((one) => ({ ...one, id: idOf((count += 1)) }));
      const last = idOf((count += 1));
      const told = await recordedOf([...made, proper(last)], "log");
      expect(told.rows.at(-1)?.entryId).toBe(last);
      expect(told.position).toBe(last);
    }),
    { numRuns: runsOf(5) },
  );
});
