import { setTimeout as delay } from "node:timers/promises";
import { pino } from "pino";
import { expect, test } from "vitest";
import { createGuildState } from "../../src/discord/guild/create-guild-state.ts";
import { collectGarbage } from "../../src/heap.ts";
import { createTestDatabase } from "../support/database.ts";

async function makeAndForget(): Promise<WeakRef<object>> {
  const { database, drop } = await createTestDatabase();
  const state = createGuildState({ database, logger: pino({ level: "silent" }), served: new Set() });
  await state.load();
  await drop();
  return new WeakRef(database);
}

test("the state of guilds that was never linked to Discord does not keep its database in memory", async () => {
  const forgotten = await makeAndForget();
  await delay(0);
  collectGarbage();
  expect(forgotten.deref()).toBeUndefined();
});
