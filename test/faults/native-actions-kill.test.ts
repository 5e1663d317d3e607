// @module-tag slow
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, inject, onTestFinished, test } from "vitest";
import { openDatabase } from "../../src/database/database.ts";
import { createSandbox } from "../../sandbox/index.ts";
import { installation } from "../cli/installation.ts";
import { operatorEnv } from "../cli/run.ts";
import { freshKey } from "../config/environment.ts";
import { until } from "../features/webhooks-ground.ts";
import { createEmptyCopy } from "../support/database.ts";
import { createDice } from "../support/dice.ts";
import { seedOf, sizeOf } from "../support/size.ts";

const rounds = sizeOf({ quick: 3, all: 4, long: 40 });
/** So many are done while it runs, or while it is away: several slices of what is written at once. */
const [actionsEach, missedEach] = [60, 180];

test(`what moderators do by hand is recorded once each and in order, however often the service is killed (${rounds.toString()} times)`, async () => {
  const seed = seedOf(23);
  const dice = createDice(seed);
  const main = join(dirname((await installation()).program), "..", "dist", "main.js");
  const sandbox = await createSandbox();
  const guild = sandbox.createGuild({ name: "Harbour" });
  const mona = sandbox.createUser("mona");
  guild.addMember(mona);
  const people = guild.addMembers(rounds * missedEach);
  const folder = await mkdtemp(join(inject("directory"), "native-actions-"));
  const copy = await createEmptyCopy();
  const database = await openDatabase({ url: copy.url });
  onTestFinished(async () => {
    await sandbox.stop();
    await database.close();
    await copy.remove();
    await rm(folder, { recursive: true, force: true });
  });
  const env = operatorEnv({
    ...sandbox.env(),
    GUILD_IDS: guild.id,
    DATABASE_URL: copy.url,
    DATA_DIR: join(folder, "data"),
    PORT: "0",
    LOG_LEVEL: "error",
    SECRET_KEY: freshKey(),
    ENCRYPTION_KEYS: `k1:${freshKey()}`,
  });
  function start() {
    const child = spawn(process.execPath, [main], { env, stdio: ["ignore", "inherit", "inherit"] });
    const ended = once(child, "exit");
    const kill = async (): Promise<void> => {
      child.kill("SIGKILL");
      await ended;
    };
    onTestFinished(kill);
    return kill;
  }
  const rows = () =>
    database.read.nativeAction.findMany({ select: { entryId: true, userId: true, kind: true, actorId: true }, orderBy: { id: "asc" } });
  const done: { userId: string; kind: string; actorId: string }[] = [];
  const act = (): void => {
    const [person, kind] = [people[done.length]!, dice.chance(0.7) ? "ban" : "timeout"] as const;
    if (kind === "ban") guild.ban(person, { by: mona });
    else guild.timeout(person, 3600, { by: mona });
    done.push({ userId: person.id, kind, actorId: mona.id });
  };

  const first = start();
  await until(async () => (await database.read.nativeLogPosition.count()) === 1, "it knows from where on it reads", 60_000);
  await first();
  const count = () => database.read.nativeAction.count();
  let halves = 0;
  for (let round = 0; round < rounds; round += 1) {
    const before = await count();
    let kill: () => Promise<void>;
    if (round % 2 === 0) {
      for (let missed = 0; missed < missedEach; missed += 1) act();
      kill = start();
      await until(async () => (await count()) > before, "it reads what it missed", 30_000, 0);
    } else {
      kill = start();
      // Some before it is connected, some while it reads what it missed, some as they are told.
      for (let told = 0; told < actionsEach; told += 1) {
        act();
        await delay(dice.below(60));
      }
      await delay(dice.below(400));
    }
    await kill();
    const recorded = await count();
    if (recorded > before && recorded < done.length) halves += 1;
  }
  start();
  await until(async () => (await rows()).length >= done.length, `all of it is recorded (seed ${seed.toString()})`, 60_000, 100);
  // What an event tells of without a name is recorded a second later.
  await delay(1500);
  expect(halves, "it was killed in the middle").toBeGreaterThan(0);
  const log = guild.auditLog().toSorted((one, other) => (BigInt(one.id) < BigInt(other.id) ? -1 : 1));
  expect(await rows(), `seed ${seed.toString()}`).toEqual(done.map((one, index) => ({ entryId: log[index]?.id, ...one })));
}, 600_000);
