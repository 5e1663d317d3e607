// @module-tag both
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { openDatabase, type Database } from "../../src/database/database.ts";
import { nextNumber } from "../../src/database/counter.ts";
import { createEmptyCopy, createTestDatabase } from "../support/database.ts";
import { addOwner, createGate, ownerIds, sampleCall } from "./samples.ts";

async function fresh(): Promise<Database> {
  const { database, drop } = await createTestDatabase();
  onTestFinished(drop);
  return database;
}

test("200 parallel transactions take the numbers 1 to 200", async () => {
  const database = await fresh();
  const numbers = await Promise.all(Array.from({ length: 200 }, () => database.write(sampleCall(), (tx) => nextNumber(tx, "case"))));
  expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, index) => index + 1));
});

test("64 creators beside transactions that roll back lose nothing and leave no gap", async () => {
  const database = await fresh();
  const create = (index: number) =>
    database.write(sampleCall(), async (tx) => {
      const number = await nextNumber(tx, "case");
      await addOwner(tx, `${number.toString()}`);
      if (index % 3 === 0) throw new Error("rolled back");
      await delay(Math.random() * 2);
      return number;
    });
  const outcomes = await Promise.allSettled(Array.from({ length: 96 }, (_, index) => create(index)));
  const numbers = outcomes.filter((outcome) => outcome.status === "fulfilled").map(({ value }) => value);
  const wanted = Array.from({ length: 64 }, (_, index) => index + 1);
  expect(numbers.toSorted((a, b) => a - b)).toEqual(wanted);
  expect(await ownerIds(database.read)).toEqual(wanted.map(String).toSorted());
});

test("hooks run in order: before the commit inside it, after the commit when others see it", async () => {
  const database = await fresh();
  const order: string[] = [];
  let seen: Promise<string[]> | undefined;
  const result = await database.write(sampleCall(), async (tx) => {
    tx.afterCommit(() => {
      order.push("after");
      seen = ownerIds(database.read);
    });
    tx.beforeCommit(async () => {
      order.push("before 1");
      await addOwner(tx, "hook");
      tx.beforeCommit(async () => void order.push("before 3"));
    });
    tx.beforeCommit(async () => void order.push("before 2"));
    order.push("work");
    return "result";
  });
  expect(result).toBe("result");
  expect(order).toEqual(["work", "before 1", "before 2", "before 3", "after"]);
  expect(await seen).toEqual(["hook"]);
});

test("no hook runs after a commit that did not happen", async () => {
  const database = await fresh();
  const hook = vi.fn();
  const inWork = database.write(sampleCall(), async (tx) => {
    tx.afterCommit(hook);
    tx.beforeCommit(hook);
    await addOwner(tx, "a");
    throw new Error("refused");
  });
  await expect(inWork).rejects.toThrow("refused");
  const inHook = database.write(sampleCall(), async (tx) => {
    tx.afterCommit(hook);
    tx.beforeCommit(() => Promise.reject(new Error("refused by a hook")));
    await addOwner(tx, "b");
  });
  await expect(inHook).rejects.toThrow("refused by a hook");
  expect(hook).not.toHaveBeenCalled();
  expect(await ownerIds(database.read)).toEqual([]);
});

test("a hook that fails after the commit is logged and does not fail the write", async () => {
  const logger = { info: vi.fn(), warn: vi.fn(), error: vi.fn() };
  const { database, drop } = await createTestDatabase({ logger });
  onTestFinished(drop);
  const write = database.write(sampleCall(), async (tx) => {
    tx.afterCommit(() => {
      throw new Error("hook");
    });
    return 1;
  });
  expect(await write).toBe(1);
  expect(logger.warn).toHaveBeenCalledOnce();
});

test("a write inside a write is refused at once instead of waiting for itself", async () => {
  const database = await fresh();
  const inner = () => database.write(sampleCall(), (tx) => addOwner(tx, "inner"));
  await expect(database.write(sampleCall(), inner)).rejects.toThrow("a write inside a write");
  await database.write(sampleCall(), async (tx) => tx.afterCommit(() => void inner()));
  await vi.waitFor(async () => expect(await ownerIds(database.read)).toEqual(["inner"]), 60_000);
});

test("closing waits for the running write and refuses new ones", async () => {
  const { url, remove } = await createEmptyCopy();
  onTestFinished(remove);
  const database = await openDatabase({ url });
  const gate = createGate();
  const started = createGate();
  const running = database.write(sampleCall(), async (tx) => {
    started.open();
    await gate.opened;
    await addOwner(tx, "a");
  });
  await started.opened;
  const closed = database.close();
  await expect(database.write(sampleCall(), (tx) => addOwner(tx, "b"))).rejects.toMatchObject({ code: "shutting_down" });
  gate.open();
  await Promise.all([running, closed]);
  const again = await openDatabase({ url });
  expect(await ownerIds(again.read)).toEqual(["a"]);
  await again.close();
});

test("a probe commits and changes nothing", async () => {
  const database = await fresh();
  await database.check();
  expect(await database.read.setting.count()).toBe(0);
});
