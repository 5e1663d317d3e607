import { expect, test } from "vitest";
import { translator } from "../../src/kit/say.ts";
import { staffAtConsole } from "../contract/world.ts";
import { createWorld } from "../support/world.ts";
import { filePunishment } from "./review-ground.ts";
import { lengthText } from "../../src/commands/length-text.ts";

const minute = 60_000;

test("numbers about requests are in minutes, hours and days, with bars, and say what they mean", async () => {
  let now = Date.now();
  const world = await createWorld({ clock: { now: () => new Date(now) } });
  const [author, admin] = [await world.staff("moderator"), await staffAtConsole(world, "admin")];
  const speak = (locale: string) => void (world.sandbox.inside.world.users.get(admin.id)!.locale = locale);
  expect(await world.slash(admin, "review stats")).toContain("Nothing is open.");
  const first = await filePunishment(world, author);
  now += 3 * 24 * 60 * minute;
  await world.post(`/workflows/punishment/${first}/decision`, { decision: "approve" }, { actor: admin });
  await filePunishment(world, author);
  now += 3 * minute;
  await filePunishment(world, author);
  now += 20 * minute;
  const english = await world.slash(admin, "review stats");
  expect(english).toContain("Open requests: oldest 23 minutes · 2 in all");
  expect(english).toContain("Half of them have waited 20 minutes or less.");
  expect(english).toContain("The decision takes 3 days or less for half of them");
  expect(english).toContain("`▇▇▇▇▇▇▇▇▇▇` 2 · pending");
  expect(english).toContain("Filed: 3");
  expect(english).not.toMatch(/second|\b\d{4,}\b|p50|p90/);
  speak("de");
  const german = await world.slash(admin, "review stats");
  expect(german).toContain("Offene Anträge: der älteste 23 Minuten alt · 2 insgesamt");
  expect(german).toContain("Bis zur Entscheidung dauert es bei der Hälfte höchstens 3 Tage");
  expect(german).not.toMatch(/Sekunde|request|pending|days/);
});

test("the pace of a person is in words, too", async () => {
  let now = Date.now();
  const world = await createWorld({ clock: { now: () => new Date(now) } });
  const [author, admin] = [await world.staff("moderator"), await staffAtConsole(world, "admin")];
  const reference = await filePunishment(world, author);
  now += 90 * minute;
  await world.post(`/workflows/punishment/${reference}/decision`, { decision: "approve" }, { actor: admin });
  expect(await world.slash(admin, "staff profile")).toContain("1 decided (half of them took 1 hour 30 minutes or less)");
});

test.each([
  [1380, "23 minutes", "23 Minuten"],
  [60, "1 minute", "1 Minute"],
  [273_600, "3 days 4 hours", "3 Tage 4 Stunden"],
  [86_400, "1 day", "1 Tag"],
  [2_592_000, "30 days", "30 Tage"],
  [90_061, "1 day 1 hour", "1 Tag 1 Stunde"],
  [0, "0 seconds", "0 Sekunden"],
])("%i seconds are %s", (seconds, english, german) => {
  expect(lengthText(seconds, translator("en-GB"))).toBe(english);
  expect(lengthText(seconds, translator("de"))).toBe(german);
});
