// @module-tag both
import { expect, onTestFinished, test } from "vitest";
import type { Database } from "../../src/database/database.ts";
import { addSeconds } from "../../src/kernel/clock.ts";
import { forgetAnswers } from "../../src/database/idempotency.ts";
import { nextNumber } from "../../src/database/counter.ts";
import { createTestDatabase } from "../support/database.ts";
import { addOwner, ownerIds, sampleCall } from "./samples.ts";

const start = new Date("2026-01-01T00:00:00.000Z");

async function fresh(): Promise<{ database: Database; advance(seconds: number): void }> {
  let now = start;
  const { database, drop } = await createTestDatabase({ clock: { now: () => now }, idempotencySeconds: 60 });
  onTestFinished(drop);
  return { database, advance: (seconds) => void (now = addSeconds(now, seconds)) };
}

test("the second request with a key gets the first answer and has no effect", async () => {
  const { database } = await fresh();
  const add = (call = sampleCall("k")) =>
    database.write(call, async (tx) => {
      tx.afterCommit(() => ran.push("hook"));
      ran.push("work");
      return { number: await nextNumber(tx, "case"), at: tx.now.toISOString() };
    });
  const ran: string[] = [];
  const first = await add();
  const call = sampleCall("k");
  expect(await add(call)).toEqual(first);
  expect(call.replayed).toBe(true);
  expect(ran).toEqual(["work", "hook"]);
  expect(await database.read.counter.findMany()).toEqual([{ name: "case", value: 1, head: null }]);
  expect(await database.read.idempotencyRecord.findMany()).toMatchObject([
    { scope: "test:k", status: 201, body: JSON.stringify(first), createdAt: start },
  ]);
});

test("a kept answer comes back with its fields in their order", async () => {
  const { database } = await fresh();
  const answer = { zebra: 1, a: [{ second: 2, b: "\u0000" }], longest_of_all: null, B: 1e21 };
  const write = () => database.write(sampleCall("k"), () => Promise.resolve(answer));
  await write();
  expect(JSON.stringify(await write())).toBe(JSON.stringify(answer));
  expect(JSON.stringify(await database.findReplay(sampleCall("k")))).toBe(JSON.stringify({ found: true, value: answer }));
});

test("a key used with another body is refused", async () => {
  const { database } = await fresh();
  await database.write(sampleCall("k", "one"), (tx) => addOwner(tx, "a"));
  const other = sampleCall("k", "two");
  await expect(database.write(other, (tx) => addOwner(tx, "b"))).rejects.toMatchObject({ code: "idempotency_key_reused" });
  await expect(database.findReplay(other)).rejects.toMatchObject({ code: "idempotency_key_reused" });
  expect(other.replayed).toBe(false);
  expect(await ownerIds(database.read)).toEqual(["a"]);
});

test("a request that failed keeps nothing and may be sent again", async () => {
  const { database } = await fresh();
  const call = sampleCall("k");
  const failed = database.write(call, async (tx) => {
    await addOwner(tx, "a");
    throw new Error("refused");
  });
  await expect(failed).rejects.toThrow("refused");
  expect(await database.read.idempotencyRecord.count()).toBe(0);
  await database.write(call, (tx) => addOwner(tx, "b"));
  expect(call.replayed).toBe(false);
  expect(await database.read.idempotencyRecord.count()).toBe(1);
});

test("50 parallel requests with one key have one effect", async () => {
  const { database } = await fresh();
  const calls = Array.from({ length: 50 }, () => sampleCall("k"));
  const numbers = await Promise.all(calls.map((call) => database.write(call, (tx) => nextNumber(tx, "case"))));
  expect(numbers).toEqual(Array(50).fill(1));
  expect(calls.filter(({ replayed }) => !replayed)).toHaveLength(1);
  expect(await database.read.counter.findMany()).toEqual([{ name: "case", value: 1, head: null }]);
});

test("an expired answer is replaced", async () => {
  const { database, advance } = await fresh();
  const take = (call = sampleCall("k")) => database.write(call, (tx) => nextNumber(tx, "case"));
  expect(await take()).toBe(1);
  advance(59);
  expect(await take()).toBe(1);
  advance(1);
  expect(await database.findReplay(sampleCall("k"))).toBeUndefined();
  expect(await take(sampleCall("k", "another body"))).toBe(2);
  expect(await database.read.idempotencyRecord.findMany()).toMatchObject([{ fingerprint: "another body", body: "2" }]);
});

test("an answer without content is kept too", async () => {
  const { database } = await fresh();
  await database.write(sampleCall("k"), (tx) => addOwner(tx, "a"));
  const again = sampleCall("k");
  expect(await database.findReplay(again)).toEqual({ found: true, value: null });
  expect(again.replayed).toBe(true);
  await database.write(sampleCall("k"), (tx) => addOwner(tx, "b"));
  expect(await ownerIds(database.read)).toEqual(["a"]);
});

test("a second write of the same request does its work and keeps the first answer", async () => {
  const { database } = await fresh();
  const call = sampleCall("k");
  expect(await database.findReplay(call)).toBeUndefined();
  await database.write(call, async (tx) => {
    await addOwner(tx, "a");
    return "first";
  });
  expect(await database.findReplay(call)).toBeUndefined();
  await database.write(call, (tx) => addOwner(tx, "b"));
  expect(call.replayed).toBe(false);
  expect(await ownerIds(database.read)).toEqual(["a", "b"]);
  expect(await database.findReplay(sampleCall("k"))).toEqual({ found: true, value: "first" });
});

test("a call without a key keeps nothing", async () => {
  const { database } = await fresh();
  await database.write(sampleCall(), (tx) => addOwner(tx, "a"));
  expect(await database.findReplay(sampleCall())).toBeUndefined();
  expect(await database.read.idempotencyRecord.count()).toBe(0);
});

test("an answer is forgotten by every id it speaks of, found in the table of subjects alone", async () => {
  const { database } = await fresh();
  const person = "80351110224678912";
  const record = "019ab1c2-0000-7000-8000-0123456789ab";
  const answers = {
    a: { text: `<@${person}> left` },
    b: { [record]: 1 },
    c: [`/records/${record}/files`],
    d: { about: "80351110224678913" },
  };
  for (const [key, answer] of Object.entries(answers)) await database.write(sampleCall(key), () => Promise.resolve(answer));
  const scopes = async () => (await database.read.idempotencyRecord.findMany({ orderBy: { scope: "asc" } })).map(({ scope }) => scope);
  await database.write(sampleCall(), (tx) => forgetAnswers(tx, person));
  expect(await scopes()).toEqual(["test:b", "test:c", "test:d"]);
  await database.write(sampleCall(), (tx) => forgetAnswers(tx, record));
  expect(await scopes()).toEqual(["test:d"]);
  expect(await database.read.idempotencySubject.findMany()).toEqual([{ scope: "test:d", subjectId: answers.d.about }]);
  await database.write(sampleCall(), (tx) => tx.db.idempotencySubject.deleteMany());
  await database.write(sampleCall(), (tx) => forgetAnswers(tx, answers.d.about));
  expect(await scopes()).toEqual(["test:d"]);
});
