// @module-tag sqlite
// @module-tag slow
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { pino } from "pino";
import { expect, onTestFinished, test, vi } from "vitest";
import { createNightlyBackup } from "../../src/backup/nightly.ts";
import { addEvidence, createOperator, createSource } from "./ground.ts";

/** A nightly backup of a running service, at a time of its own. */
async function createNight(at: string) {
  const operator = await createOperator();
  const source = await createSource(operator);
  const { place } = source;
  const before = process.env;
  process.env = { PATH: before["PATH"], ...operator.envOf(place) };
  onTestFinished(() => void (process.env = before));
  const lines: string[] = [];
  const clock = { time: new Date(at), now: () => clock.time };
  const logger = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
  const nightly = createNightlyBackup({ folder: operator.backups, hour: 4, keep: 2, clock, logger });
  onTestFinished(() => nightly.stop());
  /** Until it is told, or the job says why not. */
  const isMade = () =>
    vi.waitFor(
      async () => {
        await nightly.sweep().catch((error: unknown) => void lines.push(String(error)));
        expect(lines.join("")).toContain("made the nightly backup");
      },
      { timeout: 60_000, interval: 100 },
    );
  const made = async (): Promise<string[]> => (await readdir(operator.backups).catch(() => [])).filter((name) => name.endsWith(".tar.gz"));
  return {
    nightly,
    place,
    source,
    clock,
    lines,
    made,
    isMade,
    folder: operator.backups,
    verify: (name: string) => operator.provost(["backup", "verify", join(operator.backups, name)], operator.envOf(place)),
  };
}

test("a backup is made once a night, also after its hour, and older ones go", async () => {
  const { nightly, clock, lines, made, isMade, folder, verify } = await createNight(new Date().toISOString());
  await mkdir(folder);
  const old = ["provost-20200101T040000Z.tar.gz", "provost-20200102T040000Z.tar.gz"];
  for (const name of old) await writeFile(join(folder, name), "");
  await nightly.sweep();
  await nightly.sweep();
  await isMade();
  const [second, first = ""] = (await made()).toSorted();
  expect([second, (await made()).length]).toEqual([old[1], 2]);
  expect(await verify(first)).toMatchObject({ code: 0 });
  lines.length = 0;
  // Every hour until the next one is due.
  clock.time = new Date(clock.time.getTime() + 3_700_000);
  if (clock.time.getUTCHours() !== 4) await nightly.sweep();
  expect((await made()).length).toBe(2);
  clock.time = new Date(clock.time.getTime() + 86_400_000);
  // Backups are named by the second, and two of them are made in less.
  await setTimeout(1000);
  await nightly.sweep();
  await isMade();
  expect((await made()).includes(old[1] ?? "")).toBe(false);
});

test("a backup that fails is told once by the job, and tried again in an hour", async () => {
  const { nightly, clock, folder } = await createNight("2026-11-26T04:00:10.000Z");
  const told = /^The nightly backup failed, and is tried again in an hour\. .*nowhere.* Try it by hand: `provost backup`\.$/;
  process.env["DATABASE_URL"] = "file:/nowhere/provost.db";
  const failed = () => vi.waitFor(() => expect(nightly.sweep()).rejects.toThrow(told), { timeout: 60_000, interval: 200 });
  await nightly.sweep();
  await failed();
  await nightly.sweep();
  await nightly.sweep();
  clock.time = new Date("2026-11-26T05:00:20.000Z");
  await nightly.sweep();
  await failed();
  clock.time = new Date("2026-11-26T06:00:30.000Z");
  await rm(folder, { recursive: true, force: true });
  await writeFile(folder, "a file is in the place of the folder");
  await expect(nightly.sweep()).rejects.toThrow(`${folder} is a file, or lies below one`);
  await nightly.sweep();
});

test("a backup of an installation that has lost evidence is made, and the job says what is lost", async () => {
  const { nightly, place, source, made } = await createNight(new Date().toISOString());
  const { sha256 } = await addEvidence(source.world, source.admin);
  await rm(join(place.dataDir, "evidence", sha256.slice(0, 2), sha256));
  await nightly.sweep();
  const told = `The nightly backup was made, but not all of it is as it should be. The evidence ${sha256} was already missing`;
  await vi.waitFor(() => expect(nightly.sweep()).rejects.toThrow(told), { timeout: 60_000, interval: 200 });
  expect(await made()).toHaveLength(1);
});
