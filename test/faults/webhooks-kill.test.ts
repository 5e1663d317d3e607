// @module-tag slow
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { expect, inject, onTestFinished, test } from "vitest";
import { openDatabase } from "../../src/database/database.ts";
import { createSandbox } from "../../sandbox/index.ts";
import { installation } from "../cli/installation.ts";
import { operatorEnv } from "../cli/run.ts";
import { freshKey } from "../config/environment.ts";
import { createReceiver, seqsIn, until, verify } from "../features/webhooks-ground.ts";
import { createEmptyCopy } from "../support/database.ts";
import { createDice } from "../support/dice.ts";
import { seedOf, sizeOf } from "../support/size.ts";

const rounds = sizeOf({ quick: 3, all: 3, long: 20 });
const eventsEach = sizeOf({ quick: 200, all: 200, long: 1000 });

test(`every event reaches every receiver at least once and in order, however often the service is killed (${rounds.toString()} times)`, async () => {
  const seed = seedOf(11);
  const dice = createDice(seed);
  const program = (await installation()).children.webhooksKill;
  const sandbox = await createSandbox();
  const folder = await mkdtemp(join(inject("directory"), "webhooks-"));
  const database = await createEmptyCopy();
  onTestFinished(async () => {
    await sandbox.stop();
    await database.remove();
    await rm(folder, { recursive: true, force: true });
  });
  const receivers = [
    await createReceiver(() => 204),
    await createReceiver(() => (dice.chance(0.2) ? 503 : 200)),
    await createReceiver((_received, response) => {
      if (dice.chance(0.1)) return void response.destroy();
      return dice.chance(0.1) ? 302 : 202;
    }),
  ];
  const env = operatorEnv({
    ...sandbox.env(),
    GUILD_IDS: sandbox.createGuild({ name: "Harbour" }).id,
    DATABASE_URL: database.url,
    DATA_DIR: join(folder, "data"),
    PORT: "0",
    LOG_LEVEL: "error",
    SECRET_KEY: freshKey(),
    ENCRYPTION_KEYS: `k1:${freshKey()}`,
    WEBHOOK_ALLOW_PRIVATE: "127.0.0.1",
  });
  const count = (): number => receivers.reduce((sum, { received }) => sum + received.length, 0);
  let secrets: string[] = [];

  /** One life of the service. @param killedAfter so many requests at receivers; undefined: once everything is written */
  async function live(given: Record<string, string>, killedAfter?: number): Promise<() => Promise<void>> {
    const child = spawn(process.execPath, [program], { env: { ...env, ...given }, stdio: ["ignore", "pipe", "pipe"] });
    const ended = once(child, "exit");
    let printed = "";
    child.stderr.on("data", (part: Buffer) => (printed += part.toString()));
    let isDone = false;
    createInterface(child.stdout).on("line", (line) => {
      const said = JSON.parse(line) as { secrets?: string[]; isDone?: true };
      secrets = said.secrets ?? secrets;
      isDone ||= said.isDone === true;
    });
    const kill = async (): Promise<void> => {
      child.kill("SIGKILL");
      await ended;
    };
    onTestFinished(kill);
    const before = count();
    const isOver = (): boolean => (killedAfter === undefined ? isDone : isDone || count() - before >= killedAfter);
    await until(() => isOver() || child.exitCode !== null, "it wrote events", 120_000);
    expect(child.exitCode, printed).toBeNull();
    return kill;
  }

  for (let round = 0; round < rounds; round += 1) {
    const first = round === 0 ? { KILL_RECEIVERS: receivers.map(({ url }) => url).join() } : {};
    const kill = await live({ ...first, KILL_EVENTS: eventsEach.toString() }, 1 + dice.below(eventsEach * 3));
    await delay(dice.below(300));
    await kill();
  }
  const kill = await live({ KILL_EVENTS: "20" });
  const opened = await openDatabase({ url: database.url });
  const rows = await opened.read.outboxEvent.findMany({ where: { type: "owner.changed" }, select: { seq: true }, orderBy: { seq: "asc" } });
  await opened.close();
  const told = rows.map(({ seq }) => seq);
  expect(told.length).toBeGreaterThan(20);
  // Looking costs more the more has come, and receivers stand on the same thread.
  const lacking = (): number[] => receivers.map((receiver) => told.length - seqsIn(receiver).length);
  await until(
    () => lacking().every((count) => count <= 0),
    `all of ${told.length.toString()} came (seed ${seed.toString()})`,
    300_000,
    500,
  ).catch((error: unknown) => {
    throw new Error(`lacking: ${lacking().join(", ")}`, { cause: error });
  });
  await kill();
  for (const [index, receiver] of receivers.entries()) {
    expect(seqsIn(receiver), `seed ${seed.toString()}`).toEqual(told);
    const ids = new Map(receiver.received.map(({ body, headers }) => [body.data.seq, headers["webhook-id"]]));
    for (const one of receiver.received) {
      expect(one.headers["webhook-id"]).toBe(ids.get(one.body.data.seq));
      verify(secrets[index] ?? "", one);
    }
  }
  const again = receivers.map(({ received }) => received.length - told.length);
  if (rounds > 3)
    process.stdout.write(`${told.length.toString()} events, ${rounds.toString()} kills, requests beyond one each: ${again.join(", ")}\n`);
});
