// @module-tag both
import { expect, inject, onTestFinished, test, vi } from "vitest";
import { nextNumber } from "../../src/database/counter.ts";
import { openDatabase, type Database } from "../../src/database/database.ts";
import { createTestDatabase, endConnections } from "../support/database.ts";
import { addOwner, createGate, ownerIds, sampleCall } from "./samples.ts";

async function fresh(): Promise<Database> {
  const { database, drop } = await createTestDatabase();
  onTestFinished(drop);
  return database;
}

test("a server that does not answer is named", async () => {
  await expect(openDatabase({ url: "postgresql://nobody@127.0.0.1:1/none" })).rejects.toMatchObject({
    reason: "unusable",
    message: "Can't reach PostgreSQL at 127.0.0.1:1 (connection refused). Check `DATABASE_URL`.",
  });
});

if (inject("dialect") === "postgres") {
  test("a deadlock is tried again, with the hooks of the successful attempt only", async () => {
    const database = await fresh();
    await database.write(sampleCall(), async (tx) => {
      await nextNumber(tx, "a");
      await nextNumber(tx, "b");
    });
    const hook = vi.fn();
    let attempts = 0;
    const both = [createGate(), createGate()] as const;
    const cross = (own: 0 | 1, names: readonly [string, string]) =>
      database.write(sampleCall(), async (tx) => {
        attempts += 1;
        tx.afterCommit(hook);
        await nextNumber(tx, names[0]);
        both[own].open();
        await both[own === 0 ? 1 : 0].opened;
        return nextNumber(tx, names[1]);
      });
    const numbers = await Promise.all([cross(0, ["a", "b"]), cross(1, ["b", "a"])]);
    expect(numbers.toSorted((a, b) => a - b)).toEqual([2, 3]);
    expect(attempts).toBe(3);
    expect(hook).toHaveBeenCalledTimes(2);
  });

  test("work that swallows a failed statement is not acknowledged", async () => {
    const database = await fresh();
    const write = database.write(sampleCall(), async (tx) => {
      await addOwner(tx, "a");
      await addOwner(tx, "a").catch(() => undefined);
    });
    await expect(write).rejects.toThrow();
    await database.write(sampleCall(), (tx) => addOwner(tx, "b"));
    expect(await ownerIds(database.read)).toEqual(["b"]);
  });

  test("lost connections are named, and reads and writes go on", async () => {
    const { url, database, drop } = await createTestDatabase();
    onTestFinished(drop);
    const write = database.write(sampleCall(), async (tx) => {
      await addOwner(tx, "a");
      await endConnections(url);
      await addOwner(tx, "b");
    });
    await expect(write).rejects.toMatchObject({ code: "storage_busy" });
    await database.write(sampleCall(), (tx) => addOwner(tx, "c"));
    expect(await ownerIds(database.read)).toEqual(["c"]);
    await endConnections(url);
    await vi.waitFor(async () => expect(await ownerIds(database.read)).toEqual(["c"]), 60_000);
  });
}
